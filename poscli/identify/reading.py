"""From the arrays of a dump to what each may be evidence of, and to what explains it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.bias import bias_of, from_bias, from_slopes, slopes_of
from poscli.identify.buckets import buckets_of, from_buckets, from_clipped, from_index
from poscli.identify.cos_sin import (
    angles_of,
    cos_sin_of,
    from_angles,
    from_cos_sin,
    from_one_row,
    one_row_of,
)
from poscli.identify.dumps import Dump, Stored
from poscli.identify.evidence import Evidence
from poscli.identify.findings import Finding, ranked
from poscli.identify.fitting import MOST_ROWS
from poscli.identify.frequencies import frequencies_by, from_frequencies
from poscli.identify.one_part import from_one_part, one_part_of
from poscli.identify.rotation import from_rotation, from_scales, rotation_of, scales_of
from poscli.identify.table import addition_of, from_addition, from_table, from_table_moved, table_of
from poscli.identify.uncounted import uncounted, usual_ropes
from poscli.schemes import Scheme
from poscli.schemes.forms import Form

_POSITIONS = ("positions", "position_ids", "position", "relative_position")
_KEY_POSITIONS = ("key_positions",)
_QUERY_POSITIONS = ("query_positions",)
_AFTER = ("_out", "_after", "_rot", "_rotated", "_embed")
_BEFORE = ("", "_before", "_in")
_PAIRS = (("before", "after"), ("x", "out"), ("x", "y"), ("input", "output"))


Explain = Callable[[Evidence], list[Finding]]
Hold = Callable[[Evidence, Scheme], list[Finding]]


def from_table_or_one_row(evidence: Evidence) -> list[Finding]:
    """Explain a table as that of a sinusoid, or of a RoPE whose cosines come before its sines."""
    return [*from_table(evidence), *from_one_row(evidence)]


KINDS: dict[str, tuple[Explain, ...]] = {
    "cos and sin": (from_cos_sin,),
    "before and after": (from_rotation, from_addition),
    "1 axis": (from_frequencies, from_slopes, from_buckets, from_index),
    "2 axes": (
        from_table_or_one_row,
        from_one_part,
        from_index,
        from_scales,
        from_angles,
        from_bias,
        from_table_moved,
    ),
    "3 axes": (from_table, from_clipped, from_index, from_angles, from_bias),
    "4 axes": (from_bias,),
}


@dataclass(frozen=True)
class Conclusion:
    """What explains one piece of evidence, best first; or why the evidence cannot decide."""

    evidence: Evidence
    findings: list[Finding]
    undecided: str = ""

    @property
    def rivals(self) -> list[Finding]:
        """Conventions that explain the dump as well as the first, and differ from it elsewhere."""
        if not self.findings or not self.findings[0].explains:
            return []
        best = self.findings[0]
        return [f for f in self.findings[1:] if f.explains and not f.same_as(best)]


def evidence_of(dump: Dump, positions: Array | None = None) -> list[Evidence]:
    """Return what a dump's arrays are evidence of; positions stated by the user come first."""
    arrays = dict(dump.arrays)
    stated, queries, keys = (
        _taken(arrays, names) for names in (_POSITIONS, _QUERY_POSITIONS, _KEY_POSITIONS)
    )
    stated = stated if queries is None else queries
    at = positions if positions is not None else stated
    in_file = positions is None and stated is not None
    found = []
    for names, kind in _pairs(arrays):
        one, other = (arrays.pop(name) for name in names)
        for name, array in zip(names, (one, other), strict=True):
            if np.isneginf(array.values).any():
                raise PoscliError(
                    f"{dump.path}: {name}: holds -infinity, which only the mask in a bias does"
                )
        found.append(Evidence(kind, one, other, at, keys, names))
    for name, array in arrays.items():
        found += _alone(name, array, at, keys)
    if not found:
        raise PoscliError(f"{dump.path}: holds positions and nothing that was made of them")
    return [_flat(replace(e, source=str(dump.path), has_positions=in_file)) for e in found]


