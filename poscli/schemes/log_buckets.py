"""Steps of distances on a logarithmic scale, right on their very edges too.

A logarithm in floating point may fall just beside the whole number that it should be. Where it
comes that close, powers of whole numbers are compared instead.
"""

import numpy as np

from poscli.arrays import Array

_CLOSE = 1e-9


def log_steps(distances: Array, start: int, end: int, steps: int) -> tuple[Array, Array]:
    """Return floor and ceiling of steps * ln(n / start) / ln(end / start), for whole n >= start.

    >>> [part.tolist() for part in log_steps(np.array([8, 16, 17, 128]), 8, 128, 8)]
    [[0, 2, 2, 8], [0, 2, 3, 8]]
    """
    distances = np.asarray(distances)
    exact = np.asarray(steps * np.log(distances / start) / np.log(end / start))
    nearest = np.asarray(np.rint(exact))
    floor, ceiling = np.asarray(np.floor(exact)), np.asarray(np.ceil(exact))
    close = np.abs(exact - nearest) <= _CLOSE * np.maximum(nearest, 1)
    for n in np.unique(distances[close]).tolist():
        k = int(nearest[distances == n][0])
        side = int(n) ** steps * start**k, end**k * start**steps
        floor[distances == n] = k if side[0] >= side[1] else k - 1
        ceiling[distances == n] = k if side[0] <= side[1] else k + 1
    return floor.astype(np.int64), ceiling.astype(np.int64)
