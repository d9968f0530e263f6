"""Angles that stay right at any position.

A table of sines is only as good as its angles. The naive product position * frequency in float64
loses digits in proportion to the position, because the frequency itself is rounded. Here every
frequency is a decimal of 60 digits, the product with the position is formed exactly in pieces,
whole turns are dropped from each piece before they are added, and only the remaining eighth of a
turn reaches sin and cos. Every entry depends on its own position and frequency alone, so a row
comes out bit for bit the same whether it is asked for alone or inside a longer range.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError

_EXACT = Context(prec=60)
TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021164194988918461563")
_SPLITTER = float(2**27 + 1)
_PIECE_BITS = 26
LARGEST_POSITION = 2.0**53
_PIECES = 6

Frequencies = Sequence[Decimal]
"""Angular frequencies in radians per position, one per pair of columns."""


def exact() -> AbstractContextManager[Context]:
    """Make Decimals work to 60 digits within a with statement."""
    return localcontext(_EXACT)


def powers(base: float | Decimal, exponents: Iterable[Fraction]) -> tuple[Decimal, ...]:
    """Return base ** -exponent for each exponent, to 60 digits."""
    b = Decimal(base)
    return tuple(
        _EXACT.power(b, _EXACT.divide(Decimal(-e.numerator), Decimal(e.denominator)))
        for e in exponents
    )


def angles(positions: Array, frequencies: Frequencies) -> Array:
    """Return the unreduced angles in radians, shape (n, pairs), for showing.

    positions are (n,), or (n, pairs) where each pair has one of its own.

    Use cos_sin for computing: far from 0 a float64 angle has already lost digits.
    """
    return _by_pair(positions) * _floats(frequencies)


def cos_sin(positions: Array, frequencies: Frequencies) -> tuple[Array, Array]:
    """Return cos and sin of position * frequency, each of shape (n, pairs) in float64.

    positions are (n,), or (n, pairs) where each pair has one of its own.

    The absolute error stays near one unit of 2**-53 for every position below 2**53.
    """
    p = _by_pair(positions)
    if (np.abs(p) >= LARGEST_POSITION).any():
        raise PoscliError("a position of 2^53 or more, its offset included, is not computed")
    scaled = p * _SPLITTER
    high = scaled - (scaled - p)
    total = np.zeros((p.shape[0], len(frequencies)))
    error = np.zeros_like(total)
    for piece in _turn_pieces(frequencies):
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


def wavelengths(frequencies: Frequencies) -> Array:
    """Return the number of positions each pair needs for one full turn, shape (pairs,).

    A pair that never turns has wavelength infinity.
    """
    return np.array([float(TWO_PI / w) if w else np.inf for w in frequencies])


def _by_pair(positions: Array) -> Array:
    p = np.asarray(positions, np.float64)
    return p if p.ndim == 2 else p[:, None]


def _floats(frequencies: Frequencies) -> Array:
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
