"""One question has one answer, wherever, whenever and after whatever it is asked."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Write, run, run_apart, run_json
from numpy.testing import assert_allclose

from poscli.yaml_core import read

COMMANDS = {
    "encode": ["encode", "dog bites man", "--scheme", "rope", "--dim", "8"],
    "encode a bias": ["encode", "--scheme", "t5", "--len", "6", "--heads", "3"],
    "compare": ["compare", "none", "sinusoidal", "rope", "t5", "--len", "9"],
    "compare a dump": ["compare", "{dump}"],
    "permute-test": ["permute-test", "a b c d e f g h", "--samples", "20", "--scheme", "shaw"],
    "extrapolate": ["extrapolate", "learned", "rope", "rope-yarn", "alibi"],
    "convert": ["convert", "--from", "rope/adjacent", "--to", "rope/half", "--dim", "8"],
    "schemes": ["schemes"],
    "a model": ["schemes", "--model", "{model}"],
}
CONDITIONS = [
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "COLUMNS": "20", "TZ": "Asia/Kolkata"},
    {"PYTHONHASHSEED": "424242", "LC_ALL": "de_DE.UTF-8", "COLUMNS": "1000", "NO_COLOR": "1"},
]


@pytest.fixture
def files(write: Write) -> dict[str, str]:
    """Return names for the files in the commands above."""
    run("encode", "--scheme", "rope", "--dim", "8", "--out", name := write(b"", "x.npy"), "--force")
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10000.0}
    return {"{dump}": name, "{model}": write(json.dumps(config), "config.json")}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_bytes_do_not_depend_on_the_environment_or_the_folder(
    name: str, files: dict[str, str], tmp_path: Path
) -> None:
    args = [files.get(arg, arg) for arg in COMMANDS[name]]
    args += ["--format", "json"]
    want = run_apart(*args)
    assert want.status in (0, 1)
    assert json.loads(want.out)["result"]["cells"]
    (tmp_path / "elsewhere").mkdir()
    for changed in CONDITIONS:
        found = run_apart(*args, env={**os.environ, **changed}, cwd=tmp_path / "elsewhere")
        assert found == want, changed


def test_the_bytes_do_not_depend_on_what_ran_before(files: dict[str, str]) -> None:
    """Each command alone, then each after each other, and after one that was refused."""
    commands = [[files.get(arg, arg) for arg in args] for args in COMMANDS.values()]
    alone = [run_apart(*args, "--format", "json").out for args in commands]
    for order in (range(len(commands)), reversed(range(len(commands)))):
        for i in order:
            run("encode", "--scheme", "rope:base=77", "--len", "3", "--dim", "7")
            assert run(*commands[i], "--format", "json").out == alone[i], commands[i]


def test_a_large_request_before_leaves_a_small_one_as_it_was() -> None:
    for scheme in ("sinusoidal", "rope", "rope-dynamic", "learned", "alibi"):
        args = ["encode", "--scheme", scheme, "--len", "5", "--format", "json"]
        want = run_apart(*args).out
        run("encode", "--scheme", scheme, "--len", "64", "--dim", "32", "--format", "json")
        run("encode", "--scheme", scheme, "--positions", "1000", "--format", "json")
        assert run(*args).out == want


@pytest.mark.parametrize("command", ["compare", "extrapolate"])
def test_the_order_of_schemes_moves_columns_and_no_number(command: str) -> None:
    names = ["none", "sinusoidal", "rope", "alibi", "t5"]
    want = by_scheme(run_json(command, *names))
    assert len(want) > 4
    for order in itertools.islice(itertools.permutations(names), 1, 120, 31):
        assert by_scheme(run_json(command, *order)) == want


def by_scheme(document: Any) -> dict[Any, Any]:
    """Return every cell of the result by its row and its column, both sorted."""
    result = document["result"]
    found = {}
    for label, row in zip(result["labels"], result["cells"], strict=True):
        for column, cell in zip(result["columns"], row, strict=True):
            found[(tuple(label), column)] = cell
    return dict(sorted(found.items()))


def test_a_scheme_is_judged_alike_alone_and_among_others() -> None:
    def verdict(*schemes: str) -> Any:
        args = [part for scheme in schemes for part in ("--scheme", scheme)]
        document = run_json("permute-test", "dog bites man", *args)
        title = "rope, no mask"
        return next(s["checks"] for s in document["sections"] if s["title"] == title)

    assert verdict("rope") == verdict("alibi", "rope") == verdict("rope", "t5", "sinusoidal")


@pytest.mark.parametrize(
    "args",
    [
        ["permute-test", " ".join(f"w{i}" for i in range(96)), "--dim", "64", "--samples", "5"],
        ["compare", "none", "rope", "t5", "--len", "96", "--dim", "64", "--heads", "4"],
    ],
    ids=["permute-test", "compare"],
)
def test_the_number_of_threads_changes_no_verdict_and_no_number_beyond_rounding(
    args: list[str],
) -> None:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    documents = [
        json.loads(
            run_apart(*args, "--format", "json", env={**os.environ, **dict.fromkeys(names, n)}).out
        )
        for n in ("1", "2", "7")
    ]
    checks = [[c for s in d["sections"] for c in s["checks"]] for d in documents]
    assert len(checks[0]) > 0
    for others in checks[1:]:
        for one, other in zip(checks[0], others, strict=True):
            assert one["verdict"] == other["verdict"]
            assert abs(one["difference"] - other["difference"]) <= one["tolerance"]
    tables = [numbers(d["result"]["cells"]) for d in documents]
    for table in tables[1:]:
        assert_allclose(table, tables[0], rtol=1e-9, atol=1e-12)


def numbers(cells: list[list[Any]]) -> np.ndarray:
    """Return the numbers among cells, in order."""
    return np.array([c for row in cells for c in row if isinstance(c, float)])


@pytest.mark.parametrize(
    "config", sorted((ROOT / "configs").glob("[!e]*.yaml")), ids=lambda path: path.stem
)
def test_a_config_gives_the_same_bytes_from_any_folder(config: Path, tmp_path: Path) -> None:
    command = str(read(config.read_bytes(), config.name)[0]["command"])
    args = [*command.split(), "--config", str(config), "--format", "json"]
    assert run_apart(*args, cwd=tmp_path) == run_apart(*args, cwd=ROOT)
