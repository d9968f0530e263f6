"""Arrays and sequences too large to hold: their rows are made when they are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar, overload

from poscli.arrays import Array

T = TypeVar("T")

_READ_AT_ONCE = 1024


@dataclass(frozen=True)
class Rows:
    """An array of any shape: make(start, stop) computes some of its rows, (stop - start, columns).

    Rows are counted through all axes but the last.
    """

    shape: tuple[int, ...]
    dtype: Any
    make: Callable[[int, int], Array]

    def part(self, k: int) -> "Rows":
        """Return step k of all axes but the last two, a table of rows and columns."""
        first, make = k * self.shape[-2], self.make
        return Rows(self.shape[-2:], self.dtype, lambda i, j: make(first + i, first + j))


@dataclass(frozen=True)
class Made(Sequence[T], Generic[T]):
    """A sequence of which make(start, stop) gives some items."""

    length: int
    make: Callable[[int, int], Sequence[T]]

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.length)
            return self.make(start, stop)[::step]
        place = range(self.length)[index]
        return self.make(place, place + 1)[0]

    def __iter__(self) -> Iterator[T]:
        for start in range(0, self.length, _READ_AT_ONCE):
            yield from self.make(start, min(start + _READ_AT_ONCE, self.length))


def row_count(values: Array | Rows) -> int:
    """Return the number of rows, counted through all axes but the last."""
    return prod(values.shape[:-1])


def some_rows(values: Array | Rows, start: int, stop: int) -> Array:
    """Return some rows of an array, (stop - start, columns)."""
    if isinstance(values, Rows):
        return values.make(start, stop)
    return values.reshape(row_count(values), values.shape[-1])[start:stop]


def spans(count: int, width: int, numbers: int) -> Sequence[tuple[int, int]]:
    """Cut so many rows of a width into spans of about so many numbers."""
    some = max(1, numbers // max(1, width))
    return [(start, min(start + some, count)) for start in range(0, count, some)]
