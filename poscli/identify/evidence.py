"""What a dump is held to be evidence of: arrays with a role, and the positions they stand at."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.dumps import Dump, Stored
from poscli.positions import LARGEST
from poscli.schemes.forms import Form

_POSITIONS = ("positions", "position_ids", "position", "relative_position")
_KEY_POSITIONS = ("key_positions",)
_QUERY_POSITIONS = ("query_positions",)
_AFTER = ("_out", "_after", "_rot", "_rotated", "_embed")
_BEFORE = ("", "_before", "_in")
_PAIRS = (("before", "after"), ("x", "out"), ("x", "y"), ("input", "output"))


@dataclass(frozen=True)
class Evidence:
    """One array, or two that belong together, read in one way.

    kind says how: see the files beside this one. positions are (n,) or (n, axes), where the dump
    or the user states them; else they are taken to follow each other from an unknown first one.
    form is how cos and sin were laid out where that was not by columns. source is the file, and
    has_positions says whether it holds the positions itself.
    """

    kind: str
    array: Stored
    other: Stored | None = None
    positions: Array | None = None
    key_positions: Array | None = None
    names: tuple[str, ...] = field(default=())
    form: Form | None = None
    source: str = ""
    has_positions: bool = False


def evidence_of(dump: Dump, positions: Array | None = None) -> list[Evidence]:
    """Return what a dump's arrays are evidence of; positions stated by the user come first."""
    arrays = dict(dump.arrays)
    for name in (*_POSITIONS, *_QUERY_POSITIONS, *_KEY_POSITIONS):
        if name in arrays and len(arrays) > 1 and (np.abs(arrays[name].values) >= LARGEST).any():
            raise PoscliError(f"{dump.path}: {name}: positions lie between -2^53 and 2^53")
    stated, queries, keys = (
        _taken(arrays, names) for names in (_POSITIONS, _QUERY_POSITIONS, _KEY_POSITIONS)
    )
    stated = stated if queries is None else queries
    at = positions if positions is not None else stated
    in_file = positions is None and stated is not None
    found = []
    for names, kind in _pairs(arrays):
        one, other = (arrays.pop(name) for name in names)
        for name in names:
            _refuse_mask(dump, name)
        found.append(Evidence(kind, one, other, at, keys, names))
    for name, array in arrays.items():
        found += _alone(name, array, at, keys)
    if not found:
        raise PoscliError(f"{dump.path}: holds positions and nothing that was made of them")
    return [_flat(replace(e, source=str(dump.path), has_positions=in_file)) for e in found]


def _refuse_mask(dump: Dump, name: str) -> None:
    if np.isneginf(dump.arrays[name].values).any():
        raise PoscliError(
            f"{dump.path}: {name}: holds -infinity, which only the mask in a bias does"
        )


def _taken(arrays: dict[str, Stored], names: tuple[str, ...]) -> Array | None:
    for name in names:
        if name in arrays and len(arrays) > 1:
            values = np.atleast_1d(arrays.pop(name).values)
            if values.ndim == 3 and len(values) in (2, 3) and values.shape[2] not in (2, 3):
                # Programs of several axes keep them first: (axes, b, n).
                values = np.moveaxis(values, 0, -1)
            values = unbatched(values, 1)
            return values.astype(np.int64) if (values % 1 == 0).all() else values
    return None


def _pairs(arrays: dict[str, Stored]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the names that belong together, and as what."""
    known = set(arrays)
    if {"cos", "sin"} <= known:
        one, other = (
            replace(arrays[name], values=unbatched(arrays[name].values, 2))
            for name in ("cos", "sin")
        )
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


def unbatched(values: Array, axes: int) -> Array:
    """Drop leading axes of one entry, as of a batch, down to so many axes."""
    while values.ndim > axes and len(values) == 1:
        values = values[0]
    return values


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
    values = unbatched(values, 3)
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
    if at is not None and at.ndim == 2 and len(at) in (2, 3) and len(at) not in leading:
        at = at.T
        evidence = replace(evidence, positions=at)
    if at is None or at.ndim < 2 or at.shape != leading:
        return evidence
    rows = replace(evidence.array, values=values.reshape(-1, values.shape[-1]))
    return replace(evidence, kind="2 axes", array=rows, positions=at.reshape(-1))


def _look_like_cos_sin(cos: Array, sin: Array) -> bool:
    sizes = np.hypot(cos, sin)
    return bool(sizes.all() and np.ptp(sizes) < 0.05 * sizes.max())
