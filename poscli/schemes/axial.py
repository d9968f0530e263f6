"""RoPE for images: some pairs turn by the row of a patch, the others by its column.

Sources: Heo et al. 2024 (arXiv 2403.13298), RoPE-Axial; and the vision towers of Qwen2-VL, Pixtral,
Llama 4 (also torchtune) and Gemma 4 as in transformers, which differ in the conventions that the
settings name. DINOv3 (Simeoni et al. 2025, arXiv 2508.10104) takes patch centres between -1 and 1;
so does rotary-embedding-torch with freqs_for="pixel", from edge to edge and with frequencies that
are multiples of pi.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.phase import TWO_PI, Frequencies, exact, wavelengths
from poscli.report import Cell, Grid
from poscli.schemes.base import Beyond, position_labels, row_by_row, with_size
from poscli.schemes.rotary import Rotary
from poscli.schemes.turns import ladder
from poscli.text import figure, plain

Pairing = Literal["adjacent", "half", "half-per-axis"]


class BaseAxial(Rotary):
    """The conventions of every RoPE on a grid. Positions are (n, 2): row, column, from 0.

    The first half of the pairs turns by one axis, the second half by the other. A sequence fills
    the grid row by row.
    """

    axes: ClassVar[int] = 2

    pairing: Pairing = Field(
        "adjacent",
        description="column 2i with 2i + 1; i with i + d/2; or that within the half of each axis",
    )
    first: Literal["row", "column"] = Field(
        "row", description="the axis that the first half of the pairs turns by"
    )
    columns: int = Field(
        16, ge=1, le=2**20, description="patches in a row, where a sequence is laid out as a grid"
    )

    def axis_frequencies(self, width: int) -> tuple[Frequencies, Frequencies]:
        """Head width -> the frequencies of the first and of the second axis, width / 4 each."""
        raise NotImplementedError

    def number(self, positions: Array) -> Array:
        """Positions (n, 2) -> the numbers that the pairs turn by, (n, 2)."""
        return positions

    def frequencies(self, width: int) -> Frequencies:
        one, other = self.axis_frequencies(width)
        return [*one, *other]

    def check_width(self, width: int, heads: int) -> None:
        if width < 4 or width % 4:
            raise PoscliError(
                f"{self.name} needs a head width that 4 divides: two axes of pairs; "
                f"got width {width}"
            )

    def pairs(self, width: int) -> tuple[Array, Array]:
        i = np.arange(width // 2)
        if self.pairing == "adjacent":
            return 2 * i, 2 * i + 1
        if self.pairing == "half":
            return i, i + width // 2
        first = i + i // (width // 4) * (width // 4)
        return first, first + width // 4

    def per_pair(self, positions: Array, width: int) -> Array:
        order = [0, 1] if self.first == "row" else [1, 0]
        return np.repeat(self.number(positions)[:, order], width // 4, axis=1)

    def coordinates(self, index: Array) -> Array:
        return row_by_row(index, self.columns)

    def offsets(self, longest: int) -> tuple[Array, Array, Array, str]:
        rows = max(longest // self.columns, 1)
        columns = min(longest, self.columns)
        down, right = np.minimum([0, 1, 0, 2], rows - 1), np.minimum([0, 0, 1, 3], columns - 1)
        far = (rows - 1 - down) * self.columns + columns - 1 - right
        end = f"the far corner of {rows} x {columns}"
        return down * self.columns + right, far, np.full(4, rows * self.columns - 1), end

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        width, longest = self.table_width(dim, heads), max(lengths)
        waves, seen = wavelengths(self.frequencies(width)), self._span(trained, width)
        cells = []
        for length in lengths:
            new = int(np.sum((self._span(length, width) > seen * (1 + 1e-12)) & (seen < waves)))
            cells.append(f"{self._grid(length)}: {new} of {len(waves)} pairs at new angles")
        turns = np.stack([waves, seen / waves, self._span(longest, width) / waves], axis=1)
        grid = Grid(
            "Turns of each pair along its axis: trained, and at the longest",
            ("pair",),
            ("wavelength", f"on {self._grid(trained)}", f"on {self._grid(longest)}"),
            [(str(i),) for i in range(len(waves))],
            turns,
        )
        unfinished = f"{int(np.sum(seen < waves))} of {len(waves)}"
        return Beyond(
            [
                "trained" if length <= trained else cell
                for length, cell in zip(lengths, cells, strict=True)
            ],
            facts=[("pairs without a full turn in training", unfinished), *self.facts(width)],
            grids=[grid],
            checks=[self.offset_check(longest, width)],
        )

    def _size(self, length: int) -> tuple[int, int]:
        """Rows and columns that a sequence touches."""
        return -(-length // self.columns), min(length, self.columns)

    def _grid(self, length: int) -> str:
        return "{} x {}".format(*self._size(length))

    def _span(self, length: int, width: int) -> Array:
        """How far the number each pair turns by goes, plus one step, (pairs,)."""
        corners = np.array([[0, 0], self._size(length)])
        return np.asarray(np.ptp(self.per_pair(corners, width), axis=0))


class RopeAxial(BaseAxial):
    """Rows and columns counted from origin. With origin 1, the position -1, -1 never turns.

    Each axis has a whole ladder of d/4 frequencies; or one ladder of d/2 is dealt to both axes in
    turn, the first frequency to the first axis.
    """

    name: Literal["rope-axial"] = "rope-axial"
    summary: ClassVar[str] = "RoPE on a grid: pairs turn by row or by column"
    source: ClassVar[str] = "Heo 2024"
    formula: ClassVar[str] = "pair i of an axis turns by its position * base^(-4i/d)"
    users: ClassVar[str] = (
        "the vision towers of Qwen2-VL, Pixtral, Llama 4 and Gemma 4; RoPE-ViT; torchtune"
    )

    base: float = Field(
        10000.0, gt=1, le=1e30, description="the slowest pair turns about 1/base per step"
    )
    frequency_order: Literal["per-axis", "alternating"] = Field(
        "per-axis", description="a ladder for each axis, or one dealt to the axes in turn"
    )
    origin: int = Field(
        0, ge=-(2**31), le=2**31, description="the number of the first row and of the first column"
    )

    def axis_frequencies(self, width: int) -> tuple[Frequencies, Frequencies]:
        if self.frequency_order == "per-axis":
            return ladder(self.base, width // 2), ladder(self.base, width // 2)
        dealt = ladder(self.base, width)
        return dealt[0::2], dealt[1::2]

    def number(self, positions: Array) -> Array:
        return positions + self.origin

    def frequency_steps(self, width: int) -> list[str]:
        i = range(width // 4)
        exponents = [(4 * j, 4 * j) for j in i]
        if self.frequency_order == "alternating":
            exponents = [(4 * j, 4 * j + 2) for j in i]
        powers = [e for e, _ in exponents] + [e for _, e in exponents]
        return [
            f"{plain(self.base)}^(-{e}/{width}) = {figure(float(w))}"
            for e, w in zip(powers, self.frequencies(width), strict=True)
        ]


class Measured(BaseAxial):
    """A grid whose rows and columns are numbered between -1 and 1, whatever its size."""

    rows: int = Field(16, ge=1, le=2**20, description="rows of the grid")

    @property
    def limit(self) -> int:
        return self.rows * self.columns

    def for_grid(self, sizes: Sequence[int]) -> Self:
        return with_size(self, sizes)

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        outside = ((positions < 0) | (positions > [self.rows - 1, self.columns - 1])).any(axis=1)
        if outside.any():
            raise PoscliError(
                f"{self.name} has {self.rows} rows and {self.columns} columns; position "
                f"{position_labels(positions[outside])[0]} is outside"
            )

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        inside = [min(length, self.limit) for length in lengths]
        found = super().beyond(trained, inside, dim, heads)
        grid = f"outside the grid of {self.rows} x {self.columns}"
        cells = [grid if n > self.limit else c for n, c in zip(lengths, found.cells, strict=True)]
        return replace(found, cells=cells)

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        size = np.array([[0, 0], [self.rows - 1, self.columns - 1]])
        low, high = self.number(size).tolist()
        return [
            (axis, f"{figure(low[a])} to {figure(high[a])}")
            for a, axis in enumerate(("rows", "columns"))
        ]


class RopeAxialCentred(Measured):
    """Patch centres between -1 and 1, in turns rather than radians: frequencies times 2 pi."""

    name: Literal["rope-axial-centred"] = "rope-axial-centred"
    summary: ClassVar[str] = "RoPE on a grid of patch centres from -1 to 1 (DINOv3)"
    source: ClassVar[str] = "Simeoni 2025; transformers, DINOv3"
    formula: ClassVar[str] = (
        "pair i of an axis turns by 2 pi * base^(-4i/d) * (2 (p + 1/2) / size - 1)"
    )
    users: ClassVar[str] = "DINOv3"

    base: float = Field(
        100.0, gt=1, le=1e30, description="the slowest pair turns about 1/base as often"
    )

    def axis_frequencies(self, width: int) -> tuple[Frequencies, Frequencies]:
        with exact():
            turns = [TWO_PI * w for w in ladder(self.base, width // 2)]
        return turns, turns

    def number(self, positions: Array) -> Array:
        return np.asarray((2 * positions + 1) / np.array([self.rows, self.columns]) - 1)


class RopeAxialPixel(Measured):
    """Rows and columns from -1 to 1, edge to edge, and frequencies in even steps of pi."""

    name: Literal["rope-axial-pixel"] = "rope-axial-pixel"
    summary: ClassVar[str] = "RoPE on a grid from -1 to 1, frequencies in even steps"
    source: ClassVar[str] = 'rotary-embedding-torch, freqs_for="pixel"'
    formula: ClassVar[str] = (
        "pair i of n on an axis turns by pi * (1 + i (max_freq/2 - 1) / (n - 1)) * "
        "(2 p / (size - 1) - 1)"
    )
    users: ClassVar[str] = "rotary-embedding-torch"

    max_freq: float = Field(
        10.0, ge=2, le=1e6, description="twice the frequency of the fastest pair / pi"
    )

    def axis_frequencies(self, width: int) -> tuple[Frequencies, Frequencies]:
        n = width // 4
        with exact():
            step = (Decimal(self.max_freq) / 2 - 1) / max(n - 1, 1)
            steps = [TWO_PI / 2 * (1 + i * step) for i in range(n)]
        return steps, steps

    def number(self, positions: Array) -> Array:
        return 2 * positions / np.maximum([self.rows - 1, self.columns - 1], 1) - 1.0
