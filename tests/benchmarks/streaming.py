"""Writing a table too large to hold, 15 GiB, beside plain write calls of as many bytes.

What a disk and its cache do differs from run to run by more than what is measured.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import Goal, command, least_seconds, peak_of_command, python

_LENGTH, _WIDTH = 1_000_000, 4096
_PLAIN = """
import sys
block = bytes(2**22)
with open(sys.argv[1], "wb") as file:
    for _ in range(int(sys.argv[2]) // len(block)):
        file.write(block)
"""


def _anew(file: str, argv: list[str]) -> Callable[[], object]:
    """Return a call that writes a file that is not there yet."""
    run = command(*argv)

    def call() -> None:
        Path(file).unlink(missing_ok=True)
        run()

    return call


def goals() -> Iterator[Goal]:
    with TemporaryDirectory(dir=".") as folder:
        table, plain = str(Path(folder) / "table.npy"), str(Path(folder) / "plain")
        ours = python("-m", "poscli", "encode", "--len", str(_LENGTH), "--dim", str(_WIDTH))
        ours += ["--dtype", "float32", "--out", table]
        theirs = python("-c", _PLAIN, plain, str(4 * _LENGTH * _WIDTH))
        mine, other = least_seconds(_anew(table, ours), _anew(plain, theirs), rounds=1)
        Path(table).unlink()
        peak = peak_of_command(ours)
    work = f"encode {_LENGTH} x {_WIDTH} --out, float32"
    yield Goal(work, mine, "plain writes of its bytes", other, 1.5)
    yield Goal(f"{work}: peak memory", peak, "the limit", 200.0, 1, "MiB")
