"""The third place: a number per head, query and key, added to the attention scores."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from poscli.arrays import Array
from poscli.report import Grid, Table
from poscli.schemes.base import Beyond, Scheme, position_labels
from poscli.text import figure


class ScoreBias(Scheme):
    """A scheme that adds a number per head, query and key to the attention scores.

    One whose bias depends on the content is shown with queries and keys of ones.
    """

    place: ClassVar[str] = "attention scores"
    applied: ClassVar[str] = ""

    def table_width(self, dim: int, heads: int) -> int:
        return dim // heads

    def size(self, length: int, width: int, heads: int) -> int:
        return heads * length * length

    def size_beyond(self, length: int, dim: int) -> int:
        return length * dim

    def offsets(self, query_positions: Array, key_positions: Array) -> Array:
        """Return query minus key, (n, m), or (n, m, axes), of positions the scheme takes."""
        self.check_positions(query_positions)
        self.check_positions(key_positions)
        return np.asarray(query_positions[:, None] - key_positions[None, :])

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        self.check_positions(positions)
        self.check_width(width, heads)
        labels = position_labels(positions)
        axes = (
            ("head", tuple(str(h) for h in range(heads))),
            ("query", labels),
            ("key", labels),
        )
        return Table(
            "B, added to each score", axes, self._shown(positions, positions, width, heads)
        )

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        """Write out how one number of the bias comes about."""
        return f"{figure(value)}"

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        bias = self._shown(positions, positions, width, heads)
        labels = position_labels(positions)
        return [
            f"head {h}, query {labels[i]}, key {labels[j]}: "
            + self.score_step(float(bias[h, i, j]), h, positions[i], positions[j], heads)
            for h in range(heads)
            for i in range(len(positions))
            for j in range(len(positions))
        ]

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        new = [n for n in lengths if trained < n <= (self.limit or n)]
        longer = sorted({trained, *new})
        farthest = [self._farthest(length, dim // heads, heads) for length in longer]
        bias = dict(zip(longer, (b for b, _ in farthest), strict=True))
        where = dict(zip(longer, (w for _, w in farthest), strict=True))
        return Beyond(
            [
                ("trained" if n <= trained else f"bias {figure(bias[n][0])} {where[n]}")
                if n <= (self.limit or n)
                else f"no bias for position {self.limit}"
                for n in lengths
            ],
            grids=[
                Grid(
                    "Bias at the farthest distance",
                    ("head",),
                    tuple(f"at {length - 1}" for length in longer),
                    [(str(h),) for h in range(heads)],
                    np.column_stack(list(bias.values())),
                )
            ],
        )

    def _farthest(self, length: int, width: int, heads: int) -> tuple[Array, str]:
        """Return the bias of the last query on the first of all keys, (heads,), and where it is.

        Where a bias grows with the key's own place, that of the last key.
        """
        used = self.for_length(length)
        keys = used.coordinates(np.arange(length))
        row = used._shown(keys[-1:], keys, width, heads)[:, 0]
        if self.sees_own_place or abs(row[0, 0]) >= abs(row[0, -1]):
            return row[:, 0], f"at distance {length - 1}"
        return row[:, -1], "of the last key"

    def _shown(self, queries: Array, keys: Array, width: int, heads: int) -> Array:
        return self.bias(
            np.ones((heads, len(queries), width)), np.ones((heads, len(keys), width)), queries, keys
        )


def products(x: Array, vectors: Array, index: Array) -> Array:
    """Return the product of each x with the vector its query and key pick, (..., h, n, m).

    x is (..., h, n, 1, k) or (..., h, 1, m, k), vectors (h or 1, rows, k), index (n, m). Summed
    column by column, so that a number does not depend on which others are computed beside it.
    """
    columns = range(x.shape[-1])
    return np.asarray(sum(x[..., c] * vectors[..., c][:, index] for c in columns))
