"""RoPE for longer contexts, by a rule that treats the ladder of frequencies as a whole.

Sources: linear, Chen et al. 2023 (arXiv 2306.15595), position interpolation; NTK-aware,
"bloc97" 2023 (the post on scaled RoPE) and Peng et al. 2023 (arXiv 2309.00071), section 3.1, where
the base becomes base * s^(r/(r-2)); NTK fixed and mixed, Su 2023 (kexue.fm/archives/9706); dynamic
NTK as in transformers, with the current length n and the original length L: s n/L - (s - 1) takes
the place of s once n > L.

Every rule multiplies each plain frequency by a ratio of its own. r is the number of columns that
turn and s the factor.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field

from poscli.errors import PoscliError
from poscli.phase import Frequencies, exact, powers
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
        plain = _floats(self.trained_frequencies(width))
        changes: dict[int, list[float]] = {}
        for length in sorted(lengths):
            used = _floats(self.for_length(length).frequencies(width))
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


class RopeLinear(Scaled):
    """Position interpolation: every position is divided by the factor, once."""

    name: Literal["rope-linear"] = "rope-linear"
    summary: ClassVar[str] = "RoPE with positions divided by a factor (position interpolation)"
    source: ClassVar[str] = "Chen 2023"
    formula: ClassVar[str] = "pair i turns by (p / factor) * base^(-2i/r)"
    users: ClassVar[str] = "Gemma 3 (global layers), rope_type linear"

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        return [1 / Decimal(self.factor)] * (rotary // 2)


class RopeNtk(Scaled):
    """A larger base: the fastest pair stays, the slowest is divided by exactly the factor.

    factor is what other places call alpha.
    """

    name: Literal["rope-ntk"] = "rope-ntk"
    summary: ClassVar[str] = "RoPE with a larger base (NTK-aware, static)"
    source: ClassVar[str] = "bloc97 2023; Peng 2023, section 3.1"
    formula: ClassVar[str] = "base becomes base * factor^(r/(r-2))"
    users: ClassVar[str] = "ExLlama and HunYuan, where the factor is called alpha"

    def check_width(self, width: int, heads: int) -> None:
        super().check_width(width, heads)
        _more_than_one_pair(self.name, self.rotary_width(width))

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        return _ntk_ratios(Decimal(self.factor), rotary)

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        return _base_fact(self, Decimal(self.factor), width)


class RopeNtkFixed(Scaled):
    """The factor is spread so that every pair slows down, the fastest one too."""

    name: Literal["rope-ntk-fixed"] = "rope-ntk-fixed"
    summary: ClassVar[str] = "RoPE with a larger base, every pair slowed (NTK fixed)"
    source: ClassVar[str] = "Su 2023, kexue.fm/archives/9706"
    formula: ClassVar[str] = "pair i turns by p * base^(-2i/r) * factor^(-2(i+1)/r)"
    users: ClassVar[str] = "vLLM (rope_type ntk)"

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        return powers(self.factor, [Fraction(2 * (i + 1), rotary) for i in range(rotary // 2)])


class RopeNtkMixed(Scaled):
    """As NTK fixed, with the exponent (i+1)/(r/2) raised to mixed_b: slow pairs slow down less."""

    name: Literal["rope-ntk-mixed"] = "rope-ntk-mixed"
    summary: ClassVar[str] = "RoPE with pairs slowed by a curved exponent (NTK mixed)"
    source: ClassVar[str] = "Su 2023, kexue.fm/archives/9706"
    formula: ClassVar[str] = "pair i turns by p * base^(-2i/r) * factor^(-((i+1)/(r/2))^mixed_b)"
    users: ClassVar[str] = "vLLM (rope_type ntk with mixed_b)"

    mixed_b: float = Field(0.625, gt=0, description="1 is NTK fixed; smaller slows the fast pairs")

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        pairs = rotary // 2
        shares = [(Decimal(i + 1) / pairs) ** Decimal(self.mixed_b) for i in range(pairs)]
        return [Decimal(self.factor) ** -share for share in shares]


class RopeDynamic(ExtendedByLength):
    """NTK-aware scaling by the length at hand: the plain RoPE up to the original length."""

    name: Literal["rope-dynamic"] = "rope-dynamic"
    summary: ClassVar[str] = "RoPE with a base that grows with the length (dynamic NTK)"
    source: ClassVar[str] = "transformers, rope_type dynamic; Peng 2023, section 3.3"
    formula: ClassVar[str] = (
        "base becomes base * (factor * n/L - (factor - 1))^(r/(r-2)), n = max(length, L)"
    )
    users: ClassVar[str] = "rope_type dynamic in transformers"

    def check_width(self, width: int, heads: int) -> None:
        super().check_width(width, heads)
        _more_than_one_pair(self.name, self.rotary_width(width))

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        return _ntk_ratios(self._growth(), rotary)

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        return _base_fact(self, self._growth(), width)

    def _growth(self) -> Decimal:
        n = max(self.length or 0, self.original_length)
        return Decimal(self.factor) * (n - self.original_length) / self.original_length + 1


def _ntk_ratios(factor: Decimal, rotary: int) -> Sequence[Decimal]:
    return powers(factor, [Fraction(2 * i, rotary - 2) for i in range(rotary // 2)])


def _base_fact(scheme: Scaled, factor: Decimal, width: int) -> list[tuple[str, Cell]]:
    r = scheme.rotary_width(width)
    (grown,) = powers(factor, [Fraction(-r, r - 2)])
    return [("base", f"{plain(scheme.base)}, scaled to {scheme.base * float(grown):.12g}")]


def _more_than_one_pair(name: str, rotary: int) -> None:
    if rotary < 4:
        raise PoscliError(
            f"{name} needs 4 columns or more that turn: its exponent r/(r-2) has no value at 2; "
            f"got width {rotary}"
        )


def _floats(frequencies: Frequencies) -> list[float]:
    return [float(w) for w in frequencies]
