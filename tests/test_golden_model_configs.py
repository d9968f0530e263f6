"""Model configs against what transformers built from the very same files.

The configs are class defaults of transformers 5.24.0 (v5) and 4.57.6 (v4), and settings of
published models (pub), trimmed to what could matter; the frequencies and attention factors are
those of the peer's own rotary modules, in float32.
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
CASES = json.loads((GOLDEN / "model_configs.json").read_text())
BUILT = [(case["id"], kind) for case in CASES for kind in case["rope"]]

UNUSED_TABLES = {
    "pub-falcon-rw-1b": "alibi is true: the peer builds a table of turns and never reads it",
    "v4-zamba2": "use_mem_rope is false: the peer builds a table of turns and never reads it",
    "v5-zamba2": "use_mem_rope is false: the peer builds a table of turns and never reads it",
}

SCHEMES_OF_READING: dict[str, set[tuple[str, str]]] = {
    "learned-absolute": {("learned", "")},
    "alibi": {("alibi", "")},
    "alibi (the peer still builds an unused rope table)": {("alibi-falcon", "")},
    "rope-half": {("rope", "half"), ("rope-yarn", "half"), ("rope-llama3", "half")},
    "rope-interleaved": {("rope", "adjacent")},
    "rope on qk_rope_head_dim, interleaved input": {
        ("rope", "adjacent"),
        ("rope", "adjacent-in-half-out"),
        ("rope-yarn", "adjacent"),
    },
    "mrope": {("rope-mrope", "half")},
    "sinusoidal": {("sinusoidal", "")},
    "sinusoidal-2d-detr": {("detr-sine", "")},
    "sinusoidal encoder (half-1), learned decoder": {("sinusoidal", ""), ("learned", "")},
    "t5-bias": {("t5", "")},
    "transformer-xl-relative": {("transformer-xl", "")},
    "relative by default, rotary on request": {("transformer-xl", "")},
    "deberta-relative": {("deberta", "")},
    "none or not attention": {("none", "")},
}

DIFFERENT = {
    "v5-esm": (
        {("learned", "")},
        "position_embedding_type is absolute in this file; ESM turns where it says rotary",
    ),
    "v4-deberta-v2": (
        {("learned", "")},
        "relative_attention is false in the defaults of the class, and position_biased_input true",
    ),
    "v5-mpnet": ({("t5", ""), ("learned", "")}, "MPNet has both, and the reading names one"),
    "v4-mpnet": ({("t5", ""), ("learned", "")}, "MPNet has both, and the reading names one"),
    "v5-speecht5": (
        {("sinusoidal", ""), ("scaled-sinusoidal", ""), ("shaw", "")},
        "three parts of SpeechT5 have one each, and the reading names one",
    ),
    "v4-speecht5": (
        {("sinusoidal", ""), ("scaled-sinusoidal", ""), ("shaw", "")},
        "three parts of SpeechT5 have one each, and the reading names one",
    ),
    "v5-cohere2": (
        {("rope", "adjacent"), ("none", "")},
        "layers of full attention do not turn in Cohere 2; the reading is that of the others",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("configs")
    for case in CASES:
        (made / f"{case['id']}.json").write_text(json.dumps(case["config"]))
    return made


@cache
def arrays() -> Any:
    return np.load(GOLDEN / "model_configs.npz")


def resolved(folder: Path, name: str) -> Model:
    return load(folder / f"{name}.json")


def conventions(model: Model) -> set[tuple[str, str]]:
    return {(kind.scheme.name, getattr(kind.scheme, "pairing", "")) for kind in model.kinds}


def built_for(model: Model, name: str) -> Kind:
    """The kind of layer a table of the peer is for; one table serves all where it says all."""
    return model.kinds[0] if name == "all" else model.kind(name)


@pytest.mark.parametrize(("name", "kind"), BUILT, ids=[f"{n}-{k}" for n, k in BUILT])
def test_frequencies_and_attention_factor(folder: Path, name: str, kind: str) -> None:
    case = next(case for case in CASES if case["id"] == name)
    found = built_for(resolved(folder, name), kind)
    if name in UNUSED_TABLES:
        assert not isinstance(found.scheme, Rotary)
        return
    assert isinstance(found.scheme, Rotary)
    expected = case["rope"][kind]
    got = np.array([float(w) for w in found.scheme.frequencies(found.width)])
    want = arrays()[expected["inv_freq"]].astype(np.float64)
    assert_allclose(want, got, rtol=6 * UNIT, atol=0)
    assert_allclose(found.scheme.amplitude, expected["attention_factor"], rtol=1e-15)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_scheme_is_the_one_read_by_hand(folder: Path, case: dict[str, Any]) -> None:
    found = conventions(resolved(folder, case["id"]))
    if case["id"] in DIFFERENT:
        expected, reason = DIFFERENT[case["id"]]
        assert reason
        assert found == expected
        assert found != SCHEMES_OF_READING[case["scheme_reading"]]
    else:
        assert found <= SCHEMES_OF_READING[case["scheme_reading"]]


def test_every_file_is_held(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(
            f"\n{len(CASES)} model configs, {len(BUILT)} tables of frequencies, "
            f"{len(UNUSED_TABLES)} of them unused by their model, {len(DIFFERENT)} readings argued"
        )
    assert len(CASES) == 141
    assert len(BUILT) == 66


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_nothing_in_these_files_is_taken_for_a_mistake(folder: Path, case: dict[str, Any]) -> None:
    doubts = ("is not in the file", "has no rope", "the scheme is learned")
    model = resolved(folder, case["id"])
    assert [w for w in model.found.warnings if not any(d in w for d in doubts)] == []
