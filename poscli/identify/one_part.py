"""A table of cos or of sin that stands alone: which RoPE made it?

Position 0 tells the part: cos begins with one value in every column, sin with zeros. A cosine tells
an angle up to its sign and whole turns, so each frequency is read where its column begins, and read
again farther on, at every position where the angle is known well enough to count the turns.
"""

from collections.abc import Callable

import numpy as np

from poscli.arrays import Array
from poscli.identify.cos_sin import Part, held, spreads
from poscli.identify.evidence import Evidence
from poscli.identify.findings import Finding, attempt
from poscli.identify.fitting import TURN
from poscli.identify.frequencies import rope_schemes
from poscli.schemes import Scheme
from poscli.schemes.rotary import Rotary

_COS, _SIN = (Part(i, f"{name} alone", f"{name} alone, ") for i, name in enumerate(("cos", "sin")))
_CERTAIN = 0.5
"""How far an angle may be off, in radians, for its turns to be counted."""


def from_one_part(evidence: Evidence) -> list[Finding]:
    """Explain cos (n, c), or sin (n, c), at positions 0, 1 and others that grow."""
    values = evidence.array.values
    at = np.arange(len(values)) if evidence.positions is None else evidence.positions
    if values.ndim != 2 or len(values) < 3 or at.shape != (len(values),):
        return []
    if at[0] != 0 or at[1] != 1 or (np.diff(at) < 1).any():
        return []
    found: list[Finding] = []
    for spread in spreads(values, values):
        read = _read(values[:, spread.first], at, 2.0**-evidence.array.bits + evidence.array.step)
        if read is None:
            return []
        part, amplitude, w, off = read
        # A pair that never leaves the start may turn slowly, or not at all.
        for turns in (w, np.where(w == 0, off / 2, w)):
            for scheme in rope_schemes(
                turns,
                off,
                width=spread.width,
                amplitude=amplitude,
                amplitude_off=1e-3,
                longest=int(at[-1]) + 1,
                conventions={"pairing": spread.pairing},
            ):
                found += attempt(held, evidence, part, values, spread, scheme, at)
    return found


def one_part_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's cos, and its sin, against a table of either."""
    values = evidence.array.values
    if not isinstance(scheme, Rotary) or values.ndim != 2:
        return []
    at = evidence.positions
    if at is None:
        at = scheme.coordinates(np.arange(len(values)))
    if len(at) != len(values):
        return []
    found: list[Finding] = []
    for spread in spreads(values, values):
        for part in (_COS, _SIN):
            found += attempt(held, evidence, part, values, spread, scheme, at)
    return found


def _read(values: Array, at: Array, step: float) -> tuple[Part, float, Array, Array] | None:
    """Return the part, its amplitude, and each frequency with how far it may be off."""
    if np.ptp(values[0]):
        return None
    level = float(values[0, 0])
    part, amplitude = (_COS, level) if level else (_SIN, _amplitude(values[: _in_a_row(at)]))
    if amplitude <= 0 or np.abs(values).max() > amplitude * (1 + 1e-3) + step:
        return None
    shares = np.clip(values / amplitude, -1.0, 1.0)
    inverse = np.arccos if part is _COS else np.arcsin
    w = np.abs(inverse(shares[1]))
    off = _error(inverse, shares[1], step)
    for share, n in zip(shares[2:], at[2:].tolist(), strict=True):
        expected, angle = w * n, inverse(share)
        mirrored = -angle if part is _COS else np.pi - angle
        one, other = (a + TURN * np.rint((expected - a) / TURN) for a in (angle, mirrored))
        read = np.where(np.abs(one - expected) <= np.abs(other - expected), one, other) / n
        error = _error(inverse, share, step) / n
        sure = (off * n < _CERTAIN) & (error < off)
        w, off = np.where(sure, read, w), np.where(sure, error, off)
    return part, amplitude, w, off + 8 * step * w


def _in_a_row(at: Array) -> int:
    return int(np.argmax(at != np.arange(len(at)))) or len(at)


def _amplitude(values: Array) -> float:
    """Return the amplitude of sines, from the fastest column: sin(w n) obeys a recurrence."""
    v = values[:, 0]
    middle = v[1:-1]
    square = float(middle @ middle)
    if not square:
        return 0.0
    turn = np.clip((v[2:] + v[:-2]) @ middle / (2 * square), -1.0, 1.0)
    wave = np.sin(np.arccos(turn) * np.arange(len(v)))
    return float(wave @ v / max(float(wave @ wave), 1e-300))


def _error(inverse: Callable[[Array], Array], share: Array, step: float) -> Array:
    """Return how far an angle may be off where its sine or cosine is off by a few steps."""
    near = [np.clip(share + side * 4 * step, -1.0, 1.0) for side in (-1, 1)]
    return np.asarray(np.max([np.abs(inverse(s) - inverse(share)) for s in near], axis=0))
