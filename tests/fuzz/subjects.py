"""The subjects of the random tests, and one way to try inputs of any of them."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import array_files
import command_lines
import config_files
import model_files
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from promises import BrokenPromiseError


def _nothing(folder: Path) -> None:
    """Most subjects need no files of their own."""


@dataclass(frozen=True)
class Subject:
    """What is given to poscli, and how it is held to its promises.

    hold returns ran, refused or interrupted, and raises BrokenPromiseError. share is how many
    inputs in a hundred of a long run are of this subject, and short how many the ordinary tests
    try.
    """

    inputs: st.SearchStrategy[Any]
    hold: Callable[[Any, Path], str]
    share: int
    short: int
    prepare: Callable[[Path], None] = _nothing


SUBJECTS = {
    "configs": Subject(config_files.INPUTS, config_files.hold, 60, 600),
    "arrays": Subject(array_files.INPUTS, array_files.hold, 20, 500, array_files.prepare),
    "models": Subject(model_files.INPUTS, model_files.hold, 10, 100),
    "command lines": Subject(
        command_lines.INPUTS, command_lines.hold, 10, 250, command_lines.prepare
    ),
}


@dataclass
class Tally:
    """What became of the inputs tried, and the shortest one of each promise broken."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: dict[str, str] = field(default_factory=dict)
    slowest: float = 0.0

    @property
    def tried(self) -> int:
        return self.counts.total()

    def add(self, subject: Subject, given: Any, folder: Path) -> None:
        """Try one input."""
        start = time.process_time()
        try:
            self.counts[subject.hold(given, folder)] += 1
        except BrokenPromiseError as error:
            self.counts["broken"] += 1
            what = str(error).partition("; given")[0]
            if len(str(error)) < len(self.broken.get(what, str(error) + " ")):
                self.broken[what] = str(error)
        self.slowest = max(self.slowest, time.process_time() - start)


def attempt(subject: Subject, tally: Tally, count: int, number: int, folder: Path) -> None:
    """Try so many inputs, drawn from a seed, in a folder that was prepared."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(subject.inputs)
    def tried(value: Any) -> None:
        tally.add(subject, value, folder)

    with _inside(folder):
        tried()


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
