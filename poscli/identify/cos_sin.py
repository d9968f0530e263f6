"""Tables of cos and sin: which RoPE made them?

Columns 0 and r/2 equal: the table was doubled by concatenation, as where halves are paired; columns
0 and 1 equal: by repetition, as where neighbours are. cos^2 + sin^2 is the square of the attention
factor. The frequencies are read off the growth of the angles.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.evidence import Evidence
from poscli.identify.findings import (
    Finding,
    attempt,
    compare_command,
    encode_command,
    first_that_explain,
    positions_option,
    scheme_of,
)
from poscli.identify.fitting import (
    error_of_far_rows,
    roundest,
    rounding_of_angles,
    turns_per_step,
    whole_number,
)
from poscli.identify.frequencies import rope_schemes
from poscli.identify.pairs import axis_schemes
from poscli.phase import angles
from poscli.positions import grid_positions
from poscli.schemes import Scheme
from poscli.schemes.forms import Form, as_matrices, in_one_row, side_by_side
from poscli.schemes.rotary import Rotary

_MOST_ANGLES = 2**18


@dataclass(frozen=True)
class Spread:
    """How the numbers of the pairs were spread over columns: each pair's, and the pairing."""

    columns: Array
    pairs: int
    pairing: str
    words: str

    @property
    def width(self) -> int:
        """The width of a head of so many pairs."""
        return 2 * self.pairs

    @property
    def form(self) -> Form | None:
        """The form that prints cos and sin so."""
        return "columns" if self.columns.size > self.pairs else None

    @property
    def form_of_angles(self) -> Form:
        """The form that prints angles so."""
        return "angle-columns" if self.columns.size > self.pairs else "angles"

    @property
    def first(self) -> Array:
        """The first column of each pair."""
        return np.array([np.flatnonzero(self.columns == j)[0] for j in range(self.pairs)])


@dataclass(frozen=True)
class Part:
    """Which of cos and sin a dump holds: its index among both, and what it is called."""

    index: int | slice
    kind: str
    words: str = ""


BOTH = Part(slice(None), "cos and sin")
_WORDS: dict[Form | None, str] = {
    "cache": "cos of every pair, then sin",
    "stacked": "cos and sin of each pair side by side",
    "matrices": "a 2 x 2 matrix per pair",
}
_AS_STORED: dict[Form | None, Callable[[Array], Array]] = {
    "stacked": lambda got: side_by_side(*got),
    "matrices": lambda got: as_matrices(*got),
}


def from_cos_sin(evidence: Evidence) -> list[Finding]:
    """Explain cos (n, c) and sin (n, c)."""
    assert evidence.other is not None
    cos, sin = evidence.array.values, evidence.other.values
    at = evidence.positions
    if cos.ndim != 2 or cos.shape != sin.shape or len(cos) < 2:
        return []
    if at is not None and len(at) != len(cos):
        return []
    found: list[Finding] = []
    for spread in spreads(cos, sin):
        found += _read(evidence, cos, sin, spread)
    return found


def cos_sin_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's tables against cos and sin, from position 0 on where none are stated."""
    assert evidence.other is not None
    cos, sin = evidence.array.values, evidence.other.values
    if not isinstance(scheme, Rotary) or cos.ndim != 2 or cos.shape != sin.shape:
        return []
    at = evidence.positions
    if at is None:
        at = scheme.coordinates(np.arange(len(cos)))
    if len(at) != len(cos):
        return []
    both = np.stack([cos, sin])
    found: list[Finding] = []
    for spread in spreads(cos, sin):
        found += attempt(held, evidence, BOTH, both, spread, scheme, at)
    return found


def from_one_row(evidence: Evidence) -> list[Finding]:
    """Explain a table (n, 2 pairs) as the cosines of each position, then its sines."""
    return [_in_one_row(f) for split in _split(evidence) for f in from_cos_sin(split)]


def one_row_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's cosines and sines in one row against a table."""
    return [_in_one_row(f) for split in _split(evidence) for f in cos_sin_of(split, scheme)]


