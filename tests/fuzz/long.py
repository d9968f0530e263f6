"""The random tests for minutes: make fuzz, or make fuzz SEED=7 INPUTS=500000.

Prints, by subject, how many inputs were tried, what became of them, and how many broke a promise.
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

_MEMORY = 6 * 2**30
_CHUNK = 500
"""So many inputs at a time: hypothesis remembers what it tried, and memory would grow."""


def main() -> int:
    """Try the inputs; return 1 where a promise was broken."""
    from subjects import SUBJECTS, Tally, attempt

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the clock if not given")
    parser.add_argument("--inputs", type=int, default=100_000, help="how many, over all subjects")
    parser.add_argument("--only", choices=list(SUBJECTS), help="one subject")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    names = [given.only] if given.only else list(SUBJECTS)
    whole = sum(SUBJECTS[name].share for name in names)
    print(f"seed {given.seed}, {given.inputs:,} inputs", flush=True)
    print(f"{'':14} {'tried':>8} {'ran':>8} {'refused':>8} {'interrupted':>11} {'broken':>7}"
          f" {'slowest':>8} {'largest':>8}")  # fmt: skip
    tallies = []
    for name in names:
        subject, tally = SUBJECTS[name], Tally()
        wanted = -(-given.inputs * SUBJECTS[name].share // whole)
        with tempfile.TemporaryDirectory() as folder:
            subject.prepare(Path(folder))
            chunk = 0
            while tally.tried < wanted:
                count = min(_CHUNK, wanted - tally.tried)
                attempt(subject, tally, count, given.seed * 1000 + chunk, Path(folder))
                chunk += 1
        counts, tallies = tally.counts, [*tallies, tally]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(f"{name:14} {tally.tried:8,} {counts['ran']:8,} {counts['refused']:8,} "
              f"{counts['interrupted']:11,} {counts['broken']:7,} {tally.slowest:6.1f} s "
              f"{memory:5.0f} MB", flush=True)  # fmt: skip
        for example in tally.broken.values():
            print(f"  {example[:1500]}")
    print(f"{sum(tally.tried for tally in tallies):,} inputs tried, "
          f"{sum(tally.counts['broken'] for tally in tallies):,} broke a promise")  # fmt: skip
    return 1 if any(tally.broken for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
