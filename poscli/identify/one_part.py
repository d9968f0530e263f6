"""A table of cos or of sin that stands alone: which RoPE made it?

Position 0 tells the part: cos begins with one value in every column, sin with zeros. A cosine tells
an angle up to its sign and whole turns, so each frequency is read where its column begins, and read
again farther on, at every position where the angle is known well enough to count the turns.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.cos_sin import Spread, rotary_facts, spreads
from poscli.identify.evidence import Evidence
from poscli.identify.findings import Finding, attempt, encode_command, positions_option
from poscli.identify.fitting import rounding_of_angles
from poscli.identify.frequencies import rope_schemes
from poscli.phase import angles
from poscli.schemes import Scheme
from poscli.schemes.rotary import Rotary

_PARTS = ("cos", "sin")
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
        columns = [int(np.flatnonzero(spread.columns == j)[0]) for j in range(spread.pairs)]
        read = _read(values[:, columns], at, 2.0**-evidence.array.bits + evidence.array.step)
        if read is None:
            return []
        part, amplitude, w, off = read
        # A pair that never leaves the start may turn slowly, or not at all.
        for turns in (w, np.where(w == 0, off / 2, w)):
            for scheme in rope_schemes(
                turns,
                off,
                width=2 * spread.pairs,
                amplitude=amplitude,
                amplitude_off=1e-3,
                longest=int(at[-1]) + 1,
                conventions={"pairing": spread.pairing},
            ):
                found += attempt(_held, evidence, part, spread, scheme)
    return found


def one_part_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's cos, and its sin, against a table of either."""
    values = evidence.array.values
    if not isinstance(scheme, Rotary) or values.ndim != 2:
        return []
    found: list[Finding] = []
    for spread in spreads(values, values):
        for part in _PARTS:
            found += attempt(_held, evidence, part, spread, scheme)
    return found


def _read(values: Array, at: Array, step: float) -> tuple[str, float, Array, Array] | None:
    """Return the part, its amplitude, and each frequency with how far it may be off."""
    first = values[0]
    if not np.ptp(first):
        part, amplitude = (
            ("cos", float(first[0])) if first[0] else ("sin", _amplitude(values[: _in_a_row(at)]))
        )
    else:
        return None
    if amplitude <= 0 or np.abs(values).max() > amplitude * (1 + 1e-3) + step:
        return None
    shares = np.clip(values / amplitude, -1.0, 1.0)
    inverse = np.arccos if part == "cos" else np.arcsin
    w = np.abs(inverse(shares[1]))
    off = _error(inverse, shares[1], step)
    for share, n in zip(shares[2:], at[2:].tolist(), strict=True):
        expected, angle = w * n, inverse(share)
        mirrored = -angle if part == "cos" else np.pi - angle
        nearest = np.stack(
            [a + 2 * np.pi * np.round((expected - a) / (2 * np.pi)) for a in (angle, mirrored)]
        )
        read = np.where(*_closer(nearest, expected)) / n
        error = _error(inverse, share, step) / n
        sure = (off * n < _CERTAIN) & (error < off)
        w, off = np.where(sure, read, w), np.where(sure, error, off)
    return part, amplitude, w, off + 8 * step * w


def _in_a_row(at: Array) -> int:
    return int(np.argmax(at != np.arange(len(at)))) or len(at)


def _closer(pair: Array, to: Array) -> tuple[Array, Array, Array]:
    one, other = pair
    return np.abs(one - to) <= np.abs(other - to), one, other


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


def _held(evidence: Evidence, part: str, spread: Spread, scheme: Rotary) -> Finding:
    values, width = evidence.array.values, 2 * spread.pairs
    at = evidence.positions
    at = scheme.coordinates(np.arange(len(values))) if at is None else at
    if len(at) != len(values):
        raise PoscliError(f"{len(values)} rows do not fit {len(at)} positions")
    scheme.check_width(width, 1)
    scheme.check_positions(at)
    used = scheme.for_length(int(at.max()) + 1)

    def table(positions: Array) -> Array:
        return used.cos_sin(positions, width)[_PARTS.index(part)][:, spread.columns]

    angle = angles(used.per_pair(at, width), used.frequencies(width))[:, spread.columns]
    facts: list[tuple[str, Any]] = rotary_facts(used, width, at, f"{part} alone, {spread.words}")
    return Finding(
        scheme,
        f"{part} alone",
        values,
        table(at),
        rounding_of_angles(angle, evidence.array.bits) * used.amplitude + evidence.array.step,
        encode_command(scheme, positions_option(at), f"--dim {width}"),
        facts=facts,
        elsewhere=table(at + len(at)),
    )
