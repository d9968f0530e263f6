"""What RoPE for longer contexts has in common: a factor, an original length, a ratio per pair."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Self

import numpy as np
from pydantic import AfterValidator, Field

from poscli.errors import PoscliError
from poscli.phase import Frequencies, as_floats, exact
from poscli.report import Cell, Grid
from poscli.schemes.base import Beyond
from poscli.schemes.rope import PartialRope
from poscli.text import figure, plain


def _at_least_one(factor: float) -> float:
    if factor < 1:
        hint = f"; did you mean {plain(1 / factor)}?" if factor > 0 else ""
        raise PoscliError(
            f"a factor is how many times longer the context becomes, 1 or more, and positions are "
            f"divided by it; got {plain(factor)}{hint}"
        )
    return factor


Factor = Annotated[
    float, AfterValidator(_at_least_one), Field(le=1e6, json_schema_extra={"minimum": 1})
]
"""How many times longer the context becomes."""


class Scaled(PartialRope):
    """A RoPE whose frequencies are the plain ones, each multiplied by a ratio."""

    factor: Factor = Field(4.0, description="how many times longer the context becomes")

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        """Columns that turn -> the ratio of each pair, of 60 digits: the scheme's formula."""
        raise NotImplementedError

    def trained_frequencies(self, width: int) -> Frequencies:
        return super().frequencies(width)

    def frequencies(self, width: int) -> Frequencies:
        with exact():
            plain, ratios = super().frequencies(width), self.ratios(self.rotary_width(width))
            return tuple(w * ratio for w, ratio in zip(plain, ratios, strict=True))

    def frequency_steps(self, width: int) -> list[str]:
        plain, used = super().frequency_steps(width), self.frequencies(width)
        with exact():
            ratios = self.ratios(self.rotary_width(width))
        return [
            f"{text.partition(' = ')[0]} * {figure(float(ratio))} = {figure(float(w))}"
            for text, ratio, w in zip(plain, ratios, used, strict=True)
        ]

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        found = super().beyond(trained, lengths, dim, heads)
        grid = self._frequency_grid(lengths, self.table_width(dim, heads))
        return Beyond(found.cells, found.facts, [*found.grids, grid], found.checks)

    def _frequency_grid(self, lengths: Sequence[int], width: int) -> Grid:
        """Show each pair's frequency, plain and scaled; a column per length that changes it."""
        plain = as_floats(self.trained_frequencies(width)).tolist()
        changes: dict[int, list[float]] = {}
        for length in sorted(lengths):
            used = as_floats(self.for_length(length).frequencies(width)).tolist()
            if used not in changes.values():
                changes[length] = used
        names = ["scaled"] if len(changes) == 1 else [f"at length {n}" for n in changes]
        return Grid(
            "Frequency of each pair, in radians per position",
            ("pair",),
            ("plain", *names),
            [(str(i),) for i in range(len(plain))],
            np.column_stack([plain, *changes.values()]),
        )


class Extended(Scaled):
    """A scaled RoPE whose rule knows the length that the model was trained at before."""

    original_length: int = Field(4096, ge=1, description="L, the length before the extension")

    def trained_at(self, length: int) -> Self:
        if "original_length" in self.model_fields_set:
            return self
        return self.model_copy(update={"original_length": length})


class ExtendedByLength(Extended):
    """A scaled RoPE whose rule looks at the length at hand. One length decides for all positions.

    Keys that were turned at a shorter length keep another turn. A length that is given is used
    whatever the sequence, as where a program decides once, when it loads a model.
    """

    length: int | None = Field(
        None, ge=1, description="the length to use; that of the sequence if not given"
    )

    def for_length(self, length: int) -> Self:
        return self if self.length is not None else self.model_copy(update={"length": length})


class ByParts(Extended):
    """Fast pairs keep their frequency, slow ones have it divided, those between are blended."""

    def kept(self, rotary: int) -> Sequence[Decimal]:
        """Columns that turn -> the share of its own frequency each pair keeps, 1 to 0."""
        raise NotImplementedError

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        return [share + (1 - share) / Decimal(self.factor) for share in self.kept(rotary)]

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        with exact():
            shares = list(self.kept(self.rotary_width(width)))
        kept, divided = shares.count(Decimal(1)), shares.count(Decimal(0))
        counts = f"{kept}, {len(shares) - kept - divided}, {divided}"
        return [
            *super().facts(width),
            (f"pairs kept, blended, divided by {plain(self.factor)}", counts),
        ]
