"""Points of the unit circle, kept in two parts so that their products lose next to nothing.

The coarse part of a point lies on a grid of 2^-26, so a product of two coarse parts is a multiple
of 2^-52 and float64 holds it, and the sum of two of them, exactly. What is left, the fine part, is
below 2^-26, and float64 holds it to about 2^-79: Dekker 1971 (Numerische Mathematik 18), with the
cut at a fixed place. Only additions and products of real numbers are used, each rounded once, so
that no machine, shape or stride changes a bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poscli.arrays import Array
from poscli.fixed import BITS, Point

_GRID = 1.5 * 2.0**26
"""Added to a number and taken off again, it leaves the nearest multiple of 2^-26."""


@dataclass(frozen=True)
class Points:
    """cos and sin of angles, in two parts (2, ...): cos first. Their sum is the value."""

    coarse: Array
    fine: Array

    def __getitem__(self, rows: slice | Array) -> "Points":
        return Points(self.coarse[:, rows], self.fine[:, rows])

    def rounded(self) -> Array:
        return np.asarray(self.coarse + self.fine)


def points(pairs: Sequence[Point]) -> Points:
    """Return a row of points, (2, 1, n), from n pairs of cos and sin."""
    shift = BITS - 26
    whole = [[[(z[part] + (1 << (shift - 1))) >> shift for z in pairs]] for part in (0, 1)]
    rest = [
        [[float(z[part] - (n << shift)) for z, n in zip(pairs, whole[part][0], strict=True)]]
        for part in (0, 1)
    ]
    return Points(np.array(whole) * 2.0**-26, np.array(rest) * 2.0**-BITS)


def product(a: Points, b: Points) -> Points:
    """Return the points at the sums of two angles; shapes are broadcast."""
    return _cut(*_parts(a, b))


def rounded_product(a: Points, b: Points) -> Array:
    """Return cos and sin at the sums of two angles in float64, off by little over half a unit."""
    exact, rest = _parts(a, b)
    exact += rest
    return exact


def powers(step: Points, count: int) -> Points:
    """Return the points at 0, 1, 2, ... times an angle (2, 1, n): (2, count, n), a power of 2."""
    table = Points(np.zeros_like(step.coarse), np.zeros_like(step.fine))
    table.coarse[0] = 1.0
    while table.coarse.shape[1] < count:
        further = product(table, step)
        table = Points(
            np.concatenate([table.coarse, further.coarse], axis=1),
            np.concatenate([table.fine, further.fine], axis=1),
        )
        step = product(step, step)
    return table


def _parts(a: Points, b: Points) -> tuple[Array, Array]:
    rest = _times(a.coarse, b.fine)
    rest += _times(a.fine, b.coarse + b.fine)
    return _times(a.coarse, b.coarse), rest


def _times(a: Array, b: Array) -> Array:
    by_cos: Array = a[0] * b
    by_sin = a[1] * b
    by_cos[0] -= by_sin[1]
    by_cos[1] += by_sin[0]
    return by_cos


def _cut(exact: Array, rest: Array) -> Points:
    coarse = ((exact + rest) + _GRID) - _GRID
    return Points(coarse, (exact - coarse) + rest)