def _in_one_row(found: Finding) -> Finding:
    want, got, allowed = (in_one_row(*both) for both in (found.want, found.got, found.allowed))
    elsewhere = None if found.elsewhere is None else in_one_row(*found.elsewhere)
    return replace(
        found,
        kind="cos and sin in one row",
        want=want,
        got=got,
        allowed=allowed,
        elsewhere=elsewhere,
    )


def _split(evidence: Evidence) -> list[Evidence]:
    values = evidence.array.values
    if values.ndim != 2 or values.shape[1] % 2:
        return []
    cos, sin = (replace(evidence.array, values=half) for half in np.split(values, 2, axis=1))
    return [replace(evidence, array=cos, other=sin, form="cache")]


def from_angles(evidence: Evidence) -> list[Finding]:
    """Explain angles (n, c), or (rows, columns, c): each the position times a frequency."""
    values, positions = evidence.array.values, evidence.positions
    if values.size > _MOST_ANGLES:
        return []
    if values.ndim == 3 and positions is None:
        positions = grid_positions(values.shape[:2])
        values = values.reshape(-1, values.shape[-1])
    if values.ndim != 2 or len(values) < 2:
        return []
    at = np.arange(len(values)) if positions is None else positions
    if len(at) != len(values):
        return []
    found: list[Finding] = []
    for spread in spreads(values, values):
        for scheme in _of_angles(values[:, spread.first], at, evidence, spread):
            found += attempt(_held_angles, evidence, values, at, scheme, spread)
    return found


def angles_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's angles against an array of them."""
    values = evidence.array.values
    if not isinstance(scheme, Rotary) or values.ndim not in (2, 3):
        return []
    at = evidence.positions
    rows = values.reshape(-1, values.shape[-1])
    if at is None:
        at = grid_positions(values.shape[:2]) if values.ndim == 3 else np.arange(len(rows))
    if len(at) != len(rows):
        return []
    found: list[Finding] = []
    for spread in spreads(rows, rows):
        found += attempt(_held_angles, evidence, rows, at, scheme, spread)
    return found


def _of_angles(angle: Array, at: Array, evidence: Evidence, spread: Spread) -> list[Rotary]:
    width, bits = spread.width, evidence.array.bits
    conventions = {"pairing": spread.pairing}
    if at.ndim == 2:
        size = at.max(axis=0) + 1
        top = 2 * float(np.abs(angle).max()) / np.pi
        pixel = scheme_of(
            "rope-axial-pixel",
            rows=int(size[0]),
            columns=int(size[1]),
            max_freq=roundest(top * (1 - 1e-6), top * (1 + 1e-6)),
            **conventions,
        )
        found = axis_schemes(angle, at, bits, width, conventions)
        return [*found, *([pixel] if isinstance(pixel, Rotary) else [])]
    last = int(np.argmax(np.abs(at)))
    if not at[last]:
        return []
    w = angle[last] / at[last]
    off = 16 * 2.0 ** -min(bits, 24) * np.abs(w) + evidence.array.step
    return rope_schemes(w, off, width=width, longest=int(at.max()) + 1, conventions=conventions)


def _held_angles(
    evidence: Evidence, values: Array, at: Array, scheme: Rotary, spread: Spread
) -> Finding:
    width = spread.width
    _refuse_other_width(scheme, spread)
    scheme.check_positions(at)
    got = angles(scheme.per_pair(at, width), scheme.frequencies(width))[:, spread.columns]
    allowed = np.abs(got) * 16 * 2.0 ** -min(evidence.array.bits, 24) + 1e-12
    form = f"--show {spread.form_of_angles}"
    command = encode_command(scheme, positions_option(at), f"--dim {width}", form)
    if evidence.array.values.ndim == 3:
        command = compare_command(evidence, scheme, None)
    return Finding(
        scheme,
        "angles",
        values,
        got,
        allowed + evidence.array.step,
        command,
        facts=rotary_facts(scheme, width, at, spread.words),
        elsewhere=got,
        at=at,
        as_stored=lambda got: got.reshape(evidence.array.values.shape),
    )


