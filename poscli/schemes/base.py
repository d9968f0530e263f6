"""The one idea: a position can enter attention at three places, or not at all.

A scheme has one hook per place, and each hook does nothing by default. The three places are the
files additive.py, rotary.py and score_bias.py: each turns one formula into one hook. A concrete
scheme is a subclass of one of them whose fields are its settings and whose method is its formula.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

import numpy as np

from poscli.arrays import Array, Precision, rounded
from poscli.errors import PoscliError
from poscli.padding import pads_counted
from poscli.phase import Frequencies
from poscli.report import Cell, Check, Grid, Table
from poscli.settings import Settings
from poscli.text import plain, setting

Encoder = Callable[[Array, Precision], Array]
"""Takes positions and the format that the values are rounded to; gives the values."""


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

    Shapes: n tokens, m keys, d width, h heads, k head width. Positions are (n,) whole or real
    numbers; a scheme of several axes takes (n, axes). No hook changes its input. Token vectors,
    queries and keys may have more axes in front: sequences side by side, at the same positions.
    """

    name: str
    place: ClassVar[str] = "nowhere"
    applied: ClassVar[str] = "X = E: every token as it is"
    summary: ClassVar[str]
    source: ClassVar[str]
    formula: ClassVar[str]
    users: ClassVar[str]
    axes: ClassVar[int] = 1
    sees_order: ClassVar[bool] = True

    @property
    def limit(self) -> int | None:
        """The number of positions the scheme has values for; None where there is no end."""
        return None

    @property
    def sees_own_place(self) -> bool:
        """Whether, without a mask, one token at two places attends differently from each.

        Not so where the key's position alone decides: every query then sees the same.
        """
        return self.sees_order

    def label(self) -> str:
        """Return the scheme as name:key=value,key=value; a long value by its size."""
        given = self.model_dump(exclude_defaults=True, exclude={"name"})
        parts = [f"{key}={_short(value)}" for key, value in given.items()]
        return f"{self.name}:{','.join(parts)}" if parts else self.name

    def add(self, x: Array, positions: Array) -> Array:
        """Token embeddings (n, d) at positions -> what enters attention, (n, d)."""
        return x

    def rotate(self, x: Array, positions: Array) -> Array:
        """Queries (h, n, k) at positions -> the same shape."""
        return x

    def rotate_keys(self, x: Array, positions: Array) -> Array:
        """Keys (h, m, k) at positions -> the same shape; as queries, unless a scheme says so."""
        return self.rotate(x, positions)

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        """Queries (h, n, k) and keys (h, m, k) -> what is added to the scores, (h, n, m).

        Some queries may be asked about without the others, but with all keys. A bias that no
        content enters has no axes in front, whatever the queries and keys have.
        """
        shape = (*queries.shape[-3:-1], keys.shape[-2])
        return np.broadcast_to(np.zeros((), queries.dtype), shape)

    def coordinates(self, index: Array) -> Array:
        """Places in a sequence (n,) -> positions, (n,) or (n, axes)."""
        return index

    def places(self, mask: Array) -> Array:
        """Mask (n,), true where a token is no padding -> the place of each token in the sequence.

        Padding takes up places like any token, unless a scheme says so.
        """
        return pads_counted(mask)

    def for_length(self, length: int) -> Self:
        """Return the scheme as it is used on a sequence of so many positions."""
        return self

    def angle_parts(self, positions: Array, width: int) -> tuple[Array, Frequencies] | None:
        """Return the numbers and the frequencies whose products are the angles of a table.

        None where a scheme has no angles of a single position.
        """
        return None

    def number(self, positions: Array) -> Array:
        """Return the row or number that positions are encoded as: themselves, or moved by one."""
        return positions

    def for_grid(self, sizes: Sequence[int]) -> Self:
        """Return the scheme as it is used on a picture of so many rows and columns."""
        return self

    def trained_at(self, length: int) -> Self:
        """Return the scheme as a model trained on sequences of this length would hold it."""
        return self

    def stretched(self, times: float) -> Self:
        """Return the scheme as set for sequences so many times the trained length.

        A factor that was left at its default becomes that number; one that was given stays.
        """
        if "factor" not in type(self).model_fields or "factor" in self.model_fields_set:
            return self
        return self.model_copy(update={"factor": times})

    def drawn_with(self, seed: int) -> Self:
        """Return the scheme as another seed draws it; a seed that was given stays."""
        if "seed" not in type(self).model_fields or "seed" in self.model_fields_set:
            return self
        return self.model_copy(update={"seed": seed})

    def learnable(self, dim: int, heads: int) -> dict[str, Array]:
        """Return the values that training has to find, by name, as they are before training."""
        return {}

    def with_learned(self, values: dict[str, Array]) -> Self:
        """Return the scheme holding these values in place of its own."""
        return self

    def add_gradient(self, gradient: Array, positions: Array) -> dict[str, Array]:
        """Gradient (n, d) of what add() returned -> of each learnable value add() uses."""
        return {}

    def bias_gradient(
        self, gradient: Array, query_positions: Array, key_positions: Array
    ) -> dict[str, Array]:
        """Gradient (h, n, m) of what bias() returned -> of each learnable value bias() uses."""
        return {}

    def parameters(self, width: int, heads: int) -> int:
        """Return how many numbers training has to find for this scheme."""
        return 0

    def check_width(self, width: int, heads: int) -> None:
        """Raise PoscliError where the scheme cannot work at a head width or number of heads."""

    def check_positions(self, positions: Array) -> None:
        """Raise PoscliError where the scheme has no value for a position."""
        given = positions.shape[1] if positions.ndim == 2 else 1
        if given != self.axes:
            raise PoscliError(
                f"{self.name} takes positions of {self.axes} "
                f"{'number' if self.axes == 1 else 'numbers'} each; got {given}"
            )

    def table_width(self, dim: int, heads: int) -> int:
        """Return the width encoding() works at inside a model of width dim."""
        return dim

    def size(self, length: int, width: int, heads: int) -> int:
        """Return how many numbers encoding() makes for so many positions."""
        return length * width

    def size_beyond(self, length: int, dim: int) -> int:
        """Return how many numbers beyond() makes, at most, for a length."""
        return dim

    def encoding(self, positions: Array, width: int, heads: int) -> Table:
        """Return the encoding itself as a labelled float64 array."""
        return position_table(
            "P, zero: nothing is added", positions, np.zeros((len(positions), width))
        )

    def encoder(self, width: int, heads: int) -> Encoder:
        """Return the function that makes the values of encoding(), for many calls.

        What depends on the width alone is made once.
        """
        return lambda positions, precision: rounded(
            self.encoding(positions, width, heads).values, precision
        )

    def details(self, positions: Array, width: int) -> list[Grid]:
        """Return what encoding() is made from, in float64, to be shown before it."""
        return []

    def apply(self, x: Array, positions: Array) -> Array:
        """Return what the scheme makes of vectors (n, d) before scores are taken, (n, d)."""
        return x

    def apply_steps(self, x: Array, positions: Array, tokens: Sequence[str]) -> list[str]:
        """Write out what apply does to each number of vectors (n, d)."""
        return []

    def steps(self, positions: Array, width: int, heads: int) -> list[str]:
        """Write out, step by step, how the values at these positions come about."""
        return ["No position is used: every token keeps the vector it has."]

    def beyond(self, trained: int, lengths: Sequence[int], dim: int, heads: int) -> Beyond:
        """Say what is new at lengths past the trained one, in a model of width dim."""
        return Beyond(["no positions, so none is new" for _ in lengths])


