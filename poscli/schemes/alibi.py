"""ALiBi: a penalty on the score, linear in the distance, with a slope per head.

Source: Press et al. 2022 (arXiv 2108.12409), section 3; slopes for head counts that are no power
of two from the authors' code: the slopes of the next lower power, then every other slope of twice
that power. Libraries disagree on what the slope is multiplied by. For keys up to the query the
causal, key-only and last-key forms differ by a number per query, which softmax does not see;
without a causal mask they reward keys after the query, and only the symmetric form does not.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array, rounded
from poscli.padding import pads_skipped
from poscli.schemes.score_bias import ScoreBias
from poscli.text import figure, plain


class Alibi(ScoreBias):
    """Head h adds slope_h times a signed distance between query and key."""

    name: Literal["alibi"] = "alibi"
    summary: ClassVar[str] = "scores lowered in proportion to the distance (ALiBi)"
    source: ClassVar[str] = "Press 2022, section 3"
    formula: ClassVar[str] = "-slope_h * |i - j|, slope_h = 2^(-8h/H) for H a power of two"
    users: ClassVar[str] = "BLOOM, MPT, Jina BERT v2, data2vec 2"

    bias_max: float = Field(8.0, gt=0, le=1024, description="the last slope is 2^-bias_max")
    form: Literal["symmetric", "causal", "key-only", "last-key"] = Field(
        "symmetric",
        description="slope times -|i - j|, -(i - j), the key position j, or j less the last key's",
    )

    @property
    def sees_own_place(self) -> bool:
        return self.form == "symmetric"

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        distances = self._distances(self.offsets(query_positions, key_positions), key_positions)
        # Adding 0 turns the -0 of the diagonal into 0.
        bias = slopes(queries.shape[-3], self.bias_max)[:, None, None] * distances + 0.0
        return bias.astype(queries.dtype)

    def places(self, mask: Array) -> Array:
        if self.form == "key-only":
            return np.maximum(pads_skipped(mask), 0)
        return super().places(mask)

    def _distances(self, offsets: Array, key_positions: Array) -> Array:
        if self.form == "symmetric":
            return -np.abs(offsets)
        if self.form == "causal":
            return -offsets
        start = 0 if self.form == "key-only" else key_positions.max()
        return np.broadcast_to(key_positions - start, offsets.shape)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        slope = float(slopes(heads, self.bias_max)[head])
        if self.form == "key-only":
            return f"key position {plain(key)}; {figure(slope)} * {plain(key)} = {figure(value)}"
        if self.form == "last-key":
            behind = 0.0 - value / slope
            return (
                f"{plain(behind)} before the last key; -{figure(slope)} * {plain(behind)} = "
                f"{figure(value)}"
            )
        distance = abs(query - key) if self.form == "symmetric" else query - key
        return f"distance {plain(distance)}; -{figure(slope)} * {plain(distance)} = {figure(value)}"


class FalconAlibi(ScoreBias):
    """ALiBi as Falcon computes it: in bfloat16, and divided like the scores.

    Slopes, key positions and their products are rounded to bfloat16, so positions past 256 fall
    together; the sum with q.k is divided by sqrt(k), so slopes are that much smaller.
    """

    name: Literal["alibi-falcon"] = "alibi-falcon"
    summary: ClassVar[str] = "ALiBi of the key position, in bfloat16 and divided by sqrt(k)"
    source: ClassVar[str] = "Press 2022, section 3; transformers 5.24.0, Falcon"
    formula: ClassVar[str] = "bf16(bf16(slope_h) * bf16(j)) / sqrt(k)"
    users: ClassVar[str] = "Falcon-RW"

    @property
    def sees_own_place(self) -> bool:
        return False

    def places(self, mask: Array) -> Array:
        return np.maximum(pads_skipped(mask), 0)

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, n, width = queries.shape[-3:]
        slope, key = _bfloat16(slopes(heads)), _bfloat16(key_positions.astype(np.float64))
        row = _bfloat16(slope[:, None, None] * key) / np.sqrt(width)
        bias = np.broadcast_to(row, (heads, n, len(key)))
        self.offsets(query_positions, key_positions)
        return bias.astype(queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        slope = float(_bfloat16(slopes(heads))[head])
        return (
            f"key position {plain(key)}; {figure(slope)} * {plain(key)} in bfloat16, / "
            f"sqrt(k) = {figure(value)}"
        )


def slopes(heads: int, bias_max: float = 8.0) -> Array:
    """Return the slope of each head, shape (heads,).

    >>> slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    power = 2 ** (heads.bit_length() - 1)
    regular = _geometric(power, bias_max)
    return np.concatenate([regular, _geometric(2 * power, bias_max)[::2][: heads - power]])


def _geometric(heads: int, bias_max: float) -> Array:
    return np.exp2(-bias_max * np.arange(1, heads + 1) / heads)


def _bfloat16(values: Array) -> Array:
    return rounded(values, "bfloat16").astype(np.float64)
