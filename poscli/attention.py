"""The toy attention: word vectors, random or given projections, one layer.

Attention reads like Vaswani et al. 2017, section 3.2: add, project, rotate, score, bias, mask,
softmax, mix. There is no output projection, no norm and no residual, so that what positions do is
all there is to see. It never asks which scheme it has.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.positions import refuse_size
from poscli.report import tolerance
from poscli.schemes.base import Scheme
from poscli.settings import Settings
from poscli.words import Embeddings

MOST_SCORES = 2**19
"""Scores held at a time where only outputs are asked for: they stay in the cache."""

Matrix = list[list[float]]


class Projections(Settings):
    """The three matrices that make queries, keys and values, each (dim, dim)."""

    queries: Matrix
    keys: Matrix
    values: Matrix


class Toy(Settings):
    """The settings of the toy model, shared by the experiments that run attention."""

    dim: int = Field(4, ge=1, le=2**14, description="width of a token's vector")
    heads: int = Field(1, ge=1, le=2**10, description="attention heads; they divide dim")
    seed: int = Field(0, ge=0, description="seed of the word vectors and the projections")
    dtype: Literal["float64", "float32"] = Field("float64", description="numbers to compute in")
    embeddings: Embeddings | None = Field(
        None, description="a vector per word; drawn from the seed and the word where not given"
    )
    projections: Literal["random", "identity"] | Projections = Field(
        "random", description="random (seeded), identity, or the three matrices"
    )
    mask: Literal["none", "causal"] | list[list[Literal[0, 1]]] = Field(
        "none", description="none, causal, or rows of 0 and 1: row = query, 1 = may look"
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.dim % self.heads:
            raise PoscliError(f"heads must divide dim; got {self.heads} heads and dim {self.dim}")
        if isinstance(self.projections, Projections):
            for name, matrix in self.projections:
                if [len(row) for row in matrix] != [self.dim] * self.dim:
                    raise PoscliError(
                        f"projections.{name} must be {self.dim} x {self.dim}, as dim says"
                    )
        return self


Mask = Array | Literal["causal"] | None
"""(n, m) booleans, True where a query may look at a key; or a rule; or None: all may be seen."""


@dataclass(frozen=True)
class Attention:
    """One pass of attention: scores and weights (..., h, n, m), outputs (..., n, d)."""

    scores: Array
    weights: Array
    outputs: Array


@dataclass(frozen=True)
class Model:
    """A layer of attention: three projections (d, d) and some heads."""

    queries: Array
    keys: Array
    values: Array
    heads: int

    def attend(
        self,
        x: Array,
        scheme: Scheme,
        positions: Array,
        mask: Mask = None,
        rows: slice = slice(None),
    ) -> Attention:
        """Token vectors (..., n, d) at places (n,) of a sequence -> scores, weights and outputs.

        rows are the queries that are answered: all, unless said.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            q, k, v, bias = self._prepare(x, scheme, positions)
            look = looks(mask, range(k.shape[-2])[rows], slice(0, k.shape[-2]))
            return attention(q[..., rows, :], k, v, bias(rows), look)

    def outputs(self, x: Array, scheme: Scheme, positions: Array, mask: Mask = None) -> Array:
        """Return what attend gives as outputs, (..., n, d), and never hold every score at once.

        A block of queries is answered at a time (Rabe & Staats 2021), each by its whole softmax,
        over the keys that any of them may look at.
        """
        outputs = np.empty(x.shape, x.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            q, k, v, bias = self._prepare(x, scheme, positions)
            for rows in blocks(q.shape):
                queries = range(rows.start, rows.stop)
                keys = seen(mask, queries, k.shape[-2])
                outputs[..., rows, :] = attention(
                    q[..., rows, :],
                    k[..., keys, :],
                    v[..., keys, :],
                    bias(rows)[..., keys],
                    looks(mask, queries, keys),
                ).outputs
        return outputs

    def tolerance(self, x: Array, scheme: Scheme, positions: Array) -> float:
        """Return by how much rounding alone can move an output of attend.

        Each sum is taken to be off by one unit of the dtype per term, times the sizes summed; an
        error in a score shifts the mixture of the values by as much, relative to their size.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            q, k, v, bias = self._prepare(x, scheme, positions)
            size = np.abs(self._entering(x, scheme, positions)[0])
            q, k, v = np.abs(q), np.abs(k), np.abs(v)
            q_size, k_size = (self._project(size, np.abs(w)) for w in (self.queries, self.keys))
            products, added = [], []
            for rows in blocks(q.shape):
                product = q_size[:, rows] @ k.swapaxes(1, 2)
                product += q[:, rows] @ k_size.swapaxes(1, 2)
                products.append(product.max())
                added.append(np.abs(bias(rows)).max())
            score = np.max(products) / np.sqrt(q.shape[-1]) + np.max(added)
            mixed = float((size @ np.abs(self.values)).max() + v.max() * score)
        return tolerance(x.shape[0] + 2 * x.shape[1], mixed, x.dtype)

    def _entering(self, x: Array, scheme: Scheme, positions: Array) -> tuple[Array, Array, Scheme]:
        scheme = scheme.for_length(int(positions.max()) + 1)
        positions = scheme.coordinates(positions)
        return scheme.add(x, positions), positions, scheme

    def _prepare(
        self, x: Array, scheme: Scheme, positions: Array
    ) -> tuple[Array, Array, Array, Callable[[slice], Array]]:
        """Return queries, keys and values (..., h, n, k), and the bias of some of the queries."""
        x, positions, scheme = self._entering(x, scheme, positions)
        q, k, v = (self._project(x, w) for w in (self.queries, self.keys, self.values))
        q, k = scheme.rotate(q, positions), scheme.rotate_keys(k, positions)

        def bias(rows: slice) -> Array:
            return scheme.bias(q[..., rows, :], k, positions[rows], positions)

        return q, k, v, bias

    def _project(self, x: Array, matrix: Array) -> Array:
        """Token vectors (..., n, d) -> the vectors of each head, (..., h, n, k)."""
        projected = x.reshape(-1, x.shape[-1]) @ matrix
        return projected.reshape(*x.shape[:-1], self.heads, -1).swapaxes(-3, -2)


def attention(q: Array, k: Array, v: Array, bias: Array, mask: Array | None) -> Attention:
    """Queries (h, n, k), keys (h, m, k), values (h, m, k), bias (h, n, m), mask (n, m).

    softmax(q k / sqrt(k) + bias) v: Vaswani 2017, equation 1. Heads are laid side by side. Any of
    them may have more axes in front.
    """
    scores = q @ k.swapaxes(-2, -1) / np.sqrt(q.shape[-1]).astype(q.dtype)
    scores += bias
    if mask is not None:
        np.copyto(scores, -np.inf, where=~mask)
    weights = softmax(scores)
    outputs = (weights @ v).swapaxes(-3, -2)
    return Attention(scores, weights, outputs.reshape(*outputs.shape[:-2], -1))


def softmax(scores: Array) -> Array:
    """Softmax over the last axis. A row that may look at nothing gets weights of 0, never NaN."""
    top = scores.max(axis=-1, keepdims=True)
    weights = scores - np.where(np.isneginf(top), 0.0, top)
    np.exp(weights, out=weights)
    total = weights.sum(axis=-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    return np.asarray(weights)


def seen(mask: Mask, queries: range, keys: int) -> slice:
    """Return the span of the keys that any of these queries may look at."""
    if mask is None:
        return slice(0, keys)
    if isinstance(mask, str):
        return slice(0, queries.stop)
    some = np.flatnonzero(mask[queries.start : queries.stop].any(axis=0))
    return slice(some[0], some[-1] + 1) if some.size else slice(0, 1)


def looks(mask: Mask, queries: range, keys: slice) -> Array | None:
    """Return which of these queries may look at which of these keys; None where all may."""
    if isinstance(mask, str):
        return np.arange(keys.start, keys.stop) <= np.array(queries)[:, None]
    return None if mask is None else mask[queries.start : queries.stop, keys]


def blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Queries (..., h, n, k) -> blocks of them whose scores stay small, over n keys."""
    *sequences, n, _ = shape
    few = max(1, MOST_SCORES // (math.prod(sequences) * n))
    return (slice(start, min(start + few, n)) for start in range(0, n, few))


def build_model(toy: Toy) -> Model:
    """Return the model that the settings describe."""
    refuse_size(3 * toy.dim**2, f"projections of width {toy.dim:,}")
    if isinstance(toy.projections, Projections):
        matrices = [np.array(matrix) for _, matrix in toy.projections]
    elif toy.projections == "identity":
        matrices = [np.eye(toy.dim)] * 3
    else:
        rng = np.random.default_rng(toy.seed)
        matrices = list(rng.normal(0, toy.dim**-0.5, (3, toy.dim, toy.dim)))
    queries, keys, values = (np.asarray(m, toy.dtype) for m in matrices)
    return Model(queries, keys, values, toy.heads)


def build_mask(toy: Toy, length: int) -> Mask:
    """Return the mask that the settings describe, for so many tokens."""
    if isinstance(toy.mask, str):
        return None if toy.mask == "none" else toy.mask
    if [len(row) for row in toy.mask] != [length] * length:
        raise PoscliError(f"mask must be {length} x {length}, one row and column per token")
    return np.array(toy.mask, bool)
