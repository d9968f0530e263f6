"""Rows that are turned, but do not count up: padded, packed or shuffled sequences.

Where no position is stated, rows are taken to follow each other. A batch with padding on the left,
or several sequences packed into one, has rows that do not. Their positions are then read off by
trying each on the frequencies of a usual RoPE: the phases of all pairs have to agree on one.
"""

import numpy as np

from poscli.arrays import Array
from poscli.identify.evidence import Evidence
from poscli.identify.rotation import Reading, reading_of_batch, readings, turns
from poscli.schemes import PRESETS, SCHEMES
from poscli.schemes.rotary import Rotary
from poscli.text import plain

_MOST_ROWS = 1024
_MOST_HEADS = 8
_SURE = 0.9999
_STEADY = 0.05
_SHOWN = 12
_MOST_ENTRIES = 3


def usual_ropes() -> list[Rotary]:
    """Return the RoPEs of libraries and models that have one axis."""
    plain_ones = [{"name": "rope", "pairing": pairing} for pairing in ("adjacent", "half")]
    named = [p for p in PRESETS.values() if str(p["name"]).startswith("rope")]
    every = [SCHEMES[str(p["name"])].model_validate(p) for p in (*plain_ones, *named)]
    return [s for s in every if isinstance(s, Rotary) and s.axes == 1]


def uncounted(evidence: Evidence) -> str:
    """Say where rows of two arrays stand if they do not count up; empty where nothing tells."""
    two = evidence.kind == "before and after"
    if not two or evidence.other is None or evidence.positions is not None:
        return ""
    before, after = evidence.array.values, evidence.other.values
    batch = [
        reading_of_batch(before, after, axis, None)
        for axis in range(before.ndim - 2, 0, -1)
        if before.shape[0] > 1
    ]
    turned = False
    for reading in [*readings(before, after, None), *batch]:
        for scheme in usual_ropes():
            phases = _phases(reading, scheme)
            turned = turned or phases is not None
            if (
                phases is not None
                and (at := _positions(phases, scheme, reading.x.shape)) is not None
            ):
                how = "with --positions, or as position_ids in the file"
                entries = [at]
                if any(reading is one for one in batch):
                    how = "as position_ids (b, n) in the file"
                    entries = np.split(at, len(before))
                words = "; then ".join(map(_listed, entries[:_MOST_ENTRIES]))
                more = "; then others" if len(entries) > _MOST_ENTRIES else ""
                return (
                    "its rows do not count up; they are turned as "
                    f"{scheme.label()} does at positions {words}{more}. State them, {how}"
                )
    if turned:
        return (
            "each row is turned by angles of its own, and no first position explains them all; "
            "state the positions"
        )
    return ""


def _listed(positions: Array) -> str:
    more = ", ..." if len(positions) > _SHOWN else ""
    return ", ".join(map(plain, positions[:_SHOWN].tolist())) + more


def _phases(reading: Reading, scheme: Rotary) -> Array | None:
    """Return by how much each pair of each row was turned, where all heads agree on it."""
    x, y = (values[:_MOST_HEADS, :_MOST_ROWS] for values in (reading.x, reading.y))
    width = x.shape[-1]
    try:
        scheme.check_width(width, 1)
    except ValueError:
        return None
    factor = turns(x, y, scheme)
    if factor is None or np.abs(np.abs(factor) - 1).max() > _STEADY:
        return None
    missed = np.abs(scheme.turn(x, factor.real, factor.imag) - y).max()
    return np.angle(factor) if missed <= _STEADY * np.abs(y).max() else None


def _positions(phases: Array, scheme: Rotary, shape: tuple[int, ...]) -> Array | None:
    """Return the position of each row, or None where some row is at none of them."""
    numbers = np.arange(max(2 * shape[1], 256))
    cos, sin = scheme.for_length(len(numbers)).cos_sin(numbers, shape[-1])
    likeness = np.cos(phases) @ cos.T + np.sin(phases) @ sin.T
    best = likeness.argmax(axis=1)
    sure = likeness.max(axis=1) >= _SURE * np.hypot(cos[0], sin[0]).sum()
    return numbers[best] if sure.all() else None
