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
from typing import ClassVar, Literal

from pydantic import Field

from poscli.errors import PoscliError
from poscli.phase import powers
from poscli.report import Cell
from poscli.schemes.scaling import ExtendedByLength, Scaled
from poscli.text import plain


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
