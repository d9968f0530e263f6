"""Sandwich: the product of two sinusoidal rows as a score bias, with no numbers to learn.

Source: Chi et al. 2023 (arXiv 2212.10356). The product of two sinusoidal rows is a sum
of cosines of the distance. It is shifted to 0 at distance 0, which softmax does not see, and
divided by 8h/H for head h of H. The published code counts frequencies from 1; from 0 they are
those of the sinusoidal rows themselves.
"""

from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.phase import cos_sin, powers
from poscli.schemes.score_bias import ScoreBias
from poscli.text import figure, plain


class Sandwich(ScoreBias):
    """Every head has the same curve, flatter from head to head."""

    name: Literal["sandwich"] = "sandwich"
    summary: ClassVar[str] = "the product of sinusoidal rows, added to the scores (Sandwich)"
    source: ClassVar[str] = "Chi 2023"
    formula: ClassVar[str] = "sum over k of (cos((i - j) / 10000^(2k/D)) - 1), divided by 8h/H"
    users: ClassVar[str] = "no published model"

    width: int = Field(128, ge=2, le=2**14, multiple_of=2, description="D, the rows' width")
    first: Literal[0, 1] = Field(1, description="the first k of D/2")
    base: float = Field(10000.0, gt=1, le=1e30, description="the base of the frequencies")

    def curve(self, distances: Array) -> Array:
        """Return the sum of cosines less its value at distance 0, for distances (n,)."""
        half = self.width // 2
        k = range(self.first, self.first + half)
        cos, _ = cos_sin(distances, powers(self.base, [Fraction(2 * i, self.width) for i in k]))
        return np.asarray((cos - 1.0).sum(axis=1))

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads = queries.shape[-3]
        distance = np.abs(self.offsets(query_positions, key_positions))
        distinct, place = np.unique(distance, return_inverse=True)
        flatness = 8.0 * np.arange(1, heads + 1) / heads
        curve = self.curve(distinct)[place.reshape(distance.shape)]
        return np.asarray(curve / flatness[:, None, None], queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        distance, flatness = abs(query - key), 8.0 * (head + 1) / heads
        return (
            f"distance {plain(distance)}; {figure(value * flatness)} / "
            f"{figure(flatness)} = {figure(value)}"
        )
