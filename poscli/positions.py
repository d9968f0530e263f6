"""Positions as a user writes them."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from poscli import room
from poscli.arrays import Array
from poscli.errors import PoscliError

LARGEST = 2**53
_BYTES_PER_NUMBER = 128
"""What a number costs while it is computed and written as text; 30 to 85 were measured."""


def parse_positions(given: Any) -> Any:
    """Read the text 0,5,9, or the half-open range 0:8, as a list of positions.

    >>> parse_positions("2:5"), parse_positions("0,5,-3")
    ([2, 3, 4], [0, 5, -3])
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return [given]
    if not isinstance(given, str):
        return given
    start, colon, stop = given.partition(":")
    try:
        if not colon:
            return [_number(part) for part in given.split(",")]
        first, last = _number(start), _number(stop)
        if not isinstance(first, int) or not isinstance(last, int):
            raise ValueError(given)
    except ValueError:
        raise PoscliError(
            f"positions are numbers such as 0,5,9 or a range such as 0:8; got {given[:60]!r}"
        ) from None
    if last <= first:
        raise PoscliError(f"the range {given!r} is empty; its end is not included")
    if first <= -LARGEST or last > LARGEST:
        raise PoscliError(f"positions lie between -2^53 and 2^53; got {given[:60]!r}")
    refuse_size(last - first, f"the positions {given}")
    return list(range(first, last))


def _check_positions(given: Any) -> Any:
    """Refuse what is neither numbers nor lists of as many numbers each."""
    if not isinstance(given, list) or not given:
        raise PoscliError("positions are a list of one number or more, or text such as 0:8")
    axes = {len(p) if isinstance(p, list) else 0 for p in given}
    if len(axes) > 1:
        raise PoscliError("positions must all have the same number of axes")
    for number in (n for p in given for n in (p if isinstance(p, list) else [p])):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise PoscliError(f"positions are numbers, or lists of numbers; got {number!r}")
        if not -LARGEST < number < LARGEST:
            raise PoscliError(f"positions lie between -2^53 and 2^53; got {number}")
    return given


_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "number"}},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    ]
}

Positions = Annotated[
    Any,
    AfterValidator(_check_positions),
    BeforeValidator(parse_positions),
    WithJsonSchema(_SCHEMA),
]
"""Positions as a user writes them: 0,5,9 or 0:8, a list of numbers, or a list of lists."""


def as_array(positions: list[Any]) -> Array:
    """Return positions as int64 where all are whole, else as float64: (n,) or (n, axes)."""
    array = np.array(positions, np.float64)
    return array.astype(np.int64) if (array % 1 == 0).all() else array


def grid_positions(sizes: Sequence[int]) -> Array:
    """Return every position of a grid, the last axis running fastest, (n, axes)."""
    return np.indices(tuple(sizes)).reshape(len(sizes), -1).T


def refuse_size(count: int, what: str) -> None:
    """Raise PoscliError for a result of more numbers than fit into memory."""
    needed = count * _BYTES_PER_NUMBER
    room.refuse_unfit(needed, room.memory_available(), f"{what} make {count:,} numbers, which")


def _number(text: str) -> int | float:
    if not re.fullmatch(r"\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*", text, re.ASCII):
        raise ValueError(text)
    return float(text) if re.search(r"[.eE]", text) else int(text)
