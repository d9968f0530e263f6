"""What poscli promises whatever it is given, and commands run in this process and held to it.

Status 0, 1 or 2. At 2: one line of error, after warnings if there are any, an empty standard
output and no file touched. Never a traceback, a numpy warning, an escape code in data, bare NaN in
JSON, or a temporary file left behind; and no check that passed without a finite difference and
tolerance.
"""

import csv
import io
import json
import os
import re
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from conftest import Result

from poscli.cli import app

SECONDS = 3.0
"""After so long a command is interrupted as by Ctrl-C: long work is no fault."""

COMMAND = typer.main.get_command(app)
_WARNING = "poscli: warning: "
_WROTE = "wrote "


class BrokenPromiseError(AssertionError):
    """A promise that was not kept: which one, and what was given."""


def run_here(args: Sequence[str]) -> Result:
    """Run a command in this process; an exception that is no exit goes through."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        with _interrupted_after(SECONDS) as interrupted:
            COMMAND.main(list(args), prog_name="poscli")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stdout, sys.stderr = before
        texts = [_text(stream) for stream in (out, err)]
    if (status == 130 and not interrupted) or status == 143:
        # Someone ends the tests, not we the command.
        raise KeyboardInterrupt
    return Result(status, *texts)


def hold(args: Sequence[str], folder: Path) -> str:
    """Run a command, hold it to every promise, and put the folder back as it was.

    Returns ran, refused or interrupted; raises BrokenPromiseError.
    """
    before = _listing(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = run_here(args)
        except Exception as error:
            raise BrokenPromiseError(f"{_where(error)}; given {list(args)!r}") from error
        finally:
            after = _listing(folder)
            _restore(folder, before, after)
    broken = _broken(args, result, before, after)
    if broken:
        raise BrokenPromiseError(f"{broken}; given {list(args)!r}")
    return {2: "refused", 130: "interrupted"}.get(result.status, "ran")


def _broken(args: Sequence[str], result: Result, before: Any, after: Any) -> str:
    """Say which promise a result does not keep; empty where it keeps all."""
    lines = result.err.splitlines()
    told = [line for line in lines if not line.startswith((_WARNING, _WROTE))]
    if any(Path(name).name.startswith(".poscli-") for name in after):
        return "a temporary file was left behind"
    if result.status == 130:
        return f"interrupted, and said {result.err!r}" if told else ""
    if result.status not in (0, 1, 2):
        return f"status {result.status}"
    if result.status == 2:
        return _broken_refusal(args, result, told, before, after)
    if told:
        return f"status {result.status}, and standard error holds {told[0]!r}"
    if "\x1b" in result.out and "NUMPY" not in result.out[:8]:
        return "an escape code on standard output"
    return _broken_data(result.out)


def _broken_refusal(
    args: Sequence[str], result: Result, told: list[str], before: Any, after: Any
) -> str:
    if len(told) != 1 or not re.match("poscli: .", told[0]):
        return f"status 2, and standard error holds {result.err!r}"
    if re.search("Traceback|<class|object at 0x|pydantic|np\\.", told[0]):
        return f"the error shows what is inside: {told[0]!r}"
    if len(told[0]) > 2100:
        return f"an error of {len(told[0])} characters"
    if result.out:
        return "status 2, and standard output is not empty"
    if before != after and "--cache" not in " ".join(args):
        return f"status 2, and files changed: {sorted(set(after.items()) ^ set(before.items()))}"
    return ""


def _broken_data(out: str) -> str:
    """Hold JSON to the standard, and its checks to what their numbers allow."""
    if not out.startswith("{"):
        return ""
    document = json.loads(out, parse_constant=lambda name: {"bare": name})
    if '"bare": ' in json.dumps(document):
        return "bare NaN or infinity in JSON"
    for section in document.get("sections", []):
        for check in section["checks"]:
            evidence = check["difference"], check["tolerance"]
            finite = all(isinstance(n, int | float) and isfinite(n) for n in evidence)
            if check["verdict"] == "pass" and not finite:
                return f"{check['claim']}: passed without finite evidence"
    return ""


def parsed_csv(text: str) -> list[list[str]]:
    """Read RFC 4180."""
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[list[float]]:
    """Send Ctrl-C after so long, and again and again until it is heard; give when it was sent."""
    sent: list[float] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if frame is not None and "hypothesis" in frame.f_code.co_filename:
            return  # It watches the garbage collector, and what is raised there is lost.
        sent.append(time.monotonic())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield sent
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _text(stream: io.TextIOWrapper) -> str:
    with suppress(ValueError):
        stream.flush()
        return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    return ""


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for entry in os.scandir(folder):
        about = entry.stat(follow_symlinks=False)
        found[entry.name] = (about.st_mtime_ns, about.st_size)
    return found


def _restore(folder: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    for name in after.keys() - before.keys():
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _where(error: Exception) -> str:
    """Name an exception, and the place in poscli that it came from."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/poscli/" in code.co_filename:
            place = f"{code.co_filename.partition('/poscli/')[2]}:{trace.tb_lineno} {code.co_name}"
        trace = trace.tb_next
    return f"{type(error).__name__}: {str(error)[:200]} at {place}"
