"""A progress bar on standard error, for work that takes long enough to need one."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from poscli.progress import Advance

T = TypeVar("T")

_FEW = 100


def tracked(steps: Sequence[T], what: str) -> Iterable[T]:
    """Give the steps, showing how many are done where standard error is a terminal."""
    if len(steps) < _FEW:
        return steps
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not console.is_terminal:
        return steps
    return track(steps, description=what, console=console, transient=True)


@contextmanager
def watched(steps: int, what: str) -> Iterator[Advance]:
    """Show how many steps are done, the last that ended and the time left, at a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps, time left"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=steps)
        yield lambda done, which: bar.update(task, advance=done, description=f"{what}: {which}")
