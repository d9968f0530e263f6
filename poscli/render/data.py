"""A report as data: strict JSON, RFC 4180 CSV, and the .npy format."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from math import isfinite, isnan
from typing import Any

import numpy as np

from poscli import __version__
from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.render.progress import tracked
from poscli.report import Cell, Grid, Report
from poscli.rows import Rows, row_count, some_rows, spans

_TEXT_AT_ONCE = 2**14
_NUMBERS_AT_ONCE = 2**20


class _Items(list[Any]):
    """A list that json writes item by item, while the items are made."""

    def __init__(self, count: int, items: Callable[[], Iterable[Any]]) -> None:
        super().__init__()
        self._count, self._items = count, items

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())


def to_json(report: Report) -> Iterator[bytes]:
    """Give the whole report as JSON, piece by piece. What is no JSON number is written as a text:

    "Infinity", "-Infinity" or "NaN".
    """
    document = {
        "poscli": __version__,
        "title": report.title,
        "settings": report.settings,
        "sections": [
            {
                "title": section.title,
                "facts": dict(section.facts),
                "grids": [_grid(grid) for grid in section.grids],
                "lines": list(section.lines),
                "checks": [vars(check) for check in section.checks],
            }
            for section in report.sections
        ],
        "result": _grid(report.result),
        **({} if report.array is None else {"array": _pin(report.array)}),
        "passed": report.passed,
    }
    parts = json.JSONEncoder(allow_nan=False, ensure_ascii=False, indent=1).iterencode(
        _strict(document)
    )
    while text := "".join(islice(parts, _TEXT_AT_ONCE)):
        yield text.encode("utf-8", "backslashreplace")
    yield b"\n"


def to_csv(report: Report) -> Iterator[bytes]:
    """Give the report's result as CSV: one header line, then one line per row."""
    grid = report.result
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow([*grid.index, *grid.columns])
    for labels, rows in _blocks(grid):
        writer.writerows([*label, *row] for label, row in zip(labels, rows, strict=True))
        yield stream.getvalue().encode("utf-8", "backslashreplace")
        stream.seek(0)
        stream.truncate()


def to_npy(report: Report) -> Iterator[bytes | memoryview]:
    """Give the report's array in .npy format, in the dtype that was asked for."""
    array = report.array
    if array is None:
        raise PoscliError("this command has no array to write as npy; ask for json or csv")
    if report.settings.get("dtype") == "bfloat16":
        raise PoscliError("npy cannot hold bfloat16; ask for dtype float32, or for json or csv")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header,
        {
            "descr": np.lib.format.dtype_to_descr(np.dtype(array.dtype)),
            "fortran_order": False,
            "shape": array.shape,
        },
    )
    yield header.getvalue()
    for start, stop in _spans(array, "rows written"):
        yield np.ascontiguousarray(some_rows(array, start, stop)).data


def _pin(array: Array | Rows) -> dict[str, Any]:
    """Describe an array so that another project can pin it: its float64 bytes, C order, by hash."""
    digest = sha256()
    for start, stop in _spans(array, "rows hashed"):
        digest.update(np.ascontiguousarray(some_rows(array, start, stop), "<f8").data)
    return {"shape": list(array.shape), "sha256": digest.hexdigest()}


def _spans(array: Array | Rows, what: str) -> Iterable[tuple[int, int]]:
    return tracked(spans(row_count(array), array.shape[-1], _NUMBERS_AT_ONCE), what)


def _blocks(grid: Grid) -> Iterator[tuple[Sequence[tuple[str, ...]], list[list[Cell]]]]:
    """Give the labels and the cells of some rows at a time."""
    for start, stop in tracked(
        spans(len(grid.labels), len(grid.columns), _TEXT_AT_ONCE), "rows written"
    ):
        yield grid.labels[start:stop], grid.rows(start, stop)


def _grid(grid: Grid) -> dict[str, Any]:
    count = len(grid.labels)
    return {
        "title": grid.title,
        "index": list(grid.index),
        "columns": list(grid.columns),
        "labels": _Items(count, lambda: map(list, grid.labels)),
        "cells": _Items(count, lambda: (_strict(r) for _, rows in _blocks(grid) for r in rows)),
    }


def _strict(value: Any) -> Any:
    if isinstance(value, _Items):
        return value
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