def conclude(evidence: Evidence) -> Conclusion:
    """Return what explains the evidence, or why nothing can be concluded from it."""
    reason = undecided(evidence)
    if reason:
        return Conclusion(evidence, [], reason)
    findings: list[Finding] = []
    looked_at = sampled(evidence)
    masked = bool(np.isneginf(evidence.array.values).any())
    for explain in (from_bias,) if masked else KINDS[evidence.kind]:
        # Numbers that are no encoding may overflow under a reading that does not fit them.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            findings += explain(looked_at)
        if evidence.kind != "1 axis" and any(f.explains for f in findings):
            break
    if evidence.other is not None and not any(f.explains for f in findings):
        # Numbers with noise come near a RoPE that is in use, if to any.
        for scheme in usual_ropes():
            with np.errstate(over="ignore"):
                findings += [f for f in held_by(looked_at, scheme) if not _is_otherwise_paired(f)]
        if not any(f.is_near for f in findings) and (why := uncounted(evidence)):
            return Conclusion(evidence, [], why)
    found = ranked(f for f in findings if f.is_near)
    return Conclusion(evidence, found if looked_at is evidence else _held_by_all(evidence, found))


def _is_otherwise_paired(found: Finding) -> bool:
    """Say whether a table was doubled as for another pairing than the scheme's."""
    layout = str(dict(found.facts).get("layout"))
    doubled = {"doubled by concatenation": "half", "doubled by repetition": "adjacent"}.get(layout)
    return doubled is not None and getattr(found.scheme, "pairing", doubled) != doubled


def _held_by_all(evidence: Evidence, findings: list[Finding]) -> list[Finding]:
    """Hold what explains the first rows of a long table against all of them."""
    held: list[Finding] = []
    for found in findings:
        if found.explains and found.at is not None and found.at.ndim == 1:
            at = evidence.positions
            at = found.at[0] + np.arange(len(evidence.array.values)) if at is None else at
            again = held_by(replace(evidence, positions=at), found.scheme)
            held += [replace(f, extra=found.extra) for f in again[:1]]
        if any(f.explains for f in held):
            break
    return ranked(held) or findings


