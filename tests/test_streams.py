"""Pipes, terminals, encodings, full disks and signals: whole numbers, whole files, right status."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Result, Write, run_apart

RESOURCE = pytest.importorskip("resource")
CSV = ["encode", "--len", "200", "--dim", "16", "--format", "csv"]
TABLE = ["permute-test", "日本 [bold] café", "--scheme", "rope", "--dim", "16"]
ASCII = ["permute-test", "a [bold] c", "--scheme", "rope", "--dim", "16"]


def apart(*args: str, encoding: str = "utf-8", **environment: str) -> Result:
    """Run a command in a process of its own, under an environment."""
    done = subprocess.run(
        [sys.executable, "-m", "poscli", *args],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    return Result(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))


def shell(command: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which poscli is this one; the status of a pipe is that of poscli."""
    line = f'set -o pipefail; poscli() {{ {sys.executable} -m poscli "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", line], capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    "command",
    [
        "poscli encode --len 100000 --format csv",
        "poscli encode --len 20000 --format json",
        "poscli encode --len 20000",
        "PYTHONUNBUFFERED=1 poscli encode --len 20000 --format csv",
        "poscli compare",
    ],
)
def test_b85_a_reader_that_has_enough_ends_it_quietly(command: str) -> None:
    done = shell(f"{command} | head -n 1")
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""
    assert done.returncode in (0, 128 + signal.SIGPIPE)


def test_standard_error_that_is_closed_changes_no_result() -> None:
    for line in ("poscli encode --len 2 2>&-", "poscli encode --len 2 2>/dev/full"):
        done = shell(line)
        assert (done.returncode, done.stdout[:11]) == (0, b"sinusoidal:")
    assert shell("poscli encode --len x 2>&-").returncode == 2


def test_standard_input_is_never_read() -> None:
    done = shell("poscli encode --len 2 <&-")
    assert (done.returncode, done.stderr) == (0, b"")


