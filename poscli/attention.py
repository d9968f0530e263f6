"""The toy attention: word vectors, random or given projections, one layer.

Attention reads like Vaswani et al. 2017, section 3.2: add, project, rotate, score, bias, mask,
softmax, mix. There is no output projection, no norm and no residual, so that what positions do is
all there is to see. It never asks which scheme it has.
"""

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


@dataclass(frozen=True)
class Attention:
    """One pass of attention: scores and weights (h, n, m), outputs (n, d)."""

    scores: Array
    weights: Array
    outputs: Array


@dataclass(frozen=True)
class Model:
    """A layer of attention: three projections (d, d), some heads, and a mask.

    mask is an (n, m) array of booleans, True where a query may look at a key, or None for all.
    """

    queries: Array
    keys: Array
    values: Array
    heads: int

    def attend(
        self, x: Array, scheme: Scheme, positions: Array, mask: Array | None = None
    ) -> Attention:
        """Token vectors (n, d) at places (n,) of a sequence -> scores, weights and outputs."""
        with np.errstate(over="ignore", invalid="ignore"):
            q, k, v, bias = self._prepare(x, scheme, positions)
            return attention(q, k, v, bias, mask)

    def tolerance(self, x: Array, scheme: Scheme, positions: Array) -> float:
        """Return by how much rounding alone can move an output of attend.

        Each sum is taken to be off by one unit of the dtype per term, times the sizes summed; an
        error in a score shifts the mixture of the values by as much, relative to their size.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            q, k, v, bias = (np.abs(part) for part in self._prepare(x, scheme, positions))
            size = np.abs(self._entering(x, scheme, positions)[0])
            largest = [self._split(size @ np.abs(w)) for w in (self.queries, self.keys)]
            score = (largest[0] @ k.swapaxes(1, 2) + q @ largest[1].swapaxes(1, 2)).max()
            score = score / np.sqrt(q.shape[-1]) + bias.max()
            mixed = float((size @ np.abs(self.values)).max() + v.max() * score)
        return tolerance(x.shape[0] + 2 * x.shape[1], mixed, x.dtype)

    def _entering(self, x: Array, scheme: Scheme, positions: Array) -> tuple[Array, Array, Scheme]:
        scheme = scheme.for_length(int(positions.max()) + 1)
        positions = scheme.coordinates(positions)
        return scheme.add(x, positions), positions, scheme

    def _prepare(
        self, x: Array, scheme: Scheme, positions: Array
    ) -> tuple[Array, Array, Array, Array]:
        x, positions, scheme = self._entering(x, scheme, positions)
        q, k, v = (self._split(x @ w) for w in (self.queries, self.keys, self.values))
        q, k = scheme.rotate(q, positions), scheme.rotate_keys(k, positions)
        return q, k, v, scheme.bias(q, k, positions, positions)

    def _split(self, x: Array) -> Array:
        return x.reshape(x.shape[0], self.heads, -1).swapaxes(0, 1)


def attention(q: Array, k: Array, v: Array, bias: Array, mask: Array | None) -> Attention:
    """Queries (h, n, k), keys (h, m, k), values (h, m, k), bias (h, n, m), mask (n, m).

    softmax(q k / sqrt(k) + bias) v: Vaswani 2017, equation 1. Heads are laid side by side.
    """
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]).astype(q.dtype) + bias
    if mask is not None:
        scores = np.where(mask, scores, np.asarray(-np.inf, scores.dtype))
    weights = softmax(scores)
    outputs = (weights @ v).swapaxes(0, 1).reshape(q.shape[1], -1)
    return Attention(scores, weights, outputs)


def softmax(scores: Array) -> Array:
    """Softmax over the last axis. A row that may look at nothing gets weights of 0, never NaN."""
    top = scores.max(axis=-1, keepdims=True)
    shifted = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = shifted.sum(axis=-1, keepdims=True)
    return np.asarray(shifted / np.where(total == 0, 1, total))


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


def build_mask(toy: Toy, length: int) -> Array | None:
    """Return the (length, length) mask, True where a query may look, or None for no mask."""
    if toy.mask == "none":
        return None
    if toy.mask == "causal":
        return np.tril(np.ones((length, length), bool))
    if [len(row) for row in toy.mask] != [length] * length:
        raise PoscliError(f"mask must be {length} x {length}, one row and column per token")
    return np.array(toy.mask, bool)
