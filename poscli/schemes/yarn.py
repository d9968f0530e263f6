"""YaRN: slow pairs are divided by the factor, fast ones kept, those between blended.

Source: Peng et al. 2023 (arXiv 2309.00071), sections 3.2 and 3.4, with the ramp of the authors'
code that every library follows: linear in the index of the pair, where the paper's is linear in
its rotations.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import log
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from poscli.errors import PoscliError
from poscli.phase import TWO_PI, exact
from poscli.report import Cell
from poscli.schemes.base import Beyond
from poscli.schemes.scaling import ByParts
from poscli.text import figure, plain


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
            *([("interpolated", "nothing: no pair is divided")] if low >= high else []),
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
