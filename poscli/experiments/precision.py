"""precision: what goes wrong when an implementation rounds on its way to a table of sines.

An experiment: each stage in turn, positions, frequencies, angles or finished table, is rounded to
a format as an implementation would round it there, and the table is held against the exact one.
poscli itself never computes this way.
"""

from collections.abc import Callable, Sequence

import numpy as np

from poscli.arrays import Array, rounded, stored
from poscli.errors import PoscliError
from poscli.phase import as_floats, cos_sin
from poscli.report import Cell, Grid
from poscli.schemes.base import Scheme
from poscli.schemes.rotary import Rotary

Rounding = Callable[[Array], Array]


def rounding_stages(scheme: Scheme, positions: Array, width: int, precision: str) -> Grid:
    """Return one row per stage: the largest error, and how many positions stay apart.

    positions are (n,) whole numbers in rising order. Raises PoscliError for a scheme whose table
    is not made of angles.
    """
    turning = scheme.angle_parts(positions, width)
    if turning is None:
        raise PoscliError(f"{scheme.name} has no angles of one position, so no stages to round")
    positions, exact = turning
    frequencies = as_floats(exact)
    want = np.concatenate(cos_sin(positions, exact), axis=1)

    def to(values: Array) -> Array:
        return stored(values, precision).astype(np.float64)

    def keep(values: Array) -> Array:
        return values

    stages: list[tuple[str, Rounding, Rounding, Rounding, Rounding]] = [
        ("positions", to, keep, keep, keep),
        ("inverse frequencies", keep, to, keep, keep),
        ("angles", keep, keep, to, keep),
        ("finished table", keep, keep, keep, to),
        ("all of them", to, to, to, to),
    ]
    rows: list[Sequence[Cell]] = []
    overflown = False
    plain = np.multiply.outer(positions.astype(np.float64), frequencies)
    for _, on_positions, on_frequencies, on_angles, on_table in stages:
        numbers = on_positions(positions.astype(np.float64))
        with np.errstate(invalid="ignore"):
            angle = on_angles(np.multiply.outer(numbers, on_frequencies(frequencies)))
            table = on_table(np.concatenate([np.cos(angle), np.sin(angle)], axis=1))
        overflown = overflown or not np.isfinite(angle).all()
        off = np.abs(table - want).max(axis=0).reshape(2, -1).max(axis=1).tolist()
        rows.append([*_largest(np.abs(angle - plain)), *off, *_distinct(table, positions)])
    several = len(positions) > 1
    last = (
        f"{len(positions):,} positions to {positions[-1]:,}"
        if several
        else f"position {positions[0]:,}"
    )
    ends = f"; past {np.finfo(np.float16).max:,.0f} all is infinite" if overflown else ""
    return Grid(
        f"Rounded to {precision} at one stage; {last}{ends}",
        ("rounded",),
        (
            "angle off by",
            "of pair",
            "cos off by",
            "sin off by",
            "distinct rows",
            "first equal pair",
        ),
        [(name,) for name, *_ in stages],
        rows,
    )


def rounded_scores(scheme: Scheme, positions: Array, width: int, precision: str) -> Grid:
    """Return how far rounding queries and keys moves their scores, relative to their lengths.

    Random queries at the positions (n,) meet random keys at position 0.
    """
    queries, keys = np.random.default_rng(0).normal(size=(2, 1, len(positions), width))

    def scores(before: Rounding, after: Rounding) -> Array:
        q = after(scheme.rotate(before(queries), positions))
        k = after(scheme.rotate_keys(before(keys), np.zeros_like(positions)))
        return np.asarray((q * k).sum(axis=2))

    def to(values: Array) -> Array:
        return rounded(values, precision).astype(np.float64)

    def keep(values: Array) -> Array:
        return values

    sizes = np.linalg.norm(queries, axis=2) * np.linalg.norm(keys, axis=2)
    cases = (("before the turn", to, keep), ("after it", keep, to), ("both", to, to))
    want = scores(keep, keep)
    errors = [float((np.abs(scores(b, a) - want) / sizes).max()) for _, b, a in cases]
    return Grid(
        f"Queries and keys rounded to {precision}: error of their scores, of |q| |k|",
        ("rounded",),
        ("largest error",),
        [(name,) for name, *_ in cases],
        [[error] for error in errors],
    )


def precision_grids(scheme: Scheme, positions: Array, width: int, precision: str) -> list[Grid]:
    """Return what rounding gets wrong in a scheme's table and, where it has them, its scores."""
    grids = [rounding_stages(scheme, positions, width, precision)]
    if scheme.place == Rotary.place:
        grids.append(rounded_scores(scheme, positions, width, precision))
    return grids


def _largest(error: Array) -> tuple[float, int]:
    """Return the largest entry of errors (n, pairs), and the pair it belongs to."""
    by_pair = error.max(axis=0)
    return float(by_pair.max()), int(np.argmax(by_pair))


def _distinct(table: Array, positions: Array) -> tuple[int, str]:
    """Return how many rows differ, and the first two neighbouring positions whose rows do not."""
    table = np.nan_to_num(table, nan=np.inf)
    distinct = len(np.unique(table, axis=0))
    equal = np.flatnonzero((table[1:] == table[:-1]).all(axis=1))
    pair = f"{positions[equal[0]]} and {positions[equal[0] + 1]}" if equal.size else "none"
    return distinct, pair
