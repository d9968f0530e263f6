"""Every shipped config is run, and the six seed experiments give their numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, refused, run, run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli.yaml_core import read

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
TRAINED = [path for path in CONFIGS if path.stem.startswith("extrapolate-train-")]


def command(config: Path) -> str:
    return str(read(config.read_bytes(), config.name)[0]["command"])


@pytest.mark.parametrize("config", TRAINED, ids=lambda path: path.stem)
def test_every_training_runs_when_made_short(config: Path) -> None:
    short = ["--steps", "1", "--seeds", "1", "--lengths", "16,17", "--workers", "1"]
    result = run(*command(config).split(), "--config", str(config), *short)
    assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize(
    "config", [path for path in CONFIGS if path not in TRAINED], ids=lambda path: path.stem
)
def test_every_config_runs_and_passes(config: Path) -> None:
    result = run(command(config), "--config", str(config))
    assert (result.status, result.err) == (0, "")


def shipped(name: str) -> Any:
    config = ROOT / "configs" / f"{name}.yaml"
    return run_json(command(config), "--config", str(config))


def grids(document: Any, title: str) -> list[Any]:
    return [g for s in document["sections"] for g in s["grids"] if g["title"].startswith(title)]


def test_1_addition() -> None:
    document = shipped("seed-1-addition")
    want = [[1.1, 2.2], [3.3, 4.4], [5.5, 6.6]]
    assert_allclose(document["result"]["cells"], want, rtol=0, atol=1e-15)
    assert "one at position 0, dim 0: 1 + 0.1 = 1.1" in document["sections"][0]["lines"]


def test_2_only_the_middle_row_agrees() -> None:
    without, learned = grids(shipped("seed-2-dog-bites-man"), "X, what enters attention")
    one, other = np.array(learned["cells"][::2]), np.array(learned["cells"][1::2])
    assert_allclose(one, [[1.1, 2.0], [3.0, 1.2], [0.3, 3.1]], rtol=0, atol=1e-15)
    assert_allclose(other, [[0.1, 3.0], [3.0, 1.2], [1.3, 2.1]], rtol=0, atol=1e-15)
    agrees = [label[0] for label in learned["labels"][1::2]]
    assert agrees == ["differs", "agrees", "differs"]
    one, other = np.array(without["cells"][::2]), np.array(without["cells"][1::2])
    assert_array_equal(one, [[1, 2], [3, 1], [0, 3]])
    assert_array_equal(other, one[::-1])


def test_3_sinusoidal_at_1() -> None:
    want = [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004]
    assert_allclose(shipped("seed-3-sinusoidal")["result"]["cells"], [want], rtol=0, atol=1e-10)


def test_4_the_proof() -> None:
    document = shipped("seed-4-proof")
    without, with_positions = grids(document, "Outputs")
    assert without["labels"][2:4] == [["bites", "text, place 1"], ["", "re-ordered, place 1"]]
    want = [-0.4869, -0.5652, -0.1476, 0.3317]
    assert_allclose(without["cells"][2:4], [want, want], rtol=0, atol=5.1e-5)
    want_text = [-0.144, -0.3027, 0.0425, 1.1784]
    want_moved = [-0.1054, -0.2159, 0.0642, 1.0724]
    assert_allclose(with_positions["cells"][2:4], [want_text, want_moved], rtol=0, atol=5.1e-5)


def test_4_holds_what_the_legacy_generator_draws() -> None:
    config = read((ROOT / "configs" / "seed-4-proof.yaml").read_bytes(), "")[0]
    generator = np.random.RandomState(1)
    words = (generator.standard_normal((3, 4)) * 0.5).round(3)
    assert_array_equal(list(config["embeddings"].values()), words)
    for name in ("queries", "keys", "values"):
        matrix = (generator.standard_normal((4, 4)) * 0.4).round(2)
        assert_array_equal(config["projections"][name], matrix)


def test_5_the_toy_table_ends() -> None:
    cells = shipped("seed-5-toy-table")["result"]["cells"]
    assert (cells[0], cells[4]) == ([0.1, 0.2], [0.9, 1.0])
    config = str(ROOT / "configs" / "seed-5-toy-table.yaml")
    message = refused("encode", "--config", config, "--len", "6")
    assert message == ("learned has 5 rows, 0 to 4; position 5, the 6th, is not one of them")


def test_6_the_size_of_gpt2() -> None:
    facts = shipped("seed-6-gpt2")["sections"][1]["facts"]
    assert facts["parameters"] == "1024 x 768 = 786,432"
    assert facts["first missing position"] == "1024, the 1,025th of a table of 1024 rows"
    message = refused("encode", "--scheme", "learned:rows=1024", "--dim", "768", "--len", "1025")
    assert message == (
        "learned has 1024 rows, 0 to 1023; position 1024, the 1,025th, is not one of them"
    )
