"""BLAS threads: one for attention unless the user says otherwise, and results within rounding."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import run
from threadpoolctl import threadpool_info, threadpool_limits

from poscli import Alibi, Model, permute_test
from poscli.threads import SETTINGS, one_blas_thread

ATTEND = """
import sys
import numpy as np
from poscli import Alibi, Model
x, *matrices = np.random.default_rng(0).normal(size=(4, 700, 700))[:, :, :64]
model = Model(*(m[:64] / 8 for m in matrices), 2)
np.save(sys.argv[1], model.outputs(x, Alibi(), np.arange(700), "causal"))
"""


def threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("unset")
def test_one_thread_within_and_the_former_number_after() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == before


@pytest.mark.usefixtures("unset")
@pytest.mark.parametrize("name", SETTINGS)
def test_what_the_user_set_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "2")
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with one_blas_thread():
            assert threads() == before


@pytest.mark.usefixtures("unset")
def test_attention_of_the_experiments_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, seen = Model.outputs, set()

    def watched(*args: object) -> np.ndarray:
        seen.update(threads())
        return outputs(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(Model, "outputs", watched)
    with threadpool_limits(2, user_api="blas"):
        permute_test(sentence="a b c")
        run("compare", "sinusoidal", "rope")
    assert seen == {1}


def test_results_are_the_same_within_rounding_whatever_the_threads(tmp_path: Path) -> None:
    found = []
    for count in ("1", "2", "3"):
        file = tmp_path / f"{count}.npy"
        environment = os.environ | dict.fromkeys(SETTINGS, count)
        subprocess.run([sys.executable, "-c", ATTEND, str(file)], check=True, env=environment)
        found.append(np.load(file))
    x, *matrices = np.random.default_rng(0).normal(size=(4, 700, 700))[:, :, :64]
    model = Model(*(m[:64] / 8 for m in matrices), 2)
    allowed = model.tolerance(x, Alibi(), np.arange(700))
    assert allowed < 1e-6 < np.abs(found[0]).max()
    for other in found[1:]:
        assert np.abs(other - found[0]).max() <= allowed
