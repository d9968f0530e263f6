"""DeBERTa's disentangled attention: content against position, and position against content.

Source: He et al. 2021 (arXiv 2006.03654), section 3.1; the logarithmic buckets from version 2 and
its code. Three products are summed and divided by sqrt(3k): q.k, the query with a vector for the
offset, and the key with another. The bias is what that adds to q.k / sqrt(k), so it also takes
back the part of q.k that the larger divisor leaves out.
"""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.schemes.base import require_whole
from poscli.schemes.log_buckets import log_steps
from poscli.schemes.score_bias import products
from poscli.schemes.trained import Matrix, Trained
from poscli.text import figure, plain


class Deberta(Trained):
    """Offsets, query minus key, up to half the buckets have one each; farther ones share."""

    name: Literal["deberta"] = "deberta"
    summary: ClassVar[str] = "content and position scored against each other (DeBERTa)"
    source: ClassVar[str] = "He 2021, section 3.1"
    formula: ClassVar[str] = "(q_i.k_j + q_i.K[b(i - j)] + k_j.Q[b(i - j)]) / sqrt(3k) in all"
    users: ClassVar[str] = "DeBERTa, DeBERTa v2 and v3"

    buckets: int | None = Field(
        256, ge=2, le=2**16, description="logarithmic buckets per direction; null for none (v1)"
    )
    max_distance: int = Field(512, ge=1, le=2**20, description="from here on offsets are one")
    position_keys: Matrix = Field(
        None, description="K after its projection: (2 * buckets, heads * head width)"
    )
    position_queries: Matrix = Field(
        None, description="Q after its projection: (2 * buckets, heads * head width)"
    )

    @model_validator(mode="after")
    def _buckets_fit(self) -> Self:
        if self.buckets is not None and self.max_distance - 1 <= self.buckets // 2:
            raise PoscliError(
                f"max_distance must be greater than {self.buckets // 2 + 1}, so that offsets past "
                f"half the buckets can share some; got {self.max_distance}"
            )
        return self

    @property
    def _span(self) -> int:
        return self.max_distance if self.buckets is None else self.buckets

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        shape = (2 * self._span, heads * width)
        return {"position_keys": shape, "position_queries": shape}

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        require_whole(self.name, positions)

    def bucket(self, offsets: Array) -> Array:
        """Return the signed bucket of each offset, query minus key, with no end to them.

        >>> Deberta().bucket(np.array([128, -129, 200, 512])).tolist()
        [128, -129, 169, 256]
        """
        if self.buckets is None:
            return np.asarray(offsets, np.int64)
        mid = self.buckets // 2
        far = np.maximum(np.abs(offsets), mid)
        _, steps = log_steps(far, mid, self.max_distance - 1, mid - 1)
        grown = mid + steps
        near = np.abs(offsets) <= mid
        return np.asarray(np.where(near, offsets, np.sign(offsets) * grown), np.int64)

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        by_head = [
            self.values(name, width, heads).reshape(-1, heads, width).swapaxes(0, 1)
            for name in ("position_keys", "position_queries")
        ]
        bucket = self.bucket(self.offsets(query_positions, key_positions))
        index = np.clip(bucket + self._span, 0, 2 * self._span - 1)
        q, k = queries[..., :, None, :], keys[..., None, :, :]
        content = np.asarray(sum(q[..., c] * k[..., c] for c in range(width)))
        whole = content + products(q, by_head[0], index) + products(k, by_head[1], index)
        bias = whole / np.sqrt(3 * width) - content / np.sqrt(width)
        return np.asarray(bias, queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        bucket = int(self.bucket(np.array(query - key)))
        return (
            f"query - key = {plain(query - key)}, bucket {bucket}; q and k of ones = "
            f"{figure(value)}"
        )
