"""The forms in which programs keep the turn of a RoPE: the same numbers, laid out otherwise.

columns: cos and sin with a column per column of the head, as transformers keeps them. cache: the
cosines of a position, then its sines, as vLLM's cos_sin_cache. stacked: cos and sin side by side
for each pair, as torchtune's cache, or a complex freqs_cis read as real numbers. matrices: the 2 x
2 matrix of each turn, as Flux keeps them. angles and angle-columns: the angles before cos and sin,
a column per pair or per column of the head. frequencies: inv_freq.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from poscli.arrays import Array
from poscli.phase import angles, as_floats
from poscli.report import Table
from poscli.schemes.base import position_labels
from poscli.schemes.rotary import Rotary

Form = Literal["columns", "cache", "stacked", "matrices", "angles", "angle-columns", "frequencies"]
FORMS: tuple[str, ...] = get_args(Form)

Axes = list[tuple[str, tuple[str, ...]]]


def in_form(form: Form, scheme: Rotary, positions: Array, width: int) -> Table:
    """Return a scheme's turn at the positions in one of the forms, for a head of this width."""
    scheme.check_width(width, 1)
    scheme.check_positions(positions)
    axes, values = _MAKERS[form](scheme, positions, width)
    return Table(f"R, as {form}", tuple(axes), values)


def pair_of_column(scheme: Rotary, width: int) -> Array:
    """Return the pair that each column which turns belongs to, (2 pairs,)."""
    first, second = scheme.pairs(width)
    pair = np.arange(len(first))
    return np.asarray(np.concatenate([pair, pair])[np.argsort(np.concatenate([first, second]))])


def in_one_row(cos: Array, sin: Array) -> Array:
    """Lay cos (..., pairs) and sin (..., pairs) out as the form cache, (..., 2 pairs)."""
    return np.concatenate([cos, sin], axis=-1)


def side_by_side(cos: Array, sin: Array) -> Array:
    """Lay cos (..., pairs) and sin (..., pairs) out as the form stacked, (..., pairs, 2)."""
    return np.stack([cos, sin], axis=-1)


def as_matrices(cos: Array, sin: Array) -> Array:
    """Lay cos (..., pairs) and sin (..., pairs) out as the form matrices, (..., pairs, 2, 2)."""
    return np.stack([side_by_side(cos, 0.0 - sin), side_by_side(sin, cos)], axis=-2)


def _columns(scheme: Rotary, positions: Array, width: int) -> tuple[Axes, Array]:
    both = np.stack(scheme.cos_sin(positions, width))[..., pair_of_column(scheme, width)]
    part = ("part", ("cos", "sin"))
    return [part, _by_position(positions), ("column", _numbered(both.shape[-1]))], both


def _cache(scheme: Rotary, positions: Array, width: int) -> tuple[Axes, Array]:
    values = in_one_row(*scheme.cos_sin(positions, width))
    names = tuple(f"{part} {i}" for part in ("cos", "sin") for i in range(values.shape[1] // 2))
    return [_by_position(positions), ("pair", names)], values


def _stacked(scheme: Rotary, positions: Array, width: int) -> tuple[Axes, Array]:
    values = side_by_side(*scheme.cos_sin(positions, width))
    pairs = ("pair", _numbered(values.shape[1]))
    return [_by_position(positions), pairs, ("part", ("cos", "sin"))], values


def _matrices(scheme: Rotary, positions: Array, width: int) -> tuple[Axes, Array]:
    values = as_matrices(*scheme.cos_sin(positions, width))
    pairs = ("pair", _numbered(values.shape[1]))
    sides = [("row", _numbered(2)), ("column", _numbered(2))]
    return [_by_position(positions), pairs, *sides], values


def _angles(scheme: Rotary, positions: Array, width: int) -> tuple[Axes, Array]:
    values = angles(scheme.per_pair(positions, width), scheme.frequencies(width))
    return [_by_position(positions), ("pair", _numbered(values.shape[1]))], values


def _angle_columns(scheme: Rotary, positions: Array, width: int) -> tuple[Axes, Array]:
    axes, values = _angles(scheme, positions, width)
    values = values[:, pair_of_column(scheme, width)]
    return [axes[0], ("column", _numbered(values.shape[1]))], values


def _frequencies(scheme: Rotary, positions: Array, width: int) -> tuple[Axes, Array]:
    values = as_floats(scheme.frequencies(width))
    return [("pair", _numbered(len(values)))], values


def _by_position(positions: Array) -> tuple[str, tuple[str, ...]]:
    return "position", position_labels(positions)


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(count))


_MAKERS: dict[Form, Callable[[Rotary, Array, int], tuple[Axes, Array]]] = {
    "columns": _columns,
    "cache": _cache,
    "stacked": _stacked,
    "matrices": _matrices,
    "angles": _angles,
    "angle-columns": _angle_columns,
    "frequencies": _frequencies,
}
