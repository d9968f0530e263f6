"""A progress bar on standard error, for work that takes long enough to need one."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track

T = TypeVar("T")

_FEW = 100


def tracked(steps: Sequence[T], what: str) -> Iterable[T]:
    """Give the steps, showing how many are done where standard error is a terminal."""
    console = Console(stderr=True)
    if len(steps) < _FEW or not console.is_terminal:
        return steps
    return track(steps, description=what, console=console, transient=True)
