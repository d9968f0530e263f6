"""The one idea: a position can enter attention at three places, or not at all.

A scheme has one hook per place and each hook does nothing by default. Additive, Rotary and
ScoreBias turn one formula into one hook; a concrete scheme is a subclass of one of them whose
fields are its settings and whose one method is its formula.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.phase import Frequencies, angles, cos_sin, powers, wavelengths
from poscli.report import Cell, Check, Grid, Table
from poscli.settings import Settings


@dataclass(frozen=True)
class Beyond:
    """What a scheme has to say about lengths past the trained one.

    cells holds one short text per length asked for; the rest is shown below the table.
    """

    cells: Sequence[str]
    facts: Sequence[tuple[str, Cell]] = ()
    grids: Sequence[Grid] = ()
    checks: Sequence[Check] = ()


class Scheme(Settings):
    """A positional encoding. Positions are always an argument; none are counted in here.

    Shapes: n tokens, m keys, d width, h heads, k head width. No hook changes its input.
    """

    name: str
    place: ClassVar[str] = "nowhere"
    applied: ClassVar[str] = "X = E: every token as it is"
    summary: ClassVar[str]
    source: ClassVar[str]
    sees_order: ClassVar[bool] = True

    @property
    def limit(self) -> int | None:
        """The number of positions the scheme has values for; None where there is no end."""
        return None

    def label(self) -> str:
        """Return the scheme as it is written on the command line: name:key=value,key=value."""
        given = self.model_dump(exclude_defaults=True, exclude={"name"})
        parts = [f"{key}={_short(value)}" for key, value in given.items()]
        return f"{self.name}:{','.join(parts)}" if parts else self.name

    def add(self, x: Array, positions: Array) -> Array:
        """Token embeddings (n, d) at positions (n,) -> what enters attention, (n, d)."""
        return x

    def rotate(self, x: Array, positions: Array) -> Array:
        """Queries or keys (h, n, k) at positions (n,) -> the same shape."""
        return x

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        """Queries (h, n, k) and keys (h, m, k) -> what is added to the scores, (h, n, m)."""
        return np.zeros((queries.shape[0], queries.shape[1], keys.shape[1]), queries.dtype)

    def parameters(self, width: int, heads: int) -> int:
        """Return how many numbers training has to find for this scheme."""
        return 0

    def check_width(self, width: int, heads: int) -> None:
        """Raise PoscliError where the scheme cannot work at a head width or number of heads."""

    def check_positions(self, positions: Array) -> None:
        """Raise PoscliError where the scheme has no value for a position."""

    def table_width(self, dim: int, heads: int) -> int:
        """Return the width encoding() works at inside a model of width dim."""
        return dim

    def trained_at(self, length: int) -> Self:
        """Return the scheme as a model trained on sequences of this length would hold it."""
        return self

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        """Return the encoding itself as a labelled float64 array."""
        return _position_table(
            "P, added at each position", positions, np.zeros((len(positions), width))
        )

    def apply(self, x: Array, positions: Array) -> Array:
        """Return what the scheme makes of vectors (n, d) before scores are taken, (n, d)."""
        return x

    def apply_steps(self, x: Array, positions: Array, tokens: Sequence[str]) -> list[str]:
        """Write out what apply does to each number of vectors (n, d)."""
        return []

    def size(self, length: int, width: int, heads: int) -> int:
        """Return how many numbers encoding() makes for so many positions."""
        return length * width

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        """Write out, step by step, how the values at these positions come about."""
        return ["No position is used: every token keeps the vector it has."]

    def beyond(self, trained: int, lengths: Sequence[int], width: int, heads: int) -> Beyond:
        """Say what is new at lengths past the trained one."""
        return Beyond(["no positions, so none is new" for _ in lengths])


class Additive(Scheme):
    """A scheme that adds a vector per position to the token embeddings."""

    place: ClassVar[str] = "token embeddings"
    applied: ClassVar[str] = "X = E + P"

    def vectors(self, positions: Array, width: int) -> Array:
        """Positions (n,) -> vectors (n, width) in float64: the scheme's formula."""
        raise NotImplementedError

    def add(self, x: Array, positions: Array) -> Array:
        self.check_positions(positions)
        return np.asarray(x + self.vectors(positions, x.shape[-1]).astype(x.dtype))

    def apply(self, x: Array, positions: Array) -> Array:
        return self.add(x, positions)

    def apply_steps(self, x: Array, positions: Array, tokens: Sequence[str]) -> list[str]:
        added, lines = self.vectors(positions, x.shape[1]), []
        for n, name in enumerate(_named(tokens, positions)):
            for j, (e, p) in enumerate(zip(x[n].tolist(), added[n].tolist(), strict=True)):
                lines.append(f"{name}, dim {j}: {e:.6g} + {p:.6g} = {e + p:.6g}")
        return lines

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        self.check_positions(positions)
        return _position_table(
            "P, added at each position", positions, self.vectors(positions, width)
        )


