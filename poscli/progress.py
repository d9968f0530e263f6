"""How an experiment tells how far it is, without knowing who shows it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")

Track = Callable[[Sequence[T], str], Iterable[T]]
"""Takes the steps and what they are; gives the same steps, showing each as it is taken."""

Advance = Callable[[int, str], None]
"""Takes how many steps are done since the last call, and which."""

Watch = Callable[[int, str], AbstractContextManager[Advance]]
"""Takes the number of all steps and what they are, for work whose steps end in any order."""


def untracked(steps: Sequence[T], what: str) -> Iterable[T]:
    """Show nothing."""
    return steps


@contextmanager
def unwatched(steps: int, what: str) -> Iterator[Advance]:
    """Show nothing."""
    yield lambda done, which: None
