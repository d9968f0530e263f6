"""A scheme at the places of a sequence, as arrays that every step and layer uses again.

Hooks are pure, so each is asked once per length. Turning is linear: asked for the unit vectors, it
gives a matrix per head and place, and the gradient goes back through the transposed matrix. A
scheme that does more than these arrays can hold is refused, never trained without the rest.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.schemes.base import Scheme

_CLOSE = 1e-9


@dataclass(frozen=True)
class Placed:
    """What a scheme does at n places: x * gain + added, q @ queries, k @ keys, scores + bias.

    gain and added are (n, d); queries and keys (h, n, k, k), or (n, k, k) where all heads share
    them, or None where nothing turns; bias is (h, n, n) and holds the mask as minus infinity.
    """

    scheme: Scheme
    positions: Array
    gain: Array
    added: Array
    queries: Array | None
    keys: Array | None
    bias: Array
    hidden: Array
    dim: int

    def with_learned(self, values: dict[str, Array]) -> Self:
        """Return the same places with other learned values in the scheme."""
        if not values:
            return self
        scheme = self.scheme.with_learned(values)
        heads, dtype = len(self.bias), self.added.dtype
        gain, added = _affine(scheme, self.positions, self.dim)
        bias = _bias(scheme, self.positions, self.dim, heads) + self.hidden
        return replace(
            self,
            scheme=scheme,
            gain=gain.astype(dtype),
            added=added.astype(dtype),
            bias=bias.astype(dtype),
        )

    def gradient(self, added: Array, bias: Array) -> dict[str, Array]:
        """Gradients of what is added (n, d) and of the bias (h, n, n) -> of the learned values."""
        found = self.scheme.add_gradient(added, self.positions)
        return found | self.scheme.bias_gradient(bias, self.positions, self.positions)


def place(
    scheme: Scheme, length: int, dim: int, heads: int, causal: bool, dtype: str = "float32"
) -> Placed:
    """Return the scheme at the places 0 to length - 1 of a model of width dim.

    Raises PoscliError where the scheme has no value for a place, does not fit the width, or does
    something to tokens, queries, keys or scores that a Placed cannot hold.
    """
    scheme = scheme.for_length(length)
    scheme.check_width(scheme.table_width(dim, heads), heads)
    positions = scheme.coordinates(np.arange(length))
    gain, added = _affine(scheme, positions, dim)
    turns = [_turns(hook, positions, dim // heads, heads) for hook in _hooks(scheme)]
    bias = _bias(scheme, positions, dim, heads)
    _refuse_more(scheme, positions, gain, added, turns, bias)
    hidden = np.where(np.tri(length, dtype=bool) | (not causal), 0.0, -np.inf)
    queries, keys = (None if t is None else t.astype(dtype) for t in map(_shared, turns))
    return Placed(
        scheme,
        positions,
        gain.astype(dtype),
        added.astype(dtype),
        queries,
        keys,
        (bias + hidden).astype(dtype),
        hidden,
        dim,
    )


def refuse_untrainable(scheme: Scheme, dim: int, heads: int) -> None:
    """Raise PoscliError for a scheme with values to learn that gives no gradient for them."""
    count, kind = scheme.parameters(dim, heads), type(scheme)
    silent = (kind.add_gradient, kind.bias_gradient) == (Scheme.add_gradient, Scheme.bias_gradient)
    if count and (silent or not scheme.learnable(dim, heads)):
        raise PoscliError(
            f"{scheme.name} cannot be trained here: it has {count:,} values to learn, and does not "
            "say how they learn"
        )


def _hooks(scheme: Scheme) -> list[object]:
    return [scheme.rotate, scheme.rotate_keys]


def _affine(scheme: Scheme, positions: Array, dim: int) -> tuple[Array, Array]:
    zeros = np.zeros((len(positions), dim))
    added = scheme.add(zeros, positions)
    return scheme.add(zeros + 1, positions) - added, added


def _turns(hook: object, positions: Array, width: int, heads: int) -> Array:
    """Ask a hook for every unit vector at every place: row i of the matrix is where e_i goes."""
    assert callable(hook)
    units = np.broadcast_to(np.eye(width)[:, None, None], (width, heads, len(positions), width))
    return np.stack([hook(unit.copy(), positions) for unit in units], axis=2)


def _bias(scheme: Scheme, positions: Array, dim: int, heads: int) -> Array:
    zeros = np.zeros((heads, len(positions), dim // heads))
    return scheme.bias(zeros, zeros, positions, positions)


def _refuse_more(
    scheme: Scheme, positions: Array, gain: Array, added: Array, turns: list[Array], bias: Array
) -> None:
    """Try the hooks on drawn vectors: is what they do what the arrays say, and nothing else?"""
    rng = np.random.default_rng(0)
    heads, n, width = turns[0].shape[:3]
    x, q, k = (rng.normal(size=shape) for shape in (added.shape, *[(heads, n, width)] * 2))
    same = {
        "adds": (scheme.add(x, positions), x * gain + added),
        "turns queries": (scheme.rotate(q, positions), (q[:, :, None] @ turns[0])[:, :, 0]),
        "turns keys": (scheme.rotate_keys(k, positions), (k[:, :, None] @ turns[1])[:, :, 0]),
        "biases scores": (scheme.bias(q, k, positions, positions), bias),
    }
    for what, (hook, arrays) in same.items():
        if not np.allclose(hook, arrays, rtol=_CLOSE, atol=_CLOSE):
            raise PoscliError(
                f"{scheme.name} cannot be trained here: how it {what} depends on the content, and "
                "no gradient is written for that"
            )


def _shared(turns: Array) -> Array | None:
    """Drop the heads where all agree, and everything where nothing turns."""
    if not (turns == turns[:1]).all():
        return turns
    return None if (turns[0] == np.eye(turns.shape[-1])).all() else turns[0]