S = TypeVar("S", bound=Scheme)


def row_by_row(index: Array, columns: int) -> Array:
    """Lay places of a sequence (n,) out in rows of so many columns: (n, 2), the row first."""
    return np.stack([index // columns, index % columns], axis=-1)


def require_whole(name: str, positions: Array) -> None:
    """Raise PoscliError for a position between two whole numbers: a table has no row for it."""
    between = positions[positions % 1 != 0]
    if between.size:
        raise PoscliError(
            f"{name} has rows for whole positions only; got position {plain(between[0])}"
        )


def with_size(scheme: S, sizes: Sequence[int]) -> S:
    """Return a scheme of rows and columns for a picture of this size; refuse one that differs."""
    if len(sizes) != 2:
        raise PoscliError(f"{scheme.name} has rows and columns; got a grid of {len(sizes)} axes")
    size = dict(zip(("rows", "columns"), sizes, strict=True))
    for name, number in size.items():
        if name in scheme.model_fields_set and getattr(scheme, name) != number:
            raise PoscliError(
                f"{scheme.name} has {getattr(scheme, name)} {name}, but the grid has {number}"
            )
    return scheme.model_copy(update=size)


def position_labels(positions: Array) -> tuple[str, ...]:
    """Return positions as text: whole numbers without a decimal point, axes with commas."""
    if positions.ndim == 2:
        return tuple(",".join(position_labels(row)) for row in positions)
    return tuple(plain(p) for p in positions.tolist())


def named(tokens: Sequence[str], positions: Array) -> list[str]:
    """Return a name per position for a line of explanation: the token too, where there is one."""
    labels = [f"position {p}" for p in position_labels(positions)]
    return [f"{t} at {p}" for t, p in zip(tokens, labels, strict=True)] if tokens else labels


def position_table(name: str, positions: Array, values: Array) -> Table:
    """Label an array of one vector per position, (n, d)."""
    dims = tuple(str(j) for j in range(values.shape[1]))
    return Table(name, (("position", position_labels(positions)), ("dim", dims)), values)


def trained_cells(lengths: Sequence[int], trained: int, text: str) -> list[str]:
    """Return one cell per length: "trained" up to the trained length, the text past it."""
    return ["trained" if length <= trained else text for length in lengths]


def _short(value: object) -> str:
    if isinstance(value, list):
        short = len(value) <= 8 and all(isinstance(v, int | float) for v in value)
        return f"[{','.join(map(setting, value))}]" if short else f"({len(value)} values)"
    return setting(value)
