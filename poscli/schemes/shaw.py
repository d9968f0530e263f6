"""Shaw's relative positions: queries scored against a learned vector per clipped distance.

Source: Shaw et al. 2018 (arXiv 1803.02155), sections 3.1 and 3.2: q_i.a divided by sqrt(k),
with one table shared by the heads. The paper also adds vectors to the values; that is no part of
the scores and is left out here.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.schemes.base import require_whole
from poscli.schemes.score_bias import products
from poscli.schemes.trained import Matrix, Trained
from poscli.text import figure, plain


class Shaw(Trained):
    """Row 0 stands for keys left or more before the query, the last for right or more after."""

    name: Literal["shaw"] = "shaw"
    summary: ClassVar[str] = "queries scored against a vector per clipped distance (Shaw)"
    source: ClassVar[str] = "Shaw 2018, section 3.2"
    formula: ClassVar[str] = "q_i.a[clip(j - i, -left, right) + left] / sqrt(k)"
    users: ClassVar[str] = "wav2vec2-BERT, SpeechT5"

    left: int = Field(16, ge=0, le=2**20, description="farthest distance before the query")
    right: int = Field(16, ge=0, le=2**20, description="farthest distance after the query")
    table: Matrix = Field(
        None, description="a row per distance from -left to right, or a .npy file of them"
    )

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        return {"table": (self.left + self.right + 1, width)}

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        require_whole(self.name, positions)

    def row(self, distances: Array) -> Array:
        """Return the row of the table for each distance, key minus query."""
        return np.asarray(np.clip(distances, -self.left, self.right) + self.left, np.int64)

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        index = self.row(-self.offsets(query_positions, key_positions))
        table = self.values("table", width, heads)
        scores = products(queries[..., :, None, :], table[None], index)
        return np.asarray(scores / np.sqrt(width), queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        row = int(self.row(np.array(key - query)))
        return (
            f"key - query = {plain(key - query)}; q.a[{row}] / sqrt(k), q of ones = {figure(value)}"
        )
