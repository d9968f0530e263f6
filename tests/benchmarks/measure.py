"""Timing and memory, always as ratios of things measured side by side in one run.

Sources of noise are other processes and the clock of the processor, and both only ever add time.
So the calls take turns, and the least time of each is what counts.
"""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

MIB = 2.0**20

_IN_BETWEEN = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(status)
"""


@dataclass(frozen=True)
class Goal:
    """One row: what poscli took, what it is held against, and the ratio it should stay below.

    poscli and other are seconds, or MiB where unit says so. most is the goal for poscli / other:
    1 / 3 is three times faster, 6 at most six times as long. None is a row without a goal.
    """

    work: str
    poscli: float
    against: str
    other: float
    most: float | None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.poscli / self.other

    @property
    def met(self) -> bool:
        return self.most is None or self.ratio <= self.most


def least_seconds(*calls: Callable[[], object], rounds: int = 7) -> list[float]:
    """Return the least time of each call, the calls taking turns, after one turn unmeasured."""
    least = [float("inf")] * len(calls)
    for turn in range(rounds + 1):
        for i, call in enumerate(calls):
            start = perf_counter()
            call()
            taken = perf_counter() - start
            if turn:
                least[i] = min(least[i], taken)
    return least


def command(*argv: str) -> Callable[[], object]:
    """Return a call that runs a command to its end; CalledProcessError where that fails."""
    return lambda: subprocess.run(argv, check=True, capture_output=True)


def python(*argv: str) -> list[str]:
    """Return the command line of this Python, as in python("-m", "poscli", "--help")."""
    return [sys.executable, *argv]


def peak_of_command(argv: Sequence[str]) -> float:
    """Return the most memory that a command held at once, in MiB.

    A small process in between starts it: a child's peak begins at that of the one that forked it.
    """
    done = subprocess.run(
        python("-c", _IN_BETWEEN, *argv), check=True, capture_output=True, text=True
    )
    return int(done.stdout) / MIB


def peak_of_call(call: Callable[[], object]) -> float:
    """Return the most memory that a call held at once beyond what was there, in MiB."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()
