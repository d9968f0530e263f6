"""A table of one vector per position: which sinusoid is it?

Each layout says which columns are the sines and cosines of which pair. Under the right one the sum
of their squares is one number everywhere, the angle of each pair grows evenly, and the slow pairs
tell where the count began. A row of zeros is where padding stands.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from poscli.arrays import Array
from poscli.identify.columns import order_of_columns
from poscli.identify.evidence import Evidence
from poscli.identify.findings import (
    Finding,
    attempt,
    compare_command,
    encode_command,
    known_bases,
    positions_option,
    scheme_of,
)
from poscli.identify.fitting import (
    roundest,
    rounding_of_angles,
    turns_per_step,
    whole_number,
)
from poscli.report import Cell
from poscli.schemes import Scheme
from poscli.schemes.additive import Additive
from poscli.schemes.grid import Sincos2D
from poscli.schemes.sines import Sines

_LADDERS = ("paper", "log-timescale")
_LAYOUTS = ("interleaved", "concatenated", "cos-first")
_MOST_GRID = 2**14


def from_table(evidence: Evidence) -> list[Finding]:
    """Explain a table (n, d), or equal ones in a batch, (b, n, d)."""
    values, positions = evidence.array.values, evidence.positions
    if values.ndim == 3 and (values == values[:1]).all():
        values = values[0]
    width, rows = values.shape[-1], values
    if values.ndim != 2 or (positions is not None and len(positions) != len(rows)):
        return []
    found = []
    for layout, odd in product(_LAYOUTS, _odds(width)):
        scheme = scheme_of("sinusoidal", layout=layout, odd=odd)
        assert isinstance(scheme, Sines)
        for ladder in _LADDERS:
            sines = scheme.model_copy(update={"ladder": ladder})
            reading = _read(rows, sines, positions, evidence.array.bits)
            if reading is not None:
                found += attempt(_fitted, evidence, rows, sines, reading)
    if not any(f.explains for f in found):
        found += list(_on_a_grid(evidence, rows))
    return found


def from_addition(evidence: Evidence) -> list[Finding]:
    """Explain what was added to the first array to make the second, (..., n, d)."""
    return [_as_added(evidence, f) for table in _added(evidence) for f in from_table(table)]


def addition_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's vectors against what was added to the first array to make the second."""
    return [_as_added(evidence, f) for table in _added(evidence) for f in table_of(table, scheme)]


def _added(evidence: Evidence) -> list[Evidence]:
    """Return the table that was added to every sequence, where it is one table."""
    assert evidence.other is not None
    before, after = evidence.array.values, evidence.other.values
    if before.shape != after.shape or before.ndim < 2:
        return []
    added = (after - before).reshape(-1, *before.shape[-2:])
    lost = 4 * 2.0**-evidence.other.bits * float(np.abs(after).max())
    if np.ptp(added, axis=0).max() > 2 * lost:
        return []
    table = replace(evidence.other, values=added.mean(axis=0), step=evidence.array.step + lost)
    return [replace(evidence, kind="2 axes", array=table, other=None)]


def _as_added(evidence: Evidence, found: Finding) -> Finding:
    return replace(
        found,
        kind="added to the first",
        command=compare_command(evidence, found.scheme, found.at),
        as_stored=lambda got: evidence.array.values + got,
    )


def from_table_moved(evidence: Evidence) -> list[Finding]:
    """Explain a table whose axes were exchanged, (d, n), or whose columns are in another order."""
    values = evidence.array.values
    turned = replace(evidence, array=replace(evidence.array, values=values.T))
    found = [f for f in from_table(turned) if f.explains]
    if not found and values.size <= _MOST_GRID and evidence.positions is None:
        found = list(_reordered(evidence))
        return [replace(f, kind="position table, its columns re-ordered") for f in found]
    return [
        replace(f, kind="position table, rows and columns exchanged", as_stored=np.transpose)
        for f in found
    ]


def _reordered(evidence: Evidence) -> Iterator[Finding]:
    count = len(evidence.array.values)
    for ladder, base in product(_LADDERS, known_bases("sinusoidal")):
        scheme = scheme_of("sinusoidal", ladder=ladder, base=base)
        assert isinstance(scheme, Sines)
        for found in attempt(_held, evidence, evidence.array.values, scheme, np.arange(count)):
            order = order_of_columns(found.got, found.want, float(np.max(found.allowed)))
            if order is not None:
                yield replace(found, got=found.got[:, order], allowed=found.allowed[:, order])


@dataclass(frozen=True)
class Reading:
    """What the columns of one layout say: frequencies, the numbers of the rows, amplitude."""

    w: Array
    off: Array
    first: int
    numbers: Array
    amplitude: float
    padding: Array


def _odds(width: int) -> tuple[str, ...]:
    return ("lone-sine", "cut", "zero-column") if width % 2 else ("lone-sine",)


def _read(rows: Array, scheme: Sines, positions: Array | None, bits: int) -> Reading | None:
    width = rows.shape[1]
    if width < 2 or (width == 2 and scheme.layout == "concatenated"):
        return None
    sines, cosines = scheme.columns(width)
    pairs = min(len(sines), len(cosines))
    padding = np.asarray(~rows.any(axis=1))
    kept = np.flatnonzero(~padding)
    if len(kept) < 2 or pairs < 1:
        return None
    steps = np.arange(len(rows)) if positions is None else positions
    if steps.ndim > 1:
        return None
    s, c = rows[kept][:, sines[:pairs]], rows[kept][:, cosines[:pairs]]
    sizes = np.hypot(s, c)
    amplitude = float(np.median(sizes))
    if not amplitude or np.abs(sizes / amplitude - 1).max() > 0.02:
        return None
    phases = np.arctan2(s, c)
    w, off = turns_per_step(phases, steps[kept], bits)
    first = whole_number(phases[0], w, off)
    if first is None:
        return None
    return Reading(w, off, first - int(steps[kept[0]]), steps, amplitude, padding)


