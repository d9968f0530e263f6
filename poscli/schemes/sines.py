"""Tables of sines and cosines of one position, and the four choices in which libraries differ.

Sources: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5, for the ladder base^(-2i/d) and the
interleaved layout; get_timing_signal_1d of the same authors' library tensor2tensor for the ladder
that runs from 1 to exactly 1/base, the layout of all sines before all cosines, and the zero column
of an odd width; fairseq for the origin behind the padding index, and the row of zeros there.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array, Precision, rounded
from poscli.errors import PoscliError
from poscli.padding import pads_counted, pads_skipped
from poscli.phase import Circle, Frequencies, cos_sin, powers
from poscli.report import Grid, check, tolerance
from poscli.schemes.additive import Additive
from poscli.schemes.base import Beyond, Encoder, position_labels
from poscli.schemes.turns import angle_cells, ladder, unfinished_pairs, wavelength_grid
from poscli.text import angle_for_reading, figure, plain

Ladder = Literal["paper", "log-timescale"]

_OFFSETS = (0, 1, 2, 3, 5, 8, 13)
_SHOWN_PAIRS = 3
_PADDING = -1
_AT_ONCE = 2**17
"""Pairs of a sine and a cosine computed at once where they are not side by side in the table."""


class Sines(Additive):
    """A sine and a cosine of the position per frequency, slower from pair to pair.

    An odd width has no place for its last cosine. lone-sine leaves it out and keeps the true width
    in the exponent; cut drops the last column of the table one wider; zero-column puts zeros after
    the table one narrower.
    """

    base: float = Field(
        10000.0, gt=1, le=1e30, description="the slowest pair turns about 1/base per step"
    )
    ladder: Ladder = Field(
        "paper",
        description="base^(-2i/d); or log-timescale, even steps from 1 to exactly 1/base",
    )
    layout: Literal["interleaved", "concatenated", "cos-first"] = Field(
        "interleaved",
        description="sine and cosine in turn; all sines, then all cosines; or cosines first",
    )
    odd: Literal["lone-sine", "cut", "zero-column", "refuse"] = Field(
        "lone-sine", description="what an odd width does about the cosine it has no place for"
    )
    origin: int = Field(0, ge=0, le=2**31, description="the number that position 0 is encoded as")
    zero_padding: bool = Field(
        False, description="position -1, where padding stands, is a row of zeros"
    )

    def amplitude(self, width: int) -> float:
        """Return what every sine and cosine is multiplied by."""
        return 1.0

    def check_width(self, width: int, heads: int) -> None:
        if width % 2 and (self.odd == "refuse" or (self.odd == "zero-column" and width == 1)):
            raise PoscliError(
                f"{self.name} with odd={self.odd} needs "
                + ("an even width" if self.odd == "refuse" else "a width of 2 or more")
                + f"; got width {width}"
            )

    def frequencies(self, width: int) -> Frequencies:
        """Return the frequency of each pair, the last of which may lack its cosine."""
        inner = self._inner(width)
        if self.ladder == "paper":
            return ladder(self.base, inner)
        return log_timescale(self.base, (inner + 1) // 2)

    def columns(self, width: int) -> tuple[Array, Array]:
        """Return the column of each frequency's sine, and of each frequency's cosine."""
        inner = self._inner(width)
        if self.layout == "interleaved":
            sines, cosines = np.arange(0, inner, 2), np.arange(1, inner, 2)
        elif self.layout == "concatenated":
            sines, cosines = np.split(np.arange(inner), [(inner + 1) // 2])
        else:
            cosines, sines = np.split(np.arange(inner), [inner // 2])
        return sines[sines < width], cosines[cosines < width]

    def number(self, positions: Array) -> Array:
        return positions + self.origin

    def angle_parts(self, positions: Array, width: int) -> tuple[Array, Frequencies] | None:
        return self.number(positions), self.frequencies(width)

    def places(self, mask: Array) -> Array:
        return pads_skipped(mask) if self.zero_padding else pads_counted(mask)

    def vectors(self, positions: Array, width: int) -> Array:
        self.check_width(width, 1)
        return self.encoder(width, 1)(positions, "float64")

    def encoder(self, width: int, heads: int) -> Encoder:
        circle, amplitude = Circle(self.frequencies(width)), self.amplitude(width)

        def encode(positions: Array, precision: Precision) -> Array:
            single = precision == "float32" and amplitude == 1
            table = np.zeros((len(positions), width), "float32" if single else "float64")
            self._fill(circle, positions, table)
            if self.zero_padding:
                table[positions == _PADDING] = 0.0
            if amplitude != 1:
                table *= amplitude
            return table if single else rounded(table, precision)

        return encode

    def _fill(self, circle: Circle, positions: Array, table: Array) -> None:
        """Write sines and cosines into the columns of a table (n, width) that are theirs."""
        width = table.shape[1]
        sines, cosines = self.columns(width)
        kind = np.complex64 if table.dtype == np.float32 else np.complex128
        if self.layout == "interleaved" and 2 * len(cosines) == width:
            circle.fill(self.number(positions), table.view(kind))
            return
        pairs = max(len(sines), len(cosines))
        rows = max(1, _AT_ONCE // pairs)
        for start in range(0, len(positions), rows):
            block = table[start : start + rows]
            both = np.empty((len(block), pairs), kind)
            circle.fill(self.number(positions[start : start + rows]), both)
            for columns, part in ((sines, both.real), (cosines, both.imag)):
                if len(columns):
                    block[:, _in_steps(columns)] = part[:, : len(columns)]

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        values, amplitude = self.vectors(positions, width), self.amplitude(width)
        times = "" if amplitude == 1 else f"{figure(amplitude)} * "
        sines, cosines = self.columns(width)
        parts = {int(j): ("sin", i) for i, j in enumerate(sines)}
        parts |= {int(j): ("cos", i) for i, j in enumerate(cosines)}
        numbers = position_labels(positions + self.origin)
        divisors = [1 / float(w) for w in self.frequencies(width)]
        cos, sin = cos_sin(positions + self.origin, self.frequencies(width))
        lines = []
        for row, p in enumerate(position_labels(positions)):
            if self.zero_padding and positions[row] == _PADDING:
                lines.append(f"position {p}: padding, a row of zeros")
                continue
            lines.append(f"position {p}")
            for j in range(width):
                if j not in parts:
                    lines.append(f"  dim {j}: 0, the column that fills an odd width")
                    continue
                function, i = parts[j]
                angle = float(positions[row] + self.origin) / divisors[i]
                read = angle_for_reading(angle, cos[row, i], sin[row, i])
                turns = "" if read == figure(angle) else f", less whole turns {read}"
                lines.append(
                    f"  dim {j}: divisor {self._power(i, width)} = {figure(divisors[i])}; angle "
                    f"{numbers[row]} / {figure(divisors[i])} = {figure(angle)}{turns}; "
                    f"{times}{function}({read}) = {figure(values[row, j])}"
                )
        return lines

    def beyond(self, trained: int, lengths: Sequence[int], width: int, heads: int) -> Beyond:
        pairs = min(len(columns) for columns in self.columns(width))
        sines, cosines = (columns[:pairs] for columns in self.columns(width))
        frequencies = self.frequencies(width)[:pairs]
        positions, kept = np.arange(max(lengths)), np.concatenate([sines, cosines])
        vectors = self.vectors(positions, width)[:, kept]
        cos, sin = (turn[0] for turn in cos_sin(np.array([1]), frequencies))
        s, c = np.split(vectors, 2, axis=1)
        dims, matrix = _shown_matrix(sines, cosines, cos, sin)
        first = "" if pairs <= _SHOWN_PAIRS else f" (first {_SHOWN_PAIRS} of {pairs} pairs)"
        offsets = [k for k in _OFFSETS if k < min(trained, len(vectors))]
        last = len(vectors) - 1 - max(offsets)
        return Beyond(
            angle_cells(frequencies, trained, lengths),
            facts=[
                (
                    "pairs without a full turn in training",
                    f"{unfinished_pairs(frequencies, trained)} of {pairs}",
                )
            ],
            grids=[
                wavelength_grid(frequencies, trained, lengths),
                Grid(
                    f"M_1, with PE(p+1) = M_1 PE(p) at every p{first}",
                    ("dim",),
                    dims,
                    [(d,) for d in dims],
                    matrix,
                ),
                Grid(
                    "Dot product PE(p).PE(p+k): the offset k alone decides it",
                    ("k",),
                    ("at p = 0", f"at p = {last}"),
                    [(str(k),) for k in offsets],
                    [
                        [float(vectors[0] @ vectors[k]), float(vectors[last] @ vectors[last + k])]
                        for k in offsets
                    ],
                ),
            ],
            checks=[
                check(
                    f"PE(p+1) = M_1 PE(p) for p = 0 .. {len(positions) - 1}",
                    np.concatenate([s * cos + c * sin, c * cos - s * sin], axis=1),
                    self.vectors(positions + 1, width)[:, kept],
                    expected="equal",
                    tolerance=tolerance(8, abs(self.amplitude(width)), np.float64),
                    uninformative="" if pairs else "a width of 1 has no pair of columns",
                )
            ],
        )

    def _inner(self, width: int) -> int:
        """Return the width of the table that an odd width cuts or fills up."""
        return width + {"cut": width % 2, "zero-column": -(width % 2)}.get(self.odd, 0)

    def _power(self, pair: int, width: int) -> str:
        inner = self._inner(width)
        if self.ladder == "paper":
            return f"{plain(self.base)}^({2 * pair}/{inner})"
        return f"{plain(self.base)}^({pair}/{max((inner + 1) // 2 - 1, 1)})"


def _in_steps(columns: Array) -> slice:
    """Return the slice that picks columns which follow each other in even steps."""
    first, second, last = (columns[0], columns[min(1, len(columns) - 1)], columns[-1])
    return slice(int(first), int(last) + 1, max(1, int(second - first)))


def _shown_matrix(
    sines: Array, cosines: Array, cos: Array, sin: Array
) -> tuple[tuple[str, ...], Array]:
    """Return the columns of the first pairs and M_1 on them: a rotation of each pair."""
    columns = np.sort(np.concatenate([sines[:_SHOWN_PAIRS], cosines[:_SHOWN_PAIRS]]))
    s, c = (np.searchsorted(columns, part[:_SHOWN_PAIRS]) for part in (sines, cosines))
    matrix = np.zeros((len(columns), len(columns)))
    matrix[s, s], matrix[s, c] = cos[: len(s)], sin[: len(s)]
    matrix[c, s], matrix[c, c] = -sin[: len(s)], cos[: len(s)]
    return tuple(str(j) for j in columns), matrix


def log_timescale(base: float, pairs: int) -> Frequencies:
    """Return frequencies from 1 to exactly 1/base in equal ratios; a single one is 1.

    >>> [f"{w:.4f}" for w in log_timescale(10000.0, 3)]
    ['1.0000', '0.0100', '0.0001']
    """
    return powers(base, [Fraction(i, max(pairs - 1, 1)) for i in range(pairs)])
