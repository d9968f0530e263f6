"""Attention with one BLAS thread beside two, at rest and with every core busy."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from measure import Goal, python

from poscli.threads import SETTINGS

_ATTEND = """
from time import perf_counter
import numpy as np
from poscli import Model, NoPE
x, *matrices = np.random.default_rng(0).normal(size=(4, 4096, {width}))
model, at = Model(*(m[:{width}] / {width} ** 0.5 for m in matrices), 1), np.arange(4096)
least = float("inf")
for _ in range(5):
    start = perf_counter()
    model.outputs(x, NoPE(), at)
    least = min(least, perf_counter() - start)
print(least)
"""


def seconds(width: int, threads: int) -> float:
    environment = os.environ | dict.fromkeys(SETTINGS, str(threads))
    argv = python("-c", _ATTEND.format(width=width))
    return float(subprocess.run(argv, env=environment, check=True, capture_output=True).stdout)


@contextmanager
def every_core_busy() -> Iterator[None]:
    spinning = [
        subprocess.Popen(python("-c", "while True: pass")) for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def goals() -> Iterator[Goal]:
    for width in (4, 64):
        work = f"attention, 4096 x {width}, float64, one thread"
        one, two = seconds(width, 1), seconds(width, 2)
        yield Goal(work, one, "two threads, cores at rest", two, None)
        with every_core_busy():
            one, two = seconds(width, 1), seconds(width, 2)
        yield Goal(work, one, "two threads, cores busy", two, None)