class Rotary(Scheme):
    """A scheme that turns pairs of columns of queries and keys, in proportion to the position.

    The angle grows counter-clockwise: a pair (x, y) becomes (x cos - y sin, y cos + x sin).
    """

    place: ClassVar[str] = "queries and keys"
    applied: ClassVar[str] = "E turned, as a query or key of this width would be"

    def frequencies(self, width: int) -> Frequencies:
        """Head width -> radians per position, one per pair: the scheme's formula."""
        raise NotImplementedError

    def table_width(self, dim: int, heads: int) -> int:
        return dim // heads

    def pairs(self, width: int) -> tuple[Array, Array]:
        """Head width -> the first and the second column of every pair, each (pairs,)."""
        raise NotImplementedError

    def rotate(self, x: Array, positions: Array) -> Array:
        width = x.shape[-1]
        self.check_width(width, 1)
        cos, sin = (t.astype(x.dtype) for t in cos_sin(positions, self.frequencies(width)))
        first, second = self.pairs(width)
        a, b = x[..., first], x[..., second]
        turned: Array = x.copy()
        turned[..., first] = a * cos - b * sin
        turned[..., second] = b * cos + a * sin
        return turned

    def apply(self, x: Array, positions: Array) -> Array:
        return np.asarray(self.rotate(x[None], positions)[0])

    def apply_steps(self, x: Array, positions: Array, tokens: Sequence[str]) -> list[str]:
        cos, sin = cos_sin(positions, self.frequencies(x.shape[1]))
        first, second = self.pairs(x.shape[1])
        lines = []
        for n, name in enumerate(_named(tokens, positions)):
            for i, (c, s) in enumerate(zip(cos[n].tolist(), sin[n].tolist(), strict=True)):
                a, b = float(x[n, first[i]]), float(x[n, second[i]])
                lines.append(
                    f"{name}, columns {first[i]} and {second[i]}: "
                    f"{a:.6g} * {c:.6g} - {b:.6g} * {s:.6g} = {a * c - b * s:.6g}; "
                    f"{b:.6g} * {c:.6g} + {a:.6g} * {s:.6g} = {b * c + a * s:.6g}"
                )
        return lines

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        self.check_width(width, heads)
        frequencies = self.frequencies(width)
        values = np.stack([angles(positions, frequencies), *cos_sin(positions, frequencies)])
        return Table(
            "R, the turn of each pair",
            (
                ("part", ("angle", "cos", "sin")),
                ("position", position_labels(positions)),
                ("pair", tuple(str(i) for i in range(len(frequencies)))),
            ),
            values,
        )


class ScoreBias(Scheme):
    """A scheme that adds a number per head, query and key to the attention scores."""

    place: ClassVar[str] = "attention scores"
    applied: ClassVar[str] = ""

    def size(self, length: int, width: int, heads: int) -> int:
        return heads * length * length

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        blank = np.zeros((heads, len(positions), width))
        labels = position_labels(positions)
        return Table(
            "B, added to each score",
            (
                ("head", tuple(str(h) for h in range(heads))),
                ("query", labels),
                ("key", labels),
            ),
            self.bias(blank, blank, positions, positions),
        )


def position_labels(positions: Array) -> tuple[str, ...]:
    """Return positions as text, whole numbers without a decimal point."""
    return tuple(f"{p:g}" if p % 1 else str(int(p)) for p in positions.tolist())


def ladder(base: float, width: int) -> Frequencies:
    """Return base ** (-2i / width) for i = 0, 1, ...: one frequency per (started) pair."""
    return powers(base, [Fraction(2 * i, width) for i in range((width + 1) // 2)])


def unfinished_pairs(frequencies: Frequencies, trained: int) -> int:
    """Count the pairs that never completed a turn within the trained length."""
    return int(np.sum(wavelengths(frequencies) > trained))


def wavelength_grid(frequencies: Frequencies, trained: int, lengths: Sequence[int]) -> Grid:
    """Show how far each pair has turned at the trained length and at the longest one."""
    waves = wavelengths(frequencies)
    longest = max(lengths)
    return Grid(
        f"Turns of each pair: within the trained {trained} positions, and within {longest}",
        ("pair",),
        ("wavelength", f"turns in {trained}", f"turns in {longest}", "full turn seen"),
        [(str(i),) for i in range(len(waves))],
        [[w, trained / w, longest / w, "yes" if w <= trained else "no"] for w in waves.tolist()],
    )


def angle_cells(frequencies: Frequencies, trained: int, lengths: Sequence[int]) -> list[str]:
    """Say, per length, how many pairs reach angles that training never showed."""
    unfinished = unfinished_pairs(frequencies, trained)
    return [
        "trained"
        if length <= trained
        else f"{unfinished} of {len(frequencies)} pairs at new angles"
        for length in lengths
    ]


def _short(value: object) -> str:
    if isinstance(value, list):
        return f"({len(value)} rows)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def refuse_width(name: str, needs: str, width: int) -> PoscliError:
    """Return the error for a width a scheme cannot work at."""
    return PoscliError(f"{name} needs {needs}; got width {width}")


def _named(tokens: Sequence[str], positions: Array) -> list[str]:
    labels = [f"position {p}" for p in position_labels(positions)]
    return [f"{t} at {p}" for t, p in zip(tokens, labels, strict=True)] if tokens else labels


def _position_table(name: str, positions: Array, values: Array) -> Table:
    return Table(
        name,
        (
            ("position", position_labels(positions)),
            ("dim", tuple(str(j) for j in range(values.shape[1]))),
        ),
        values,
    )
