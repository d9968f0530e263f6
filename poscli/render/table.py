"""A report as tables: for a person at a terminal, and as plain text anywhere else.

At a terminal a grid is cut into blocks of columns that fit its width, and text wraps. Elsewhere
the blocks fit 80 columns, nothing wraps and nothing is cut, whatever the environment says.
"""

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from typing import Any, TextIO

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from poscli.errors import PoscliError
from poscli.render.numbers import common_decimals, written
from poscli.report import Cell, Check, Grid, Report, Verdict
from poscli.text import setting, visible

_PLAIN_WIDTH = 80
_TEXT_WIDTH = 30
_MOST_CELLS = 100_000
_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.NOT_INFORMATIVE: "yellow",
    Verdict.UNDEFINED: "bold red",
}


def render(report: Report, stream: TextIO) -> None:
    """Write the report to a stream, piece by piece."""
    for grid in (grid for section in report.sections for grid in section.grids):
        if len(grid.labels) * len(grid.columns) > _MOST_CELLS:
            raise PoscliError(
                f"{len(grid.labels):,} rows of {len(grid.columns)} are too many for a table; "
                "ask for --format csv, json or npy"
            )
    terminal = stream.isatty()
    console = Console(
        file=stream,
        force_terminal=None if terminal else False,
        color_system="auto" if terminal else None,
        width=None if terminal else _PLAIN_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not terminal,
    )
    _line(console, report.title, "bold")
    for line in textwrap.wrap(_settings(report.settings), _PLAIN_WIDTH, break_long_words=False):
        _line(console, line, "dim")
    for section in report.sections:
        if section.title:
            console.print()
            _line(console, section.title, "bold")
        for label, value in section.facts:
            _line(console, f"{label}: {written(value)}")
        for grid in section.grids:
            console.print()
            _line(console, grid.title)
            for table in _tables(_safe(grid, console.encoding), console.width):
                console.print(table, soft_wrap=False, crop=False, no_wrap=not terminal)
        for line in section.lines:
            _line(console, line)
        for check in section.checks:
            _check(console, check)


def to_text(report: Report) -> bytes:
    """Return the report as it reads outside a terminal, in UTF-8."""
    stream = io.StringIO()
    render(report, stream)
    return stream.getvalue().encode("utf-8", "backslashreplace")


def _line(console: Console, text: str, style: str = "") -> None:
    safe = visible(text, console.encoding)
    console.print(Text(safe, style=style), soft_wrap=not console.is_terminal)


def _safe(grid: Grid, encoding: str) -> Grid:
    """Return the grid with every text as it can be printed."""

    def safe(texts: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(visible(t, encoding) if isinstance(t, str) else t for t in texts)

    cells = grid.cells if isinstance(grid.cells, np.ndarray) else [safe(row) for row in grid.rows()]
    labels = [safe(label) for label in grid.labels]
    return Grid(grid.title, safe(grid.index), safe(grid.columns), labels, cells)


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {_value(value)}" for key, value in settings.items() if key != "command"
    )


def _value(value: Any) -> str:
    if isinstance(value, dict) and "name" in value:
        rest = ", ".join(f"{k}={_value(v)}" for k, v in value.items() if k != "name")
        return f"{value['name']}({rest})" if rest else str(value["name"])
    if isinstance(value, dict):
        return f"given ({', '.join(value)})"
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            return f"{len(value)} x {len(value[0])} values"
        if len(value) > 8:
            return f"({len(value)} values)"
        return f"[{', '.join(_value(v) for v in value)}]"
    return setting(value)


def _check(console: Console, check: Check) -> None:
    text = Text(f"\n{check.verdict.upper()}", style=_STYLES[check.verdict])
    text.append(f"  {visible(check.claim, console.encoding)}", style="default")
    console.print(text, soft_wrap=not console.is_terminal)
    against = "within" if check.difference <= check.tolerance else "above"
    bits = "bit-identical" if check.identical else "not bit-identical"
    evidence = (
        "a value is not a number"
        if isnan(check.difference)
        else f"largest difference {check.difference:.3g}, {against} the tolerance "
        f"{check.tolerance:.3g}; {bits}"
    )
    for line in (evidence, check.reason):
        if line:
            _line(console, f"      {line}")


def _tables(grid: Grid, width: int) -> Iterator[Table]:
    """Cut a grid into tables of as many columns as fit, the label columns at the left of each."""
    rows = grid.rows()
    decimals = _decimals(grid, rows)
    texts = [[written(cell, d) for cell, d in zip(row, decimals, strict=True)] for row in rows]
    labels = [
        _widest([name, *(label[i] for label in grid.labels)]) for i, name in enumerate(grid.index)
    ]
    widths = [_widest([name, *(row[j] for row in texts)]) for j, name in enumerate(grid.columns)]
    room = width - sum(w + 3 for w in labels) - 1
    numeric = [
        all(isinstance(row[j], int | float | None) for row in rows)
        for j in range(len(grid.columns))
    ]
    start = 0
    needed = [w if n else min(w, _TEXT_WIDTH) for w, n in zip(widths, numeric, strict=True)]
    while start < len(widths):
        stop, used = start, 0
        while stop < len(widths) and (stop == start or used + needed[stop] + 3 <= room):
            used += needed[stop] + 3
            stop += 1
        yield _table(grid, texts, numeric, range(start, stop))
        start = stop


def _decimals(grid: Grid, rows: list[list[Cell]]) -> list[int]:
    """Decimals per column: one number for a whole array, one of its own for any other column."""
    if isinstance(grid.cells, np.ndarray):
        return [common_decimals(cell for row in rows for cell in row)] * len(grid.columns)
    return [common_decimals(row[j] for row in rows) for j in range(len(grid.columns))]


def _table(grid: Grid, texts: list[list[str]], numeric: list[bool], columns: range) -> Table:
    table = Table(box=box.SQUARE, header_style="bold", pad_edge=True, show_edge=True)
    for name in grid.index:
        table.add_column(Text(name), overflow="fold")
    for j in columns:
        table.add_column(
            Text(grid.columns[j]),
            justify="right" if numeric[j] else "left",
            overflow="fold",
            no_wrap=numeric[j],
        )
    for label, row in zip(grid.labels, texts, strict=True):
        table.add_row(*(Text(part) for part in label), *(Text(row[j]) for j in columns))
    return table


def _widest(texts: Sequence[str]) -> int:
    return max(cell_len(text) for text in texts)
