"""The second place: queries and keys, turned pair by pair in proportion to the position.

The angle grows counter-clockwise: a pair (x, y) becomes (x cos - y sin, y cos + x sin).
"""

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from poscli.arrays import Array, Precision
from poscli.phase import Circle, Frequencies, angles, cos_sin
from poscli.report import Cell, Check, Grid, Table, check, tolerance
from poscli.schemes.base import Beyond, Encoder, Scheme, named, position_labels
from poscli.schemes.turns import pairs_at_new_angles, unfinished_pairs, wavelength_grid
from poscli.text import figure

_BLOCK = 2**17
"""Numbers turned at a time: they and what they are multiplied by stay in the cache."""


class Rotary(Scheme):
    """A scheme that turns pairs of columns of queries and keys."""

    place: ClassVar[str] = "queries and keys"
    applied: ClassVar[str] = "E turned, as a query or key of this width would be"

    def frequencies(self, width: int) -> Frequencies:
        """Head width -> radians per position, one per pair: the scheme's formula."""
        raise NotImplementedError

    def trained_frequencies(self, width: int) -> Frequencies:
        """Head width -> the frequencies that training saw: a scaled scheme had others then."""
        return self.frequencies(width)

    def pairs(self, width: int) -> tuple[Array, Array]:
        """Head width -> the first and the second column of every pair, each (pairs,)."""
        raise NotImplementedError

    def written_to(self, width: int) -> tuple[Array, Array]:
        """Head width -> the columns that the turned pairs go to: those they came from."""
        return self.pairs(width)

    def per_pair(self, positions: Array, width: int) -> Array:
        """Positions -> the number each pair turns by, (n,) where all share it, or (n, pairs)."""
        return positions

    @property
    def amplitude(self) -> float:
        """What cos and sin are multiplied by, the attention factor: scores grow by its square."""
        return 1.0

    def facts(self, width: int) -> list[tuple[str, Cell]]:
        """Say what is worth knowing of the scheme at a head width."""
        unit = self.amplitude == 1.0
        return [] if unit else [("cos and sin are multiplied by", self.amplitude)]

    def table_width(self, dim: int, heads: int) -> int:
        return dim // heads

    def angle_parts(self, positions: Array, width: int) -> tuple[Array, Frequencies] | None:
        return (positions, self.frequencies(width)) if self.axes == 1 else None

    def cos_sin(self, positions: Array, width: int) -> tuple[Array, Array]:
        """Positions -> cos and sin as they multiply queries and keys, each (n, pairs)."""
        self.check_positions(positions)
        cos, sin = cos_sin(self.per_pair(positions, width), self.frequencies(width))
        return self.amplitude * cos, self.amplitude * sin

    def rotate(self, x: Array, positions: Array) -> Array:
        self.check_width(x.shape[-1], 1)
        return self.turn(x, *self.cos_sin(positions, x.shape[-1]))

    def turn(self, x: Array, cos: Array, sin: Array, out: Array | None = None) -> Array:
        """Vectors (..., h, n, k), cos and sin (n, pairs) -> the vectors with every pair turned.

        Each number times cos, plus or minus its partner times sin; columns in no pair pass
        through. out takes the result, of the shape and dtype of x; it may be x itself.
        """
        read, written = self.pairs(x.shape[-1]), self.written_to(x.shape[-1])
        (first, second), (to_first, to_second) = map(_slice, read), map(_slice, written)
        stay, paired = np.array_equal(read, written), 2 * cos.shape[1]
        turned = np.empty(x.shape, x.dtype) if out is None else out
        turned[..., paired:] = x[..., paired:]
        own, other = np.empty((2, len(cos), paired), x.dtype)
        own[:, to_first] = own[:, to_second] = cos
        other[:, to_first], other[:, to_second] = -sin, sin
        for heads, rows in _blocks(x.shape):
            given, made = (a[..., heads, rows, :paired] for a in (x, turned))
            partner = np.empty(given.shape, x.dtype)
            partner[..., to_first], partner[..., to_second] = given[..., second], given[..., first]
            if not stay:
                made[..., to_first] = partner[..., to_second]
                made[..., to_second] = partner[..., to_first]
            np.multiply(given if stay else made, own[rows], out=made)
            partner *= other[rows]
            made += partner
        return turned

    def apply(self, x: Array, positions: Array) -> Array:
        return np.asarray(self.rotate(x[None], positions)[0])

    def apply_steps(self, x: Array, positions: Array, tokens: Sequence[str]) -> list[str]:
        cos, sin = self.cos_sin(positions, x.shape[1])
        first, second = self.pairs(x.shape[1])
        to_first, to_second = self.written_to(x.shape[1])
        lines = []
        for n, name in enumerate(named(tokens, positions)):
            for i, (c, s) in enumerate(zip(cos[n].tolist(), sin[n].tolist(), strict=True)):
                a, b = float(x[n, first[i]]), float(x[n, second[i]])
                to = f", to {to_first[i]} and {to_second[i]}" if to_second[i] != second[i] else ""
                lines.append(
                    f"{name}, columns {first[i]} and {second[i]}{to}: "
                    f"{figure(a)} * {figure(c)} - {figure(b)} * {figure(s)} = "
                    f"{figure(a * c - b * s)}; "
                    f"{figure(b)} * {figure(c)} + {figure(a)} * {figure(s)} = "
                    f"{figure(b * c + a * s)}"
                )
        return lines

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        self.check_width(width, heads)
        cos, sin = self.cos_sin(positions, width)
        return Table(
            "R, the turn of each pair",
            (
                ("part", ("cos", "sin")),
                ("position", position_labels(positions)),
                ("pair", tuple(str(i) for i in range(cos.shape[1]))),
            ),
            np.stack([cos, sin]),
        )

    def encoder(self, width: int, heads: int) -> Encoder:
        """Return what makes the values of encoding(); float32 is the nearest to the true value.

        An attention factor is multiplied in before the rounding, in float64.
        """
        in_float64, circle = super().encoder(width, heads), Circle(self.frequencies(width))

        def encode(positions: Array, precision: Precision) -> Array:
            if precision != "float32" or self.amplitude != 1.0:
                return in_float64(positions, precision)
            turned = np.empty((len(positions), len(self.pairs(width)[0])), np.complex64)
            circle.fill(self.per_pair(positions, width), turned)
            return np.stack([turned.imag, turned.real])

        return encode

    def details(self, positions: Array, width: int) -> list[Grid]:
        shown = angles(self.per_pair(positions, width), self.frequencies(width))
        return [
            Grid(
                "Angle of each pair, in radians",
                ("position",),
                tuple(f"pair {i}" if i == 0 else str(i) for i in range(shown.shape[1])),
                [(label,) for label in position_labels(positions)],
                shown,
            )
        ]

    def frequency_steps(self, width: int) -> list[str]:
        """Write out where the frequency of each pair comes from."""
        return [figure(float(w)) for w in self.frequencies(width)]

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        self.check_width(width, heads)
        first, second = self.pairs(width)
        to_first, to_second = self.written_to(width)
        angle = angles(self.per_pair(positions, width), self.frequencies(width))
        cos, sin = self.cos_sin(positions, width)
        frequencies = self.frequency_steps(width)
        lines = []
        if self.amplitude != 1.0:
            lines.append(f"cos and sin are multiplied by {figure(self.amplitude)}")
        for row, p in enumerate(position_labels(positions)):
            lines.append(f"position {p}")
            for i in range(len(first)):
                a, b, turn = first[i], second[i], float(angle[row, i])
                degrees = figure(float(np.degrees(turn)))
                c, s = figure(float(cos[row, i])), figure(float(sin[row, i]))
                lines += [
                    f"  pair {i} = columns {a} and {b}: {frequencies[i]} radians "
                    f"per position; angle {figure(turn)} ({degrees} degrees)",
                    f"    new x{to_first[i]} = x{a} * {c} - x{b} * {s}; "
                    f"new x{to_second[i]} = x{b} * {c} + x{a} * {s}",
                ]
        return lines

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        width, longest = self.table_width(dim, heads), max(lengths)
        frequencies, last = self.trained_frequencies(width), self.for_length(longest)
        unfinished = unfinished_pairs(frequencies, trained)
        return Beyond(
            [self._cell(width, trained, length) for length in lengths],
            facts=[
                ("pairs without a full turn in training", f"{unfinished} of {len(frequencies)}"),
                *last.facts(width),
            ],
            grids=[wavelength_grid(frequencies, trained, lengths, last.frequencies(width))],
            checks=[last.offset_check(longest, width)],
        )

    def _cell(self, width: int, trained: int, length: int) -> str:
        if length <= trained:
            return "trained"
        seen, used = self.trained_frequencies(width), self.for_length(length).frequencies(width)
        new = pairs_at_new_angles(seen, trained, used, length)
        return f"{new} of {len(seen)} pairs at new angles"

    def score_scale(self, longest: int, width: int) -> float:
        """How much larger than the vectors alone a score can come out, and its rounding with it."""
        return self.amplitude**2

    def offsets(self, longest: int) -> tuple[Array, Array, Array, str]:
        """Return places of one offset: keys near, queries far, keys far, and the far end's name.

        Queries near are at place 0; each is an array of places in a sequence.
        """
        near = np.minimum([0, 1, 3, 17], longest - 1)
        far = longest - 1 - near
        return near, far, far + near, f"the far end, {longest - 1}"

    def offset_check(self, longest: int, width: int) -> Check:
        """Is the score of two random vectors the same wherever their offset lies?"""
        query, key = np.random.default_rng(0).normal(size=(2, width))
        near, far, far_key, end = self.offsets(longest)
        scale = float(np.linalg.norm(query) * np.linalg.norm(key))
        return check(
            f"score(p, p + k) is the same at p = 0 and at {end}",
            self._scores(query, key, np.zeros_like(near), near),
            self._scores(query, key, far, far_key),
            expected="equal",
            tolerance=tolerance(width, scale * self.score_scale(longest, width), np.float64),
            uninformative="" if longest > 1 else "a single position has no offset",
        )

    def _scores(self, query: Array, key: Array, at: Array, to: Array) -> Array:
        queries = self.rotate(np.tile(query, (1, len(at), 1)), self.coordinates(at))
        keys = self.rotate_keys(np.tile(key, (1, len(to), 1)), self.coordinates(to))
        return np.asarray((queries * keys).sum(axis=(0, 2)))


def _slice(columns: Array) -> slice | Array:
    """Return evenly spaced columns as a slice, which is a view where an index would copy."""
    step = int(columns[1] - columns[0]) if len(columns) > 1 else 1
    even = (np.diff(columns) == step).all()
    return slice(int(columns[0]), int(columns[-1]) + 1, step) if even else columns


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Shape (..., h, n, k) -> blocks of heads and rows, the heads of the same rows together."""
    *leading, heads, n, width = shape
    row = max(1, math.prod(leading) * width)
    rows = min(max(1, _BLOCK // row), max(1, n))
    few = max(1, _BLOCK // (row * rows))
    for start in range(0, n, rows):
        for head in range(0, heads, few):
            yield slice(head, head + few), slice(start, start + rows)
