"""Tables of sines and cosines, beside NumPy's own and a plain fill of the same memory."""

from collections.abc import Callable, Iterator

import numpy as np
from measure import MIB, Goal, least_seconds, peak_of_call

from poscli.arrays import Array
from poscli.phase import Circle
from poscli.schemes.sinusoidal import Sinusoidal

LENGTH, WIDTH = 131_072, 1024
SIZE = f"{LENGTH} x {WIDTH}"


def naive(angles: Array, table: Array) -> Callable[[], None]:
    """The table as most code writes it, in one dtype throughout, into memory that is there."""
    dtype = table.dtype

    def fill() -> None:
        frequencies = (10000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH)).astype(dtype)
        np.multiply(np.arange(LENGTH, dtype=dtype)[:, None], frequencies, out=angles)
        np.sin(angles, out=table[:, 0::2])
        np.cos(angles, out=table[:, 1::2])

    return fill


def goals() -> Iterator[Goal]:
    positions, frequencies = np.arange(LENGTH), Sinusoidal().frequencies
    table = np.zeros((LENGTH, WIDTH), np.float32)
    wide, angles = np.zeros((LENGTH, WIDTH)), np.zeros((LENGTH, WIDTH // 2))
    narrow = angles.view(np.float32)[:, : WIDTH // 2]

    def ours() -> None:
        Circle(frequencies(WIDTH)).fill(positions, table.view(np.complex64))

    mine, single, double, fill = least_seconds(
        ours,
        naive(narrow, table),
        naive(angles, wide),
        lambda: table.fill(1.0),
    )
    work = f"table {SIZE}, float32"
    yield Goal(work, mine, "naive NumPy in float32", single, 1 / 3)
    yield Goal(work, mine, "naive NumPy in float64", double, 1 / 10)
    yield Goal(work, mine, "a fill of mapped memory", fill, 6)
    extra = peak_of_call(lambda: Sinusoidal().encoder(WIDTH, 1)(positions, "float32"))
    yield Goal(f"{work}: memory beyond it", extra - table.nbytes / MIB, "the limit", 16.0, 1, "MiB")
