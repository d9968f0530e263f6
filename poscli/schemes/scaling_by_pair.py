"""RoPE for longer contexts, by a rule that looks at each pair.

Sources: YaRN, Peng et al. 2023 (arXiv 2309.00071), sections 3.2 and 3.4, with the ramp of the
authors' code that every library follows: linear in the index of the pair, where the paper's is
linear in its rotations; Llama 3, the code of Llama 3.1 (Dubey et al. 2024, arXiv 2407.21783);
LongRoPE, Ding et al. 2024 (arXiv 2402.13753), with the rules of transformers for when the long
list counts; proportional, transformers 5, Gemma 4.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import log, sqrt
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from poscli.errors import PoscliError
from poscli.phase import TWO_PI, Frequencies, exact
from poscli.report import Cell
from poscli.schemes.base import Beyond
from poscli.schemes.rope import BaseRope
from poscli.schemes.scaling import Extended, ExtendedByLength, Factor
from poscli.schemes.turns import ladder
from poscli.text import figure, plain


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


class RopeYarn(ByParts):
    """YaRN: pairs of many rotations within the original length stay, slow ones are divided.

    cos and sin are multiplied by attention_factor where it is given; else by the ratio of
    g(mscale) and g(mscale_all_dim) where both are given and not 0, g(m) = 0.1 m ln(factor) + 1;
    else by g(1).
    """

    name: Literal["rope-yarn"] = "rope-yarn"
    summary: ClassVar[str] = "RoPE with slow pairs divided and fast ones kept (YaRN)"
    source: ClassVar[str] = "Peng 2023, sections 3.2 and 3.4; transformers, rope_type yarn"
    formula: ClassVar[str] = (
        "w_i * (1 - ramp_i + ramp_i / factor), ramp from 0 at low to 1 at high; low and high are "
        "r ln(L / (2 pi beta)) / (2 ln base) for beta_fast and beta_slow"
    )
    users: ClassVar[str] = "Qwen 2.5 long, gpt-oss, DeepSeek-V2 and V3, OLMo 3"

    beta_fast: float = Field(32.0, gt=0, description="rotations within L from which a pair is kept")
    beta_slow: float = Field(1.0, gt=0, description="rotations up to which a pair is divided")
    truncate: bool = Field(True, description="round the edges of the ramp outwards to whole pairs")
    attention_factor: float | None = Field(
        None, gt=0, description="multiplies cos and sin, as it is; computed if not given"
    )
    mscale: float | None = Field(None, ge=0, description="m of g(m) over that of mscale_all_dim")
    mscale_all_dim: float | None = Field(
        None, ge=0, description="the m that divides; with mscale only"
    )

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        if self.beta_fast < self.beta_slow:
            raise PoscliError(
                f"beta_fast counts more rotations than beta_slow; got {plain(self.beta_fast)} and "
                f"{plain(self.beta_slow)}"
            )
        if (self.mscale is None) != (self.mscale_all_dim is None):
            raise PoscliError("mscale and mscale_all_dim count together only; give both or none")
        if self.attention_factor is not None and self.mscale is not None:
            raise PoscliError(
                "attention_factor is used as it is, so mscale and mscale_all_dim have no use; "
                "give one"
            )
        return self

    @property
    def amplitude(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            return self._magnitude(self.mscale) / self._magnitude(self.mscale_all_dim)
        return self._magnitude(1.0)

    def _magnitude(self, mscale: float) -> float:
        return 0.1 * mscale * log(self.factor) + 1.0

    def edges(self, rotary: int) -> tuple[Decimal, Decimal]:
        """Columns that turn -> the pairs at which the ramp begins and ends."""
        low, high = (self._pair_of(beta, rotary) for beta in (self.beta_fast, self.beta_slow))
        if self.truncate:
            low = low.to_integral_value(ROUND_FLOOR)
            high = high.to_integral_value(ROUND_CEILING)
        # r - 1 and not the last pair, r/2 - 1: the authors' code has it so, and all follow it.
        low, high = max(low, Decimal(0)), min(high, Decimal(rotary - 1))
        return low, high + Decimal("0.001") if low == high else high

    def _pair_of(self, rotations: float, rotary: int) -> Decimal:
        """The pair, as a real number, that turns so often within the original length."""
        with exact():
            turns = self.original_length / (TWO_PI * Decimal(rotations))
            return rotary * turns.ln() / (2 * Decimal(self.base).ln())

    def kept(self, rotary: int) -> Sequence[Decimal]:
        low, high = self.edges(rotary)
        ramp = [(i - low) / (high - low) for i in range(rotary // 2)]
        return [1 - min(max(share, Decimal(0)), Decimal(1)) for share in ramp]

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        low, high = self.edges(self.rotary_width(width))
        return [
            *super().facts(width),
            ("ramp from pair to pair", f"{figure(float(low))} to {figure(float(high))}"),
            ("extended length", self._extended()),
        ]

    def _extended(self) -> int:
        return int(self.original_length * self.factor)

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        found, end = super().beyond(trained, lengths, dim, heads), self._extended()
        cells = [
            f"{cell}; past the extended length {end}" if length > end else cell
            for length, cell in zip(lengths, found.cells, strict=True)
        ]
        return Beyond(cells, found.facts, found.grids, found.checks)


class RopeLlama3(ByParts):
    """Llama 3: pairs are kept or divided by their wavelength, and blended between two limits."""

    name: Literal["rope-llama3"] = "rope-llama3"
    summary: ClassVar[str] = "RoPE with long wavelengths divided, short ones kept (Llama 3)"
    source: ClassVar[str] = "Llama 3.1; transformers, rope_type llama3"
    formula: ClassVar[str] = (
        "w_i * (k + (1 - k) / factor), k = (L / wavelength_i - low) / (high - low), between 0 and 1"
    )
    users: ClassVar[str] = "Llama 3.1, 3.2 and 3.3, Apertus"

    low_freq_factor: float = Field(1.0, gt=0, description="turns within L up to which divided")
    high_freq_factor: float = Field(4.0, gt=0, description="turns within L from which kept")

    @model_validator(mode="after")
    def _limits_differ(self) -> Self:
        if self.high_freq_factor <= self.low_freq_factor:
            raise PoscliError(
                "high_freq_factor must be above low_freq_factor; got "
                f"{plain(self.high_freq_factor)} and {plain(self.low_freq_factor)}"
            )
        return self

    def kept(self, rotary: int) -> Sequence[Decimal]:
        low, high = Decimal(self.low_freq_factor), Decimal(self.high_freq_factor)
        turns = [self.original_length * w / TWO_PI for w in ladder(self.base, rotary)]
        return [min(max((t - low) / (high - low), Decimal(0)), Decimal(1)) for t in turns]


Divisors = Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]


class LongRope(ExtendedByLength):
    """LongRoPE: one divisor per pair, from a short list or, past the original length, a long one.

    Exactly the original length is short still. Without a list, the short divisors are 1 and the
    long ones the factor. cos and sin are multiplied by sqrt(1 + ln(factor) / ln(L)) at every
    length, unless something else is given.
    """

    name: Literal["rope-longrope"] = "rope-longrope"
    summary: ClassVar[str] = "RoPE with a divisor per pair, other ones past a length (LongRoPE)"
    source: ClassVar[str] = "Ding 2024; transformers, rope_type longrope"
    formula: ClassVar[str] = (
        "w_i / short_i up to length L, w_i / long_i past it; cos and sin times "
        "sqrt(1 + ln(factor) / ln(L))"
    )
    users: ClassVar[str] = "Phi-3 and Phi-4 long, Phi-3.5-MoE, MiniCPM"

    original_length: int = Field(4096, ge=2, description="L, the length before the extension")
    short_factor: Divisors | None = Field(None, description="a divisor per pair up to L")
    long_factor: Divisors | None = Field(None, description="a divisor per pair past L")
    attention_factor: float | None = Field(
        None, gt=0, description="multiplies cos and sin, as it is; computed if not given"
    )
    short_mscale: float | None = Field(None, gt=0, description="the same, up to L only")
    long_mscale: float | None = Field(None, gt=0, description="the same, past L only")

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        if (self.short_mscale is None) != (self.long_mscale is None):
            raise PoscliError("short_mscale and long_mscale count together; give both or none")
        if self.attention_factor is not None and self.short_mscale is not None:
            raise PoscliError(
                "attention_factor and the pair short_mscale, long_mscale all say what multiplies "
                "cos and sin; give one"
            )
        return self

    def trained_at(self, length: int) -> Self:
        return super().trained_at(max(length, 2))

    def check_width(self, width: int, heads: int) -> None:
        super().check_width(width, heads)
        pairs = self.rotary_width(width) // 2
        for key in ("short_factor", "long_factor"):
            given = getattr(self, key)
            if given is not None and len(given) != pairs:
                raise PoscliError(
                    f"{key} must have one number per pair, {pairs} at head width {width}; "
                    f"got {len(given)}"
                )

    def _is_long(self) -> bool:
        return (self.length or 0) > self.original_length

    def ratios(self, rotary: int) -> Sequence[Decimal]:
        given, default = self.short_factor, 1.0
        if self._is_long():
            given, default = self.long_factor, self.factor
        return [1 / Decimal(divisor) for divisor in given or [default] * (rotary // 2)]

    @property
    def amplitude(self) -> float:
        given = self.attention_factor
        if given is None:
            given = self.long_mscale if self._is_long() else self.short_mscale
        return given or sqrt(1 + log(self.factor) / log(self.original_length))

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        switch = f"from length {self.original_length + 1} on"
        return [*super().facts(width), ("the long divisors count", switch)]


class RopeProportional(BaseRope):
    """The first pairs turn as those of the whole head do; the rest of the pairs never turn.

    Not the same as turning a part of the head: the exponent keeps the head width d, and with
    pairing half the columns that stay are the tail of each half.
    """

    name: Literal["rope-proportional"] = "rope-proportional"
    summary: ClassVar[str] = "RoPE whose slow pairs never turn (proportional)"
    source: ClassVar[str] = "transformers 5, rope_type proportional; Gemma 4"
    formula: ClassVar[str] = (
        "pair i turns by p * base^(-2i/d) / factor for i < fraction * d / 2, and by 0 after"
    )
    users: ClassVar[str] = "Gemma 4 (full-attention layers)"

    partial_rotary_factor: float = Field(
        0.5, gt=0, le=1, description="the fraction of the pairs that turn, cut to a whole number"
    )
    factor: Factor = Field(1.0, description="what every frequency is divided by")

    def turning(self, width: int) -> int:
        """Head width -> how many of its pairs turn."""
        return int(self.partial_rotary_factor * width // 2)

    def check_width(self, width: int, heads: int) -> None:
        super().check_width(width, heads)
        if not self.turning(width):
            raise PoscliError(
                f"{self.name} turns no pair at head width {width}: partial_rotary_factor "
                f"{plain(self.partial_rotary_factor)} leaves none"
            )

    def frequencies(self, width: int) -> Frequencies:
        turning = self.turning(width)
        with exact():
            moving = [w / Decimal(self.factor) for w in ladder(self.base, width)[:turning]]
        return [*moving, *[Decimal(0)] * (width // 2 - turning)]

    def trained_frequencies(self, width: int) -> Frequencies:
        with exact():
            return [w * Decimal(self.factor) for w in self.frequencies(width)]

    def frequency_steps(self, width: int) -> list[str]:
        unscaled, turning = super().frequency_steps(width), self.turning(width)
        if self.factor != 1:
            unscaled = [
                f"{text.partition(' = ')[0]} / {plain(self.factor)} = {figure(float(w))}"
                for text, w in zip(unscaled, self.frequencies(width), strict=True)
            ]
        return [t if i < turning else "0 (it never turns)" for i, t in enumerate(unscaled)]

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        return [("pairs that turn", f"{self.turning(width)} of {width // 2}")]
