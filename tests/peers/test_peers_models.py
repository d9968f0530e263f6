"""Configs against what the installed transformers builds of them, for every model type it has.

For each model type that turns, its own default sizes with rope settings in every style: the
inverse frequencies and the attention factor are those of the model's rotary class, or both sides
refuse, or a warning says what transformers passes over. Then vectors, turned by the model's own
function. And tests/golden/model_rules is still what transformers builds.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import GOLDEN
from models_of_transformers import Table, built, rotary_class, tables, turned
from numpy.testing import assert_allclose

from poscli.errors import PoscliError
from poscli.models.families import Choice, Rotating
from poscli.models.model import Kind, Model
from poscli.models.resolve import load
from poscli.models.types import ALIASES, TYPES
from poscli.schemes.rotary import Rotary

pytestmark = pytest.mark.peers

UNIT = 2.0**-24
ROPE_KEYS = {
    *("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "rotary_pct"),
    *("rotary_emb_base", "rotary_dim", "rope_local_base_freq", "global_rope_theta"),
    *("local_rope_theta", "original_max_position_embeddings"),
}
OTHER_KEYS = {"id2label", "label2id", "dtype", "transformers_version", "per_layer_config"}
FITTING: dict[str, dict[str, Any]] = {
    "glm4_moe": {"head_dim": 128},
    "glm4v_moe_text": {"head_dim": 128},
    "qwen3_omni_moe_text": {"head_dim": 128},
    "glm4v_text": {"partial_rotary_factor": 0.5},
    "glm_image_text": {"partial_rotary_factor": 0.5},
    "granitemoehybrid": {
        "position_embedding_type": "rope",
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
    },
    "zamba2": {"use_mem_rope": True},
    "esm": {"position_embedding_type": "rotary", "vocab_size": 33},
}
"""Sizes and choices of released models where the defaults of a class do not fit each other."""

OTHERWISE = {
    "phimoe": "its attention factor is short_mscale or long_mscale, multiplied on elsewhere",
    "mistral4": "without a part in the block the table is too wide for the slice, and fails",
    "hunyuan_vl_text": "without sections its forward fails",
}
"""Model types whose rotary class says less than the model does."""

PER_LAYER = ("full_attention", "sliding_attention", "hybrid", "hybrid_sliding")
SCALINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 4.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 8192},
    "llama3": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


def turning_types() -> list[str]:
    """The model types here that turn and that transformers has a class of the text for."""

    def turns(family: Any) -> bool:
        if isinstance(family, Choice):
            return any(turns(option) for option in family.options.values())
        return isinstance(family, Rotating)

    names = [n for n in (*TYPES, *ALIASES) if turns(TYPES[ALIASES.get(n, n)])]
    found = []
    for name in names:
        try:
            config = built({"model_type": name, **FITTING.get(name, {})})
            if rotary_class(config) and tables(config) and "text_config" not in config.to_dict():
                found.append(name)
        except (KeyError, ValueError, AttributeError, ModuleNotFoundError, TypeError):
            continue  # a container, a class of remote code, or a table of another kind (GPT-J)
    return found


def plain(name: str) -> dict[str, Any]:
    """Return the default sizes of a class as a file would have them, without rope settings."""
    content = built({"model_type": name, **FITTING.get(name, {})}).to_dict()
    kept = {
        key: value
        for key, value in content.items()
        if key not in ROPE_KEYS | OTHER_KEYS
        and not (key == "head_dim" and value is None)
        and not isinstance(value, dict)
        and "Infinity" not in json.dumps(value)
    }
    return {**kept, "model_type": name, "max_position_embeddings": 32768, **FITTING.get(name, {})}


def variants(layer_types: list[str]) -> Iterator[dict[str, Any]]:
    """Rope settings of every style; per layer type too where a model has several."""
    base = {"rope_theta": 123456.0}
    half = {"partial_rotary_factor": 0.5}
    beside = {"original_max_position_embeddings": 2048}
    yield from ({}, base, {**base, **half})
    for kind, block in SCALINGS.items():
        new = {"rope_type": kind, **block}
        old = {"type": kind, **block}
        yield {**base, "rope_scaling": old}
        yield {**base, "rope_scaling": new}
        yield {"rope_scaling": new}
        yield {"rope_parameters": {**new, **base}}
        yield {"rope_parameters": new}
        yield {"rope_parameters": {**new, **base, **half}}
        yield {**half, "rope_parameters": {**new, **base}}
        yield {**beside, **base, "rope_scaling": new}
        if layer_types:
            nested = {t: {**new, "rope_theta": 1e4 * (i + 2)} for i, t in enumerate(layer_types)}
            yield {"rope_parameters": nested}
            yield {**beside, "rope_parameters": nested}
            yield {"rope_parameters": {layer_types[0]: {**new, **base}}}
            yield {"rope_parameters": {t: {**block, **half} for t, block in nested.items()}}
    yield {"rotary_pct": 0.5, "rotary_emb_base": 123456.0}
    yield {"rope_local_base_freq": 3e4, "global_rope_theta": 2e5, "local_rope_theta": 4e4}


def read(folder: Path, content: dict[str, Any]) -> Model | str:
    """Return the model, or why it is refused."""
    file = folder / "config.json"
    file.write_text(json.dumps(content))
    try:
        return load(file)
    except PoscliError as error:
        return str(error)


def asked(content: dict[str, Any]) -> dict[str, Table] | str:
    """Return the tables of transformers, or why it refuses; it refuses in many ways."""
    try:
        return tables(built(content))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def kinds(model: Model, layer_type: str) -> list[Kind]:
    if layer_type != "all":
        return [model.kind(layer_type)]
    return [kind for kind in model.kinds if isinstance(kind.scheme, Rotary)]


def differences(model: Model, want: dict[str, Table], ordered: bool) -> list[str]:
    found = []
    for layer_type, (frequencies, factor) in want.items():
        for kind in kinds(model, layer_type):
            assert isinstance(kind.scheme, Rotary)
            got = np.array([float(w) for w in kind.scheme.frequencies(kind.width)])
            theirs = frequencies if ordered else np.sort(frequencies)[::-1]
            if len(got) != len(theirs) or not np.allclose(theirs, got, rtol=40 * UNIT, atol=0):
                found.append(f"frequencies of {layer_type}")
            if abs(kind.scheme.amplitude - factor) > 1e-9:
                found.append(f"attention factor of {layer_type}")
    return found


@pytest.fixture(scope="module")
def types() -> list[str]:
    return turning_types()


def test_tables_of_every_model_type(
    types: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    equal, refused, said, wrong = 0, 0, 0, []
    for name in types:
        content = plain(name)
        first = asked(content)
        assert not isinstance(first, str), (name, first)
        nested = [] if "all" in first else [t for t in PER_LAYER if t in content["layer_types"]]
        for extra in variants(nested):
            want, model = asked({**content, **extra}), read(tmp_path, {**content, **extra})
            if isinstance(want, str):
                refused += 1  # what transformers cannot run has no truth to be held to
            elif isinstance(model, str):
                if "mrope_section: is missing" not in model and "an even number" not in model:
                    wrong.append((name, extra, model))
            elif not (found := differences(model, want, not name.startswith("ernie4_5_vl"))):
                equal += 1
            elif any("transformers 5.24" in text for text in model.found.warnings) or any(
                # Read by a second pass over the config, for scaled types only, which then fails.
                "partial_rotary_factor is not used" in text
                for text in model.found.warnings
            ):
                said += 1
            elif name not in OTHERWISE:
                wrong.append((name, extra, found))
    with capsys.disabled():
        print(
            f"\n{len(types)} model types: {equal} configs equal, {said} differ and are warned of, "
            f"{refused} refused by transformers, {len(wrong)} wrong"
        )
    assert wrong == []
    assert equal > 30 * len(types)


def test_vectors_of_every_model_type(
    types: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pairing, the part and the direction, which tables of frequencies do not tell."""
    at, held = [0, 1, 7], 0
    for name in types:
        content = plain(name)
        config, model = built(content), read(tmp_path, content)
        assert not isinstance(model, str), (name, model)
        for layer_type in tables(config):
            kind = kinds(model, layer_type)[0]
            assert isinstance(kind.scheme, Rotary)
            x = np.random.default_rng(0).normal(size=(len(at), kind.width))
            want = None if name in OTHERWISE else turned(config, layer_type, x, at)
            if want is not None:
                got = kind.scheme.rotate(x[None], kind.scheme.coordinates(np.array(at)))[0]
                assert_allclose(got, want, rtol=0, atol=2e-5, err_msg=f"{name} {layer_type}")
                held += 1
    with capsys.disabled():
        print(f"\n{held} kinds of layers turn vectors as the models do")
    assert held >= len(types)


def test_the_golden_rules_are_what_transformers_builds() -> None:
    arrays = np.load(GOLDEN / "model_rules.npz")
    for case in json.loads((GOLDEN / "model_rules.json").read_text()):
        found = tables(built(case["config"]))
        assert set(found) == set(case["rope"])
        for layer_type, (frequencies, factor) in found.items():
            recorded = case["rope"][layer_type]
            assert_allclose(frequencies, arrays[recorded["inv_freq"]], rtol=2 * UNIT, atol=0)
            assert_allclose(factor, recorded["attention_factor"], rtol=1e-14)
