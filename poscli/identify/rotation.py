"""Queries or keys before and after rotation: which RoPE turned them, and where?

For each pairing the columns of a pair are read as one complex number; what it was multiplied by is
the turn. Under the right pairing all heads agree on it, its size is one number, and its angle grows
evenly. Columns that no position changes are not turned: a tail is partial rotation, a front is a
head whose last columns alone turn. The sign of the angle is the direction.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.identify.cos_sin import rotary_facts
from poscli.identify.evidence import Evidence
from poscli.identify.findings import (
    Finding,
    attempt,
    encode_command,
    positions_option,
    scheme_of,
)
from poscli.identify.fitting import (
    MOST_ROWS,
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
    for x, y in _readings(before, after, evidence.positions):
        found += _explained(evidence, x, y, bits)
    return found


def rotation_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's turn against the second array, from position 0 on where none are stated."""
    assert evidence.other is not None
    before, after = evidence.array.values, evidence.other.values
    if not isinstance(scheme, Rotary) or before.shape != after.shape or before.ndim < 2:
        return []
    bits = min(evidence.array.bits, evidence.other.bits)
    found: list[Finding] = []
    alone = [(by_position(before, -2), by_position(after, -2))] if before.shape[-2] == 1 else []
    for x, y in [*alone, *_readings(before, after, evidence.positions)]:
        at = evidence.positions
        if at is None:
            at = scheme.coordinates(np.arange(x.shape[1]))
        if len(at) != x.shape[1]:
            continue
        whole = Slice(0, x.shape[-1], x.shape[-1])
        found += attempt(_held, scheme, x, y, at, bits, whole, "")
    return found


def by_position(values: Array, axis: int) -> Array:
    """Bring an array (..., k) with positions along an axis to (heads, n, k)."""
    moved = np.moveaxis(values, axis, -2)
    return moved.reshape(-1, *moved.shape[-2:])


def _readings(
    before: Array, after: Array, positions: Array | None
) -> Iterator[tuple[Array, Array]]:
    """Yield the arrays as (h, n, k) for each axis that positions may run along, likeliest first."""
    for axis in range(before.ndim - 2, -1, -1):
        count = before.shape[axis]
        if count > 1 if positions is None else count == len(positions):
            yield by_position(before, axis), by_position(after, axis)


def _explained(evidence: Evidence, x: Array, y: Array, bits: int) -> list[Finding]:
    found: list[Finding] = []
    for part in _slices(x, y):
        for pairing in _PAIRINGS:
            found += _paired(evidence, x, y, bits, part, pairing)
    return found


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
    evidence: Evidence, x: Array, y: Array, bits: int, part: Slice, pairing: str
) -> list[Finding]:
    x, y = x[..., part.start :], y[..., part.start :]
    width, turned = x.shape[-1], part.stop - part.start
    conventions: dict[str, Any] = {"pairing": pairing}
    if turned < width:
        conventions["rotary_dim"] = turned
    plain = scheme_of("rope", **conventions)
    if not isinstance(plain, Rotary) or turned < 2:
        return []
    positions = evidence.positions
    at = np.arange(x.shape[1]) if positions is None else positions
    x, y, at = x[:_MOST_HEADS, :MOST_ROWS], y[:_MOST_HEADS, :MOST_ROWS], at[:MOST_ROWS]
    factor = _turns(x, y, plain)
    if factor is None:
        return []
    sizes, phases = np.abs(factor), np.angle(factor)
    amplitude = float(np.median(sizes))
    schemes: list[Rotary] = []
    # A single head leaves the size of each turn to its pair alone: products of small numbers.
    steady = np.abs(sizes / amplitude - 1).max() < 0.05 + 64 * 2.0**-bits if amplitude else False
    if positions is not None and positions.ndim == 2:
        schemes = axis_schemes(phases, positions, bits, turned, {"pairing": pairing})
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
        at = at + number
        if steady:
            schemes = rope_schemes(
                w,
                off,
                width=width,
                amplitude=amplitude,
                amplitude_off=32 * 2.0**-bits,
                longest=int(at.max()) + 1,
                conventions=conventions,
            )
        if np.ptp(sizes) > 64 * 2.0**-bits * amplitude:
            schemes += _fading(sizes, at, width, conventions)
    found: list[Finding] = []
    for scheme in schemes:
        found += attempt(_held, scheme, x, y, at, bits, part, pairing)
    return found


def _turns(x: Array, y: Array, scheme: Rotary) -> Array | None:
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
    found = []
    for scheme in _fading(sizes, at, width, {}):
        assert isinstance(scheme, XPos)
        got = scheme.scales(at, width)
        got = np.repeat(got, 2, axis=1) if doubled else got
        found.append(
            Finding(
                scheme,
                "scales",
                values,
                got,
                16 * 2.0 ** -min(evidence.array.bits, 24) * got,
                encode_command(scheme, positions_option(at), f"--dim {width}"),
                facts=[("width", width), ("layout", "one scale per pair")],
                elsewhere=got,
            )
        )
    return found


def _held(
    scheme: Rotary, x: Array, y: Array, at: Array, bits: int, part: Slice, pairing: str
) -> Finding:
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
    scale = max(used.amplitude, 1.0)
    if isinstance(used, XPos):
        # A library that multiplies in float32 is off by a few units of each scale too.
        scale = float(np.abs(got).max() / np.abs(x).max()) + 1
    allowed[..., to_first] = allowed[..., to_second] = bound * scale
    words = ", ".join(filter(None, [side + str(getattr(scheme, "pairing", pairing)), part.words]))
    return Finding(
        scheme,
        "rotation",
        y,
        got,
        allowed,
        encode_command(scheme, positions_option(at), "--input BEFORE.npy"),
        facts=rotary_facts(used, width, at, words),
        elsewhere=turn(x, at + len(at)),
    )


def stands_still(before: Array, after: Array) -> bool:
    """Say whether nothing was turned: as at position 0, under every convention but one."""
    return bool(np.array_equal(before, after))
