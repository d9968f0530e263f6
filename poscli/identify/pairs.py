"""Positions of several axes: which axis does each pair turn by, and which scheme deals them so?"""

from itertools import product
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.identify.findings import known_bases, scheme_of
from poscli.identify.fitting import TURN, roundest, rounding_of_angles, turns_per_step
from poscli.schemes import PRESETS
from poscli.schemes.rotary import Rotary


def axis_schemes(
    phases: Array, positions: Array, bits: int, width: int, conventions: dict[str, Any]
) -> list[Rotary]:
    """Return the schemes of several axes that may turn pairs to these phases.

    phases are (n, pairs), positions (n, axes).
    """
    axis, w, off = _by_axis(phases, positions, bits)
    found = []
    for base in _bases(w, off, width, positions.shape[1]):
        if positions.shape[1] == 3:
            # A slow pair may not have turned enough to tell its axis: usual sections come first.
            counts = np.bincount(axis, minlength=3).tolist()
            for sections, layout in product(
                [*_usual_sections(len(w)), counts], ("blocked", "interleaved")
            ):
                found.append(
                    scheme_of(
                        "rope-mrope", base=base, layout=layout, sections=sections, **conventions
                    )
                )
        elif positions.shape[1] == 2:
            pairings = [conventions["pairing"]]
            if conventions["pairing"] == "half":
                pairings.append("half-per-axis")
            for first, order, pairing in product(
                ("row", "column"), ("per-axis", "alternating"), pairings
            ):
                found.append(
                    scheme_of(
                        "rope-axial", base=base, first=first, frequency_order=order, pairing=pairing
                    )
                )
    return [s for s in found if isinstance(s, Rotary)]


def _usual_sections(pairs: int) -> list[list[int]]:
    return [p["sections"] for p in PRESETS.values() if sum(p.get("sections", [])) == pairs]


def _by_axis(phases: Array, positions: Array, bits: int) -> tuple[Array, Array, Array]:
    """Return for each pair the axis whose positions explain its phases best, and its frequency."""
    fits = [_fit(phases, positions[:, a], bits) for a in range(positions.shape[1])]
    misses = np.stack([miss for _, _, miss in fits])
    axis = np.argmin(misses, axis=0)
    pick = axis, np.arange(phases.shape[1])
    return axis, np.stack([w for w, _, _ in fits])[pick], np.stack([o for _, o, _ in fits])[pick]


def _fit(phases: Array, numbers: Array, bits: int) -> tuple[Array, Array, Array]:
    w, off = turns_per_step(phases, numbers, bits)
    error = phases - np.multiply.outer(numbers, w)
    error = np.abs(error - TURN * np.rint(error / TURN)).max(axis=0)
    return w, off, np.maximum(error, 4 * rounding_of_angles(np.zeros(1), bits)[0])


def _bases(w: Array, off: Array, width: int, axes: int) -> list[float]:
    """Return bases under which a ladder runs through the pairs, all of them or half for each."""
    shares = {3: [len(w)], 2: [len(w), len(w) // 2]}.get(axes, [])
    found = []
    for share in shares:
        i = share - 1
        if i > 0 and w[i] > 2 * off[i]:
            power = share / i
            slack = 2 * power * off[i] / w[i]
            base = w[i] ** -power
            found.append(roundest(base * (1 - slack), base * (1 + slack), known_bases("rope")))
    return [b for b in found if b > 1]
