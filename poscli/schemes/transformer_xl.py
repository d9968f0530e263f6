"""Transformer-XL: queries and keys scored against a sinusoid of their distance.

Source: Dai et al. 2019 (arXiv 1901.02860), section 3.3: (q + u).k + (q + v).R with R the projected
sinusoidal row of the offset i - j, sines first and then cosines, all divided by sqrt(k). The
bias is what that adds to q.k. The sinusoid has the width of the model, heads times head width.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.phase import cos_sin
from poscli.schemes.score_bias import products
from poscli.schemes.trained import Matrix, Trained
from poscli.schemes.turns import ladder
from poscli.text import figure, plain


class TransformerXL(Trained):
    """Keys after the query have negative offsets, so both directions are told apart."""

    name: Literal["transformer-xl"] = "transformer-xl"
    summary: ClassVar[str] = "queries scored against a sinusoid of the offset (Transformer-XL)"
    source: ClassVar[str] = "Dai 2019, section 3.3"
    formula: ClassVar[str] = "(u.k_j + (q_i + v).R_(i-j)) / sqrt(k), R = W sinusoid(i - j)"
    users: ClassVar[str] = "Transformer-XL, XLNet, wav2vec2-conformer"

    base: float = Field(
        10000.0, gt=1, le=1e30, description="the base of the sinusoid's frequencies"
    )
    clamp: int | None = Field(None, ge=1, description="offsets beyond it count as this one")
    u: Matrix = Field(None, description="added to queries before keys: (heads, head width)")
    v: Matrix = Field(None, description="added to queries before R: (heads, head width)")
    projection: Matrix = Field(
        None, description="W, (out, in): square, of the model's width, or a .npy file"
    )

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        dim = width * heads
        return {"u": (heads, width), "v": (heads, width), "projection": (dim, dim)}

    def check_width(self, width: int, heads: int) -> None:
        if width * heads % 2:
            raise PoscliError(
                f"{self.name} needs an even model width, for as many sines as cosines; got "
                f"{width * heads}"
            )
        super().check_width(width, heads)

    def sinusoid(self, offsets: Array, dim: int) -> Array:
        """Return the row of each offset before its projection, (n, dim)."""
        if self.clamp is not None:
            offsets = np.clip(offsets, -self.clamp, self.clamp)
        cos, sin = cos_sin(offsets, ladder(self.base, dim))
        return np.concatenate([sin, cos], axis=1)

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        self.check_width(width, heads)
        u, v, projection = (self.values(name, width, heads) for name in ("u", "v", "projection"))
        offsets = self.offsets(query_positions, key_positions)
        distinct, place = np.unique(offsets, return_inverse=True)
        index = place.reshape(offsets.shape)
        rows = self.sinusoid(distinct, width * heads)
        projected = sum(rows[:, c, None] * projection[:, c] for c in range(width * heads))
        R = np.reshape(projected, (-1, heads, width)).swapaxes(0, 1)
        content = (u[:, None] * keys).sum(axis=-1)[..., None, :]
        place_scores = products((queries + v[:, None])[..., :, None, :], R, index)
        return np.asarray((content + place_scores) / np.sqrt(width), queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        return (
            f"(u.k + (q + v).R_{plain(query - key)}) / sqrt(k), q and k of ones = {figure(value)}"
        )
