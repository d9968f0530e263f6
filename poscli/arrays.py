"""Array types, and the four number formats a result can be asked for in."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

Precision = Literal["float64", "float32", "float16", "bfloat16"]
PRECISIONS: tuple[str, ...] = get_args(Precision)


def rounded(values: Array, precision: str) -> Array:
    """Round float64 values once, to the nearest number of the format, ties to even.

    bfloat16 has no NumPy type: its values come back in a float32 array, which holds them exactly.
    """
    if precision != "bfloat16":
        return np.asarray(values, precision)
    fraction, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(fraction * 256) / 256, exponent), np.float32)
