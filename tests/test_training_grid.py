"""The grid: the same on any executor, kept when finished, and stopped without a mess."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from poscli import Alibi, Learned, NoPE, PoscliError, Rope
from poscli.training.grid import processes, run_all
from poscli.training.run import Recipe, Run, train
from poscli.training.tasks.order import Order
from poscli.training.tasks.recall import Recall

RECIPE = Recipe(steps=3, length=8)
RUNS = [
    Run(scheme, seed, Order(), RECIPE, (8, 16))
    for scheme in (Learned(std=0.7), Rope())
    for seed in range(2)
]


class Inline(Executor):
    """Runs at once, in this process, and counts."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.labels.append(args[0].label())
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_the_number_of_workers_changes_no_bit() -> None:
    found = []
    for workers in (1, 2):
        with processes(workers) as executor:
            found.append([json.dumps(o.to_json()) for o in run_all(RUNS, executor)])
    assert found[0] == found[1]
    assert len(set(found[0])) == len(RUNS)
    assert os.environ.get("MKL_NUM_THREADS") != "1"


def test_a_grid_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first, second = Inline(), Inline()
    half = run_all(RUNS[:2], first, tmp_path)
    whole = run_all(RUNS, second, tmp_path)
    assert first.labels == ["learned:std=0.7, seed 0", "learned:std=0.7, seed 1"]
    assert second.labels == ["rope, seed 0", "rope, seed 1"]
    assert [o.to_json() for o in whole[:2]] == [o.to_json() for o in half]
    assert whole == run_all(RUNS, Inline())


def test_a_damaged_file_is_run_again(tmp_path: Path) -> None:
    run_all(RUNS[:1], Inline(), tmp_path)
    (kept,) = tmp_path.iterdir()
    altered = kept.read_text().replace('"loss": ', '"loss": 1')
    for damage in ("", "[]", '{"outcome": {"figures": 3}}', altered):
        kept.write_text(damage)
        again = Inline()
        run_all(RUNS[:1], again, tmp_path)
        assert len(again.labels) == 1


def test_a_changed_setting_is_a_new_run(tmp_path: Path) -> None:
    run = Run(Learned(rows=8), 0, Order(), RECIPE, (8,))
    table = tmp_path / "table.npy"
    changed = [
        run,
        replace(run, seed=1),
        replace(run, scheme=Learned(rows=8, std=0.7)),
        replace(run, scheme=NoPE()),
        replace(run, task=Order(seed=1)),
        replace(run, task=Recall()),
        replace(run, recipe=RECIPE.model_copy(update={"steps": 4})),
        replace(run, recipe=RECIPE.model_copy(update={"mask": "none"})),
        replace(run, lengths=(8, 16)),
        replace(run, rescaled=(Rope(base=100.0),)),
        replace(run, swapped=(Alibi(),)),
    ]
    keys = [one.key() for one in changed]
    assert len(set(keys)) == len(changed)
    assert keys == [one.key() for one in changed]
    import numpy as np

    for value in (0.5, 0.25):
        np.save(table, np.full((8, 32), value))
        keys.append(replace(run, scheme=Learned(table=str(table))).key())
    assert len(set(keys)) == len(keys)


def test_progress_tells_each_run_and_ends_at_the_whole() -> None:
    from contextlib import contextmanager

    seen: list[tuple[int, str]] = []

    @contextmanager
    def watch(steps: int, what: str) -> Any:
        assert (steps, what) == (12, "training")
        yield lambda done, which: seen.append((done, which))

    run_all(RUNS, Inline(), watch=watch)
    assert sum(done for done, _ in seen) == 12
    assert sorted(which for _, which in seen) == sorted(run.label() for run in RUNS)


def test_an_error_in_a_run_is_the_error_of_the_grid() -> None:
    bad = Run(Learned(rows=4), 0, Order(), RECIPE, (8,))
    with pytest.raises(PoscliError, match="cannot be trained"), processes(1) as executor:
        run_all([bad], executor)


@contextmanager
def training(cache: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Train many models on two workers, of which the first is finished."""
    command = ["extrapolate", "--train", "none", "--seeds", "400", "--steps", "50"]
    command += ["--lengths", "16", "--workers", "2", "--cache", str(cache)]
    with subprocess.Popen(
        [sys.executable, "-m", "poscli", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while not list(cache.glob("*.json")) and process.poll() is None:
            time.sleep(0.02)
        yield process


def workers_of(process: "subprocess.Popen[bytes]") -> list[int]:
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=", "-o", "ppid=", "-o", "args="],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [int(r[0]) for r in rows if int(r[1]) == process.pid and "spawn_main" in r[2]]


def test_a_worker_that_is_killed_is_one_line(tmp_path: Path) -> None:
    with training(tmp_path) as process:
        os.kill(workers_of(process)[0], signal.SIGKILL)
        out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert err.startswith(b"poscli: what trained the models is gone, with ")
    assert err.count(b"\n") == 1


def test_workers_end_with_the_process_that_is_told_to_end(tmp_path: Path) -> None:
    with training(tmp_path) as process:
        workers = workers_of(process)
        process.terminate()
        out, err = process.communicate()
    assert (process.returncode, out, err) == (128 + signal.SIGTERM, b"", b"")
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_an_interrupt_leaves_what_is_finished_and_no_traceback(tmp_path: Path) -> None:
    args = ["extrapolate", "--train", "none", "--seeds", "400", "--steps", "50", "--lengths", "16"]
    with subprocess.Popen(
        [sys.executable, "-m", "poscli", *args, "--cache", str(tmp_path), "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        while not list(tmp_path.glob("*.json")) and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert all(json.loads(kept.read_text())["outcome"] for kept in tmp_path.glob("*.json"))


def test_outcomes_come_back_exactly(tmp_path: Path) -> None:
    outcome = train(RUNS[0])
    assert type(outcome).from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
