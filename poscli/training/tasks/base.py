"""What a task is: data to train on, data to be examined on, and how an answer is scored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from poscli.arrays import Array
from poscli.settings import Settings

_BLOCK = 50


@dataclass(frozen=True)
class Data:
    """Sequences of tokens (b, n), and the right answers (b, s) at their last s places."""

    tokens: Array
    targets: Array

    def __len__(self) -> int:
        return len(self.tokens)


class Task(Settings):
    """Something to learn from sequences of one length and to be examined on at others."""

    name: str
    summary: ClassVar[str]
    figure: ClassVar[str]
    unit: ClassVar[str] = "%"
    decimals: ClassVar[int] = 1
    symbols: ClassVar[int]
    shortest: ClassVar[int]
    needs_mask: ClassVar[bool] = False
    reading: ClassVar[tuple[str, ...]] = ()

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Data:
        """Draw so many sequences to train on."""
        raise NotImplementedError

    def exams(self, length: int) -> dict[str, Data]:
        """Return what is asked at a length, by name: the same for every scheme and seed."""
        raise NotImplementedError

    def score(self, data: Data, logits: Array) -> float:
        """Logits (b, s, v) for the answers of an exam -> the figure."""
        raise NotImplementedError

    def references(self) -> list[tuple[str, float]]:
        """Return the figures of answers that need no model, with what each would know."""
        raise NotImplementedError

    def batches(self, rng: np.random.Generator, batch: int, length: int) -> Iterator[Data]:
        """Draw training data without end, a batch at a time."""
        while True:
            block = self.sample(rng, _BLOCK * batch, length)
            for start in range(0, len(block), batch):
                part = slice(start, start + batch)
                yield Data(block.tokens[part], block.targets[part])


def stream(seed: int, what: str, *numbers: int) -> np.random.Generator:
    """Return a generator for one purpose: plain seeds would draw the same numbers for several."""
    return np.random.default_rng([seed, *what.encode(), *numbers])


def exam_size(length: int, whole: int) -> int:
    """Return how many sequences an exam holds: half of them where they are long.

    >>> exam_size(64, 128), exam_size(128, 128)
    (128, 64)
    """
    return whole if length < 128 else whole // 2


def accuracy(data: Data, logits: Array, answers: slice) -> float:
    """Return the percentage of sequences whose right answer has the largest logit of answers."""
    chosen = logits[..., answers].argmax(axis=-1) + answers.start
    return 100 * float(np.mean(chosen == data.targets))
