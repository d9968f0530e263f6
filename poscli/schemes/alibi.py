"""ALiBi: a penalty on the score, linear in the distance, with a slope per head.

Source: Press et al. 2022 (arXiv 2108.12409), section 3; slopes for head counts that are no power
of two from the authors' code: the slopes of the next lower power, then every other slope of twice
that power. Without a mask the distance is taken without its sign, so that both sides pay.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from poscli.arrays import Array
from poscli.report import Grid
from poscli.schemes.base import Beyond, ScoreBias, position_labels


class Alibi(ScoreBias):
    """Head h subtracts slope_h times the distance between query and key."""

    name: Literal["alibi"] = "alibi"
    summary: ClassVar[str] = "scores lowered in proportion to the distance (ALiBi)"
    source: ClassVar[str] = "Press 2022, section 3"

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        distance = np.abs(np.subtract.outer(query_positions, key_positions)).astype(np.float64)
        return (0.0 - slopes(len(queries))[:, None, None] * distance).astype(queries.dtype)

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        labels = position_labels(positions)
        lines = [f"head {h}: slope {slope:.6g}" for h, slope in enumerate(slopes(heads).tolist())]
        for h, slope in enumerate(slopes(heads).tolist()):
            for q, query in zip(positions.tolist(), labels, strict=True):
                lines += [
                    f"  head {h}, query {query}, key {key}: distance {abs(q - k):g}; "
                    f"-{slope:.6g} * {abs(q - k):g} = {0.0 - slope * abs(q - k):.6g}"
                    for k, key in zip(positions.tolist(), labels, strict=True)
                ]
        return lines

    def beyond(self, trained: int, lengths: Sequence[int], width: int, heads: int) -> Beyond:
        steepest = float(slopes(heads).max())
        farthest = np.array([trained - 1, *(n - 1 for n in lengths if n > trained)])
        return Beyond(
            [
                "trained" if n <= trained else f"bias {-steepest * (n - 1):.6g} at distance {n - 1}"
                for n in lengths
            ],
            facts=[("formula", "-slope * distance: defined at every distance")],
            grids=[
                Grid(
                    "Bias at the farthest distance",
                    ("head",),
                    ("slope", *(f"at {d}" for d in farthest.tolist())),
                    [(str(h),) for h in range(heads)],
                    np.column_stack(
                        [slopes(heads), 0.0 - np.multiply.outer(slopes(heads), farthest)]
                    ),
                )
            ],
        )


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
