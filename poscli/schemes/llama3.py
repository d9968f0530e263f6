"""The rule of Llama 3.1: pairs are kept, divided or blended by their wavelength.

Source: the code of Llama 3.1 (Dubey et al. 2024, arXiv 2407.21783).
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from poscli.errors import PoscliError
from poscli.phase import TWO_PI
from poscli.schemes.scaling import ByParts
from poscli.schemes.turns import ladder
from poscli.text import plain


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
