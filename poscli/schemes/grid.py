"""Sines and cosines of the two or three numbers of a place in a grid, one block per axis.

Sources: get_2d_sincos_pos_embed of He et al. 2021 (MAE, arXiv 2111.06377): the block of the column
first, in each all sines, then all cosines; transformers 5 put the row first. posemb_sincos_2d of
big_vision (Beyer et al. 2022, arXiv 2205.01580): frequencies from 1 to exactly 1/base. timm's
build_sincos2d_pos_embed: the sines of both axes before the cosines of both. The package
positional-encodings: interleaved, each block rounded up to an even width, the whole cut to d.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.phase import Frequencies, cos_sin
from poscli.schemes.additive import Additive
from poscli.schemes.base import position_labels, row_by_row
from poscli.schemes.sines import Ladder, log_timescale
from poscli.schemes.turns import ladder
from poscli.text import figure, plain

_ARRANGED = {"concatenated": (0, 1, 2, 3), "interleaved": (0, 1, 3, 2), "sines-first": (0, 2, 1, 3)}


class OnGrid(Additive):
    """A scheme of rows and columns. Positions are (n, 2): the row, then the column."""

    axes: ClassVar[int] = 2
    axis_names: ClassVar[tuple[str, ...]] = ("row", "column")

    columns: int = Field(
        4, ge=1, le=2**20, description="columns that a sequence is laid out in, row by row"
    )

    def coordinates(self, index: Array) -> Array:
        return row_by_row(index, self.columns)


class GridSines(OnGrid):
    """A scheme of sines and cosines whose every axis has frequencies of its own."""

    def numbers(self, positions: Array) -> Array:
        """Positions (n, axes) -> the numbers that are turned into angles, (n, axes)."""
        raise NotImplementedError

    def frequencies(self, width: int) -> list[Frequencies]:
        """Return the frequencies of each axis, as many for one as for another."""
        raise NotImplementedError

    def arranged(self, values: Array) -> Array:
        """Values (n, axes, 2, pairs), sines before cosines -> (n, columns) in their order."""
        raise NotImplementedError

    def vectors(self, positions: Array, width: int) -> Array:
        self.check_width(width, 1)
        numbers = self.numbers(positions)
        values = np.stack(
            [
                np.stack(cos_sin(numbers[:, axis], frequencies)[::-1], axis=1)
                for axis, frequencies in enumerate(self.frequencies(width))
            ],
            axis=1,
        )
        return self.arranged(values)[:, :width]

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        numbers, values = self.numbers(positions), self.vectors(positions, width)
        lines = []
        for n, p in enumerate(position_labels(positions)):
            parts = [
                [
                    [
                        f"{axis} {label}: {plain(number)} * {figure(float(w))} = "
                        f"{figure(number * float(w))}; {function}({figure(number * float(w))})"
                        for w in frequencies
                    ]
                    for function in ("sin", "cos")
                ]
                for axis, label, number, frequencies in zip(
                    self.axis_names,
                    position_labels(positions[n]),
                    numbers[n].tolist(),
                    self.frequencies(width),
                    strict=True,
                )
            ]
            lines.append(f"position {p}")
            for j, part in enumerate(self.arranged(np.array([parts]))[0, :width].tolist()):
                lines.append(f"  dim {j}: {part} = {figure(values[n, j])}")
        return lines


class SincosGrid(GridSines):
    """Sines and cosines of whole or real coordinates, with the choices that libraries make."""

    base: float = Field(
        10000.0, gt=1, le=1e30, description="the slowest pair turns about 1/base per step"
    )
    ladder: Ladder = Field(
        "paper",
        description="base^(-2i/w), w columns per axis; or log-timescale, from 1 to exactly 1/base",
    )
    layout: Literal["concatenated", "interleaved", "sines-first"] = Field(
        "concatenated",
        description="per axis all sines, then all cosines; per axis in turn; or the sines of "
        "every axis before the cosines of every axis",
    )
    blocks: Literal["columns-first", "columns-last"] = Field(
        "columns-first", description="whether the column's block comes first or the row's"
    )
    uneven: Literal["refuse", "cut"] = Field(
        "refuse", description="a width that axes do not share in pairs: refused, or rounded up, cut"
    )
    origin: int = Field(0, ge=0, le=2**31, description="the number that row and column 0 stand for")

    def check_width(self, width: int, heads: int) -> None:
        share = 2 * self.axes
        if self.uneven == "refuse" and width % share:
            raise PoscliError(
                f"{self.name} needs a width that {share} divides, a sine and a cosine for each "
                f"of {self.axes} axes; got width {width}"
            )

    def numbers(self, positions: Array) -> Array:
        return positions + self.origin

    def frequencies(self, width: int) -> list[Frequencies]:
        pairs = -(-width // (2 * self.axes))
        if self.ladder == "paper":
            return [ladder(self.base, 2 * pairs)] * self.axes
        return [log_timescale(self.base, pairs)] * self.axes

    def arranged(self, values: Array) -> Array:
        if self.blocks == "columns-first":
            values = values[:, ::-1]
        return values.transpose(_ARRANGED[self.layout]).reshape(len(values), -1)


class Sincos2D(SincosGrid):
    """Rows and columns: half of the width for each."""

    name: Literal["sincos-2d"] = "sincos-2d"
    summary: ClassVar[str] = "sines and cosines of row and column"
    source: ClassVar[str] = "He 2021 (MAE), get_2d_sincos_pos_embed"
    formula: ClassVar[str] = "sin(x w_i), cos(x w_i), sin(y w_i), cos(y w_i); w_i = base^(-4i/d)"
    users: ClassVar[str] = "MAE, ViT-MAE, SimpleViT, MoCo v3, DiT, OmDet-Turbo, timm"


class Sincos3D(SincosGrid):
    """Planes, rows and columns. Positions are (n, 3): the plane, the row, the column."""

    name: Literal["sincos-3d"] = "sincos-3d"
    summary: ClassVar[str] = "sines and cosines of plane, row and column"
    source: ClassVar[str] = "package positional-encodings, PositionalEncoding3D"
    formula: ClassVar[str] = "blocks of sin and cos of x, y, z at base^(-2i/w), w = 2 ceil(d/6)"
    users: ClassVar[str] = "positional-encodings; video and volume transformers"
    axes: ClassVar[int] = 3
    axis_names: ClassVar[tuple[str, ...]] = ("plane", "row", "column")

    uneven: Literal["refuse", "cut"] = Field(
        "cut", description="a width that axes do not share in pairs: refused, or rounded up, cut"
    )
    rows: int = Field(4, ge=1, le=2**20, description="rows of a plane of a laid out sequence")

    def coordinates(self, index: Array) -> Array:
        plane, rest = index // (self.rows * self.columns), index % (self.rows * self.columns)
        return np.stack([plane, rest // self.columns, rest % self.columns], axis=1)
