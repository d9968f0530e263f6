"""Word order, "who bit whom": two nouns among fillers; which of them came first?"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.training.tasks.base import Data, Task, accuracy, exam_size, stream

_NOUNS, _FILLERS = 8, 8
_QUERY = _NOUNS + _FILLERS


class Order(Task):
    """Name the earlier of two nouns at the last place, where a query token stands.

    In an exam every sequence has a twin with the two nouns swapped. A model that cannot see order
    gives both the same answer, so it is right once per pair at most: 50 %.
    """

    name: Literal["order"] = "order"
    summary: ClassVar[str] = "word order: which of two nouns came first"
    figure: ClassVar[str] = "right answers"
    symbols: ClassVar[int] = _QUERY + 1
    shortest: ClassVar[int] = 3
    reading: ClassVar[tuple[str, ...]] = (
        "Only before or after matters here, not how far: rescalings that lose the neighbour win.",
    )

    seed: int = Field(0, ge=0, description="seed of the exams")

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Data:
        places = np.sort(_distinct(rng, count, length - 1), axis=1)
        return _sentences(rng, places, _distinct(rng, count, _NOUNS), length)

    def exams(self, length: int) -> dict[str, Data]:
        rng = stream(self.seed, "exam", length)
        one = self.sample(rng, exam_size(length, 256) // 2, length)
        twin = one.tokens.copy()
        noun = twin < _NOUNS
        twin[noun] = one.tokens[noun].reshape(-1, 2)[:, ::-1].reshape(-1)
        second = twin[noun].reshape(-1, 2)[:, :1]
        tokens, targets = np.stack([one.tokens, twin], 1), np.stack([one.targets, second], 1)
        return {"accuracy": Data(tokens.reshape(-1, length), targets.reshape(-1, 1))}

    def score(self, data: Data, logits: Array) -> float:
        return accuracy(data, logits, slice(0, _NOUNS))

    def references(self) -> list[tuple[str, float]]:
        return [("knows the nouns, not their order", 50.0), ("any noun", 100 / _NOUNS)]


def _distinct(rng: np.random.Generator, count: int, below: int) -> Array:
    """Draw pairs of different whole numbers below a bound, (count, 2)."""
    first = rng.integers(below, size=count)
    other = (first + rng.integers(1, below, size=count)) % below
    return np.stack([first, other], axis=1)


def _sentences(rng: np.random.Generator, places: Array, nouns: Array, length: int) -> Data:
    tokens = rng.integers(_NOUNS, _QUERY, size=(len(places), length))
    np.put_along_axis(tokens, places, nouns, axis=1)
    tokens[:, -1] = _QUERY
    return Data(tokens, nouns[:, :1])
