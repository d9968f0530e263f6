"""Tables of sines and cosines, beside NumPy's own and a plain fill of the same memory."""

from collections.abc import Iterator

import numpy as np
from measure import Goal, least_seconds, peak_of_call

from poscli.arrays import Array
from poscli.schemes.sinusoidal import Sinusoidal

_LENGTH, _WIDTH = 131_072, 1024
_SIZE = f"{_LENGTH} x {_WIDTH}"


def naive(dtype: type) -> Array:
    """The table as most code writes it, in one dtype throughout."""
    angles = np.arange(_LENGTH, dtype=dtype)[:, None] * (
        10000.0 ** (-np.arange(0, _WIDTH, 2) / _WIDTH)
    ).astype(dtype)
    table = np.empty((_LENGTH, _WIDTH), dtype)
    np.sin(angles, out=table[:, 0::2])
    np.cos(angles, out=table[:, 1::2])
    return table


def goals() -> Iterator[Goal]:
    positions = np.arange(_LENGTH)
    mapped = np.zeros((_LENGTH, _WIDTH), np.float32)

    def ours() -> Array:
        return Sinusoidal().vectors(positions, _WIDTH).astype(np.float32)

    mine, single, double, fill = least_seconds(
        ours,
        lambda: naive(np.float32),
        lambda: naive(np.float64),
        lambda: mapped.fill(1.0),
        rounds=3,
    )
    work = f"table {_SIZE}, float32"
    yield Goal(work, mine, "naive NumPy in float32", single, 1 / 3)
    yield Goal(work, mine, "naive NumPy in float64", double, 1 / 10)
    yield Goal(work, mine, "a fill of mapped memory", fill, 6)
    extra = peak_of_call(ours) - mapped.nbytes / 2**20
    yield Goal(f"{work}: memory beyond it", extra, "the limit", 16.0, 1, "MiB")
