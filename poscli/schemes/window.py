"""The relative table of a window: a learned number per head and two-dimensional offset.

Source: Liu et al. 2021 (arXiv 2103.14030), section 3.2. Positions are (row, column) within a
window. BEiT gives its class token three rows of its own after the table; they are left out, since
a class token has no place in the window.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.schemes.base import position_labels, require_whole, row_by_row, with_size
from poscli.schemes.trained import Matrix, Trained


class Window(Trained):
    """Rows of the table run over row offsets, and within each over column offsets."""

    name: Literal["window"] = "window"
    summary: ClassVar[str] = "a learned bias per offset of rows and columns (Swin, BEiT)"
    source: ClassVar[str] = "Liu 2021, section 3.2"
    formula: ClassVar[str] = "table[(r_i - r_j + R - 1)(2C - 1) + c_i - c_j + C - 1, h]"
    users: ClassVar[str] = "Swin, BEiT, data2vec-vision"
    axes: ClassVar[int] = 2

    rows: int = Field(14, ge=1, le=1024, description="R, rows of the window")
    columns: int = Field(14, ge=1, le=1024, description="C, columns of the window")
    table: Matrix = Field(
        None, description="(2R - 1)(2C - 1) rows, a column per head, or a .npy file of them"
    )

    def for_grid(self, sizes: Sequence[int]) -> Self:
        return with_size(self, sizes)

    @property
    def limit(self) -> int:
        return self.rows * self.columns

    def coordinates(self, index: Array) -> Array:
        return row_by_row(index, self.columns)

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        return {"table": ((2 * self.rows - 1) * (2 * self.columns - 1), heads)}

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        require_whole(self.name, positions)
        outside = ((positions < 0) | (positions >= [self.rows, self.columns])).any(axis=1)
        if outside.any():
            raise PoscliError(
                f"{self.name} has {self.rows} rows and {self.columns} columns; position "
                f"{position_labels(positions[outside])[0]} is outside"
            )

    def index(self, offsets: Array) -> Array:
        """Return the row of the table for each offset (row, column), query minus key."""
        down, right = np.moveaxis(offsets, -1, 0)
        row = (down + self.rows - 1) * (2 * self.columns - 1) + right + self.columns - 1
        return np.asarray(row, np.int64)

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        index = self.index(self.offsets(query_positions, key_positions))
        return self.values("table", width, heads).T[:, index].astype(queries.dtype)
