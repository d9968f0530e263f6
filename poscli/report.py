"""What an experiment returns: facts, grids of cells, and checks that keep their evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Any, Literal

import numpy as np

from poscli.arrays import Array
from poscli.rows import Made, Rows

Cell = float | int | str | bool | None


@dataclass(frozen=True)
class Grid:
    """A titled table: label columns first, then one cell per column.

    index names the label columns; labels holds one tuple of labels per row; cells holds one
    sequence of len(columns) cells per row, or is an array of that shape, held or made in rows.
    """

    title: str
    index: tuple[str, ...]
    columns: tuple[str, ...]
    labels: Sequence[tuple[str, ...]]
    cells: Sequence[Sequence[Cell]] | Array | Rows

    def rows(self, start: int = 0, stop: int | None = None) -> list[list[Cell]]:
        """Return the cells as plain Python values, row by row; all of them, or some."""
        if isinstance(self.cells, Rows):
            some = self.cells.make(start, len(self.labels) if stop is None else stop)
        elif isinstance(self.cells, np.ndarray):
            some = self.cells[start:stop]
        else:
            return [list(row) for row in self.cells[start:stop]]
        return some.tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Table:
    """An array of named, labelled axes: what csv and npy write.

    values is an array, or Rows where one would be too large to hold.
    """

    name: str
    axes: tuple[tuple[str, Sequence[str]], ...]
    values: Any

    def named(self, tokens: Sequence[str]) -> "Table":
        """Return the table with the tokens beside the labels of its last two axes."""
        axes = list(self.axes)
        for i in (-2, -1):
            name, labels = axes[i]
            pairs = zip(labels, tokens, strict=True)
            axes[i] = (name, tuple(f"{label} {token}" for label, token in pairs))
        return Table(self.name, tuple(axes), self.values)

    def grid(self) -> Grid:
        """Return the whole array as one grid, every axis but the last as a label column."""
        last, columns = self.axes[-1]
        if len(self.axes) == 1:
            return Grid(
                self.name, (), tuple(f"{last} {c}" for c in columns), [()], self.values[None]
            )
        row_labels = self.axes[-2][1]
        steps, count = list(product(*(labels for _, labels in self.axes[:-2]))), len(row_labels)

        def labels(start: int, stop: int) -> list[tuple[str, ...]]:
            found: list[tuple[str, ...]] = []
            while start < stop:
                step, row = divmod(start, count)
                some = row_labels[row : row + stop - start]
                found += [(*steps[step], label) for label in some]
                start += len(some)
            return found

        rows = len(steps) * count
        whole = isinstance(self.values, np.ndarray)
        return Grid(
            self.name,
            tuple(name for name, _ in self.axes[:-1]),
            tuple(f"{last} {c}" for c in columns),
            labels(0, rows) if whole else Made(rows, labels),
            self.values.reshape(rows, len(columns)) if whole else self.values,
        )

    def grids(self) -> list[Grid]:
        """Return one grid per step of the leading axes, for reading."""
        if len(self.axes) == 1:
            return [self.grid()]
        (rows, row_labels), (last, columns) = self.axes[-2:]
        leading = self.axes[:-2]
        steps = product(*(range(len(labels)) for _, labels in leading))
        shown = []
        for k, step in enumerate(steps):
            names = [f"{axis} {labels[i]}" for (axis, labels), i in zip(leading, step, strict=True)]
            shown.append(
                Grid(
                    ", ".join([self.name, *names]),
                    (rows,),
                    tuple(f"{last} {columns[0]}" if i == 0 else c for i, c in enumerate(columns)),
                    Made(len(row_labels), lambda i, j: [(label,) for label in row_labels[i:j]]),
                    self.values.part(k) if isinstance(self.values, Rows) else self.values[step],
                )
            )
        return shown


class Verdict(StrEnum):
    """How a check came out."""

    PASS = "pass"
    FAIL = "fail"
    NOT_INFORMATIVE = "not informative"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Check:
    """A claim about two arrays, with the evidence for its verdict.

    expected is "equal" or "different"; difference is the largest absolute difference and
    tolerance what rounding alone can explain; identical says whether every bit agrees. reason
    says what to make of it, and is never empty unless the verdict is pass or fail.
    """

    claim: str
    expected: str
    difference: float
    tolerance: float
    identical: bool
    verdict: Verdict
    reason: str = ""


def check(
    claim: str,
    one: Array,
    other: Array,
    *,
    expected: str,
    tolerance: float,
    uninformative: str = "",
    reason: str = "",
) -> Check:
    """Hold two arrays of one shape against each other.

    expected is "equal" or "different". uninformative, where not empty, says why the comparison
    cannot prove anything. NaN in either array makes the verdict undefined, never a pass; so does
    a tolerance without bounds, and infinity where a difference was expected.
    """
    return judged(
        claim,
        largest_difference(one, other),
        identical(one, other),
        expected=expected,
        tolerance=tolerance,
        uninformative=uninformative,
        reason=reason,
    )


def judged(
    claim: str,
    difference: float,
    identical: bool,
    *,
    expected: str,
    tolerance: float,
    uninformative: str = "",
    reason: str = "",
) -> Check:
    """Judge two arrays as check does, by their largest difference and whether all bits agree.

    A tolerance without bounds makes the verdict undefined too.
    """
    if np.isnan(difference):
        verdict, reason = Verdict.UNDEFINED, "a value is not a number, so nothing can be said"
    elif not np.isfinite(tolerance):
        verdict, reason = Verdict.UNDEFINED, "what rounding alone can do has no bound here"
    elif expected == "different" and np.isinf(difference):
        verdict, reason = Verdict.UNDEFINED, "a value is infinite, so no difference can be told"
    elif uninformative:
        verdict, reason = Verdict.NOT_INFORMATIVE, uninformative
    elif (difference <= tolerance) == (expected == "equal"):
        verdict = Verdict.PASS
    else:
        verdict = Verdict.FAIL
    return Check(claim, expected, difference, tolerance, identical, verdict, reason)


def identical(one: Array, other: Array) -> bool:
    """Return whether two arrays of one shape agree in every bit."""
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def differences(one: Array, other: Array) -> Array:
    """Return the absolute differences of two arrays of one shape, in float64.

    Equal infinities differ by 0; where either is NaN, so is the difference.
    """
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, np.abs(a - b))


def largest_difference(one: Array, other: Array) -> float:
    """Return the largest absolute difference of two arrays of one shape; NaN if any entry is NaN.

    Equal infinities differ by 0. Empty arrays differ by 0.
    """
    return float(differences(one, other).max(initial=0.0))


def tolerance(terms: int, scale: float, dtype: Any) -> float:
    """Return what rounding can explain: one unit of the dtype per term summed, times the size.

    terms is how many products the longest sum holds and scale the largest magnitude in it.
    """
    return float(terms * np.finfo(dtype).eps * scale)


@dataclass(frozen=True)
class Section:
    """A titled part of a report."""

    title: str = ""
    facts: Sequence[tuple[str, Cell]] = ()
    grids: Sequence[Grid] = ()
    checks: Sequence[Check] = ()
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Curve:
    """One line of a figure: a value per x, with its spread where there is one."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None


