"""ALiBi: a penalty on the score, linear in the distance, with a slope per head.

Source: Press et al. 2022 (arXiv 2108.12409), section 3; slopes for head counts that are no power
of two from the authors' code: the slopes of the next lower power, then every other slope of twice
that power. Without a mask the distance is taken without its sign, so that both sides pay.
"""

from typing import ClassVar, Literal

import numpy as np

from poscli.arrays import Array
from poscli.schemes.score_bias import ScoreBias
from poscli.text import figure, plain


class Alibi(ScoreBias):
    """Head h subtracts slope_h times the distance between query and key."""

    name: Literal["alibi"] = "alibi"
    summary: ClassVar[str] = "scores lowered in proportion to the distance (ALiBi)"
    source: ClassVar[str] = "Press 2022, section 3"
    formula: ClassVar[str] = "-slope_h * |i - j|, slope_h = 2^(-8h/H) for H a power of two"
    users: ClassVar[str] = "BLOOM, MPT, Falcon-RW, Jina BERT v2"

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        distance = np.abs(np.subtract.outer(query_positions, key_positions)).astype(np.float64)
        return (0.0 - slopes(len(queries))[:, None, None] * distance).astype(queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        slope, distance = float(slopes(heads)[head]), abs(query - key)
        return f"distance {plain(distance)}; -{figure(slope)} * {plain(distance)} = {figure(value)}"


def slopes(heads: int) -> Array:
    """Return the slope of each head, shape (heads,).

    >>> slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    power = 2 ** (heads.bit_length() - 1)
    regular = _geometric(power)
    return np.concatenate([regular, _geometric(2 * power)[::2][: heads - power]])


def _geometric(heads: int) -> Array:
    return np.exp2(-8.0 * np.arange(1, heads + 1) / heads)
