"""How many threads BLAS takes for a product: one, unless the user has said otherwise.

poscli's products are long and thin: many tokens, few columns. OpenBLAS splits them over all cores
all the same, and its threads wait for each other in a loop that keeps the cores busy. So two
threads gain little on a machine at rest and lose much on a busy one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Where a user says how many threads BLAS may take."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS take one thread within a with statement or a decorated function."""
    if any(name in os.environ for name in SETTINGS):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
