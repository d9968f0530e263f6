"""Proportional RoPE: the first pairs of a whole ladder turn, the others never do.

Source: transformers 5, Gemma 4, rope_type proportional.
"""

from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field

from poscli.errors import PoscliError
from poscli.phase import Frequencies, exact
from poscli.report import Cell
from poscli.schemes.rope import BaseRope
from poscli.schemes.scaling import Factor
from poscli.schemes.turns import ladder
from poscli.text import figure, plain


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
