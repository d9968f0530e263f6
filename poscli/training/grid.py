"""Many runs, on any concurrent.futures executor; finished ones are kept and not run again."""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from poscli.errors import PoscliError
from poscli.files import write_whole
from poscli.progress import Watch, unwatched
from poscli.threads import SETTINGS
from poscli.training.run import Outcome, Run, train

_SECONDS_TO_CONNECT = 10


def run_all(
    runs: Sequence[Run],
    executor: Executor,
    cache: Path | None = None,
    watch: Watch = unwatched,
) -> list[Outcome]:
    """Train every run and return the outcomes in the order of the runs.

    With a cache folder, what is found there is not run again, and what is finished is put there
    at once, so that a grid that was stopped goes on where it was.
    """
    if cache is not None:
        _make(cache)
    found: dict[int, Outcome] = {}
    with watch(sum(run.recipe.steps for run in runs), "training") as advance:
        futures = {}
        for i, run in enumerate(runs):
            kept = _read(cache, run)
            if kept is None:
                futures[executor.submit(train, run)] = i
            else:
                found[i] = kept
                advance(run.recipe.steps, run.label())
        for future in as_completed(futures):
            i = futures[future]
            found[i] = _result(future, len(found), len(runs))
            _keep(cache, runs[i], found[i])
            advance(runs[i].recipe.steps, runs[i].label())
    return [found[i] for i in range(len(runs))]


def _result(future: Future[Outcome], done: int, of: int) -> Outcome:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError):
        raise PoscliError(
            f"what trained the models is gone, with {done} of {of} runs finished; run it again, "
            "with --cache to go on from there"
        ) from None


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Give an executor of so many processes, each a fresh interpreter with one BLAS thread.

    A single worker is a process too: the thread count of this one is not ours to set, and the
    results are the same bit for bit whatever the number of workers.
    """
    others = set(multiprocessing.active_children())
    before = {name: os.environ.get(name) for name in SETTINGS}
    os.environ.update(dict.fromkeys(SETTINGS, "1"))
    broken_pipe = _take_broken_pipes_as_errors()
    executor = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_leave_interrupts_to_the_parent
    )
    try:
        yield executor
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        broken_pipe()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Give an executor that hands its work to the Dask scheduler at an address."""
    try:
        from distributed import Client
    except ImportError:
        raise PoscliError(
            "a cluster needs dask.distributed: install poscli with the extra 'cluster'"
        ) from None
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise PoscliError(f"no Dask scheduler answers at {address}: {error}") from None
    with client, client.get_executor() as executor:
        yield executor


def _take_broken_pipes_as_errors() -> Callable[[], object]:
    """Keep a stopped worker from ending this process by SIGPIPE; return what undoes that."""
    if not hasattr(signal, "SIGPIPE") or current_thread() is not main_thread():
        return lambda: None
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return lambda: signal.signal(signal.SIGPIPE, before)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _file(cache: Path, run: Run) -> Path:
    return cache / f"{run.key()}.json"


def _read(cache: Path | None, run: Run) -> Outcome | None:
    """Return a kept outcome; a file that cannot be read counts as none, and is written anew."""
    if cache is None:
        return None
    try:
        kept = json.loads(_file(cache, run).read_text())
        return Outcome.from_json(kept["outcome"]) if kept["sha256"] == _digest(kept) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(kept: dict[str, Any]) -> str:
    return sha256(json.dumps(kept["outcome"], sort_keys=True).encode()).hexdigest()


def _make(cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PoscliError(f"{cache}: cannot hold finished runs: {error.strerror}") from None


def _keep(cache: Path | None, run: Run, outcome: Outcome) -> None:
    if cache is None:
        return
    kept: dict[str, Any] = {"run": run.resolved(), "outcome": outcome.to_json()}
    kept["sha256"] = _digest(kept)
    write_whole(_file(cache, run), (json.dumps(kept, indent=1) + "\n").encode())