@dataclass(frozen=True)
class Curves:
    """A figure of lines, with named levels drawn across. Its scales are linear or logarithmic."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    levels: Sequence[tuple[str, float]] = ()
    scales: tuple[Literal["linear", "log"], Literal["linear", "log"]] = ("linear", "linear")


@dataclass(frozen=True)
class LengthCurves(Curves):
    """Lines over lengths that double, with the trained length marked."""

    marked: float = 0.0
    mark: str = ""


@dataclass(frozen=True)
class Heatmap:
    """A figure of an array (rows, columns), each cell a shade, with a scale beside it."""

    title: str
    x: str
    y: str
    columns: Sequence[str]
    rows: Sequence[str]
    values: Array


Figure = Curves | Heatmap


@dataclass(frozen=True)
class Report:
    """The result of one experiment.

    settings are the resolved values it ran with. result is what --format csv writes, array what
    --format npy writes where the command has one, figures what --plot draws. An array too large to
    hold comes in rows that are made when they are written.
    """

    title: str
    settings: dict[str, Any]
    sections: Sequence[Section]
    result: Grid
    array: Array | Rows | None = field(default=None)
    figures: Sequence[Figure] = ()

    @property
    def checks(self) -> list[Check]:
        """Every check of every section, in order."""
        return [c for section in self.sections for c in section.checks]

    @property
    def passed(self) -> bool:
        """Whether every check came out as expected; a check that proves nothing did not."""
        return all(c.verdict is Verdict.PASS for c in self.checks)