def held_by(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme against the evidence, in every way it can be read; the best comes first."""
    if evidence.kind == "cos and sin":
        found = cos_sin_of(evidence, scheme)
    elif evidence.kind == "before and after":
        found = [*rotation_of(evidence, scheme), *addition_of(evidence, scheme)]
    elif evidence.kind == "1 axis":
        ways: tuple[Hold, ...] = (frequencies_by, slopes_of, buckets_of)
        found = [f for hold in ways for f in hold(evidence, scheme)]
    else:
        ways = (table_of, one_row_of, one_part_of, scales_of, angles_of, bias_of, buckets_of)
        found = [f for hold in ways for f in hold(evidence, scheme)]
    return sorted(found, key=lambda f: f.residual)


def undecided(evidence: Evidence) -> str:
    """Say why the evidence cannot tell conventions apart; empty where it may."""
    if evidence.kind == "before and after":
        return _undecided_turn(evidence)
    values = evidence.array.values
    if evidence.kind == "1 axis":
        alone = values.size == 1 and not 0 < values[0] < 0.5
        return "a single frequency is 1 whatever the base" if alone else ""
    if np.ptp(np.where(np.isfinite(values), values, 0.0)) == 0:
        return "all numbers are equal"
    if evidence.kind == "cos and sin":
        return _undecided_rows(evidence)
    # Rows in even steps are a bias of the key alone, and may well be equal.
    if evidence.kind == "2 axes" and np.isfinite(values).all() and not _is_even(values[0]):
        return _undecided_rows(evidence)
    if evidence.kind == "2 axes" and values.shape[1] <= 2 < values.shape[0]:
        return "a single pair turns by 1 per position whatever the base and the layout"
    return ""


def _is_even(row: Array) -> bool:
    steps = np.diff(row)
    return row.size > 1 and bool(np.ptp(steps) <= 1e-6 * np.abs(steps).max())


def _undecided_turn(evidence: Evidence) -> str:
    assert evidence.other is not None
    values, at = evidence.array.values, evidence.positions
    shapes = values.shape, evidence.other.values.shape
    if len(set(shapes)) > 1:
        return f"the two have shapes {shapes[0]} and {shapes[1]}, so neither is the other turned"
    if np.array_equal(values, evidence.other.values) or (at is not None and not np.any(at)):
        return "nothing was turned, as at position 0, where no convention turns anything"
    if values.ndim < 2 or max(values.shape[:-1]) < 2:
        return "a single position cannot tell a convention"
    return "a single column is no pair" if values.shape[-1] < 2 else ""


def _undecided_rows(evidence: Evidence) -> str:
    values, at = evidence.array.values, evidence.positions
    if at is not None and not np.any(at):
        return "every row is at position 0, where all conventions agree"
    if len(values) < 2:
        return "a single position cannot tell a convention"
    if not np.ptp(values, axis=0).any():
        return "all rows are equal, so no row tells its position"
    halves = values.shape[1] == 2 and np.array_equal(values[:, 0], values[:, 1])
    if values.shape[1] == 1 or (evidence.kind == "cos and sin" and halves):
        return "a single pair turns by 1 per position whatever the base"
    return ""


def sampled(evidence: Evidence) -> Evidence:
    """Return the first rows of a long table."""
    values = evidence.array.values
    square = values.ndim == 2 and values.shape[0] == values.shape[1]
    if evidence.kind not in ("cos and sin", "2 axes") or len(values) <= MOST_ROWS or square:
        return evidence
    at = None if evidence.positions is None else evidence.positions[:MOST_ROWS]
    other = evidence.other and replace(evidence.other, values=evidence.other.values[:MOST_ROWS])
    array = replace(evidence.array, values=values[:MOST_ROWS])
    return replace(evidence, array=array, other=other, positions=at)


def _taken(arrays: dict[str, Stored], names: tuple[str, ...]) -> Array | None:
    for name in names:
        if name in arrays and len(arrays) > 1:
            values = arrays.pop(name).values
            while values.ndim > 1 and len(values) == 1:
                values = values[0]
            return values.astype(np.int64) if (values % 1 == 0).all() else values
    return None


def _pairs(arrays: dict[str, Stored]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the names that belong together, and as what."""
    known = set(arrays)
    if {"cos", "sin"} <= known:
        one, other = (_unbatched(arrays[name]) for name in ("cos", "sin"))
        if one.values.ndim == 2 and one.values.shape == other.values.shape:
            arrays["cos"], arrays["sin"] = one, other
            yield ("cos", "sin"), "cos and sin"
    for name in list(arrays):
        stem = next((name.removesuffix(end) for end in _AFTER if name.endswith(end)), None)
        before = next((f"{stem}{b}" for b in _BEFORE if f"{stem}{b}" in known - {name}), None)
        if stem and before:
            yield (before, name), "before and after"
    for before, after in _PAIRS:
        if {before, after} <= known:
            yield (before, after), "before and after"
            return


def _unbatched(array: Stored) -> Stored:
    """Drop leading axes of one entry, as where a table was kept for a batch."""
    values = array.values
    while values.ndim > 2 and len(values) == 1:
        values = values[0]
    return replace(array, values=values)


def _alone(name: str, array: Stored, at: Array | None, keys: Array | None) -> Iterator[Evidence]:
    values = array.values
    for form, cos, sin in _cos_and_sin(values):
        if _look_like_cos_sin(cos, sin):
            one, other = (replace(array, values=part) for part in (cos, sin))
            yield Evidence("cos and sin", one, other, at, keys, (name,), form)
            return
    axes = values.ndim
    if not 1 <= axes <= 4:
        raise PoscliError(f"{name or 'the array'} has {axes} axes; 1 to 4 are explained")
    yield Evidence(f"{axes} {'axis' if axes == 1 else 'axes'}", array, None, at, keys, (name,))


def _cos_and_sin(values: Array) -> Iterator[tuple[Form | None, Array, Array]]:
    """Yield cos and sin, each (n, c), in the forms in which one array may hold both."""
    while values.ndim > 3 and len(values) == 1:
        values = values[0]
    if values.ndim == 3 and values.shape[0] == 2:
        yield None, values[0], values[1]
    if values.ndim == 4 and values.shape[1] == 1:
        # Stacked tables of a whole batch have an axis of heads.
        values = values[:, 0]
    if values.ndim == 3 and values.shape[2] == 2:
        yield "stacked", values[..., 0], values[..., 1]
    if values.ndim == 4 and values.shape[2:] == (2, 2):
        (cos, minus_sin), (sin, again) = np.moveaxis(values, (2, 3), (0, 1))
        if np.array_equal(cos, again) and np.array_equal(sin, -minus_sin):
            yield "matrices", cos, sin


def _flat(evidence: Evidence) -> Evidence:
    """Bring positions of several leading axes, as those of a batch, to one."""
    at, values = evidence.positions, evidence.array.values
    leading = values.shape[:-1]
    if at is None or at.ndim < 2 or at.shape != leading:
        return evidence
    rows = replace(evidence.array, values=values.reshape(-1, values.shape[-1]))
    return replace(evidence, kind="2 axes", array=rows, positions=at.reshape(-1))


def _look_like_cos_sin(cos: Array, sin: Array) -> bool:
    sizes = np.hypot(cos, sin)
    return bool(sizes.all() and np.ptp(sizes) < 0.05 * sizes.max())
