"""xPos: RoPE whose scores fade with the distance, queries scaled up and keys down.

Source: Sun et al. 2022 (arXiv 2212.10554), and torchscale: pair i of d/2 has
zeta_i = (2i/d + gamma) / (1 + gamma); queries at m are multiplied by zeta_i^((m - c) / scale_base)
and keys at n divided by zeta_i^((n - c) / scale_base). The centre c leaves the scores as they are
as long as queries and keys share it. torchscale takes half the length rounded up, x-transformers
and rotary-embedding-torch rounded down, audiocraft 0.
"""

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.report import Cell, Check
from poscli.schemes.base import Encoder, Scheme
from poscli.schemes.rope import PartialRope
from poscli.text import figure


class XPos(PartialRope):
    """For causal attention: a key that comes after its query would be scaled up, not down.

    Far from the centre the scales themselves become huge on one side and vanish on the other.
    """

    name: Literal["xpos"] = "xpos"
    summary: ClassVar[str] = "RoPE with scores that fade with the distance (xPos)"
    source: ClassVar[str] = "Sun 2022; torchscale"
    formula: ClassVar[str] = (
        "RoPE; pair i of a query times zeta_i^((m-c)/scale_base), of a key times "
        "zeta_i^(-(n-c)/scale_base), zeta_i = (2i/r + gamma)/(1 + gamma)"
    )
    users: ClassVar[str] = "LeX Transformer, RetNet, AudioCraft"

    scale_base: float = Field(
        512.0, ge=1, le=1e9, description="positions over which zeta counts once"
    )
    gamma: float = Field(0.4, gt=0, le=1e3, description="how slowly the fastest pair fades")
    centre: Annotated[int, Field(ge=0, le=2**31)] | Literal["half-down", "half-up"] = Field(
        0, description="c: a position, or half the length of the sequence, rounded down or up"
    )

    def for_length(self, length: int) -> Self:
        if isinstance(self.centre, int):
            return self
        half = length // 2 if self.centre == "half-down" else (length + 1) // 2
        return self.model_copy(update={"centre": half})

    def scales(self, positions: Array, width: int) -> Array:
        """Positions -> what each pair of a query is multiplied by, (n, pairs)."""
        if not isinstance(self.centre, int):
            raise PoscliError(f"xpos has its centre {self.centre} only once a length is known")
        r = self.rotary_width(width)
        zeta = (np.arange(0, r, 2) / r + self.gamma) / (1 + self.gamma)
        with np.errstate(over="ignore", under="ignore"):
            scales = zeta ** ((positions - self.centre)[:, None] / self.scale_base)
        if not (np.isfinite(scales).all() and (scales > 0).all()):
            raise PoscliError(
                "xpos scales positions so far from its centre past what float64 holds"
            )
        return np.asarray(scales)

    def cos_sin(self, positions: Array, width: int) -> tuple[Array, Array]:
        """Positions -> cos and sin as they multiply queries, each (n, pairs)."""
        cos, sin = super().cos_sin(positions, width)
        scales = self.scales(positions, width)
        return cos * scales, sin * scales

    def encoder(self, width: int, heads: int) -> Encoder:
        return Scheme.encoder(self, width, heads)

    def rotate_keys(self, x: Array, positions: Array) -> Array:
        width = x.shape[-1]
        self.check_width(width, 1)
        cos, sin = super().cos_sin(positions, width)
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1 / self.scales(positions, width)
        return self.turn(x, cos * inverse, sin * inverse)

    def turn(self, x: Array, cos: Array, sin: Array, out: Array | None = None) -> Array:
        if not np.hypot(cos, sin).max() <= np.finfo(x.dtype).max:
            raise PoscliError(
                f"xpos scales positions so far from its centre by more than {x.dtype} holds"
            )
        return super().turn(x, cos, sin, out)

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        return [("the fastest pair fades by half every", f"{figure(self._fade(2.0))} positions")]

    def _fade(self, by: float) -> float:
        """In how many positions the fastest pair fades by this much."""
        return float(np.log(by) / np.log((1 + self.gamma) / self.gamma) * self.scale_base)

    def _reach(self) -> int:
        """The length at which scales stop to fit into float64, with room for the vectors."""
        assert isinstance(self.centre, int)
        return self.centre + int(self._fade(1e300))

    def _cell(self, width: int, trained: int, length: int) -> str:
        used, cell = self.for_length(length), super()._cell(width, trained, length)
        too_far = length > used._reach()
        return f"{cell}; scales past {used._reach()} do not fit float64" if too_far else cell

    def score_scale(self, longest: int, width: int) -> float:
        # A rounded zeta to the power of n is off by n roundings.
        return 1 + longest / self.scale_base

    def offset_check(self, longest: int, width: int) -> Check:
        return super().offset_check(min(longest, self._reach()), width)
