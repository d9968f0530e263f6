"""The second place: queries and keys, turned pair by pair in proportion to the position.

The angle grows counter-clockwise: a pair (x, y) becomes (x cos - y sin, y cos + x sin).
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.phase import Frequencies, angles, cos_sin
from poscli.report import Check, Grid, Table, check, tolerance
from poscli.schemes.base import Beyond, Scheme, named, position_labels
from poscli.schemes.turns import angle_cells, unfinished_pairs, wavelength_grid
from poscli.text import figure


class Rotary(Scheme):
    """A scheme that turns pairs of columns of queries and keys."""

    place: ClassVar[str] = "queries and keys"
    applied: ClassVar[str] = "E turned, as a query or key of this width would be"

    def frequencies(self, width: int) -> Frequencies:
        """Head width -> radians per position, one per pair: the scheme's formula."""
        raise NotImplementedError

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
    def attention_factor(self) -> float:
        """What cos and sin are multiplied by; scores grow by its square."""
        return 1.0

    def table_width(self, dim: int, heads: int) -> int:
        return dim // heads

    def size(self, length: int, width: int, heads: int) -> int:
        return length * width

    def cos_sin(self, positions: Array, width: int) -> tuple[Array, Array]:
        """Positions -> cos and sin as they multiply queries and keys, each (n, pairs)."""
        self.check_positions(positions)
        cos, sin = cos_sin(self.per_pair(positions, width), self.frequencies(width))
        return self.attention_factor * cos, self.attention_factor * sin

    def rotate(self, x: Array, positions: Array) -> Array:
        width = x.shape[-1]
        self.check_width(width, 1)
        cos, sin = (t.astype(x.dtype) for t in self.cos_sin(positions, width))
        first, second = self.pairs(width)
        to_first, to_second = self.written_to(width)
        a, b = x[..., first], x[..., second]
        turned: Array = x.copy()
        turned[..., to_first] = a * cos - b * sin
        turned[..., to_second] = b * cos + a * sin
        return turned

    def apply(self, x: Array, positions: Array) -> Array:
        return np.asarray(self.rotate(x[None], positions)[0])

    def apply_steps(self, x: Array, positions: Array, tokens: Sequence[str]) -> list[str]:
        cos, sin = self.cos_sin(positions, x.shape[1])
        first, second = self.pairs(x.shape[1])
        lines = []
        for n, name in enumerate(named(tokens, positions)):
            for i, (c, s) in enumerate(zip(cos[n].tolist(), sin[n].tolist(), strict=True)):
                a, b = float(x[n, first[i]]), float(x[n, second[i]])
                lines.append(
                    f"{name}, columns {first[i]} and {second[i]}: "
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

    def frequency_step(self, pair: int, width: int) -> str:
        """Write out where the frequency of a pair comes from."""
        return f"{figure(float(self.frequencies(width)[pair]))}"

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        self.check_width(width, heads)
        first, second = self.pairs(width)
        angle = angles(self.per_pair(positions, width), self.frequencies(width))
        cos, sin = self.cos_sin(positions, width)
        lines = []
        if self.attention_factor != 1.0:
            lines.append(f"cos and sin are multiplied by {figure(self.attention_factor)}")
        for row, p in enumerate(position_labels(positions)):
            lines.append(f"position {p}")
            for i in range(len(first)):
                a, b, turn = first[i], second[i], float(angle[row, i])
                c, s = f"{figure(cos[row, i])}", f"{figure(sin[row, i])}"
                lines += [
                    f"  pair {i} = columns {a} and {b}: {self.frequency_step(i, width)} radians "
                    f"per position; angle {figure(turn)} ({figure(np.degrees(turn))} degrees)",
                    f"    new x{a} = x{a} * {c} - x{b} * {s}; new x{b} = x{b} * {c} + x{a} * {s}",
                ]
        return lines

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        width = self.table_width(dim, heads)
        frequencies = self.frequencies(width)
        unfinished = unfinished_pairs(frequencies, trained)
        return Beyond(
            angle_cells(frequencies, trained, lengths),
            facts=[
                ("pairs without a full turn in training", f"{unfinished} of {len(frequencies)}")
            ],
            grids=[wavelength_grid(frequencies, trained, lengths)],
            checks=[self._offset_check(max(lengths), width)],
        )

    def _offset_check(self, longest: int, width: int) -> Check:
        """Is the score of two random vectors the same wherever their offset lies?"""
        query, key = np.random.default_rng(0).normal(size=(2, width))
        offsets = np.minimum([0, 1, 3, 17], longest - 1)
        starts = longest - 1 - offsets
        near = self._scores(query, key, np.zeros_like(offsets), offsets)
        far = self._scores(query, key, starts, starts + offsets)
        scale = float(np.linalg.norm(query) * np.linalg.norm(key)) * self.attention_factor**2
        return check(
            f"score(p, p + k) is the same at p = 0 and at the far end, {longest - 1}",
            near,
            far,
            expected="equal",
            tolerance=tolerance(width, scale, np.float64),
            uninformative="" if longest > 1 else "a single position has no offset",
        )

    def _scores(self, query: Array, key: Array, at: Array, to: Array) -> Array:
        queries = self.rotate(np.tile(query, (1, len(at), 1)), self.coordinates(at))
        keys = self.rotate_keys(np.tile(key, (1, len(to), 1)), self.coordinates(to))
        return np.asarray((queries * keys).sum(axis=(0, 2)))


def require_even(name: str, width: int) -> None:
    """Raise PoscliError for a width that cannot be cut into pairs."""
    if width < 2 or width % 2:
        raise PoscliError(
            f"{name} needs an even head width of 2 or more: it turns pairs; got width {width}"
        )
