"""Queries or keys before and after rotation: which RoPE turned them, and where?

For each pairing the columns of a pair are read as one complex number; what it was multiplied by is
the turn. Under the right pairing all heads agree on it, its size is one number, and its angle grows
evenly. Columns that no position changes are not turned: a tail is partial rotation, a front is a
head whose last columns alone turn. The sign of the angle is the direction.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.cos_sin import rotary_facts
from poscli.identify.evidence import Evidence
from poscli.identify.findings import (
    Finding,
    attempt,
    compare_command,
    first_that_explain,
    scheme_of,
)
from poscli.identify.fitting import (
    MOST_ROWS,
    error_of_far_rows,
    roundest,
    rounding_of_angles,
    turns_per_step,
    whole_number,
)
from poscli.identify.frequencies import rope_schemes
from poscli.identify.pairs import axis_schemes
from poscli.phase import angles
from poscli.schemes import Scheme
from poscli.schemes.rotary import Rotary
from poscli.schemes.xpos import XPos

_MOST_HEADS = 8
_HEAD_WIDTHS = (128, 64, 256, 96, 80, 32, 16)
_PAIRINGS = ("adjacent", "half", "adjacent-in-half-out")


@dataclass(frozen=True)
class Slice:
    """The columns of a head that turn: start to stop, of width columns in all."""

    start: int
    stop: int
    width: int

    @property
    def words(self) -> str:
        if self.start:
            return f"columns {self.start} to {self.stop - 1} of {self.width} turn"
        return "" if self.stop == self.width else f"the first {self.stop} of {self.width} turn"


def from_rotation(evidence: Evidence) -> list[Finding]:
    """Explain how one array (..., k) became the other, of the same shape."""
    assert evidence.other is not None
    before, after = evidence.array.values, evidence.other.values
    if before.shape != after.shape or before.ndim < 2:
        return []
    bits = min(evidence.array.bits, evidence.other.bits)
    found: list[Finding] = []
    for group in (
        readings(before, after, evidence.positions),
        heads_side_by_side(before, after, evidence.positions),
    ):
        for reading in group:
            for part in _slices(reading.x, reading.y):
                for pairing in _PAIRINGS:
                    found += _paired(evidence, reading, bits, part, pairing)
        if any(f.explains and not f.is_invented for f in found):
            break
    return found


def rotation_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's turn against the second array, from position 0 on where none are stated."""
    assert evidence.other is not None
    before, after = evidence.array.values, evidence.other.values
    if not isinstance(scheme, Rotary) or before.shape != after.shape or before.ndim < 2:
        return []
    bits = min(evidence.array.bits, evidence.other.bits)
    found: list[Finding] = []
    alone = [reading_along(before, after, -2, None)] if before.shape[-2] == 1 else []
    at = evidence.positions
    split = heads_side_by_side(before, after, at)
    for reading in [*alone, *readings(before, after, at), *split]:
        at = reading.positions
        if at is None:
            at = scheme.coordinates(np.arange(reading.x.shape[1]))
        width = reading.x.shape[-1]
        whole = Slice(0, width, width)
        for part in dict.fromkeys([whole, *_slices(reading.x, reading.y)]):
            found += attempt(_held, evidence, scheme, reading, at, bits, part)
    return found


@dataclass(frozen=True)
class Reading:
    """Two arrays read as x and y, each (h, n, k), with the positions where they are stated.

    moved_back undoes how the axes were moved, and shape is that of the dump.
    """

    x: Array
    y: Array
    positions: Array | None
    moved_back: Callable[[Array], Array]
    shape: tuple[int, ...]
    words: str = ""

    def as_stored(self, got: Array) -> Array:
        """Bring an array of the shape of x to that of the dump."""
        return self.moved_back(got).reshape(self.shape)


