"""Reports made by hand, at fixed widths, against the exact text."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from itertools import pairwise
from textwrap import dedent

import numpy as np
import pytest
from conftest import run

from poscli import Check, Grid, Report, Section, Verdict
from poscli.render.data import to_csv, to_json
from poscli.render.numbers import common_decimals, written
from poscli.render.table import to_text

WIDE = Grid("Wide", ("p",), tuple(str(j) for j in range(12)), [("0",)], np.full((1, 12), -1 / 3))
REPORT = Report(
    title="A [bold]title[/bold]",
    settings={"command": "x", "dim": 4, "scheme": {"name": "rope", "base": 10000.0}},
    sections=[
        Section(
            "Part",
            facts=[("rows", 1024)],
            grids=[
                Grid(
                    "Words",
                    ("token",),
                    ("n", "[red]x"),
                    [("[b]",), ("日本",)],
                    [[1, "a"], [22, "b"]],
                )
            ],
            checks=[
                Check("one is two", "equal", 0.5, 1e-9, False, Verdict.FAIL),
                Check("empty", "equal", 0.0, 1e-9, True, Verdict.NOT_INFORMATIVE, "no order"),
                Check("nan", "equal", float("nan"), 1e-9, False, Verdict.UNDEFINED, "NaN"),
            ],
        )
    ],
    result=WIDE,
)


def test_the_whole_text() -> None:
    assert to_text(REPORT).decode() == dedent(
        """\
        A [bold]title[/bold]
        dim 4, scheme rope(base=10000)

        Part
        rows: 1,024

        Words
        ┌───────┬────┬────────┐
        │ token │  n │ [red]x │
        ├───────┼────┼────────┤
        │ [b]   │  1 │ a      │
        │ 日本  │ 22 │ b      │
        └───────┴────┴────────┘

        FAIL  one is two
              largest difference 0.5, above the tolerance 1e-09; not bit-identical

        NOT INFORMATIVE  empty
              largest difference 0, within the tolerance 1e-09; bit-identical
              no order

        UNDEFINED  nan
              a value is not a number
              NaN
        """
    )


def test_a_wide_grid_is_cut_into_blocks_and_no_number_is() -> None:
    text = to_text(Report("t", {}, [Section(grids=[WIDE])], WIDE)).decode()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.count("-0.333333") == 12
    assert text.count("│ p │") == 2


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_at_a_terminal_nothing_is_lost_at_any_width(columns: int) -> None:
    master, slave = pty.openpty()
    command = "import fcntl, struct, sys, termios\n" + dedent(
        f"""
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, {columns}, 0, 0))
        from poscli.cli import app
        app(["encode", "--len", "3", "--dim", "8"])
        """
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    done = subprocess.Popen([sys.executable, "-c", command], stdout=slave, env=environment)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(master)
    assert done.wait() == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.decode().replace("\r\n", "\n"))
    assert "…" not in plain
    for number in ("0.841471", "-0.416147", "0.010000", "0.999998"):
        assert number in plain
    rows = [line for line in plain.splitlines() if line.startswith("│")]
    assert rows
    assert all(len(row) <= columns for row in rows)


def test_off_a_terminal_the_environment_changes_nothing() -> None:
    plain = run("encode", "--len", "2").out
    assert "\x1b" not in plain
    for name, value in (("COLUMNS", "20"), ("FORCE_COLOR", "1"), ("TERM", "dumb")):
        done = subprocess.run(
            [sys.executable, "-m", "poscli", "encode", "--len", "2"],
            capture_output=True,
            check=True,
            env={**os.environ, name: value},
        )
        assert done.stdout.decode() == plain


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_b93_a_narrow_encoding_loses_no_number(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "poscli", "permute-test", "日本 a [b]"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    text = done.stdout.decode(encoding)
    assert done.stderr == b""
    assert "| token " in text
    lines = [line for line in text.splitlines() if line.startswith(("+-", "| ", "|-"))]
    for above, below in pairwise(lines):
        assert len(above) == len(below) or (above.startswith("+-") and below.startswith("+-"))
    assert "[b]" in text
    assert "-0.604189" in text


def test_json_is_strict_and_keeps_infinity_apart() -> None:
    grid = Grid("g", ("r",), ("a", "b", "c", "d"), [("0",)], [[-np.inf, np.inf, np.nan, None]])
    document = json.loads(
        b"".join(to_json(Report("t", {}, [], grid))),
        parse_constant=lambda c: pytest.fail(f"bare {c}"),
    )
    assert document["result"]["cells"] == [["-Infinity", "Infinity", "NaN", None]]


def test_csv_is_rfc_4180() -> None:
    grid = Grid("g", ("r",), ("a",), [('say "x", y',), ("two\nlines",)], [[0.1], [1]])
    data = b"".join(to_csv(Report("t", {}, [], grid)))
    assert data == b'r,a\r\n"say ""x"", y",0.1\r\n"two\nlines",1\r\n'
    assert list(csv.reader(io.StringIO(data.decode(), newline="")))[1] == ['say "x", y', "0.1"]


@pytest.mark.parametrize(
    ("value", "decimals", "want"),
    [
        (0.1 + 0.2, 6, "0.300000"),
        (-0.0, 2, "-0.00"),
        (9.8765432e-05, 6, "9.87654e-05"),
        (1.2345e-13, 6, "1.2e-13"),
        (1e9, 1, "1e+09"),
        (123456.7, 1, "123456.7"),
        (float("nan"), 2, "nan"),
        (float("-inf"), 2, "-inf"),
        (12345, 0, "12,345"),
    ],
)
def test_numbers(value: float, decimals: int, want: str) -> None:
    assert written(value, decimals) == want


def test_common_decimals_are_what_the_grid_needs() -> None:
    assert common_decimals([1.1, 2.0, 3]) == 1
    assert common_decimals([1 / 3]) == 6
    assert common_decimals([1, 2, "x", None, float("inf")]) == 0
