"""KERPLE: a penalty on the score that bends with the distance, two learned numbers per head.

Source: Chi et al. 2022 (arXiv 2205.09921): conditionally positive definite kernels of
the distance |i - j|. The authors draw p from 0 to 2 and a from 0 to 1 and keep both at 0.01 or
more. ALiBi is the power form with p = 1 and a its slopes.
"""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.schemes.trained import Trained, Vector
from poscli.text import figure, plain

_LEAST = 0.01


class _Kerple(Trained):
    """Two positive numbers per head, p and a, and a function of them and the distance."""

    source: ClassVar[str] = "Chi 2022"
    users: ClassVar[str] = "no published model"
    most_p: ClassVar[float] = np.inf

    p: Vector = Field(None, description="p of each head, or a .npy file of them")
    a: Vector = Field(None, description="a of each head, or a .npy file of them")

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        for name, values in self._given.items():
            most = self.most_p if name == "p" else np.inf
            wrong = values[(values <= 0) | (values > most)]
            if wrong.size:
                upper = f" and at most {plain(most)}" if np.isfinite(most) else ""
                raise PoscliError(f"{name} must be greater than 0{upper}; got {plain(wrong[0])}")
        return self

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        return {"p": (heads,), "a": (heads,)}

    def draw(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return np.maximum(rng.uniform(0.0, 2.0 if name == "p" else 1.0, shape), _LEAST)

    def penalty(self, p: Array, a: Array, distance: Array) -> Array:
        """Return what is subtracted at each distance: the scheme's formula."""
        raise NotImplementedError

    def slopes(self, p: Array, a: Array, distance: Array) -> tuple[Array, Array]:
        """Return how fast the penalty grows with p, and with a."""
        raise NotImplementedError

    def with_learned(self, values: dict[str, Array]) -> Self:
        return super().with_learned(
            {
                name: np.clip(v, _LEAST, self.most_p if name == "p" else None)
                for name, v in values.items()
            }
        )

    def bias_gradient(
        self, gradient: Array, query_positions: Array, key_positions: Array
    ) -> dict[str, Array]:
        distance = np.abs(self.offsets(query_positions, key_positions)).astype(np.float64)
        p, a = (self.values(name, 1, len(gradient))[:, None, None] for name in "pa")
        slopes = self.slopes(p, a, distance)
        return {
            name: -(gradient * slope).sum(axis=(1, 2))
            for name, slope in zip("pa", slopes, strict=True)
        }

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        distance = np.abs(self.offsets(query_positions, key_positions)).astype(np.float64)
        p, a = (self.values(name, width, heads)[:, None, None] for name in "pa")
        return (0.0 - self.penalty(p, a, distance)).astype(queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        p, a = (float(self.values(name, 1, heads)[head]) for name in "pa")
        distance = abs(query - key)
        return (
            f"distance {plain(distance)}, p {figure(p)}, a {figure(a)}; {self.formula} = "
            f"{figure(value)}"
        )


class KerpleLog(_Kerple):
    """The penalty grows with the logarithm of the distance."""

    name: Literal["kerple-log"] = "kerple-log"
    summary: ClassVar[str] = "a learned penalty, logarithmic in the distance (KERPLE)"
    formula: ClassVar[str] = "-p_h * ln(1 + a_h * |i - j|)"

    def penalty(self, p: Array, a: Array, distance: Array) -> Array:
        return np.asarray(p * np.log1p(a * distance))

    def slopes(self, p: Array, a: Array, distance: Array) -> tuple[Array, Array]:
        return np.log1p(a * distance), p * distance / (1 + a * distance)


class KerplePower(_Kerple):
    """The penalty grows with a power of the distance, up to its square."""

    name: Literal["kerple-power"] = "kerple-power"
    summary: ClassVar[str] = "a learned penalty, a power of the distance (KERPLE)"
    formula: ClassVar[str] = "-a_h * |i - j|^p_h"
    most_p: ClassVar[float] = 2.0

    def penalty(self, p: Array, a: Array, distance: Array) -> Array:
        return np.asarray(a * distance**p)

    def slopes(self, p: Array, a: Array, distance: Array) -> tuple[Array, Array]:
        return a * distance**p * np.log(np.maximum(distance, 1)), distance**p
