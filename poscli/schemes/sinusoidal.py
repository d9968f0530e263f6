"""Sinusoidal encoding: a sine and a cosine per frequency, interleaved.

Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5:
PE(p, 2i) = sin(p / base^(2i/d)) and PE(p, 2i+1) = cos(p / base^(2i/d)).
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.phase import Frequencies, cos_sin
from poscli.report import Grid, check, tolerance
from poscli.schemes.additive import Additive
from poscli.schemes.base import Beyond, position_labels
from poscli.schemes.turns import angle_cells, ladder, unfinished_pairs, wavelength_grid
from poscli.text import figure, plain

_OFFSETS = (0, 1, 2, 3, 5, 8, 13)
_SHOWN_WIDTH = 6


class Sinusoidal(Additive):
    """Fixed sines and cosines of the position, slower from pair to pair.

    An odd width ends with a lone sine; the divisor uses the true width.
    """

    name: Literal["sinusoidal"] = "sinusoidal"
    summary: ClassVar[str] = "sines and cosines of the position, interleaved"
    source: ClassVar[str] = "Vaswani 2017, section 3.5"
    formula: ClassVar[str] = "dim 2i: sin(p / base^(2i/d)); dim 2i + 1: cos(p / base^(2i/d))"
    users: ClassVar[str] = "the original Transformer; XLM, DistilBERT, Marian, Whisper, M2M100"

    base: float = Field(10000.0, gt=1, description="the slowest pair turns about 1/base per step")

    def vectors(self, positions: Array, width: int) -> Array:
        cos, sin = cos_sin(positions, ladder(self.base, width))
        return np.stack([sin, cos], axis=-1).reshape(len(positions), -1)[:, :width]

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        frequencies = ladder(self.base, width)
        values = self.vectors(positions, width)
        lines = []
        for row, p in enumerate(position_labels(positions)):
            lines.append(f"position {p}")
            for j in range(width):
                i, function = j // 2, ("sin", "cos")[j % 2]
                divisor = (
                    f"{plain(self.base)}^({2 * i}/{width}) = {figure(1 / float(frequencies[i]))}"
                )
                angle = float(positions[row]) * float(frequencies[i])
                lines.append(
                    f"  dim {j}: divisor {divisor}; angle {p} / {figure(1 / float(frequencies[i]))}"
                    f" = {figure(angle)}; {function}({figure(angle)}) = {figure(values[row, j])}"
                )
        return lines

    def beyond(self, trained: int, lengths: Sequence[int], width: int, heads: int) -> Beyond:
        even = width - width % 2
        frequencies = ladder(self.base, width)[: even // 2]
        positions = np.arange(max(lengths))
        vectors = self.vectors(positions, width)[:, :even]
        shift = _shift_matrix(frequencies, 1)
        moved = self.vectors(positions + 1, width)[:, :even]
        shown = min(even, _SHOWN_WIDTH)
        dims = tuple(str(j) for j in range(shown))
        offsets = [k for k in _OFFSETS if k < trained]
        near, far = vectors[0], vectors[-1 - max(offsets)]
        return Beyond(
            angle_cells(frequencies, trained, lengths),
            facts=[
                (
                    "pairs without a full turn in training",
                    f"{unfinished_pairs(frequencies, trained)} of {len(frequencies)}",
                )
            ],
            grids=[
                wavelength_grid(frequencies, trained, lengths),
                Grid(
                    "M_1, with PE(p+1) = M_1 PE(p) at every p"
                    + ("" if shown == even else f" (first {shown} of {even} dims)"),
                    ("dim",),
                    dims,
                    [(d,) for d in dims],
                    shift[:shown, :shown],
                ),
                Grid(
                    "Dot product PE(p).PE(p+k): the offset k alone decides it",
                    ("k",),
                    ("at p = 0", f"at p = {len(positions) - 1 - max(offsets)}"),
                    [(str(k),) for k in offsets],
                    [
                        [
                            float(near @ vectors[k]),
                            float(far @ vectors[len(vectors) - 1 - max(offsets) + k]),
                        ]
                        for k in offsets
                    ],
                ),
            ],
            checks=[
                check(
                    f"PE(p+1) = M_1 PE(p) for p = 0 .. {len(positions) - 1}",
                    vectors @ shift.T,
                    moved,
                    expected="equal",
                    tolerance=tolerance(8, 1.0, np.float64),
                )
            ],
        )


def _shift_matrix(frequencies: Frequencies, offset: int) -> Array:
    """Return M with PE(p + offset) = M PE(p): one 2 x 2 rotation per pair, shape (d, d)."""
    cos, sin = (t[0] for t in cos_sin(np.array([offset]), frequencies))
    matrix = np.zeros((2 * len(frequencies), 2 * len(frequencies)))
    s = np.arange(0, len(matrix), 2)
    c = s + 1
    matrix[s, s], matrix[s, c] = cos, sin
    matrix[c, s], matrix[c, c] = -sin, cos
    return matrix