def spreads(cos: Array, sin: Array) -> list[Spread]:
    """Return the ways in which the columns of both tables may hold their pairs."""
    count = cos.shape[1]
    half, found = count // 2, []
    if count % 2 == 0:
        i = np.arange(half)
        for columns, pairing, words in (
            (np.tile(i, 2), "half", "doubled by concatenation"),
            (np.repeat(i, 2), "adjacent", "doubled by repetition"),
        ):
            spread = Spread(columns, half, pairing, words)
            if all(np.array_equal(t, t[:, spread.first][:, columns]) for t in (cos, sin)):
                found.append(spread)
    return found or [Spread(np.arange(count), count, "adjacent", "one column per pair")]


def _read(evidence: Evidence, cos: Array, sin: Array, spread: Spread) -> list[Finding]:
    bits, positions = evidence.array.bits, evidence.positions
    c, s = cos[:, spread.first], sin[:, spread.first]
    sizes = np.hypot(c, s)
    amplitude = float(np.median(sizes))
    if not amplitude or np.abs(sizes / amplitude - 1).max() > 0.05:
        return []
    slack = (8 * 2.0**-bits + 2 * evidence.array.step) * amplitude
    conventions: dict[str, Any] = {"pairing": spread.pairing}
    phases = np.arctan2(s, c)
    width = spread.width
    if positions is not None and positions.ndim == 2:
        guesses = [axis_schemes(phases, positions, bits, width, conventions)]
        at = positions
    else:
        steps = np.arange(len(c)) if positions is None else positions
        w, off = turns_per_step(phases, steps, bits)
        w = np.where((s == 0).all(axis=0) & (c > 0).all(axis=0), 0.0, w)
        if w[np.argmax(np.abs(w))] < 0:
            w, phases, conventions["direction"] = -w, -phases, "clockwise"
        number = 0 if positions is not None else whole_number(phases[0], w, off)
        if number is None:
            return []
        at = steps + number
        guesses = [
            rope_schemes(
                w,
                within,
                width=width,
                amplitude=amplitude,
                amplitude_off=slack,
                longest=int(at.max()) + 1,
                conventions=conventions,
            )
            for within in (off, off + error_of_far_rows(w, at, bits))
        ]
    both = np.stack([cos, sin])
    return first_that_explain(guesses, lambda s: attempt(held, evidence, BOTH, both, spread, s, at))


def _refuse_other_width(scheme: Rotary, spread: Spread) -> None:
    scheme.check_width(spread.width, 1)
    if len(scheme.pairs(spread.width)[0]) != spread.pairs:
        raise PoscliError(f"{scheme.name} turns fewer than the {spread.pairs} pairs of the table")


def held(
    evidence: Evidence, part: Part, want: Array, spread: Spread, scheme: Rotary, at: Array
) -> Finding:
    """Hold a scheme against want: cos (n, c), sin (n, c), or both (2, n, c), at the positions."""
    width = spread.width
    _refuse_other_width(scheme, spread)
    scheme.check_positions(at)
    used = scheme.for_length(int(at.max()) + 1)

    def table(positions: Array) -> Array:
        both = np.stack([t[:, spread.columns] for t in used.cos_sin(positions, width)])
        return np.asarray(both[part.index])

    words = _WORDS.get(evidence.form, spread.words)
    form = evidence.form or spread.form
    shown = [f"--show {form}"] if form else []
    command = encode_command(scheme, positions_option(at), f"--dim {width}", *shown)
    if part is not BOTH:
        command = compare_command(evidence, scheme, at)
    angle = angles(used.per_pair(at, width), used.frequencies(width))[:, spread.columns]
    allowed = rounding_of_angles(angle, evidence.array.bits) * used.amplitude
    return Finding(
        scheme,
        part.kind,
        want,
        table(at),
        np.broadcast_to(allowed + evidence.array.step, want.shape),
        command,
        facts=rotary_facts(used, width, at, f"{part.words}{words}"),
        elsewhere=table(at + len(at)),
        at=at,
        as_stored=_AS_STORED.get(evidence.form, np.asarray),
    )


def rotary_facts(scheme: Rotary, width: int, at: Array, layout: str) -> list[tuple[str, Any]]:
    """Return what identifies a RoPE, in the report's words."""
    return [
        ("base", getattr(scheme, "base", None)),
        ("width", width),
        ("offset", at[0].tolist() if at.ndim == 1 else None),
        ("layout", layout),
        ("direction", getattr(scheme, "direction", "counter-clockwise")),
        ("attention factor", scheme.amplitude),
    ]
