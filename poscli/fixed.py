"""Points of the unit circle in whole numbers of 2^-200: the digits that the faster ways start from.

Python's whole numbers have as many digits as they need, and are quicker at this than Decimals.
"""

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

BITS = 200
_ONE = 1 << BITS
_UNIT = Decimal(_ONE)
_CONTEXT = Context(prec=90)
_TWO_PI = Decimal("6.2831853071795864769252867665590057683943387987502116419498891846156328126")
_TURN = int(_CONTEXT.multiply(_TWO_PI, _UNIT))

Point = tuple[int, int]
"""cos and sin, times 2^200."""


def point(angle: Decimal) -> Point:
    """Return the point at an angle in radians: its two series, after taking off whole turns."""
    left = int(_CONTEXT.multiply(angle, _UNIT))
    left -= (2 * left + _TURN) // (2 * _TURN) * _TURN
    term, parts, k = _ONE, [0, 0, 0, 0], 0
    while term not in (0, -1):
        parts[k % 4] += term
        k += 1
        term = (term * left >> BITS) // k
    return parts[0] - parts[2], parts[1] - parts[3]


def doubled(z: Point) -> Point:
    """Return the point at twice the angle."""
    cos, sin = z
    return (cos * cos - sin * sin) >> BITS, (cos * sin) >> (BITS - 1)


def to_float32(part: int) -> np.float32:
    """Round once: by way of float64, a number near a tie could be rounded to it and then away."""
    exact = Fraction(part, _ONE)
    near = np.float32(float(exact))
    choice = (near, np.nextafter(near, np.float32(-9)), np.nextafter(near, np.float32(9)))
    return min(choice, key=lambda number: abs(Fraction(float(number)) - exact))
