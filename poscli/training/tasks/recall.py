"""Recall: which value went with this key? The key occurs once, near or far."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.training.tasks.base import Data, Task, accuracy, exam_size, stream

_KEYS, _VALUES = 8, 8
_PAIRS = _KEYS * _VALUES


class Recall(Task):
    """Each token is a key with a value; the last one asks for the value of one key.

    That key stands at one place only. Near: in the last quarter of the sequence; far: in the first.
    """

    name: Literal["recall"] = "recall"
    summary: ClassVar[str] = "recall: the value that went with a key, near or far"
    figure: ClassVar[str] = "right answers"
    symbols: ClassVar[int] = _PAIRS + _KEYS
    shortest: ClassVar[int] = 5
    reading: ClassVar[tuple[str, ...]] = (
        "No position is needed to find a key, so no positions at all do well here.",
    )

    seed: int = Field(0, ge=0, description="seed of the exams")

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Data:
        return _asked(rng, rng.integers(length - 1, size=count), length)

    def exams(self, length: int) -> dict[str, Data]:
        rng = stream(self.seed, "exam", length)
        quarter, count = (length - 1) // 4, exam_size(length, 256)
        back = rng.integers(quarter, size=count)
        return {
            "near": _asked(rng, length - 2 - back, length),
            "far": _asked(rng, back, length),
        }

    def score(self, data: Data, logits: Array) -> float:
        return accuracy(data, logits, slice(0, _VALUES))

    def references(self) -> list[tuple[str, float]]:
        return [("any value", 100 / _VALUES)]


def _asked(rng: np.random.Generator, places: Array, length: int) -> Data:
    """Draw sequences whose asked key stands at the given places, (count,)."""
    count = len(places)
    key = rng.integers(_KEYS, size=count)
    keys = (key[:, None] + rng.integers(1, _KEYS, size=(count, length))) % _KEYS
    values = rng.integers(_VALUES, size=(count, length))
    keys[np.arange(count), places] = key
    tokens = keys * _VALUES + values
    tokens[:, -1] = _PAIRS + key
    return Data(tokens, values[np.arange(count), places][:, None])
