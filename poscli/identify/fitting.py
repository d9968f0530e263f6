"""From measured numbers back to settings: frequencies, offsets, the roundest value that fits."""

from collections.abc import Iterable
from math import ceil, floor, log10

import numpy as np

from poscli.arrays import Array

TURN = 2 * np.pi
FLOAT32 = 2.0**-24
_MOST_TURNS = 40
MOST_ROWS = 2**14


def rounding_of_angles(angle: Array, bits: int) -> Array:
    """Return how far cos and sin of angles may be off, in numbers of so many significant bits.

    An implementation that stores few bits still works in float32, and one whose numbers need more
    than 24 in float64. An angle is off by a few units of itself, and the result is rounded again.
    """
    work = 2.0**-53 if bits > 24 else FLOAT32
    last = 2.0**-bits * (1 if bits < 24 else 4)
    return np.asarray(last + 8 * work * np.abs(angle))


def turns_per_step(phases: Array, numbers: Array, bits: int) -> tuple[Array, Array]:
    """Return the frequency of each pair that explains its phases, and how far it may be off.

    phases (n, pairs) are known up to whole turns; numbers (n,) are what they were turned by. The
    closest rows give a first estimate, which says how many whole turns lie between rows farther
    apart, and those give a better one.
    """
    order = np.argsort(numbers, kind="stable")
    phases, numbers = phases[order], numbers[order].astype(np.float64)
    gaps = np.diff(numbers)
    if not (gaps > 0).any():
        zero = np.zeros(phases.shape[1])
        return zero, zero + np.inf
    least = gaps[gaps > 0].min()
    steps = phases[1:][gaps == least] - phases[:-1][gaps == least]
    reference = steps[0]
    within = _wrapped(steps - reference)
    frequency = _wrapped(reference + np.mean(within, axis=0)) / least
    noise = rounding_of_angles(np.zeros(1), bits)[0]
    off = np.full(phases.shape[1], 4 * noise / least)
    for row in np.argsort(numbers - numbers[0], kind="stable"):
        distance = numbers[row] - numbers[0]
        if distance <= 0:
            continue
        measured = phases[row] - phases[0]
        whole = np.rint((frequency * distance - measured) / TURN)
        better = 2 * rounding_of_angles(frequency * distance, bits) / distance
        use = (better < off) & (off * distance < 1.0)
        frequency = np.where(use, (measured + whole * TURN) / distance, frequency)
        off = np.where(use, better, off)
    work = 2.0**-53 if bits > 24 else FLOAT32
    return frequency, np.maximum(off, 8 * work * np.abs(frequency))


def error_of_far_rows(frequency: Array, numbers: Array, bits: int) -> Array:
    """Return how much farther off a frequency may be where rows stand far out.

    Large angles lose digits as the implementation makes them, by a few units of themselves.
    """
    work = 2.0**-53 if bits > 24 else FLOAT32
    span = max(float(np.ptp(numbers)), 1.0)
    return np.asarray(16 * work * np.abs(frequency) * float(np.abs(numbers).max()) / span)


def first_number(phases: Array, frequency: Array, off: Array) -> float | None:
    """Return the number that turned every pair to its phase, or None where none does.

    phases (pairs,) are known up to whole turns: the slowest pair tells the size of the number, up
    to its own turns, and each faster one its next digits. Of the numbers that all pairs allow, the
    nearest to 0 is returned.
    """
    usable = np.flatnonzero(np.abs(frequency) > 4 * off)
    if not usable.size:
        return None
    order = usable[np.argsort(np.abs(frequency[usable]))]
    for turns in sorted(range(-_MOST_TURNS, _MOST_TURNS + 1), key=abs):
        found = _refined(phases[order], frequency[order], off[order], turns)
        missed = phases - frequency * found
        missed = np.abs(missed - TURN * np.rint(missed / TURN))
        if (missed[order] <= 0.02 + 4 * off[order] * abs(found)).all():
            return found
    return None


def _refined(phases: Array, frequency: Array, off: Array, turns: int) -> float:
    """Start from the slowest pair after so many turns, and let faster pairs add digits."""
    found = float((phases[0] + turns * TURN) / frequency[0])
    error = 1e-3 / abs(float(frequency[0])) + abs(found) * float(off[0] / abs(frequency[0]))
    for phase, w, slack in zip(phases[1:], frequency[1:], off[1:], strict=True):
        if error * abs(w) > 1.0:
            break
        whole = np.rint((w * found - phase) / TURN)
        here = float((phase + whole * TURN) / w)
        error_here = 1e-6 / abs(w) + abs(here) * float(slack / abs(w))
        if error_here < error:
            found, error = here, error_here
    return found


def whole_number(phases: Array, frequency: Array, off: Array) -> int | None:
    """Return first_number as a whole number; None where it is none."""
    found = first_number(phases, frequency, off)
    if found is None or abs(found) > 2**31 or abs(found - round(found)) > 0.1:
        return None
    return round(found)


def roundest(low: float, high: float, known: Iterable[float] = ()) -> float:
    """Return the number between two others that is known, or else has the fewest digits.

    >>> roundest(9999.2, 10000.3), roundest(0.7068, 0.7073, [0.707]), roundest(3.2, 3.4)
    (10000.0, 0.707, 3.3)
    """
    for value in known:
        if low <= value <= high:
            return float(value)
    middle = (low + high) / 2
    if not np.isfinite(middle) or middle == 0:
        return middle
    size = floor(log10(abs(middle)))
    for digits in range(17):
        value = float(f"{middle:.{digits}e}")
        if low <= value <= high:
            return value
        step = 10.0 ** (size - digits)
        inside = ceil(low / step)
        if low <= inside * step <= high:
            return float(f"{inside * step:.{digits}e}")
    return middle


def digits(value: float) -> int:
    """Return how many significant digits a number needs.

    >>> digits(10000.0), digits(2682.7), digits(0.25)
    (1, 5, 2)
    """
    mantissa = f"{abs(value):.16e}".partition("e")[0] if value else "0"
    text = repr(float(value)).partition("e")[0].replace(".", "").strip("-0")
    return max(1, min(len(text), len(mantissa.replace(".", ""))))


def _wrapped(phases: Array) -> Array:
    return np.asarray(phases - TURN * np.rint(phases / TURN))
