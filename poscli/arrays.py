"""Array types, and the four number formats a result can be asked for in."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from poscli.errors import PoscliError

Array = NDArray[Any]

Precision = Literal["float64", "float32", "float16", "bfloat16"]
_SMALLEST_EXPONENT = -125
"""frexp exponent of the smallest normal bfloat16; below it the spacing stays the same."""

PRECISIONS: tuple[str, ...] = get_args(Precision)


def rounded(values: Array, precision: str) -> Array:
    """Round float64 values once, to the nearest number of the format, ties to even.

    Raises PoscliError for a number past the largest of the format.
    bfloat16 has no NumPy type: its values come back in a float32 array, which holds them exactly.
    """
    result = stored(values, precision)
    overflown = values[np.isinf(result) & np.isfinite(values)]
    if overflown.size:
        largest = overflown[np.argmax(np.abs(overflown))]
        raise PoscliError(f"{largest:g} is too large for {precision}")
    return result


def stored(values: Array, precision: str) -> Array:
    """Round as rounded does, but as where the format stores it: what is too large is infinite."""
    with np.errstate(over="ignore"):
        if precision != "bfloat16":
            return np.asarray(values, precision)
        _, exponent = np.frexp(values)
        unit = np.maximum(exponent, _SMALLEST_EXPONENT) - 8
        return np.asarray(np.ldexp(np.rint(np.ldexp(values, -unit)), unit), np.float32)
