"""Score biases whose numbers training has to find: drawn from a seed, or those of a real model."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.files import load_array
from poscli.schemes.score_bias import ScoreBias
from poscli.settings import FilePath

Vector = list[float] | FilePath | None
Matrix = list[list[float]] | FilePath | None


class Trained(ScoreBias):
    """A score bias with trained numbers: each field that shapes names is given, or drawn."""

    spread: ClassVar[float] = 0.02

    seed: int = Field(0, ge=0, description="seed of the numbers that are drawn")
    _given: dict[str, Array] = PrivateAttr(default_factory=dict)

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        """Head width and heads -> the shape of each field of trained numbers."""
        raise NotImplementedError

    def draw(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Return a field's numbers as drawn: normal, of standard deviation spread."""
        return rng.normal(0.0, self.spread, shape)

    @model_validator(mode="after")
    def _take_given(self) -> Self:
        shapes = self.shapes(2, 1)
        for name, shape in shapes.items():
            value = getattr(self, name)
            if isinstance(value, str):
                self._given[name] = load_array(Path(value), dimensions=len(shape))
            elif value is not None:
                if len(shape) == 2 and len({len(row) for row in value}) > 1:
                    raise PoscliError(f"the rows of {name} must all have the same width")
                self._given[name] = np.array(value, np.float64)
        if len(self._given) == len(shapes) and "seed" in self.model_fields_set:
            raise PoscliError(
                f"{self.name} draws nothing when {' and '.join(shapes)} "
                f"{'is' if len(shapes) == 1 else 'are'} given, so 'seed' has no use; remove it"
            )
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_used(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        names = set(self.shapes(2, 1))
        unused = {"seed"} if names == set(self._given) else names - set(self._given)
        return {key: value for key, value in whole(self).items() if key not in unused}

    def values(self, name: str, width: int, heads: int) -> Array:
        """Return a field's numbers; PoscliError where those given have the wrong shape."""
        shapes = self.shapes(width, heads)
        if name not in self._given:
            place = list(shapes).index(name)
            return self.draw(name, shapes[name], np.random.default_rng([self.seed, place]))
        given = self._given[name]
        if given.shape != shapes[name]:
            raise PoscliError(
                f"{self.name} needs {name} of shape {_by(shapes[name])} for {heads} "
                f"{'head' if heads == 1 else 'heads'} of width {width}; got {_by(given.shape)}"
            )
        return given

    def learnable(self, dim: int, heads: int) -> dict[str, Array]:
        width = dim // heads
        return {name: self.values(name, width, heads) for name in self.shapes(width, heads)}

    def with_learned(self, values: dict[str, Array]) -> Self:
        held = self.model_copy()
        held._given = dict(values)
        return held

    def check_width(self, width: int, heads: int) -> None:
        for name in self._given:
            self.values(name, width, heads)

    def parameters(self, width: int, heads: int) -> int:
        shapes = self.shapes(width // heads, heads).values()
        return sum(int(np.prod(shape)) for shape in shapes)


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
