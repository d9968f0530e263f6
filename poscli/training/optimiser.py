"""Adam with clipping, a linear warm-up and a cosine decay.

Source: Kingma & Ba 2015 (arXiv 1412.6980), algorithm 1; cosine: Loshchilov & Hutter 2017.
"""

import math

import numpy as np

from poscli.arrays import Array

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.99, 1e-8
_LARGEST_NORM = 1.0
_WARM_UP = 40
_FLOOR = 0.1


def rate_at(step: int, steps: int, peak: float) -> float:
    """Return the learning rate of a step, from 0: up over 40 steps, then down to a tenth.

    >>> [round(rate_at(step, 400, 1.0), 3) for step in (0, 39, 399)]
    [0.025, 0.979, 0.1]
    """
    decay = _FLOOR + (1 - _FLOOR) * 0.5 * (1 + math.cos(math.pi * step / steps))
    return peak * min(1.0, (step + 1) / _WARM_UP) * decay


class Adam:
    """The two moments of a flat array of parameters."""

    def __init__(self, flat: Array) -> None:
        self._first, self._second = np.zeros_like(flat), np.zeros_like(flat)
        self._steps = 0

    def step(self, flat: Array, gradient: Array, rate: float) -> None:
        """Move the parameters in place. A gradient of norm above 1 is shortened to 1."""
        norm = math.sqrt(float(gradient @ gradient))
        if norm > _LARGEST_NORM:
            gradient = gradient * (_LARGEST_NORM / norm)
        self._steps += 1
        self._first += (1 - _BETA_1) * (gradient - self._first)
        self._second += (1 - _BETA_2) * (gradient * gradient - self._second)
        first = self._first / (1 - _BETA_1**self._steps)
        second = self._second / (1 - _BETA_2**self._steps)
        flat -= rate * first / (np.sqrt(second) + _EPSILON)
