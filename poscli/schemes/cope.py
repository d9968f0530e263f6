"""CoPE: positions counted by gates that open on the content.

Source: Golovneva et al. 2024 (arXiv 2405.18719), section 4 and the appendix: a gate per query and
key, sigmoid(q.k / sqrt(k)); the position of a key is the sum of the gates from it up to the query,
both included; the bias is the query's product with a learned vector at that position,
interpolated between the two whole ones around it, and not divided by sqrt(k).
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.schemes.trained import Matrix, Trained
from poscli.text import figure


class Cope(Trained):
    """Only the order of the positions counts, not how far apart they lie.

    A key after the query counts as at position 0, and its gate is shut: only a causal window is
    summed, whatever the mask. Keys at one position open and count together.
    """

    name: Literal["cope"] = "cope"
    summary: ClassVar[str] = "positions counted by gates on the content (CoPE)"
    source: ClassVar[str] = "Golovneva 2024, section 4"
    formula: ClassVar[str] = "q_i.e[p_ij], p_ij = sum over t = j..i of sigmoid(q_i.k_t / sqrt(k))"
    users: ClassVar[str] = "no published model"

    rows: int = Field(64, ge=2, le=2**20, description="vectors; positions end at rows - 1")
    table: Matrix = Field(
        None, description="the vectors, one per whole position, or a .npy file of them"
    )

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        return {"table": (self.rows, width)}

    def counted(self, gates: Array, query_positions: Array, key_positions: Array) -> Array:
        """Gates (..., n, m) in any order -> the position of each key for each query, (..., n, m).

        >>> Cope().counted(np.array([[[0.5, 0.25, 0.75]]]), np.array([2]), np.arange(3)).tolist()
        [[[1.5, 1.0, 0.75]]]
        """
        open_gates = np.where(self.offsets(query_positions, key_positions) >= 0, gates, 0.0)
        distinct, place = np.unique(key_positions, return_inverse=True)
        by_position = np.zeros((len(distinct), *gates.shape[:-1]))
        np.add.at(by_position, place, np.moveaxis(open_gates, -1, 0))
        summed = by_position[::-1].cumsum(axis=0)[::-1]
        return np.asarray(np.minimum(np.moveaxis(summed[place], 0, -1), self.rows - 1.0))

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        table, columns = self.values("table", width, heads), range(width)
        scores = sum(queries[..., :, None, c] * keys[..., None, :, c] for c in columns)
        gates = 0.5 + 0.5 * np.tanh(np.asarray(scores) / (2.0 * np.sqrt(width)))
        at = self.counted(gates, query_positions, key_positions)
        below = np.floor(at).astype(np.int64)
        above, part = np.ceil(at).astype(np.int64), at - below
        bias = sum(
            queries[..., :, None, c] * ((1.0 - part) * table[below, c] + part * table[above, c])
            for c in columns
        )
        return np.asarray(bias, queries.dtype)

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        where = "after the query: position 0" if key > query else "gates summed up to the query"
        return f"{where}; q.e[p], q and k of ones = {figure(value)}"