def limited(size: int) -> object:
    """Return what lets a child write no file larger than so many bytes."""
    return lambda: RESOURCE.setrlimit(RESOURCE.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("suffix", ["csv", "json", "npy", "txt"])
@pytest.mark.parametrize("old", [True, False])
def test_a_disk_that_fills_up_keeps_the_old_file(tmp_path: Path, suffix: str, old: bool) -> None:
    out = tmp_path / f"x.{suffix}"
    if old:
        out.write_text("precious")
    done = subprocess.run(
        [sys.executable, "-m", "poscli", *CSV[:-2], "--out", str(out), "--force"],
        capture_output=True,
        check=False,
        preexec_fn=limited(2000),
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == f"poscli: {out}: cannot be written: File too large\n".encode()
    assert [p.read_text() for p in tmp_path.iterdir()] == (["precious"] if old else [])


@pytest.mark.parametrize("form", ["csv", "json", "npy", "table"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_that_fills_up_is_one_line(
    tmp_path: Path, form: str, unbuffered: str
) -> None:
    with (tmp_path / "out").open("wb") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "poscli", *CSV[:-1], form],
            stdout=stream,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            preexec_fn=limited(2000),
        )
    assert done.returncode == 2
    assert done.stderr == b"poscli: standard output: File too large\n"


@pytest.mark.parametrize("where", ["no/x.csv", "file/x.csv", "/proc/x.csv", "/dev/full"])
def test_what_cannot_be_written_is_one_line(write: Write, tmp_path: Path, where: str) -> None:
    write("", "file")
    result = run_apart(*CSV, "--out", where, cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"poscli: {where}: ")
    assert result.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_is_read_only_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("precious")
    # Even root cannot create a file under a folder of /proc, and others not under one without w.
    folder = Path("/proc/self") if os.geteuid() == 0 else tmp_path
    tmp_path.chmod(0o500)
    try:
        result = run_apart(*CSV, "--out", str(folder / "x.csv"), "--force")
    finally:
        tmp_path.chmod(0o700)
    assert (result.status, result.out) == (2, "")
    assert "x.csv: cannot be written: " in result.err
    assert (tmp_path / "x.csv").read_text() == "precious"


IN_THE_MIDDLE = """
import os, poscli.files, signal
replace, fdopen = os.replace, os.fdopen

def send(*args, **options):
    os.kill(os.getpid(), signal.{signal})
    return {then}(*args, **options)

os.{then} = send
from poscli.cli import app
app({args!r})
"""


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("then", ["replace", "fdopen"])
@pytest.mark.parametrize("old", [True, False])
def test_a_signal_in_the_middle_of_a_write_loses_nothing(
    tmp_path: Path, name: str, status: int, then: str, old: bool
) -> None:
    out = tmp_path / "x.csv"
    if old:
        out.write_text("precious")
    args = [*CSV, "--out", str(out), "--force"]
    program = IN_THE_MIDDLE.format(signal=name, then=then, args=args)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")
    assert [p.read_text() for p in tmp_path.iterdir()] == (["precious"] if old else [])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_the_work_ends_it_without_a_word(number: int, status: int) -> None:
    program = (
        "import os, poscli.experiments.encode as e\n"
        f"e._require_finite = lambda *args: os.kill(os.getpid(), {int(number)})\n"
        f"from poscli.cli import app\napp({CSV!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


ENVIRONMENTS: dict[str, dict[str, str]] = {
    "NO_COLOR": {"NO_COLOR": "1"},
    "FORCE_COLOR": {"FORCE_COLOR": "1"},
    "FORCE_COLOR and TERM": {
        "FORCE_COLOR": "1",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    },
    "dumb": {"TERM": "dumb"},
    "narrow": {"COLUMNS": "20"},
    "wide": {"COLUMNS": "1000"},
    "nonsense": {"COLUMNS": "x", "LINES": "-1", "TERM": "nothing-of-this-name"},
    "C": {"LC_ALL": "C", "LANG": "C"},
    "C without UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "utf-16": {"PYTHONIOENCODING": "utf-16"},
}


def spoken(name: str) -> list[str]:
    """Return a command whose words the environment can pass on."""
    return ASCII if name == "C without UTF-8" else TABLE


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_data_is_the_same_bytes_in_every_environment(name: str, form: str, plain: object) -> None:
    args = [*spoken(name), "--format", form]
    result = apart(*args, **ENVIRONMENTS[name])
    assert result == plain(*args)  # type: ignore[operator]


@pytest.fixture(scope="module")
def plain() -> object:
    """Return a function that runs a command in a plain environment, once per command."""
    known: dict[tuple[str, ...], Result] = {}

    def result(*args: str) -> Result:
        if args not in known:
            known[args] = apart(*args, TERM="xterm", COLUMNS="80")
        return known[args]

    return result


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if name != "utf-16"])
def test_b93_every_number_of_a_table_is_complete_in_every_environment(
    name: str, plain: object
) -> None:
    encoding = "cp1252" if name == "cp1252" else "utf-8"
    result = apart(*spoken(name), encoding=encoding, **ENVIRONMENTS[name])
    want = plain(*spoken(name))  # type: ignore[operator]
    assert (result.status, result.err) == (want.status, want.err)
    assert "\x1b" not in result.out
    for text in ("…", "Traceback"):
        assert text not in result.out
    numbers = [word for word in want.out.split() if word.replace(".", "").lstrip("-").isdigit()]
    assert len(numbers) > 100
    assert sorted(set(numbers) - set(result.out.split())) == []


@pytest.mark.parametrize("name", ["ascii", "cp1252", "C"])
def test_files_are_utf_8_whatever_the_terminal_speaks(name: str, tmp_path: Path) -> None:
    for suffix in ("json", "csv", "txt"):
        out = tmp_path / f"x.{suffix}"
        assert apart(*TABLE, "--out", str(out), **ENVIRONMENTS[name]).status == 0
        assert "日本" in out.read_bytes().decode("utf-8")


def test_words_that_the_locale_cannot_hold_are_refused_in_one_line() -> None:
    result = apart(*TABLE, **ENVIRONMENTS["C without UTF-8"])
    assert (result.status, result.out) == (2, "")
    assert "sentence: expected text that the terminal's encoding can hold" in result.err
    assert result.err.count("\n") == 1


def test_errors_and_help_hold_no_codes_either() -> None:
    for name in ("FORCE_COLOR and TERM", "ascii", "narrow"):
        wrong = apart("encode", "--scheme", "日本", **ENVIRONMENTS[name])
        assert (wrong.status, wrong.out) == (2, "")
        assert wrong.err.count("\n") == 1
        assert "\x1b" not in wrong.err
    assert "\x1b" not in apart("encode", "--help", **ENVIRONMENTS["NO_COLOR"]).out


def test_json_is_strict_and_whole_on_a_narrow_screen() -> None:
    out = apart(*TABLE, "--format", "json", COLUMNS="20").out
    assert json.loads(out)["passed"] is True
