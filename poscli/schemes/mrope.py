"""M-RoPE: each pair turns by one of three positions: time, row and column.

Source: Wang et al. 2024 (arXiv 2409.12191), section 2.1, Qwen2-VL, where each position has a block
of pairs; Qwen3-VL as in transformers, where the pairs are dealt out in turn. The three positions of
text are equal, and M-RoPE is RoPE there.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.report import Cell
from poscli.schemes.rope import PartialRope


class MRope(PartialRope):
    """Positions are (n, 3): time, row, column.

    Blocked, the sections follow each other. Interleaved, pairs 1, 4, 7, ... below three times the
    second section turn by the row, pairs 2, 5, 8, ... below three times the third by the column,
    and all others by the time, so that what comes out may not be what the sections say.
    """

    name: Literal["rope-mrope"] = "rope-mrope"
    summary: ClassVar[str] = "RoPE of three positions: time, row, column (M-RoPE)"
    source: ClassVar[str] = "Wang 2024, section 2.1"
    formula: ClassVar[str] = "pair i turns by p_t, p_h or p_w, as its section says, * base^(-2i/r)"
    users: ClassVar[str] = "blocked: Qwen2-VL, Qwen2.5-VL, GLM-4V; interleaved: Qwen3-VL, Qwen3.5"
    axes: ClassVar[int] = 3

    layout: Literal["blocked", "interleaved"] = Field(
        "blocked", description="sections one after the other, or dealt out in turn"
    )
    sections: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=3, max_length=3)] | (
        None
    ) = Field(None, description="pairs of time, row and column; as equal as can be if not given")

    def coordinates(self, index: Array) -> Array:
        return np.stack([index] * 3, axis=-1)

    def check_width(self, width: int, heads: int) -> None:
        super().check_width(width, heads)
        pairs = self.rotary_width(width) // 2
        if self.sections is not None and sum(self.sections) != pairs:
            raise PoscliError(
                f"sections must add up to {pairs}, the pairs at head width {width}; "
                f"got {self.sections}, which add up to {sum(self.sections)}"
            )

    def axis_of_pairs(self, width: int) -> Array:
        """Head width -> which of the three positions each pair turns by, (pairs,)."""
        pairs = self.rotary_width(width) // 2
        sections = self.sections or [(pairs + 2 - axis) // 3 for axis in range(3)]
        if self.layout == "blocked":
            return np.repeat(np.arange(3), sections)
        i = np.arange(pairs)
        return np.where(i < 3 * np.array(sections)[i % 3], i % 3, 0)

    def per_pair(self, positions: Array, width: int) -> Array:
        return super().per_pair(positions[:, self.axis_of_pairs(width)], width)

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        counts = np.bincount(self.axis_of_pairs(width), minlength=3).tolist()
        return [("pairs turned by time, row, column", ", ".join(map(str, counts)))]
