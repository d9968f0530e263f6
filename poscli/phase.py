"""Angles that stay right at any position.

A table of sines is only as good as its angles. The naive product position * frequency in float64
loses digits in proportion to the position, because the frequency itself is rounded. Here every
frequency is a decimal of 60 digits, and there are three ways from it to cos and sin:

- Whole positions are written in base 128, and e^(ipw) is the product of one entry from a small
  table per digit: the offset property of the encoding itself.
- For any position, the product with the frequency is formed exactly in pieces, whole turns are
  dropped from each piece before they are added, and the remaining eighth of a turn reaches sin and
  cos.
- Decimals, slow and to any number of digits.

float32 is rounded correctly: where an entry is so near a tie between two float32 numbers that one
way cannot decide, the next one does. Every entry depends on its own position and frequency alone,
so a row comes out bit for bit the same whether it is asked for alone or inside a longer range.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.fixed import Point, doubled, point, to_float32
from poscli.split import Points, points, product, rounded_product
from poscli.split import powers as powers_of

_EXACT = Context(prec=60)
TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021164194988918461563")
_SPLITTER = float(2**27 + 1)
_PIECE_BITS = 26
LARGEST_POSITION = 2.0**53
_PIECES = 8
_DIGIT_BITS = 7
_LAST_DIGIT = 2**_DIGIT_BITS - 1
_ANCHORED = 2**21
"""Entries whose anchors, the products of all digits but the last, are made at once."""
_AT_ONCE = 2**14
"""Entries computed at once: what they need fits the cache of one core."""
_PRODUCT_ERROR = 2.0**-51
"""More than a product of two points in float64, 2.7 units of 2^-53, can be off by."""
_PIECES_ERROR = 2.0**-50
"""More than cos and sin by pieces, some 5 units of 2^-53, can be off by, as part of the value."""
_PIECES_END = 2.0**-179
"""More than the pieces of a frequency leave out, in radians per position."""

Frequencies = Sequence[Decimal]
"""Angular frequencies in radians per position, one per pair of columns."""


def exact() -> AbstractContextManager[Context]:
    """Make Decimals work to 60 digits within a with statement."""
    return localcontext(_EXACT)


def powers(base: float | Decimal, exponents: Iterable[Fraction]) -> tuple[Decimal, ...]:
    """Return base ** -exponent for each exponent, to 60 digits."""
    exponents = list(exponents)
    parts = lcm(*(e.denominator for e in exponents))
    context = Context(prec=_EXACT.prec + 10 + len(str(parts)))
    root = context.power(Decimal(base), context.divide(Decimal(-1), Decimal(parts)))
    times = (e.numerator * (parts // e.denominator) for e in exponents)
    return tuple(_EXACT.plus(context.power(root, Decimal(n))) for n in times)


def angles(positions: Array, frequencies: Frequencies) -> Array:
    """Return the unreduced angles in radians, shape (n, pairs), for showing.

    positions are (n,), or (n, pairs) where each pair has one of its own.

    Use cos_sin for computing: far from 0 a float64 angle has already lost digits.
    """
    return _by_pair(positions) * as_floats(frequencies)


def cos_sin(positions: Array, frequencies: Frequencies) -> tuple[Array, Array]:
    """Return cos and sin of position * frequency, each of shape (n, pairs) in float64.

    positions are (n,), or (n, pairs) where each pair has one of its own.

    The absolute error stays near one unit of 2**-53 for every position below 2**53, and near half
    a unit where positions are whole.
    """
    pairs = np.empty((len(positions), len(frequencies)), np.complex128)
    Circle(frequencies).fill(positions, pairs)
    return pairs.imag.copy(), pairs.real.copy()


def wavelengths(frequencies: Frequencies) -> Array:
    """Return the number of positions each pair needs for one full turn, shape (pairs,).

    A pair that never turns has wavelength infinity.
    """
    return np.array([float(TWO_PI / w) if w else np.inf for w in frequencies])


class Circle:
    """Sines and cosines at these frequencies, of as many positions as one likes.

    What depends on the frequencies alone is made once, when it is first needed.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._digits: list[Points] = []
        self._next: list[Point] = []

    def fill(self, positions: Array, out: Array) -> None:
        """Write sin + i cos of position * frequency into out, (n, pairs), complex.

        In memory that is a sine and a cosine in turn. complex128 holds them in float64 as cos_sin
        has them, complex64 each correctly rounded to float32.
        """
        p = np.asarray(positions, np.float64)
        if (np.abs(p) >= LARGEST_POSITION).any():
            raise PoscliError("a position of 2^53 or more, its offset included, is not computed")
        if out.size == 0:
            return
        if p.ndim == 2:
            self._by_column(p, out)
        elif (whole := p % 1 == 0).all():
            for rows in _blocks(out, _ANCHORED):
                self._from_digits(p[rows], out[rows])
        else:
            part = np.empty((np.count_nonzero(whole), out.shape[1]), out.dtype)
            self.fill(p[whole], part)
            out[whole] = part
            between = np.flatnonzero(~whole)
            for rows in _blocks(out[: len(between)], _AT_ONCE):
                out[between[rows]] = self._from_pieces(p[between[rows]], out.dtype)

    def _by_column(self, p: Array, out: Array) -> None:
        """Fill the columns that share their positions (n,) together."""
        distinct, group = np.unique(p, axis=1, return_inverse=True)
        for k in range(distinct.shape[1]):
            columns = np.flatnonzero(group == k).tolist()
            part = np.empty((len(p), len(columns)), out.dtype)
            Circle([self._frequencies[c] for c in columns]).fill(distinct[:, k], part)
            out[:, columns] = part

    def _from_pieces(self, p: Array, dtype: np.dtype) -> Array:
        if dtype == np.complex64:
            i, columns = np.indices((len(p), len(self._frequencies))).reshape(2, -1)
            return self._decided(p[i], columns).reshape(len(p), -1)
        cos, sin = _cos_sin_by_pieces(p[:, None], self._pieces)
        return np.asarray(sin + 1j * cos)

    def _from_digits(self, p: Array, out: Array) -> None:
        size = np.abs(p).astype(np.int64)
        while not self._digits or int(size.max()) >> _DIGIT_BITS * len(self._digits):
            self._add_digit()
        blocks, block = np.unique(size >> _DIGIT_BITS, return_inverse=True)
        anchors, digits = self._anchors(blocks, 1), self._digits[0]
        spans = _spans(size, block, max(1, _AT_ONCE // out.shape[1]))
        if out.dtype == np.complex64:
            cos, sin = anchors.rounded()
            undecided = _fill_single(sin + 1j * cos, self._last_digits, spans, out)
        else:
            undecided = []
            for rows, anchor, digit in spans:
                out.imag[rows], out.real[rows] = rounded_product(anchors[anchor], digits[digit])
        behind = p < 0
        if behind.any():
            out.real[behind] = 0.0 - out.real[behind]
        for places, columns in undecided:
            out[places, columns] = self._decided(p[places], columns)

    def _anchors(self, blocks: Array, level: int) -> Points:
        """Return the points at so many blocks of 128^level positions, from the highest digit on."""
        if level == len(self._digits):
            return self._digits[0][np.zeros_like(blocks)]
        above, block = np.unique(blocks >> _DIGIT_BITS, return_inverse=True)
        digit = self._digits[level][blocks & _LAST_DIGIT]
        return product(self._anchors(above, level + 1)[block], digit)

    def _add_digit(self) -> None:
        """Make the points of the next digit: 0, 1, 2, ... times 2^(7k) positions."""
        if not self._digits:
            self._next = [point(w) for w in self._frequencies]
        for _ in range(_DIGIT_BITS if self._digits else 0):
            self._next = [doubled(z) for z in self._next]
        self._digits.append(powers_of(points(self._next), 2**_DIGIT_BITS))

    def _decided(self, p: Array, columns: Array) -> Array:
        """Return sin + i cos of single entries, position (m,) and column (m,), in complex64."""
        by_pieces = _cos_sin_by_pieces(p, [piece[columns] for piece in self._pieces])
        value = np.stack(by_pieces[::-1], axis=1)
        slack = _PIECES_ERROR * np.abs(value) + _PIECES_END * np.abs(p)[:, None]
        found = (value - slack).astype(np.float32)
        for i, part in np.argwhere(found != (value + slack).astype(np.float32)):
            with exact():
                angle = Decimal(float(p[i])) * self._frequencies[columns[i]]
            cos, sin = point(angle)
            found[i, part] = to_float32((sin, cos)[part])
        return np.asarray(found.view(np.complex64)[:, 0])

    @cached_property
    def _last_digits(self) -> Array:
        cos, sin = self._digits[0].rounded()
        return np.asarray(cos - 1j * sin)

    @cached_property
    def _pieces(self) -> list[Array]:
        return _turn_pieces(self._frequencies)


Span = tuple[slice, slice | Array, slice | Array]
"""Rows of a table, the anchors that they start from, and their last digits."""


def _blocks(out: Array, entries: int) -> Iterator[slice]:
    """Cut the rows of a table into blocks of about so many entries."""
    rows = max(1, entries // max(1, out.shape[1]))
    return (slice(start, start + rows) for start in range(0, len(out), rows))


def _spans(size: Array, block: Array, most: int) -> Iterator[Span]:
    """Cut rows into spans of at most so many.

    Runs of consecutive positions in one block share their anchor, and need no copy of the digits.
    """
    last = size & _LAST_DIGIT
    ends = np.flatnonzero((np.diff(size) != 1) | (last[1:] == 0)) + 1
    if len(ends) * most > 4 * len(size):
        for start in range(0, len(size), most):
            rows = slice(start, min(start + most, len(size)))
            yield rows, block[rows], last[rows]
        return
    for first, end in zip([0, *ends.tolist()], [*ends.tolist(), len(size)], strict=True):
        for start in range(first, end, most):
            stop, digit, anchor = min(start + most, end), int(last[start]), int(block[start])
            yield (
                slice(start, stop),
                slice(anchor, anchor + 1),
                slice(digit, digit + stop - start),
            )


def _fill_single(
    anchors: Array, digits: Array, spans: Iterable[Span], out: Array
) -> list[tuple[Array, Array]]:
    """Write products rounded to float32; return the rows and columns of undecided entries.

    An entry is decided where all that the product can stand for rounds to one float32 number.
    """
    most = max(1, _AT_ONCE // out.shape[1])
    product, high = np.empty((most, out.shape[1]), np.complex128), np.empty_like(out[:most])
    parts, unequal = product.view(np.float64), np.empty(high.shape, bool)
    out_bits, high_bits = out.view(np.uint64), high.view(np.uint64)
    undecided = []
    for rows, anchor, digit in spans:
        some = slice(rows.stop - rows.start)
        np.multiply(anchors[anchor], digits[digit], out=product[some])
        np.subtract(parts[some], _PRODUCT_ERROR, out=parts[some])
        np.copyto(out[rows], product[some], casting="same_kind")
        np.add(parts[some], 2 * _PRODUCT_ERROR, out=parts[some])
        np.copyto(high[some], product[some], casting="same_kind")
        np.not_equal(out_bits[rows], high_bits[some], out=unequal[some])
        if np.count_nonzero(unequal[some]):
            found, columns = np.nonzero(unequal[some])
            undecided.append((found + rows.start, columns))
    return undecided


def _cos_sin_by_pieces(p: Array, pieces: list[Array]) -> tuple[Array, Array]:
    """Return cos and sin of positions times frequencies in pieces; shapes are broadcast.

    Off by about 5 units of 2^-53 of the value itself at most: near 0, too, no digit is lost.
    """
    scaled = p * _SPLITTER
    high = scaled - (scaled - p)
    total = np.zeros(np.broadcast_shapes(p.shape, pieces[0].shape))
    error = np.zeros_like(total)
    for piece in pieces:
        for half in (high, p - high):
            product = half * piece
            product -= np.rint(product)
            grown = total + product
            kept = grown - total
            error += (total - (grown - kept)) + (product - kept)
            total = grown
    quarter = np.rint(total * 4)
    rest = (total - quarter / 4) + error
    c, s = np.cos(rest * float(TWO_PI)), np.sin(rest * float(TWO_PI))
    quadrant = quarter.astype(np.int64) % 4
    cos = np.choose(quadrant, [c, -s, -c, s])
    sin = np.choose(quadrant, [s, c, -s, -c])
    return cos, sin


def _by_pair(positions: Array) -> Array:
    p = np.asarray(positions, np.float64)
    return p if p.ndim == 2 else p[:, None]


def as_floats(frequencies: Frequencies) -> Array:
    """Return frequencies in float64, (pairs,): for showing, and for what may be off by rounding."""
    return np.array([float(w) for w in frequencies], np.float64)


def _turn_pieces(frequencies: Frequencies) -> list[Array]:
    """Split each frequency, in turns per position, into floats whose products are exact."""
    rest = [_EXACT.divide(w, TWO_PI) for w in frequencies]
    pieces = []
    for k in range(_PIECES):
        unit = Decimal(2 ** (_PIECE_BITS * k))
        whole = [_EXACT.multiply(r, unit).to_integral_value() for r in rest]
        pieces.append(np.array([float(w) * 2.0 ** (-_PIECE_BITS * k) for w in whole]))
        rest = [
            _EXACT.subtract(r, _EXACT.divide(w, unit)) for r, w in zip(rest, whole, strict=True)
        ]
    return pieces
