"""Whether a request fits: into the memory that is free, or onto the disk that is to hold it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from poscli.errors import PoscliError

_ANYTHING = 2**62
_FORCED: ContextVar[bool] = ContextVar("forced", default=False)


@contextmanager
def forced(asked: bool) -> Iterator[None]:
    """Try, inside the block, what does not seem to fit as well."""
    token = _FORCED.set(asked)
    try:
        yield
    finally:
        _FORCED.reset(token)


def refuse_unfit(needed: int, available: int, what: str) -> None:
    """Raise PoscliError where what takes more bytes than there are, unless that was forced.

    what begins the sentence and names the place, as in "8 numbers in memory".
    """
    if needed > available and not _FORCED.get():
        raise PoscliError(
            f"{what} take {in_bytes(needed)}, and {in_bytes(available)} are free; "
            "--force tries it all the same"
        )


def in_bytes(count: int) -> str:
    """Write a number of bytes for reading.

    >>> in_bytes(512), in_bytes(2 * 10**9), in_bytes(10**30)
    ('512 bytes', '2.0 GB', 'over 1,000 PB')
    """
    for size, unit in ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB")):
        if count >= size:
            # Whole numbers: a count may be past what a float holds.
            tenths = count * 10 // size
            return f"{tenths / 10:.1f} {unit}" if tenths < 10**4 else f"over 1,000 {unit}"
    return f"{max(count, 0):,} bytes"


def memory_available() -> int:
    """Return the bytes of memory that this process can still get; very many where none can tell."""
    return min(_of_the_machine(), _of_the_group(), _of_the_process())


def disk_available(path: Path) -> int:
    """Return the bytes free where a file is to be written; very many where none can tell."""
    with suppress(OSError):
        usage = shutil.disk_usage(path.absolute().parent)
        return usage.free if usage.total else _ANYTHING
    return _ANYTHING


def _of_the_machine() -> int:
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return _ANYTHING


def _of_the_group() -> int:
    """What a container leaves: its limit less what its processes hold, without files in cache."""
    folder = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError, StopIteration):
        limit = int((folder / "memory.max").read_text())
        lines = (folder / "memory.stat").read_text().splitlines()
        return limit - next(int(line.split()[1]) for line in lines if line.startswith("anon "))
    return _ANYTHING


def _of_the_process() -> int:
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return limit - pages * os.sysconf("SC_PAGE_SIZE")
    return _ANYTHING