def _fitted(evidence: Evidence, rows: Array, scheme: Sines, reading: Reading) -> Finding | None:
    width, stored = rows.shape[1], evidence.array
    low, high = _bases(scheme, reading, width)
    base = roundest(low, high, known_bases("sinusoidal"))
    settings = scheme.model_dump(exclude={"name"}) | {"base": base}
    positions = reading.numbers
    # The number of a row is its position and the origin together; padding or the dump's own
    # positions tell the two apart, and without them the origin is 0.
    if evidence.positions is not None:
        settings["origin"] = reading.first
    elif reading.padding.any():
        settings["origin"] = int(np.flatnonzero(reading.padding)[0]) + reading.first + 1
        positions = positions + reading.first - settings["origin"]
    else:
        positions = positions + reading.first
    settings["zero_padding"] = bool(reading.padding.any())
    name, slack = "sinusoidal", 8 * 2.0**-stored.bits + 2 * stored.step
    if abs(reading.amplitude - 1) > slack:
        name = "scaled-sinusoidal"
        usual = width**-0.5
        scale = roundest(reading.amplitude - slack, reading.amplitude + slack, [usual])
        settings["scale"] = None if scale == usual else scale
        if width % 2 == 0:
            del settings["odd"]
    found = scheme_of(name, **settings)
    return _held(evidence, rows, found, positions) if isinstance(found, Sines) else None


def table_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's vectors against a table, from position 0 on where none are stated."""
    if not isinstance(scheme, Additive):
        return []
    rows = evidence.array.values.reshape(-1, evidence.array.values.shape[-1])
    positions = evidence.positions
    if positions is None:
        positions = scheme.coordinates(np.arange(len(rows)))
    return attempt(_held, evidence, rows, scheme, positions)


def _held(evidence: Evidence, rows: Array, scheme: Additive, positions: Array) -> Finding:
    width, bits = rows.shape[1], evidence.array.bits
    scheme.check_width(width, 1)
    scheme.check_positions(positions)
    got = scheme.vectors(positions, width)
    facts: list[tuple[str, Cell]] = [("width", width), ("offset", positions[0].tolist())]
    elsewhere, allowed = None, 4 * 2.0**-bits * (1 + np.abs(got))
    if isinstance(scheme, Sines):
        allowed = _allowed(scheme, positions, width, bits)
        elsewhere = scheme.vectors(positions + len(positions), width)
        facts = [
            ("base", scheme.base),
            ("width", width),
            ("offset", scheme.origin + int(positions[0])),
            ("layout", f"{scheme.layout}, {scheme.ladder} ladder"),
        ]
    return Finding(
        scheme,
        "position table",
        rows,
        got,
        allowed + evidence.array.step,
        encode_command(scheme, positions_option(positions), f"--dim {width}"),
        facts=facts,
        elsewhere=elsewhere,
        at=positions,
    )


def _bases(scheme: Sines, reading: Reading, width: int) -> tuple[float, float]:
    """Return the range of bases that the sharpest pair leaves open.

    At base 10 a frequency is 10 to the power of minus its exponent.
    """
    ten = scheme.model_copy(update={"base": 10.0}).frequencies(width)
    exponents = -np.log10([float(f) for f in ten])[: len(reading.w)]
    ends = []
    for e, w, off in zip(exponents, reading.w, reading.off, strict=True):
        if e > 0 and w > 2 * off:
            slack = 2 * off / w / e
            base = float(np.exp(min(-np.log(w) / e, 700.0)))
            if slack < 0.5:
                ends.append((slack, base * (1 - slack), base * (1 + slack)))
    return min(ends)[1:] if ends else (10000.0, 10000.0)


def _allowed(scheme: Sines, positions: Array, width: int, bits: int) -> Array:
    numbers = np.abs(positions + scheme.origin)[:, None]
    angle = np.zeros((len(positions), width))
    for columns in scheme.columns(width):
        w = [float(f) for f in scheme.frequencies(width)[: len(columns)]]
        angle[:, columns] = numbers * w
    return rounding_of_angles(angle, bits) * abs(scheme.amplitude(width))


def _on_a_grid(evidence: Evidence, rows: Array) -> Iterator[Finding]:
    """Try the usual sinusoids of row and column, for every way to lay the rows out."""
    count, width = rows.shape
    if rows.size > _MOST_GRID or evidence.positions is not None:
        return
    allowed = np.full(rows.shape, rounding_of_angles(np.array(float(count)), evidence.array.bits))
    shapes = [c for c in range(2, count // 2 + 1) if count % c == 0]
    choices = product(
        shapes,
        ("concatenated", "interleaved", "sines-first"),
        ("columns-first", "columns-last"),
        _LADDERS,
        (0, 1),
    )
    for columns, layout, blocks, ladder, origin in choices:
        scheme = scheme_of(
            "sincos-2d", columns=columns, layout=layout, blocks=blocks, ladder=ladder, origin=origin
        )
        assert isinstance(scheme, Sincos2D)
        if width % 4:
            return
        got = scheme.vectors(scheme.coordinates(np.arange(count)), width)
        yield Finding(
            scheme,
            "position table of a grid",
            rows,
            got,
            allowed + evidence.array.step,
            encode_command(scheme, f"--len {count}", f"--dim {width}"),
            facts=[
                ("base", scheme.base),
                ("width", width),
                ("offset", origin),
                ("layout", f"{layout}, {blocks}, {columns} columns"),
            ],
        )