def heads_side_by_side(before: Array, after: Array, positions: Array | None) -> Iterator[Reading]:
    """Yield readings of arrays (..., n, h k), as a projection leaves them, for usual widths k."""
    shape = before.shape
    for k in _HEAD_WIDTHS:
        if shape[-1] % k == 0 and shape[-1] > k and positions_fit(shape[-2], positions):
            split = (*shape[:-1], shape[-1] // k, k)
            read = reading_along(
                before.reshape(split), after.reshape(split), len(shape) - 2, positions
            )
            yield replace(read, shape=shape, words=f"heads of {k} side by side")


def positions_fit(count: int, positions: Array | None) -> bool:
    """Say whether an axis of so many rows may be that of the positions."""
    return count > 1 if positions is None else count == len(positions)


def readings(before: Array, after: Array, positions: Array | None) -> Iterator[Reading]:
    """Yield a reading for each axis that positions may run along, the likeliest first.

    Positions of a batch, (b, n), belong to the first axis and another.
    """
    for axis in range(before.ndim - 2, -1, -1):
        count = before.shape[axis]
        if positions_fit(count, positions):
            yield reading_along(before, after, axis, positions)
        of_batch = (len(before), count)
        if positions is not None and axis > 0 and positions.shape[:2] == of_batch:
            yield reading_of_batch(before, after, axis, positions.reshape(-1, *positions.shape[2:]))


def reading_along(before: Array, after: Array, axis: int, positions: Array | None) -> Reading:
    """Read arrays (..., k) with positions along an axis."""
    shape = np.moveaxis(before, axis, -2).shape
    x, y = (np.moveaxis(a, axis, -2).reshape(-1, *shape[-2:]) for a in (before, after))
    return Reading(
        x, y, positions, lambda got: np.moveaxis(got.reshape(shape), -2, axis), before.shape
    )


def reading_of_batch(before: Array, after: Array, axis: int, positions: Array | None) -> Reading:
    """Read arrays (b, ..., k) with positions of their own for each entry of the batch."""

    x, y = (np.moveaxis(np.moveaxis(a, axis, -2), 0, -3) for a in (before, after))
    rows = (-1, x.shape[-3] * x.shape[-2], x.shape[-1])
    return Reading(
        x.reshape(rows),
        y.reshape(rows),
        positions,
        lambda got: np.moveaxis(np.moveaxis(got.reshape(x.shape), -3, 0), -2, axis),
        before.shape,
    )


def _slices(x: Array, y: Array) -> list[Slice]:
    """Return the columns that may turn: the whole head, or what lies between unmoved columns."""
    width = x.shape[-1]
    moved = np.flatnonzero((x != y).any(axis=(0, 1)))
    if not moved.size:
        return []
    start, stop = int(moved[0]), int(moved[-1]) + 1
    whole = [Slice(0, width, width)] if width % 2 == 0 else []
    if (start, stop) == (0, width):
        return whole
    if start == 0:
        return [Slice(0, stop + stop % 2, width), *whole]
    return [Slice(start - (stop - start) % 2, stop, width), *whole]


def _paired(
    evidence: Evidence, reading: Reading, bits: int, part: Slice, pairing: str
) -> list[Finding]:
    few = np.s_[:_MOST_HEADS, :MOST_ROWS, part.start :]
    x, y, positions = reading.x[few], reading.y[few], reading.positions
    width, turned = x.shape[-1], part.stop - part.start
    conventions: dict[str, Any] = {"pairing": pairing}
    if turned < width:
        conventions["rotary_dim"] = turned
    plain = scheme_of("rope", **conventions)
    if not isinstance(plain, Rotary) or turned < 2:
        return []
    at = np.arange(reading.x.shape[1]) if positions is None else positions
    at, whole = at[:MOST_ROWS], at
    factor = turns(x, y, plain)
    if factor is None:
        return []
    sizes, phases = np.abs(factor), np.angle(factor)
    amplitude = float(np.median(sizes))
    guesses: list[list[Rotary]] = []
    # A single head leaves the size of each turn to its pair alone: products of small numbers.
    steady = np.abs(sizes / amplitude - 1).max() < 0.05 + 64 * 2.0**-bits if amplitude else False
    if at.ndim == 2:
        guesses = [axis_schemes(phases, at, bits, turned, {"pairing": pairing})]
    else:
        w, off = turns_per_step(phases, at, max(bits - 2, 6))
        first, second = plain.pairs(width)
        moved = (x != y).any(axis=(0, 1))
        still = ~(moved[first] | moved[second])
        w = np.where(still, 0.0, w)
        if w[np.argmax(np.abs(w))] < 0:
            w, phases, conventions["direction"] = -w, -phases, "clockwise"
        number = 0 if positions is not None else whole_number(phases[0], w, off)
        if number is None:
            return []
        at, whole = at + number, whole + number
        offs = (off, off + error_of_far_rows(w, at, bits)) if steady else ()
        guesses = [
            [
                # A pair that nothing moved may turn too slowly for so few bits, or not at all.
                s
                for turning in (np.where(w == 0, within / 2, w), w)
                for s in rope_schemes(
                    turning,
                    within,
                    width=width,
                    amplitude=amplitude,
                    amplitude_off=(32 if bits < 24 else 8) * 2.0**-bits,
                    longest=int(whole.max()) + 1,
                    conventions=conventions,
                )
            ]
            for within in offs
        ]
        if np.ptp(sizes) > 64 * 2.0**-bits * amplitude:
            guesses.append(list(_fading(sizes, at, width, conventions)))
    return first_that_explain(
        guesses, lambda s: attempt(_held, evidence, s, reading, whole, bits, part)
    )


def turns(x: Array, y: Array, scheme: Rotary) -> Array | None:
    """Return the complex number that takes each pair of x to that of y, (n, pairs)."""
    width = x.shape[-1]
    (first, second), (to_first, to_second) = scheme.pairs(width), scheme.written_to(width)
    one = x[..., first] + 1j * x[..., second]
    other = y[..., to_first] + 1j * y[..., to_second]
    size = (np.abs(one) ** 2).sum(axis=0)
    if not size.all():
        return None
    return np.asarray((other * one.conj()).sum(axis=0) / size)


def _fading(sizes: Array, at: Array, width: int, conventions: dict[str, Any]) -> Iterator[Rotary]:
    """Yield xPos, where the size of each pair's turn is a power that grows with the position.

    The slope of its logarithm is ln(zeta) / scale_base, and its zero the centre.
    """
    if not ((sizes > 0) & np.isfinite(sizes)).all() or len(at) < 3 or at.ndim > 1:
        return
    if not np.ptp(at):
        return
    slope, level = np.polyfit(at.astype(np.float64), np.log(sizes[:, 0]), 1)
    unit = scheme_of("xpos", scale_base=1.0, centre=0)
    assert isinstance(unit, XPos)
    zeta = float(unit.scales(np.array([1]), width)[0, 0])
    if not slope:
        return
    keys = slope > 0
    scale_base = float(np.log(zeta) / (-slope if keys else slope))
    centre = round(float(-level / slope))
    scheme = scheme_of(
        "xpos",
        scale_base=roundest(scale_base * 0.9999, scale_base * 1.0001, [512.0]),
        centre=centre,
        **conventions,
    )
    if isinstance(scheme, XPos):
        yield scheme


def from_scales(evidence: Evidence) -> list[Finding]:
    """Explain what xPos multiplies each pair of a query by, (n, c), columns doubled or not."""
    values, at = evidence.array.values, evidence.positions
    if values.ndim != 2 or len(values) < 3 or not (values > 0).all():
        return []
    doubled = values.shape[1] % 2 == 0 and np.array_equal(values[:, ::2], values[:, 1::2])
    sizes = values[:, ::2] if doubled else values
    width, at = 2 * sizes.shape[1], np.arange(len(values)) if at is None else at
    if at.shape != values.shape[:1]:
        return []
    return [f for s in _fading(sizes, at, width, {}) for f in scales_of(evidence, s)]


def scales_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold the scales of xPos against numbers (n, c), columns doubled or not."""
    if not isinstance(scheme, XPos) or evidence.array.values.ndim != 2:
        return []
    found: list[Finding] = []
    for each in (1, 2):
        found += attempt(_held_scales, evidence, scheme, each)
    return found


def _held_scales(evidence: Evidence, scheme: XPos, each: int) -> Finding:
    values, at = evidence.array.values, evidence.positions
    at = np.arange(len(values)) if at is None else at
    if at.shape != (len(values),):
        raise PoscliError(f"{scheme.name} scales rows by a position each")
    width = 2 * values.shape[1] // each
    got = np.repeat(scheme.for_length(int(at.max()) + 1).scales(at, width), each, axis=1)
    return Finding(
        scheme,
        "scales",
        values,
        got,
        16 * 2.0 ** -min(evidence.array.bits, 24) * got,
        compare_command(evidence, scheme, at),
        facts=[("width", width), ("layout", "one scale per pair")],
        elsewhere=got,
        at=at,
    )


def _held(
    evidence: Evidence, scheme: Rotary, reading: Reading, at: Array, bits: int, part: Slice
) -> Finding:
    assert evidence.other is not None
    x, y = (values[..., part.start :] for values in (reading.x, reading.y))
    unmoved = reading.x[..., : part.start]
    width = x.shape[-1]
    used = scheme.for_length(int(at.max()) + 1)
    used.check_width(width, 1)
    used.check_positions(at)
    turn, side = used.rotate, ""
    got = turn(x, at)
    if isinstance(used, XPos):
        other = used.rotate_keys(x, at)
        if np.abs(other - y).max() < np.abs(got - y).max():
            turn, got, side = used.rotate_keys, other, "keys: "
    angle = np.abs(angles(used.per_pair(at, width), used.frequencies(width)))
    (first, second), (to_first, to_second) = used.pairs(width), used.written_to(width)
    size = np.abs(x[..., first]) + np.abs(x[..., second])
    allowed = np.full(x.shape, 2.0**-bits) * np.abs(x)
    bound = rounding_of_angles(np.minimum(angle, np.inf), bits) * size * 2
    if bits < 24:
        # cos and sin, both products and their sum are each rounded to the format.
        bound = 2 * bound + evidence.other.smallest
    scale = max(used.amplitude, 1.0)
    if isinstance(used, XPos):
        # A library that multiplies in float32 is off by a few units of each scale too.
        scale = float(np.abs(got).max() / np.abs(x).max()) + 1
    allowed[..., to_first] = allowed[..., to_second] = bound * scale
    pairing = side + str(getattr(scheme, "pairing", ""))
    words = ", ".join(filter(None, [pairing, part.words, reading.words]))
    return Finding(
        scheme,
        "rotation",
        reading.y,
        np.concatenate([unmoved, got], axis=-1),
        np.concatenate([np.zeros(unmoved.shape), allowed], axis=-1),
        compare_command(evidence, scheme, at),
        facts=rotary_facts(used, width, at, words),
        elsewhere=turn(x[:_MOST_HEADS], at + len(at)),
        at=at,
        as_stored=reading.as_stored,
    )
