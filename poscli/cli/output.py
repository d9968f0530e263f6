"""Where a report goes: a terminal, a file, a figure; and the status that follows from it."""

import sys
from collections.abc import Iterable
from enum import StrEnum
from math import prod
from pathlib import Path

import numpy as np
import typer

from poscli import room
from poscli.errors import PoscliError
from poscli.files import write_pieces, write_whole
from poscli.report import Report
from poscli.rows import Rows
from poscli.text import visible

_TEXT_BYTES = 4
_TEXTS = ("", "txt", "text", "log", "md", "out")


class Format(StrEnum):
    """How a result is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    NPY = "npy"


def ready_to_write(
    output: Format | None, out: Path | None, plot: Path | None = None, *, force: bool
) -> None:
    """Refuse files that cannot or must not be written before the work that they would hold."""
    for path in (out, plot):
        if path is None:
            continue
        if not path.absolute().parent.is_dir():
            raise PoscliError(f"{path}: there is no folder {path.parent}")
        if path.is_file() and not force:
            raise PoscliError(f"{path}: exists; --force writes over it")
    if out is not None and plot is not None and out.resolve() == plot.resolve():
        raise PoscliError(f"{out}: --out and --plot name the same file")
    if output is None:
        _format_of(out)
    if plot is not None:
        from poscli.render.figures import check_drawable

        check_drawable(plot)


def _format_of(out: Path | None) -> Format:
    """Return the format that a file's name asks for; PoscliError where it asks for another."""
    suffix = "" if out is None else out.suffix.removeprefix(".").lower()
    if suffix in set(Format):
        return Format(suffix)
    if suffix not in _TEXTS:
        raise PoscliError(
            f"{out}: {', '.join(Format)} are written, not .{suffix}; name one with --format"
        )
    return Format.TABLE


def show(report: Report, output: Format | None, out: Path | None, plot: Path | None = None) -> int:
    """Write the report where it was asked for; return the exit status of its checks."""
    if plot is not None and isinstance(report.array, Rows):
        shape = " x ".join(f"{n:,}" for n in report.array.shape)
        raise PoscliError(f"{shape} numbers are too many to draw")
    output = output or _format_of(out)
    drawn = b"" if plot is None else _drawn(report, plot)
    if out is not None:
        _refuse_unfit(report, output, out)
        write_pieces(out, _pieces(report, output))
        typer.echo(f"wrote {visible(str(out))}", err=True)
    elif output is Format.TABLE:
        from poscli.render.table import render

        render(report, sys.stdout)
    elif output is Format.NPY and sys.stdout.isatty():
        raise PoscliError("npy is not for a terminal; give --out FILE, or pipe it")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(_pieces(report, output))
        sys.stdout.buffer.flush()
    if plot is not None:
        write_whole(plot, drawn)
        typer.echo(f"wrote {visible(str(plot))}", err=True)
    return 0 if report.passed else 1


def _pieces(report: Report, output: Format) -> Iterable[bytes | memoryview]:
    if output is Format.TABLE:
        from poscli.render.table import to_text

        return [to_text(report)]
    from poscli.render.data import to_csv, to_json, to_npy

    return {Format.JSON: to_json, Format.CSV: to_csv, Format.NPY: to_npy}[output](report)


def _refuse_unfit(report: Report, output: Format, out: Path) -> None:
    """Refuse an array that the disk has no room for; as text it takes _TEXT_BYTES or more each."""
    if report.array is not None:
        count = prod(report.array.shape)
        size = np.dtype(report.array.dtype).itemsize if output is Format.NPY else _TEXT_BYTES
        free = room.disk_available(out)
        room.refuse_unfit(count * size, free, f"{out}: {count:,} numbers")


def _drawn(report: Report, plot: Path) -> bytes:
    from poscli.render.figures import draw

    return draw(report.figures, plot.suffix.lower())
