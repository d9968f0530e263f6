"""extrapolate --train as a command: what it reports, and in which forms."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import refused, run, run_json

from poscli.config import build
from poscli.experiments.train import TrainConfig
from poscli.schemes import SCHEMES

QUICK = ["--steps", "2", "--seeds", "2", "--lengths", "16,17", "--workers", "1"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Arguments of a run whose trainings are kept, so that asking again costs nothing."""
    cache = tmp_path_factory.mktemp("cache")
    names = ["none", "learned:rows=16", "learned:rows=17", "rope"]
    return ["extrapolate", "--train", *names, *QUICK, "--cache", str(cache)]


def test_the_table_says_what_cannot_run_and_how_far_seeds_differ(kept: list[str]) -> None:
    result = run(*kept)
    assert (result.status, result.err) == (0, "")
    lines = result.out.splitlines()
    (none,) = [line for line in lines if line.startswith("│ none")]
    assert none.count("±") == 2
    (learned,) = [line for line in lines if line.startswith("│ learned:rows=16 ")]
    assert learned.count("±") == 1
    assert "cannot run" in learned
    assert "moved: 0 to 15\nnot moved: 16\n" in result.out
    assert "PASS  the gradient of the rows that did not move is exactly 0" in result.out


def test_json_and_csv_hold_every_figure(kept: list[str]) -> None:
    result = run_json(*kept)["result"]
    rows = list(csv.reader(io.StringIO(run(*kept, "--format", "csv").out, newline="")))
    assert rows[0] == [*result["index"], *result["columns"]]
    assert len(rows) - 1 == len(result["cells"]) == 2 * (4 + len(TrainConfig().rescalings))
    cells = {tuple(k): v for k, v in zip(result["labels"], result["cells"], strict=True)}
    label = "learned:rows=16"
    assert cells[(label, label, "excess", "17", "1.0625x")] == ["no", None, None, 2]
    yes, mean, spread, seeds = cells[("none", "none", "excess", "16", "1x")]
    assert (yes, seeds) == ("yes", 2)
    assert mean > 0.5
    assert spread > 0


def test_where_it_ran_is_not_part_of_the_result(kept: list[str]) -> None:
    settings = run_json(*kept)["settings"]
    assert not {"workers", "cache", "cluster", "published"} & settings.keys()
    assert settings["steps"] == 2
    for scheme in settings["schemes"] + settings["rescalings"]:
        assert "seed" not in scheme
        assert scheme.get("original_length", settings["length"]) == settings["length"]
    factors = {scheme["name"]: scheme.get("factor") for scheme in settings["rescalings"]}
    assert factors["rope-yarn"] is None
    assert factors["rope-dynamic"] == 2


def test_swapped_schemes_are_measured(kept: list[str]) -> None:
    quick = ["--steps", "2", "--seeds", "1", "--lengths", "16", "--workers", "1"]
    document = run_json("extrapolate", "--train", "none", "rope", *quick, "--swap")
    (grid,) = [
        g
        for s in document["sections"]
        for g in s["grids"]
        if g["title"].startswith("Examined with another")
    ]
    assert grid["columns"] == ["with none", "rope"]
    (none_none, none_rope), (rope_none, rope_rope) = grid["cells"]
    assert none_none != none_rope
    assert rope_none != rope_rope


def test_published_figures_name_their_source(kept: list[str]) -> None:
    assert "Press 2022" not in run(*kept).out
    out = run(*kept, "--published").out
    assert "Press 2022 (arXiv 2108.12409), table 2" in out
    assert "406.01" in out
    assert "check them against the paper" in out


def test_the_default_trains_every_scheme_that_the_recipe_names() -> None:
    config = TrainConfig()
    names = ["none", "sinusoidal", "learned", "rope", "alibi", "t5"]
    assert [s.name for s in config.schemes] == [n for n in names if n in SCHEMES]
    assert len(config.runs()) == 3 * len(config.schemes)
    assert config.measured == [16, 32, 64, 128, 256]
    for one in config.runs():
        one.check()


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["--task", "ordr"], "there is no task 'ordr'; nearest: 'order'; known: lm, order, recall"),
        (["--task", "lm", "--mask", "none"], "lm needs mask causal"),
        (["--lengths", "2"], "must be 3 or more; got 2"),
        (["none", "none"], "schemes holds none twice"),
        (["learned:rows=8"], "learned cannot be trained at length 16: it has 8 rows"),
        (["--workers", "2", "--cluster", "tcp://x"], "cluster and workers both say where to run"),
        (["--set", "task={name: order, sed: 1}"], "order has no setting 'sed'; nearest: 'seed'"),
        (["--dim", "30"], "heads must divide dim"),
        (["--to", "32"], "--train takes --lengths"),
        (["--plot", "/no/such/a.png"], "there is no folder /no/such"),
        (["--out", "/no/such/a.json"], "there is no folder /no/such"),
        (["--out", "a.safetensors"], "not .safetensors; name one with --format"),
        (["--cache", "/dev/null/a", "--steps", "1"], "cannot hold finished runs"),
        (["--plot", "curve.gif"], "curve.gif: a figure is written as .png, .svg, .pdf"),
    ],
)
def test_what_cannot_be_trained_is_one_line(args: list[str], want: str) -> None:
    assert want in refused("extrapolate", "--train", *args)


@pytest.mark.parametrize("task", ["lm", "order"])
def test_a_training_that_diverged_is_one_line(task: str) -> None:
    quick = ["--steps", "20", "--seeds", "1", "--lengths", "16", "--workers", "1"]
    said = refused("extrapolate", "--train", "none", "--task", task, *quick, "--set", "rate=1e30")
    assert said.startswith("none, seed 0: the training diverged: the loss is no number after step")


def test_what_takes_the_place_of_a_rope_has_its_base_and_pairing() -> None:
    config = build(
        TrainConfig,
        {
            "schemes": [{"name": "rope", "base": 100, "pairing": "half"}, "rope", "alibi"],
            "rescalings": ["rope-ntk", {"name": "rope-yarn", "base": 50}],
        },
    )
    own, plain, other = (config.rescalings_of(scheme) for scheme in config.schemes)
    assert [s.label() for s in own] == [
        "rope-ntk:base=100,pairing=half",
        "rope-yarn:base=50,pairing=half",
    ]
    assert [s.label() for s in plain] == ["rope-ntk", "rope-yarn:base=50"]
    assert other == []


def test_the_settings_of_a_report_give_the_same_report(write: Callable[..., str]) -> None:
    quick = ["--steps", "20", "--seeds", "1", "--lengths", "16,32", "--workers", "1"]
    document = run_json("extrapolate", "--train", "rope", "learned", *quick)
    config = write(json.dumps({"command": "extrapolate --train", **document["settings"]}))
    again = run_json("extrapolate", "--train", "--config", config, "--workers", "1")
    assert again["result"]["cells"] == document["result"]["cells"]


def test_options_of_training_alone_are_refused_without_it(tmp_path: Path) -> None:
    assert "extrapolate has no setting 'steps'" in refused("extrapolate", "--steps", "3")
    assert "give --train as well" in refused("extrapolate", "--plot", str(tmp_path / "a.png"))
