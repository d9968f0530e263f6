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
from poscli.schemes.base import (
    Beyond,
    Rotary,
    angle_cells,
    ladder,
    position_labels,
    refuse_width,
    unfinished_pairs,
    wavelength_grid,
)


class Rope(Rotary):
    """Every pair turns; the score of two turned vectors depends on their offset alone."""

    name: Literal["rope"] = "rope"
    summary: ClassVar[str] = "queries and keys turned by the position (RoPE)"
    source: ClassVar[str] = "Su 2021, section 3.2.2"

    base: float = Field(10000.0, gt=1, description="the slowest pair turns about 1/base per step")
    pairing: Literal["adjacent", "half"] = Field(
        "adjacent", description="column 2i with 2i + 1, or column i with i + d/2"
    )

    def check_width(self, width: int, heads: int) -> None:
        if width < 2 or width % 2:
            raise refuse_width("rope", "an even head width of 2 or more: it turns pairs", width)

    def frequencies(self, width: int) -> Frequencies:
        return ladder(self.base, width)

    def pairs(self, width: int) -> tuple[Array, Array]:
        i = np.arange(width // 2)
        return (2 * i, 2 * i + 1) if self.pairing == "adjacent" else (i, i + width // 2)

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        self.check_width(width, heads)
        frequencies = self.frequencies(width)
        first, second = self.pairs(width)
        cos, sin = cos_sin(positions, frequencies)
        lines = []
        for row, p in enumerate(position_labels(positions)):
            lines.append(f"position {p}")
            for i, w in enumerate(frequencies):
                a, b = first[i], second[i]
                angle = float(positions[row]) * float(w)
                c, s = f"{cos[row, i]:.6g}", f"{sin[row, i]:.6g}"
                lines += [
                    f"  pair {i} = columns {a} and {b}: {self.base:g}^(-{2 * i}/{width}) = "
                    f"{float(w):.6g} radians per position; angle {p} * {float(w):.6g} = "
                    f"{angle:.6g} ({np.degrees(angle):.6g} degrees)",
                    f"    new x{a} = x{a} * {c} - x{b} * {s}; new x{b} = x{b} * {c} + x{a} * {s}",
                ]
        return lines

    def beyond(self, trained: int, lengths: Sequence[int], width: int, heads: int) -> Beyond:
        head_width = self.table_width(width, heads)
        frequencies = self.frequencies(head_width)
        grid, compass = _compass(max(lengths))
        return Beyond(
            angle_cells(frequencies, trained, lengths),
            facts=[
                (
                    "pairs without a full turn in training",
                    f"{unfinished_pairs(frequencies, trained)} of {len(frequencies)}",
                )
            ],
            grids=[wavelength_grid(frequencies, trained, lengths), grid],
            checks=[self._offset_check(max(lengths), head_width), compass],
        )

    def _offset_check(self, longest: int, width: int) -> Check:
        rng = np.random.default_rng(0)
        query, key = rng.normal(size=(2, width))
        offsets = np.array([0, 1, 3, min(17, longest - 1)])
        near = self._scores(query, key, np.zeros_like(offsets), offsets)
        starts = longest - 1 - offsets
        far = self._scores(query, key, starts, starts + offsets)
        scale = float(np.linalg.norm(query) * np.linalg.norm(key))
        return check(
            f"score(p, p + k) is the same at p = 0 and at the far end, {longest - 1}",
            near,
            far,
            expected="equal",
            tolerance=tolerance(width, scale, np.float64),
        )

    def _scores(self, query: Array, key: Array, at: Array, to: Array) -> Array:
        queries = self.apply(np.tile(query, (len(at), 1)), at)
        keys = self.apply(np.tile(key, (len(to), 1)), to)
        return np.asarray((queries * keys).sum(axis=1))


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
