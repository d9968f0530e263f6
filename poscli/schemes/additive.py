"""The first place: a vector per position, added to the token embeddings."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from poscli.arrays import Array
from poscli.report import Table
from poscli.schemes.base import (
    Beyond,
    Scheme,
    named,
    position_labels,
    position_table,
    trained_cells,
)
from poscli.text import figure


class Additive(Scheme):
    """A scheme that adds a vector per position to the token embeddings."""

    place: ClassVar[str] = "token embeddings"
    applied: ClassVar[str] = "X = E + P"

    def vectors(self, positions: Array, width: int) -> Array:
        """Positions -> vectors (n, width) in float64: the scheme's formula."""
        raise NotImplementedError

    def add(self, x: Array, positions: Array) -> Array:
        self.check_positions(positions)
        return np.asarray(x + self.vectors(positions, x.shape[-1]).astype(x.dtype))

    def apply(self, x: Array, positions: Array) -> Array:
        return self.add(x, positions)

    def apply_steps(self, x: Array, positions: Array, tokens: Sequence[str]) -> list[str]:
        added, lines = self.vectors(positions, x.shape[1]), []
        for n, name in enumerate(named(tokens, positions)):
            for j, (e, p) in enumerate(zip(x[n].tolist(), added[n].tolist(), strict=True)):
                lines.append(f"{name}, dim {j}: {figure(e)} + {figure(p)} = {figure(e + p)}")
        return lines

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        self.check_positions(positions)
        values = self.vectors(positions, width)
        return position_table("P, added at each position", positions, values)

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        lines = []
        for p, row in zip(position_labels(positions), self.vectors(positions, width), strict=True):
            lines.append(f"position {p}")
            lines += [f"  dim {j}: {figure(value)}" for j, value in enumerate(row.tolist())]
        return lines

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        return Beyond(trained_cells(lengths, trained, "vectors that training never showed"))
