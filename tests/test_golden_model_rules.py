"""One rule of reading a config at a time, against what transformers built from the same settings.

Each config of tests/golden/model_rules.json is made up to show one rule for one model type; the
inverse frequencies and attention factors are those of transformers 5.24.0, in float32. In AT_ODDS
transformers 5.24 passes over what the file says and what readers before it went by; there the file
is followed, and a warning says so.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import GOLDEN
from numpy.testing import assert_allclose

from poscli.models.model import Kind, Model
from poscli.models.resolve import load
from poscli.schemes.rotary import Rotary

UNIT = 2.0**-24
CASES = {case["id"]: case for case in json.loads((GOLDEN / "model_rules.json").read_text())}

TYPE = (
    "transformers 4.57.6 reads rope_scaling.type here (modeling_gemma3.py, modeling_olmo3.py, "
    "modeling_modernbert.py: rope_scaling.get('rope_type', rope_scaling.get('type'))), and files "
    "in the old style were written for it; 5.24 sets rope_type to default before it looks"
)
TRUNCATE = "the file says that the ramp is not rounded; 5.24 looks for the key outside the block"
BASE = (
    "transformers 4.57.6 turns sliding layers by the rope_theta of the file too; 5.24 takes it out "
    "of the file for the full layers, and finds none for the sliding ones"
)
DBRX = (
    "transformers 4.57.6 reads attn_config.rope_theta, where the released model has its 500000; "
    "5.24 reads rope_theta beside it only"
)
PART = "the model turns 0.334 of a head; 5.24 forgets that default where the rope type is scaled"
AT_ODDS: dict[str, tuple[str, set[str], str]] = {
    "odds-type/gemma3_text": (TYPE, {"full_attention"}, "rope_scaling.type is read as rope_type"),
    "odds-type/gemma3n_text": (TYPE, {"full_attention"}, "rope_scaling.type is read as rope_type"),
    "odds-type/olmo3": (TYPE, {"full_attention"}, "rope_scaling.type is read as rope_type"),
    "odds-type/modernbert": (
        TYPE,
        {"full_attention", "sliding_attention"},
        "rope_scaling.type is read as rope_type",
    ),
    "odds-truncate/gemma3_text": (TRUNCATE, {"full_attention"}, "truncate is false and is used"),
    "odds-truncate/olmo3": (TRUNCATE, {"full_attention"}, "truncate is false and is used"),
    "odds-truncate/laguna": (
        TRUNCATE,
        {"full_attention", "sliding_attention"},
        "truncate is false and is used",
    ),
    "odds-base/olmo3": (
        BASE,
        {"sliding_attention"},
        "rope_theta is 123456 and is used for sliding_attention",
    ),
    "odds-base/dbrx": (DBRX, {"all"}, "attn_config.rope_theta is 500000 and is used"),
    "odds-part/mimo_v2_flash": (
        PART,
        {"full_attention", "sliding_attention"},
        "partial_rotary_factor is not in the file: 0.334 assumed",
    ),
}
TABLES = [(name, kind) for name, case in CASES.items() for kind in case["rope"]]
ODD = [(name, kind) for name, (_, kinds, _) in AT_ODDS.items() for kind in sorted(kinds)]


@cache
def arrays() -> Any:
    return np.load(GOLDEN / "model_rules.npz")


@pytest.fixture
def model(tmp_path: Path, name: str) -> Model:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CASES[name]["config"]))
    return load(file)


def turning(model: Model, layer_type: str) -> list[Kind]:
    """The kinds of layers that a table of transformers is for."""
    if layer_type != "all":
        return [model.kind(layer_type)]
    return [kind for kind in model.kinds if isinstance(kind.scheme, Rotary)]


def table(kind: Kind) -> tuple[np.ndarray, float]:
    assert isinstance(kind.scheme, Rotary)
    return np.array([float(w) for w in kind.scheme.frequencies(kind.width)]), kind.scheme.amplitude


@pytest.mark.parametrize(("name", "kind"), [pair for pair in TABLES if pair not in ODD])
def test_as_transformers(model: Model, name: str, kind: str) -> None:
    expected = CASES[name]["rope"][kind]
    want = arrays()[expected["inv_freq"]].astype(np.float64)
    found = turning(model, kind)
    assert found
    for layers in found:
        got, factor = table(layers)
        assert_allclose(want, got, rtol=40 * UNIT, atol=0)
        assert_allclose(factor, expected["attention_factor"], rtol=1e-14)


@pytest.mark.parametrize(("name", "kind"), ODD)
def test_at_odds_with_transformers(model: Model, name: str, kind: str) -> None:
    reason, _, warning = AT_ODDS[name]
    assert reason
    want = arrays()[CASES[name]["rope"][kind]["inv_freq"]].astype(np.float64)
    got, _ = table(*turning(model, kind))
    assert len(got) != len(want) or np.max(np.abs(got - want) / want) > 1e-3
    assert any(warning in text and "transformers 5.24" in text for text in model.found.warnings)


def test_every_table_is_held() -> None:
    held = {case["inv_freq"] for c in CASES.values() for case in c["rope"].values()}
    assert held == set(arrays().files)
    assert set(ODD) < set(TABLES)
