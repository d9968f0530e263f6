"""Running the command line, and reading the values that public libraries returned."""

import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from poscli.cli import app
from poscli.schemes import SCHEMES, Scheme

ROOT = Path(__file__).parent.parent
Write = Callable[..., str]
"""What the fixture write gives: content, and a name if another, to the name of a file."""
GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Result:
    """What a command printed, and the status it ended with."""

    status: int
    out: str
    err: str


def run(*args: str) -> Result:
    """Run a command in this process."""
    result = CliRunner().invoke(app, list(args), prog_name="poscli")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return Result(result.exit_code, result.stdout, result.stderr)


def run_apart(*args: str, **options: Any) -> Result:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "poscli", *args], capture_output=True, check=False, **options
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_json(*args: str) -> Any:
    """Run a command and return its JSON."""
    return json.loads(run(*args, "--format", "json").out)


def cells(*args: str) -> Any:
    """Return the numbers that encode prints."""
    return np.array(run_json("encode", *args)["result"]["cells"], np.float64)


def npy_file(write: Write, array: np.ndarray) -> str:
    """Write an array as data.npy and return the file's name."""
    stream = io.BytesIO()
    np.save(stream, array)
    return write(stream.getvalue(), "data.npy")


def traced_peak(call: Callable[[], object]) -> int:
    """Return the most bytes that a call held at once beyond what was there."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(*args: str) -> str:
    """Run a command that cannot run; return its one line."""
    result = run(*args)
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("poscli: ")
    assert result.err.count("\n") == 1
    return result.err.removeprefix("poscli: ").rstrip("\n")


@dataclass(frozen=True)
class Golden:
    """One call of a public library: what went in and what came out."""

    group: str
    id: str
    peer: str
    params: dict[str, Any]
    inputs: dict[str, np.ndarray]
    returned: dict[str, np.ndarray]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """What came out; whoever reads it holds something against it."""
        READ.add((self.group, self.id))
        return self.returned


READ: set[tuple[str, str]] = set()
"""The golden cases whose arrays some test of this run has read."""


@cache
def goldens(group: str) -> list[Golden]:
    """Return every golden case of a group."""
    data = np.load(GOLDEN / f"{group}.npz")
    return [
        Golden(
            group,
            item["id"],
            f"{item['peer']} {item['call']}",
            item["params"],
            {name: data[key] for name, key in item["inputs"].items()},
            {name: data[entry["key"]] for name, entry in item["arrays"].items()},
        )
        for item in json.loads((GOLDEN / f"{group}.json").read_text())
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many cases of each golden group were held in this run."""
    if READ:
        terminalreporter.section("golden cases held, by group")
    for group in sorted({group for group, _ in READ}):
        held = sum(1 for read, _ in READ if read == group)
        terminalreporter.write_line(f"{group}: {held} of {len(goldens(group))}")


@pytest.fixture(params=list(SCHEMES))
def scheme(request: pytest.FixtureRequest) -> Scheme:
    """Every scheme in turn, with its default settings."""
    return SCHEMES[request.param].model_validate({})


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every machine the same 2 GiB of free memory, so that the same requests fit."""
    monkeypatch.setattr("poscli.room.memory_available", lambda: 2**31)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes, str], str]:
    """Return a function that writes a file and returns its name."""

    def write_file(content: str | bytes, name: str = "config.yaml") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file
