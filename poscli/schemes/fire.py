"""FIRE: a small network of the distance, measured against the query's own position.

Source: Li et al. 2024 (arXiv 2310.04418), section 3: an MLP of ln(c |i - j| + 1) divided by
ln(c max(i, T) + 1), so that up to the query the input lies between 0 and 1 at any length. The
query's position past the threshold T enters, so the bias is not a function of the offset alone.
"""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.schemes.trained import Matrix, Trained, Vector
from poscli.text import figure, plain

_AGAINST_ZERO = 1e-6
_LEAST_C = 1e-6


class Fire(Trained):
    """One hidden layer with ReLU. A key after the query can have an input above 1."""

    name: Literal["fire"] = "fire"
    summary: ClassVar[str] = "a small network of the distance relative to the query (FIRE)"
    source: ClassVar[str] = "Li 2024, section 3"
    formula: ClassVar[str] = "MLP(ln(c |i - j| + 1) / (ln(c max(i, T) + 1) + 1e-6))"
    users: ClassVar[str] = "no published model"
    spread: ClassVar[float] = 0.5

    c: float = Field(0.1, gt=0, description="how fast the logarithm bends; learned")
    threshold: float = Field(
        512.0, ge=0, description="T, learned: queries before it count as at it"
    )
    hidden: int = Field(32, ge=1, le=2**14, description="width of the hidden layer")
    hidden_weights: Vector = Field(None, description="(hidden,), or a .npy file")
    hidden_biases: Vector = Field(None, description="(hidden,), or a .npy file")
    weights: Matrix = Field(None, description="(heads, hidden), or a .npy file")
    biases: Vector = Field(None, description="(heads,), or a .npy file")

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        return {
            "hidden_weights": (self.hidden,),
            "hidden_biases": (self.hidden,),
            "weights": (heads, self.hidden),
            "biases": (heads,),
        }

    def parameters(self, width: int, heads: int) -> int:
        c_and_threshold = 2
        return super().parameters(width, heads) + c_and_threshold

    def learnable(self, dim: int, heads: int) -> dict[str, Array]:
        c_and_threshold = {"c": np.array([self.c]), "threshold": np.array([self.threshold])}
        return super().learnable(dim, heads) | c_and_threshold

    def with_learned(self, values: dict[str, Array]) -> Self:
        network = {name: values[name] for name in self.shapes(1, 1)}
        c = max(float(values["c"][0]), _LEAST_C)
        threshold = max(float(values["threshold"][0]), 0.0)
        held = super().with_learned(network)
        return held.model_copy(update={"c": c, "threshold": threshold})

    def bias_gradient(
        self, gradient: Array, query_positions: Array, key_positions: Array
    ) -> dict[str, Array]:
        heads = len(gradient)
        first, first_bias, second, _ = (
            self.values(name, 1, heads) for name in self.shapes(1, heads)
        )
        x = self.inputs(query_positions, key_positions)
        before = first[:, None, None] * x + first_bias[:, None, None]
        into = np.einsum("hu,hij->uij", second, gradient) * (before > 0)
        of_x = np.einsum("u,uij->ij", first, into)
        return {
            "hidden_weights": (into * x).sum(axis=(1, 2)),
            "hidden_biases": into.sum(axis=(1, 2)),
            "weights": np.einsum("hij,uij->hu", gradient, np.maximum(before, 0.0)),
            "biases": gradient.sum(axis=(1, 2)),
            **self._input_gradient(of_x, query_positions, key_positions),
        }

    def _input_gradient(self, of_x: Array, queries: Array, keys: Array) -> dict[str, Array]:
        """Gradient (n, m) of what the network is given -> of c and of the threshold."""
        distance = np.abs(self.offsets(queries, keys)).astype(np.float64)
        far = np.maximum(queries, self.threshold).astype(np.float64)[:, None]
        scale = np.log1p(self.c * far) + _AGAINST_ZERO
        upper = of_x / scale
        lower = -of_x * np.log1p(self.c * distance) / scale**2
        c = upper * distance / (1 + self.c * distance) + lower * far / (1 + self.c * far)
        threshold = lower * self.c / (1 + self.c * far) * (queries < self.threshold)[:, None]
        return {"c": np.array([c.sum()]), "threshold": np.array([threshold.sum()])}

    def inputs(self, query_positions: Array, key_positions: Array) -> Array:
        """Return what the network is given for each query and key, (n, m)."""
        distance = np.abs(self.offsets(query_positions, key_positions)).astype(np.float64)
        scale = np.log1p(self.c * np.maximum(query_positions, self.threshold)) + _AGAINST_ZERO
        return np.log1p(self.c * distance) / scale[:, None]

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        first, first_bias, second, second_bias = (
            self.values(name, width, heads) for name in self.shapes(width, heads)
        )
        x = self.inputs(query_positions, key_positions)
        bias = np.zeros((heads, *x.shape)) + second_bias[:, None, None]
        for unit in range(self.hidden):
            active = np.maximum(first[unit] * x + first_bias[unit], 0.0)
            bias += second[:, unit, None, None] * active
        return bias.astype(queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        x = float(self.inputs(np.array([query]), np.array([key]))[0, 0])
        return (
            f"distance {plain(abs(query - key))} of {plain(query)}: x = {figure(x)}; "
            f"MLP(x) = {figure(value)}"
        )
