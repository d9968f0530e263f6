"""A report as data: strict JSON, RFC 4180 CSV, and the .npy format."""

import csv
import io
import json
from hashlib import sha256
from math import isfinite, isnan
from typing import Any

import numpy as np

from poscli import __version__
from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.report import Grid, Report


def to_json(report: Report) -> bytes:
    """Return the whole report as JSON. What is no JSON number is written as a text:

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
    text = json.dumps(_strict(document), allow_nan=False, ensure_ascii=False, indent=1)
    return (text + "\n").encode("utf-8", "backslashreplace")


def to_csv(report: Report) -> bytes:
    """Return the report's result as CSV: one header line, then one line per row."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    grid = report.result
    writer.writerow([*grid.index, *grid.columns])
    for label, row in zip(grid.labels, grid.rows(), strict=True):
        writer.writerow([*label, *row])
    return stream.getvalue().encode("utf-8", "backslashreplace")


def to_npy(report: Report) -> bytes:
    """Return the report's array in .npy format, in the dtype that was asked for."""
    if report.array is None:
        raise PoscliError("this command has no array to write as npy; ask for json or csv")
    if report.settings.get("dtype") == "bfloat16":
        raise PoscliError("npy cannot hold bfloat16; ask for dtype float32, or for json or csv")
    stream = io.BytesIO()
    np.save(stream, report.array, allow_pickle=False)
    return stream.getvalue()


def _pin(array: Array) -> dict[str, Any]:
    """Describe an array so that another project can pin it: its float64 bytes, C order, by hash."""
    data = np.ascontiguousarray(array, "<f8").tobytes()
    return {"shape": list(array.shape), "sha256": sha256(data).hexdigest()}


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "title": grid.title,
        "index": list(grid.index),
        "columns": list(grid.columns),
        "labels": [list(label) for label in grid.labels],
        "cells": grid.rows(),
    }


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
