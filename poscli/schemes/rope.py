"""Rotary position embedding (RoPE): pairs of columns turn in proportion to the position.

Source: Su et al. 2021 (arXiv 2104.09864), section 3.2.2, equation 15: pair i of a head of width d
turns by p * base^(-2i/d). The paper pairs neighbours; the other pairing in use takes column i with
column i + d/2. The two are the same map up to one fixed permutation of the columns. DeepSeek-V3 as
in transformers reads neighbours and writes halves; nanochat turns clockwise. Where only the first
r columns of a head turn, r takes the place of d in all of this (GPT-J, GPT-NeoX).
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.phase import Frequencies
from poscli.report import Check, Grid, check, tolerance
from poscli.schemes.base import Beyond
from poscli.schemes.rotary import Rotary
from poscli.schemes.turns import ladder
from poscli.text import figure, plain


class BaseRope(Rotary):
    """The conventions of every RoPE along one axis: base, pairing and direction.

    rotary_width is the number of columns that turn, always the first ones of a head.
    """

    base: float = Field(
        10000.0, gt=1, le=1e30, description="the slowest pair turns about 1/base per step"
    )
    pairing: Literal["adjacent", "half", "adjacent-in-half-out"] = Field(
        "adjacent",
        description="column 2i with 2i + 1; i with i + d/2; or read as the first, written as the "
        "second",
    )
    direction: Literal["counter-clockwise", "clockwise"] = Field(
        "counter-clockwise", description="the way a pair turns as the position grows"
    )

    def rotary_width(self, width: int) -> int:
        """Head width -> how many of its columns turn."""
        return width

    def check_width(self, width: int, heads: int) -> None:
        if width < 2 or width % 2:
            raise PoscliError(
                f"{self.name} needs an even head width of 2 or more: it turns pairs; "
                f"got width {width}"
            )

    def frequencies(self, width: int) -> Frequencies:
        return ladder(self.base, self.rotary_width(width))

    def pairs(self, width: int) -> tuple[Array, Array]:
        i = np.arange(self.rotary_width(width) // 2)
        return (i, i + len(i)) if self.pairing == "half" else (2 * i, 2 * i + 1)

    def written_to(self, width: int) -> tuple[Array, Array]:
        i = np.arange(self.rotary_width(width) // 2)
        return (2 * i, 2 * i + 1) if self.pairing == "adjacent" else (i, i + len(i))

    def per_pair(self, positions: Array, width: int) -> Array:
        return -positions if self.direction == "clockwise" else positions

    def frequency_steps(self, width: int) -> list[str]:
        r = self.rotary_width(width)
        return [
            f"{plain(self.base)}^(-{2 * i}/{r}) = {figure(float(w))}"
            for i, w in enumerate(ladder(self.base, r))
        ]


class PartialRope(BaseRope):
    """A RoPE that may turn a part of the head only: rotary_dim columns, or a fraction of them."""

    rotary_dim: int | None = Field(
        None, ge=2, description="how many columns turn, the first ones; all if not given"
    )
    partial_rotary_factor: float | None = Field(
        None, gt=0, le=1, description="the same as a fraction of the head width, cut to a whole"
    )

    @model_validator(mode="after")
    def _one_width(self) -> Self:
        if self.rotary_dim is None:
            return self
        if self.partial_rotary_factor is not None:
            raise PoscliError(
                "rotary_dim and partial_rotary_factor both say how many columns turn; give one"
            )
        if self.rotary_dim % 2:
            raise PoscliError(
                f"rotary_dim must be even: columns turn in pairs; got width {self.rotary_dim}"
            )
        return self

    def rotary_width(self, width: int) -> int:
        if self.partial_rotary_factor is not None:
            return int(width * self.partial_rotary_factor)
        return self.rotary_dim or width

    def check_width(self, width: int, heads: int) -> None:
        r = self.rotary_width(width)
        if r > width:
            raise PoscliError(
                f"{self.name} is to turn {r} columns (rotary_dim) of a head of width {width}"
            )
        if self.partial_rotary_factor is None:
            super().check_width(width if self.rotary_dim is None else r, heads)
        elif r < 2 or r % 2:
            raise PoscliError(
                f"{self.name} turns pairs, so an even number of columns; partial_rotary_factor "
                f"{plain(self.partial_rotary_factor)} makes {r} of width {width}"
            )


class Rope(PartialRope):
    """Every pair turns; the score of two turned vectors depends on their offset alone.

    With pairing adjacent-in-half-out position 0 moves columns too: queries and keys alike, so
    scores are those of the other pairings. clockwise turns by the negative angle.
    """

    name: Literal["rope"] = "rope"
    summary: ClassVar[str] = "queries and keys turned by the position (RoPE)"
    source: ClassVar[str] = "Su 2021, section 3.2.2"
    formula: ClassVar[str] = "pair i of d/2 turns by p * base^(-2i/d)"
    users: ClassVar[str] = (
        "half: Llama, Mistral, Qwen, Gemma, GPT-NeoX; adjacent: GPT-J, GLM, Cohere"
    )

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        found = super().beyond(trained, lengths, dim, heads)
        grid, compass = _compass(max(lengths))
        return Beyond(found.cells, found.facts, [*found.grids, grid], [*found.checks, compass])


def _compass(longest: int) -> tuple[Grid, Check]:
    """Three needles turned by RoPE, 30 degrees per card, at two places."""
    cards = np.arange(1, 4)
    far = max(longest - 3, 1)
    headings, differences = [], []
    for start in (0, far):
        needles = np.tile([1.0, 0.0], (1, len(cards), 1))
        x, y = Rope().rotate(needles, (cards + start) * np.pi / 6)[0].T
        heading = np.degrees(np.arctan2(y, x)) % 360
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
        tolerance=tolerance(8, 30.0 * (far + 3), np.float64),
    )
