"""A language model of a source that is known exactly: the loss has a floor, and nothing hides it.

The next symbol depends on the last three: p(w) is proportional to the exponential of
W_0[last, w] + W_1[second last, w] + W_2[third last, w], with the three tables drawn once.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.training.tasks.base import Data, Task, exam_size, stream

_SYMBOLS = 16
_VARIANCE = 4 / 3
_SCORED = 8
_ENOUGH = 1e-13


class LanguageModel(Task):
    """Predict the next symbol at every place; examined at the last 8 places of a window.

    The figure is the cross-entropy above that of the source itself on the same symbols: 0 is
    perfect. The places scored are the last ones at every length, so a longer window does not help
    by itself.
    """

    name: Literal["lm"] = "lm"
    summary: ClassVar[str] = "language model of a known source over 16 symbols, order 3"
    figure: ClassVar[str] = "loss above the floor"
    unit: ClassVar[str] = "nats"
    decimals: ClassVar[int] = 3
    symbols: ClassVar[int] = _SYMBOLS
    shortest: ClassVar[int] = 4
    needs_mask: ClassVar[bool] = True
    reading: ClassVar[tuple[str, ...]] = (
        "Only the last three symbols matter here, which favours schemes that look near.",
        "Other tasks rank the schemes otherwise: see --task order and --task recall.",
    )

    seed: int = Field(0, ge=0, description="seed of the source and of the exams")

    def probabilities(self) -> Array:
        """Return p(next | third last, second last, last), (v, v, v, v), the next symbol last."""
        rng = stream(self.seed, "source")
        last, second, third = rng.normal(0, _VARIANCE**0.5, (3, _SYMBOLS, _SYMBOLS))
        weights = np.exp(third[:, None, None] + second[None, :, None] + last[None, None, :])
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Data:
        given = self.probabilities()
        three = stationary(given)
        start = rng.choice(three.size, size=count, p=three.reshape(-1))
        symbols = np.empty((count, length + 1), np.int64)
        symbols[:, :3] = np.stack(np.unravel_index(start, three.shape), axis=1)
        steps = given.cumsum(axis=-1)
        steps /= steps[..., -1:]
        for n in range(3, length + 1):
            upto = steps[symbols[:, n - 3], symbols[:, n - 2], symbols[:, n - 1]]
            symbols[:, n] = (rng.random((count, 1)) >= upto).sum(axis=1)
        return Data(symbols[:, :-1], symbols[:, 1:])

    def exams(self, length: int) -> dict[str, Data]:
        rng = stream(self.seed, "exam", length)
        whole = self.sample(rng, exam_size(length, 128), length)
        scored = min(_SCORED, length - 2)
        return {"excess": Data(whole.tokens, whole.targets[:, -scored:])}

    def score(self, data: Data, logits: Array) -> float:
        scored = data.targets.shape[1]
        symbols = np.concatenate([data.tokens, data.targets[:, -1:]], axis=1)
        third, second, last, following = (
            symbols[:, -scored - 3 + i :][:, :scored] for i in range(4)
        )
        floor = -np.log(self.probabilities()[third, second, last, following])
        top = logits.max(axis=-1, keepdims=True).astype(np.float64)
        logs = logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
        loss = -np.take_along_axis(logs, data.targets[..., None], axis=-1)[..., 0]
        return float(np.mean(loss - floor))

    def references(self) -> list[tuple[str, float]]:
        given = self.probabilities()
        four = stationary(given)[..., None] * given
        floor = _conditional_entropy(four)
        known = {"the source itself": four}
        known["the last two symbols"] = four.sum(axis=0)
        known["the last symbol"] = four.sum(axis=(0, 1))
        known["how often each symbol comes"] = four.sum(axis=(0, 1, 2))[None]
        lines = [(name, _conditional_entropy(joint) - floor) for name, joint in known.items()]
        return [*lines, ("nothing", float(np.log(_SYMBOLS)) - floor)]


def stationary(given: Array) -> Array:
    """Return how often each three symbols follow each other in the long run, (v, v, v)."""
    three = np.full(given.shape[:3], given.shape[0] ** -3.0)
    while True:
        after = np.einsum("abc,abcd->bcd", three, given)
        if np.abs(after - three).max() < _ENOUGH:
            return np.asarray(after / after.sum())
        three = after


def _conditional_entropy(joint: Array) -> float:
    """Return the entropy of the last axis given all axes before it, in nats."""
    before = joint.sum(axis=-1, keepdims=True)
    return float(-(joint * np.log(joint / before)).sum())
