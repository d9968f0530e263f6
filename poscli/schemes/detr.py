"""The two encodings of a picture in DETR: normalised sines, and a table per axis.

Source: Carion et al. 2020 (arXiv 2005.12872), appendix A.4, and its code: PositionEmbeddingSine
counts pixels from 1 and divides by the size of the picture; PositionEmbeddingLearned has 50 rows
and 50 columns to learn. Zhu et al. 2020 (Deformable DETR, arXiv 2010.04159) take the centre of
each pixel. In the sines the row comes first, in the learned tables the column.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.phase import TWO_PI, Frequencies
from poscli.schemes.base import Beyond, require_whole, with_size
from poscli.schemes.grid import GridSines, OnGrid
from poscli.schemes.learned import read_table
from poscli.schemes.turns import ladder
from poscli.settings import FilePath
from poscli.text import plain

_EXACT = Context(prec=60)
_EPSILON = Decimal("0.000001")

S = TypeVar("S", bound=OnGrid)


class DetrSine(GridSines):
    """Rows and columns as parts of a full turn: the picture's size decides, not its pixels.

    Counted from 1, a pixel of padding in no row or column is number 0: position -1.
    """

    name: Literal["detr-sine"] = "detr-sine"
    summary: ClassVar[str] = "sines and cosines of row and column, divided by the picture's size"
    source: ClassVar[str] = "Carion 2020, appendix A.4"
    formula: ClassVar[str] = "sin and cos of 2 pi (y + 1)/(rows + 1e-6) base^(-4i/d), then of x"
    users: ClassVar[str] = "DETR, Conditional DETR, Deformable DETR, Mask2Former"

    base: float = Field(
        10000.0, gt=1, le=1e30, description="ratio of fastest to slowest, about; 20 in DAB-DETR"
    )
    rows: int = Field(32, ge=1, le=2**20, description="rows of the picture, which y is divided by")
    columns: int = Field(
        4, ge=1, le=2**20, description="columns of the picture, which x is divided by"
    )
    pixel: Literal["end", "centre"] = Field(
        "end", description="where a pixel is: at its number counted from 1, or half before that"
    )

    @property
    def limit(self) -> int:
        return self.rows * self.columns

    def for_grid(self, sizes: Sequence[int]) -> Self:
        return with_size(self, sizes)

    def trained_at(self, length: int) -> Self:
        return _with_room(self, "rows", length)

    def check_width(self, width: int, heads: int) -> None:
        if width % 4:
            raise PoscliError(
                f"detr-sine needs a width that 4 divides, a sine and a cosine for row and column; "
                f"got width {width}"
            )

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        for axis, size in enumerate((self.rows, self.columns)):
            _require_inside(self, positions[:, axis], axis, -1 if self.pixel == "end" else 0, size)

    def numbers(self, positions: Array) -> Array:
        return positions + (1.0 if self.pixel == "end" else 0.5)

    def frequencies(self, width: int) -> list[Frequencies]:
        return [
            [
                _EXACT.divide(_EXACT.multiply(w, TWO_PI), Decimal(size) + _EPSILON)
                for w in ladder(self.base, width // 2)
            ]
            for size in (self.rows, self.columns)
        ]

    def arranged(self, values: Array) -> Array:
        return values.swapaxes(2, 3).reshape(len(values), -1)

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        return _within(self, super().beyond(trained, lengths, dim, heads), lengths)


class DetrLearned(OnGrid):
    """A row of one table for the column, beside a row of another for the row."""

    name: Literal["detr-learned"] = "detr-learned"
    summary: ClassVar[str] = "one trained vector per column beside one per row"
    source: ClassVar[str] = "Carion 2020, PositionEmbeddingLearned"
    formula: ClassVar[str] = "row x of the table of columns, then row y of the table of rows"
    users: ClassVar[str] = "DETR (learned), Conditional DETR (learned)"

    entries: int = Field(50, ge=1, le=2**20, description="rows to draw for each of the two tables")
    seed: int = Field(0, ge=0, description="seed of the drawn rows, uniform from 0 to 1")
    column_table: list[list[float]] | FilePath | None = Field(
        None, description="the vectors of the columns, or the name of a .npy file that holds them"
    )
    row_table: list[list[float]] | FilePath | None = Field(
        None, description="the vectors of the rows, or the name of a .npy file that holds them"
    )
    _given: tuple[Array, Array] | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _take_tables(self) -> Self:
        if (self.column_table is None) != (self.row_table is None):
            missing = "row_table" if self.row_table is None else "column_table"
            raise PoscliError(f"detr-learned needs both tables or none; {missing} is missing")
        if self.row_table is not None and self.column_table is not None:
            unused = sorted({"entries", "seed"} & self.model_fields_set)
            if unused:
                raise PoscliError(
                    f"detr-learned draws no rows when tables are given, so {unused[0]!r} has no "
                    "use; remove one of the two"
                )
            rows, columns = (read_table(self.name, t) for t in (self.row_table, self.column_table))
            if rows.shape[1] != columns.shape[1]:
                raise PoscliError(
                    f"detr-learned needs two tables of one width; row_table has {rows.shape[1]} "
                    f"columns, column_table {columns.shape[1]}"
                )
            self._given = rows, columns
        if self.columns > self._sizes()[1]:
            raise PoscliError(
                f"detr-learned has vectors for {self._sizes()[1]} columns; got columns "
                f"{self.columns}"
            )
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_used(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        tables = {"row_table", "column_table"}
        unused = tables if self._given is None else {"entries", "seed"}
        return {key: value for key, value in whole(self).items() if key not in unused}

    @property
    def limit(self) -> int:
        return self._sizes()[0] * self.columns

    def trained_at(self, length: int) -> Self:
        return self if self._given else _with_room(self, "entries", length)

    def parameters(self, width: int, heads: int) -> int:
        return sum(self._sizes()) * (width // 2)

    def check_width(self, width: int, heads: int) -> None:
        if width % 2:
            raise PoscliError(
                f"detr-learned needs an even width, half for the column and half for the row; got "
                f"width {width}"
            )
        if self._given is not None and 2 * self._given[0].shape[1] != width:
            raise PoscliError(
                f"detr-learned was given tables of width {self._given[0].shape[1]} for half of "
                f"the width each; the width asked for is {width}"
            )

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        require_whole(self.name, positions)
        for axis, size in enumerate(self._sizes()):
            _require_inside(self, positions[:, axis], axis, 0, size)

    def vectors(self, positions: Array, width: int) -> Array:
        self.check_width(width, 1)
        self.check_positions(positions)
        row, column = positions.astype(np.int64).T
        rows, columns = self._given or self._drawn(int(positions.max(initial=-1)) + 1, width // 2)
        return np.concatenate([columns[column], rows[row]], axis=1)

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        return _within(self, super().beyond(trained, lengths, dim, heads), lengths)

    def _sizes(self) -> tuple[int, int]:
        """Return how many rows and how many columns have a vector."""
        if self._given is None:
            return self.entries, self.entries
        return len(self._given[0]), len(self._given[1])

    def _drawn(self, needed: int, width: int) -> tuple[Array, Array]:
        rows, columns = np.random.default_rng(self.seed).spawn(2)
        return rows.uniform(size=(needed, width)), columns.uniform(size=(needed, width))


def _with_room(scheme: S, setting: str, length: int) -> S:
    """Return the scheme with rows for a sequence of this length, unless their number was given."""
    needed = -(-length // scheme.columns)
    if setting in scheme.model_fields_set or needed <= getattr(scheme, setting):
        return scheme
    return scheme.model_copy(update={setting: needed})


def _require_inside(scheme: OnGrid, positions: Array, axis: int, low: int, size: int) -> None:
    outside = positions[(positions < low) | (positions >= size)]
    if outside.size:
        what = scheme.axis_names[axis]
        raise PoscliError(
            f"{scheme.name} has {size} {what}s, 0 to {size - 1}; {what} {plain(outside[0])} is not "
            "one of them"
        )


def _within(scheme: OnGrid, found: Beyond, lengths: Sequence[int]) -> Beyond:
    """Say where a sequence is longer than the scheme has rows for."""
    limit = scheme.limit
    assert limit is not None
    missing = f"no row {limit // scheme.columns}"
    return Beyond([missing if n > limit else c for n, c in zip(lengths, found.cells, strict=True)])
