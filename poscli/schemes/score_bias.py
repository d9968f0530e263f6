"""The third place: a number per head, query and key, added to the attention scores."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.report import Grid, Table
from poscli.schemes.base import Beyond, Scheme, position_labels
from poscli.text import figure, plain


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
        bias = dict(zip(longer, farthest, strict=True))
        return Beyond(
            [
                ("trained" if n <= trained else f"bias {figure(bias[n][0])} at distance {n - 1}")
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
                    np.column_stack(farthest),
                )
            ],
        )

    def _farthest(self, length: int, width: int, heads: int) -> Array:
        """Return the bias of the last query on the first of all keys, (heads,)."""
        used = self.for_length(length)
        keys = used.coordinates(np.arange(length))
        return used._shown(keys[-1:], keys, width, heads)[:, 0, 0]

    def _shown(self, queries: Array, keys: Array, width: int, heads: int) -> Array:
        return self.bias(
            np.ones((heads, len(queries), width)), np.ones((heads, len(keys), width)), queries, keys
        )


def require_whole(name: str, positions: Array) -> None:
    """Raise PoscliError for a position between two whole numbers: a table has no row for it."""
    between = positions[positions % 1 != 0]
    if between.size:
        raise PoscliError(
            f"{name} has values for whole positions only; got position {plain(between[0])}"
        )


def products(x: Array, vectors: Array, index: Array) -> Array:
    """Return the product of each x with the vector its query and key pick, (h, n, m).

    x is (h, n, 1, k) or (h, 1, m, k), vectors (h or 1, rows, k), index (n, m). Summed column by
    column, so that a number does not depend on which others are computed beside it.
    """
    columns = range(x.shape[-1])
    return np.asarray(sum(x[..., c] * vectors[..., c][:, index] for c in columns))
