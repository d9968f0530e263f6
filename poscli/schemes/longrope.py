"""LongRoPE: a divisor for each pair, from one of two lists, the long one past the original length.

Source: Ding et al. 2024 (arXiv 2402.13753), with the rules of transformers for when the long list
counts and for the attention factor.
"""

from collections.abc import Sequence
from decimal import Decimal
from math import log, sqrt
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from poscli.errors import PoscliError
from poscli.report import Cell
from poscli.schemes.scaling import ExtendedByLength

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
