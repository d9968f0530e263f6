"""The same grid on a Dask cluster: a scheduler and two workers, one of them killed."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import refused, run_apart

GRID = ["extrapolate", "--train", "none", "rope", "--seeds", "4", "--steps", "60"]
GRID += ["--lengths", "16,32", "--format", "json"]
ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def start(what: str, *args: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *args, "--no-dashboard"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ONE_THREAD,
    )


@pytest.fixture
def cluster() -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """An address on this machine, and the two workers behind it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", str(port))
    workers = [start("worker", address, "--nthreads", "1", "--no-nanny") for _ in range(2)]
    yield address, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def test_a_killed_worker_changes_nothing(
    cluster: tuple[str, list["subprocess.Popen[bytes]"]], tmp_path: Path
) -> None:
    address, workers = cluster
    with subprocess.Popen(
        [sys.executable, "-m", "poscli", *GRID, "--cluster", address, "--cache", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not list(tmp_path.glob("*.json")) and process.poll() is None:
            time.sleep(0.02)
        workers[0].kill()
        out, err = process.communicate()
    assert process.returncode == 0, err.decode()
    assert len(list(tmp_path.glob("*.json"))) == 8
    assert out.decode() == run_apart(*GRID, "--workers", "1").out


def test_no_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poscli.training.grid._SECONDS_TO_CONNECT", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    message = refused("extrapolate", "--train", "none", "--cluster", address)
    assert message.startswith(f"no Dask scheduler answers at {address}")
