"""Rotary position embedding (RoPE): pairs of columns turn in proportion to the position.

Source: Su et al. 2021 (arXiv 2104.09864), section 3.2.2, equation 15: pair i of a head of width d
turns by p * base^(-2i/d). The paper pairs neighbours; the other pairing in use takes column i with
column i + d/2. The two are the same map up to one fixed permutation of the columns.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.phase import TWO_PI, Frequencies, cos_sin
from poscli.report import Check, Grid, check, tolerance
from poscli.schemes.base import Beyond
from poscli.schemes.rotary import Rotary, require_even
from poscli.schemes.turns import ladder
from poscli.text import figure, plain


class Rope(Rotary):
    """Every pair turns; the score of two turned vectors depends on their offset alone."""

    name: Literal["rope"] = "rope"
    summary: ClassVar[str] = "queries and keys turned by the position (RoPE)"
    source: ClassVar[str] = "Su 2021, section 3.2.2"
    formula: ClassVar[str] = "pair i of d/2 turns by p * base^(-2i/d)"
    users: ClassVar[str] = (
        "half: Llama, Mistral, Qwen, Gemma, GPT-NeoX; adjacent: GPT-J, GLM, Cohere"
    )

    base: float = Field(10000.0, gt=1, description="the slowest pair turns about 1/base per step")
    pairing: Literal["adjacent", "half"] = Field(
        "adjacent", description="column 2i with 2i + 1, or column i with i + d/2"
    )

    def check_width(self, width: int, heads: int) -> None:
        require_even("rope", width)

    def frequencies(self, width: int) -> Frequencies:
        return ladder(self.base, width)

    def pairs(self, width: int) -> tuple[Array, Array]:
        i = np.arange(width // 2)
        return (2 * i, 2 * i + 1) if self.pairing == "adjacent" else (i, i + width // 2)

    def frequency_step(self, pair: int, width: int) -> str:
        frequency = float(self.frequencies(width)[pair])
        return f"{plain(self.base)}^(-{2 * pair}/{width}) = {figure(frequency)}"

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        found = super().beyond(trained, lengths, dim, heads)
        grid, compass = _compass(max(lengths))
        return Beyond(found.cells, found.facts, [*found.grids, grid], [*found.checks, compass])


def _compass(longest: int) -> tuple[Grid, Check]:
    """Three cards on a compass that turns 30 degrees per position, laid down at two places."""
    thirty_degrees: Frequencies = [TWO_PI / Decimal(12)]
    cards = np.arange(1, 4)
    far = max(longest - 3, 1)
    headings, differences = [], []
    for start in (0, far):
        cos, sin = cos_sin(cards + start, thirty_degrees)
        heading = np.degrees(np.arctan2(sin, cos))[:, 0] % 360
        headings.append(heading)
        differences.append((heading[2] - heading[0]) % 360)
    grid = Grid(
        "Compass, 30 degrees per position: headings of three cards, and from card 1 to card 3",
        ("first card at",),
        ("card 1", "card 2", "card 3", "card 1 to 3"),
        [(str(1 + start),) for start in (0, far)],
        [
            [*np.round(h, 9).tolist(), round(d, 9)]
            for h, d in zip(headings, differences, strict=True)
        ],
    )
    return grid, check(
        "cards 1 and 3 differ by 60 degrees wherever they lie",
        np.array(differences),
        np.array([60.0, 60.0]),
        expected="equal",
        tolerance=tolerance(8, 360.0, np.float64),
    )
