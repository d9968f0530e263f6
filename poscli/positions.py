"""Positions as a user writes them."""

from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from poscli.arrays import Array
from poscli.errors import PoscliError

LARGEST = 2**53
MOST_NUMBERS = 2**24


def parse_positions(given: Any) -> Any:
    """Read the text 0,5,9, or the half-open range 0:8, as a list of positions.

    >>> parse_positions("2:5"), parse_positions("0,5,-3")
    ([2, 3, 4], [0, 5, -3])
    """
    if not isinstance(given, str):
        return given
    start, colon, stop = given.partition(":")
    try:
        if not colon:
            return [_number(part) for part in given.split(",")]
        first, last = int(start), int(stop)
    except ValueError:
        raise PoscliError(
            f"positions are numbers such as 0,5,9 or a range such as 0:8; got {given!r}"
        ) from None
    if last <= first:
        raise PoscliError(f"the range {given!r} is empty; its end is not included")
    if last - first > MOST_NUMBERS:
        raise PoscliError(f"the range {given!r} holds {last - first:,} positions; too many")
    return list(range(first, last))


Positions = Annotated[
    list[Annotated[int | float, Field(gt=-LARGEST, lt=LARGEST)]],
    Field(min_length=1),
    BeforeValidator(parse_positions, json_schema_input_type=list[float] | str),
]


def as_array(positions: list[int | float]) -> Array:
    """Return positions as int64 where all are whole, else as float64."""
    array = np.array(positions, np.float64)
    return array.astype(np.int64) if (array % 1 == 0).all() else array


def refuse_size(count: int, what: str) -> None:
    """Raise PoscliError for a result of more numbers than poscli will hold."""
    if count > MOST_NUMBERS:
        raise PoscliError(f"{what} make {count:,} numbers; up to {MOST_NUMBERS:,} are computed")


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
