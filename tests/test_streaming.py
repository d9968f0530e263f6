"""Tables too large to hold: the same bytes as small ones, row by row, and no half file."""

import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import refused, run

from poscli.experiments import encode
from poscli.render import data
from poscli.rows import Made, spans

LARGE = ["encode", "--len", "300000", "--dim", "64", "--dtype", "float32"]
HUGE = ["encode", "--len", "4000000", "--dim", "2048", "--dtype", "float32"]


@pytest.mark.parametrize("form", ["csv", "json", "npy"])
@pytest.mark.parametrize(
    "scheme", ["sinusoidal", "sinusoidal:layout=concatenated", "scaled-sinusoidal", "rope", "none"]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_rows_that_are_made_when_written_are_the_same_bytes(
    form: str, scheme: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ["encode", "--scheme", scheme, "--dim", "6", "--dtype", dtype, "--format", form]
    args += ["--len", "37", "--offset", "120"]
    assert run(*args, "--out", str(tmp_path / "held")).status == 0
    monkeypatch.setattr(encode, "_MOST_HELD", 0)
    monkeypatch.setattr(data, "_NUMBERS_AT_ONCE", 30)
    monkeypatch.setattr(data, "_TEXT_AT_ONCE", 60)
    assert run(*args, "--out", str(tmp_path / "made")).status == 0
    assert (tmp_path / "made").read_bytes() == (tmp_path / "held").read_bytes()


def test_a_large_table_is_written_in_little_memory(tmp_path: Path) -> None:
    out = tmp_path / "table.npy"
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True)"
    code += "; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [sys.executable, "-m", "poscli", *LARGE, "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )
    table = np.load(out, mmap_mode="r")
    assert table.shape == (300_000, 64)
    assert int(done.stdout) * 1024 < 2**20 * 200
    few = run(
        "encode", "--positions", "299999", "--dim", "64", "--dtype", "float32", "--format=npy"
    )
    assert few.status == 0
    alone = tmp_path / "alone.npy"
    at = ["--positions", "150000,299999", "--dim", "64", "--dtype", "float32"]
    assert run("encode", *at, "--out", str(alone)).status == 0
    assert np.load(alone).tobytes() == table[[150_000, 299_999]].tobytes()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_write_leaves_what_was_there(
    number: int, status: int, tmp_path: Path
) -> None:
    out = tmp_path / "table.npy"
    out.write_text("precious")
    process = subprocess.Popen(
        [sys.executable, "-m", "poscli", *HUGE, "--out", str(out), "--force"],
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and sum(f.stat().st_size for f in tmp_path.iterdir()) < 10**7:
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate()
    assert (process.returncode, said) == (status, b"")
    assert os.listdir(tmp_path) == ["table.npy"]
    assert out.read_text() == "precious"


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "poscli", *LARGE, "--out", str(tmp_path / "table.npy")],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6)),
    )
    assert done.returncode == 2
    assert "table.npy: cannot be written: File too large" in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_pipe_closed_early_ends_the_making_of_rows() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "poscli", *HUGE, "--format", "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"position,dim 0,dim 1,")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE


def test_a_bar_is_drawn_at_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "poscli", *LARGE, "--dim", "512"]
    command += ["--out", str(tmp_path / "table.npy"), "--force"]
    subprocess.run(command, stderr=terminal, env={**os.environ, "TERM": "xterm"}, check=True)
    os.close(terminal)
    assert b"rows written" in os.read(main, 2**16)
    done = subprocess.run(command, stderr=subprocess.PIPE, check=True)
    assert done.stderr == f"wrote {tmp_path / 'table.npy'}\n".encode()


def test_what_is_only_shown_or_attended_to_has_to_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("poscli.room.memory_available", lambda: 10**9)
    assert "ask for --format csv, json or npy" in refused(*LARGE)
    for more in (["--precision", "float16"], ["--explain"], ["--vector", ",".join("1" * 64)]):
        args = [arg for arg in LARGE if arg not in ("--dtype", "float32")]
        assert "19,200,000 numbers, which take 2.4 GB" in refused(*args, *more)
    assert "numbers, which take" in refused(*LARGE, "--scheme", "alibi")
    plot = ["--plot", str(tmp_path / "a.png"), "--out", str(tmp_path / "a.npy")]
    assert "300,000 x 64 numbers are too many to draw" in refused(*LARGE, *plot)
    assert os.listdir(tmp_path) == []


def test_a_made_sequence_reads_as_the_list_of_its_items() -> None:
    made = Made(10, lambda i, j: [str(k) for k in range(i, j)])
    items = [str(k) for k in range(10)]
    assert list(made) == items
    assert (made[0], made[-1], len(made)) == ("0", "9", 10)
    for part in (slice(3), slice(2, 9, 3), slice(-3, None), slice(20, 30)):
        assert made[part] == items[part]
    with pytest.raises(IndexError):
        _ = made[10]


def test_spans_cover_all_rows_once() -> None:
    assert spans(10, 4, 12) == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert spans(2, 100, 12) == [(0, 1), (1, 2)]
    assert spans(0, 4, 12) == []
