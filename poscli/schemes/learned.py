"""Learned absolute positions: a table with one trained row per position, and no row after it.

Source: Gehring et al. 2017 (arXiv 1705.03122), section 3.1; as in GPT-2, 1024 rows of width 768
drawn from a normal distribution of standard deviation 0.02. fairseq and its heirs keep rows before
position 0 (padding_idx + 1 of them in RoBERTa, 2 in BART and OPT): what stands at position -1,
which is padding, reads the row before the first.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

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
from poscli.files import load_array
from poscli.padding import pads_counted, pads_skipped
from poscli.positions import refuse_size
from poscli.schemes.additive import Additive
from poscli.schemes.base import Beyond, position_labels, require_whole
from poscli.settings import FilePath
from poscli.text import figure


class Learned(Additive):
    """Rows drawn from a seeded normal distribution, or the rows given as table."""

    name: Literal["learned"] = "learned"
    summary: ClassVar[str] = "one trained row per position, and none past the last"
    source: ClassVar[str] = "Gehring 2017, section 3.1; GPT-2"
    formula: ClassVar[str] = "row p + offset of a table of trained rows"
    users: ClassVar[str] = "GPT-2, BERT, RoBERTa, OPT, BART, ViT, CLIP"

    rows: int = Field(
        1024, ge=1, le=2**20, description="rows to draw, those of the offset included"
    )
    std: float = Field(0.02, ge=0, le=1e6, description="standard deviation of the drawn rows")
    seed: int = Field(0, ge=0, description="seed of the drawn rows")
    offset: int = Field(0, ge=0, description="the row that position 0 reads")
    padding: Literal["counted", "skipped"] = Field(
        "counted", description="padding takes up places; or stands at -1, behind the first place"
    )
    table: list[list[float]] | FilePath | None = Field(
        None, description="the rows themselves, or the name of a .npy file that holds them"
    )
    _given: Array | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _take_table(self) -> Self:
        if self.table is not None:
            unused = sorted({"rows", "std", "seed"} & self.model_fields_set)
            if unused:
                raise PoscliError(
                    f"learned draws no rows when a table is given, so {unused[0]!r} has no use; "
                    "remove one of the two"
                )
            self._given = read_table(self.name, self.table)
        if self.limit < 1:
            raise PoscliError(
                f"learned has {self._count()} rows, so the offset is at most {self._count() - 1}; "
                f"got {self.offset}"
            )
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_used(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        unused = {"table"} if self.table is None else {"rows", "std", "seed"}
        return {key: value for key, value in whole(self).items() if key not in unused}

    @property
    def limit(self) -> int:
        return self._count() - self.offset

    def number(self, positions: Array) -> Array:
        return positions + self.offset

    def places(self, mask: Array) -> Array:
        return pads_skipped(mask) if self.padding == "skipped" else pads_counted(mask)

    def trained_at(self, length: int) -> Self:
        if self.table is not None or "rows" in self.model_fields_set:
            return self
        return self.model_copy(update={"rows": length + self.offset})

    def parameters(self, width: int, heads: int) -> int:
        return self._count() * width

    def learnable(self, dim: int, heads: int) -> dict[str, Array]:
        return {"rows": self.vectors(np.arange(self.limit), dim)}

    def with_learned(self, values: dict[str, Array]) -> Self:
        held = self.model_copy()
        held._given = values["rows"]
        return held

    def add_gradient(self, gradient: Array, positions: Array) -> dict[str, Array]:
        rows = np.zeros((self.limit, gradient.shape[1]), gradient.dtype)
        np.add.at(rows, positions.astype(np.int64), gradient)
        return {"rows": rows}

    def check_width(self, width: int, heads: int) -> None:
        if self._given is not None and self._given.shape[1] != width:
            raise PoscliError(
                f"learned was given rows of width {self._given.shape[1]}; the width asked for is "
                f"{width}"
            )

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        require_whole(self.name, positions)
        outside = positions[(positions < -self.offset) | (positions >= self.limit)]
        if outside.size:
            position, rows = int(outside[0]), self._count()
            place = f", the {ordinal(position + 1)}" if position > 0 else ""
            which = f"position {position}{place}"
            if self.offset:
                which += f", would read row {position + self.offset}, which"
            else:
                which += ","
            raise PoscliError(
                f"learned has {rows} rows, 0 to {rows - 1}; {which} is not one of them"
            )

    def vectors(self, positions: Array, width: int) -> Array:
        self.check_width(width, 1)
        self.check_positions(positions)
        index = positions.astype(np.int64) + self.offset
        if self._given is not None:
            return self._given[index]
        needed = int(index.max(initial=-1)) + 1
        refuse_size(needed * width, f"{needed:,} drawn rows of width {width:,}")
        drawn = np.random.default_rng(self.seed).normal(0.0, self.std, (needed, width))
        return drawn[index]

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        rows = self.vectors(positions, width).tolist()
        index = position_labels(positions + self.offset)
        return [
            f"position {p}: row {i} of {self._count()} = [{', '.join(f'{figure(v)}' for v in row)}]"
            for p, i, row in zip(position_labels(positions), index, rows, strict=True)
        ]

    def beyond(self, trained: int, lengths: Sequence[int], width: int, heads: int) -> Beyond:
        cells = [
            ("trained" if n <= trained else "rows never trained")
            if n <= self.limit
            else f"no row for position {self.limit}"
            for n in lengths
        ]
        rows = self._count()
        facts: list[tuple[str, int | str]] = [
            ("rows", rows),
            ("parameters", f"{rows} x {width} = {self.parameters(width, heads):,}"),
        ]
        if self.offset:
            facts.append(("rows before position 0", self.offset))
        if max(lengths) > self.limit:
            facts.append(
                (
                    "first missing position",
                    f"{self.limit}, the {ordinal(rows + 1)} of a table of {rows} rows",
                )
            )
        return Beyond(cells, facts=facts)

    def _count(self) -> int:
        return self.rows if self._given is None else len(self._given)


def read_table(scheme: str, table: list[list[float]] | str) -> Array:
    """Return the rows given as a setting, (rows, width); a text names the file they are in."""
    if isinstance(table, str):
        return load_array(Path(table), dimensions=2)
    if len({len(row) for row in table}) != 1 or not table[0]:
        raise PoscliError(f"{scheme} needs a table whose rows all have the same width")
    return np.array(table)


def ordinal(n: int) -> str:
    """Write a number as a place in a row.

    >>> ordinal(1025), ordinal(11), ordinal(2)
    ('1,025th', '11th', '2nd')
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, "th")
    return f"{n:,}{ending}"
