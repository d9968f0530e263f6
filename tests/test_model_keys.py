"""Keys that are checked against each other, and numbers that are whole however they are written."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import refused

from poscli.models.model import Model
from poscli.models.resolve import load

LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 50000.0,
}


def written(folder: Path, **changes: Any) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps({**LLAMA, **changes}))
    return file


def read(folder: Path, **changes: Any) -> Model:
    return load(written(folder, **changes))


def refusal(folder: Path, **changes: Any) -> str:
    file = written(folder, **changes)
    return refused("schemes", "--model", str(file)).removeprefix(f"{file}: ")


@pytest.mark.parametrize("groups", [3, 0, 16])
def test_heads_of_keys_divide_those_of_queries(tmp_path: Path, groups: int) -> None:
    assert refusal(tmp_path, num_key_value_heads=groups) == (
        f"num_key_value_heads: must divide num_attention_heads, 8; got {groups}"
    )
    assert read(tmp_path, num_key_value_heads=2).found.warnings == []


def test_whole_numbers_that_are_written_as_floats(tmp_path: Path) -> None:
    model = read(tmp_path, max_position_embeddings=8192.0, head_dim=64.0)
    assert (model.kinds[0].width, model.kinds[0].lengths.supported) == (64, 8192)
    for wrong in (8192.5, "8192", True):
        assert refusal(tmp_path, max_position_embeddings=wrong) == (
            f"max_position_embeddings: expected a whole number; got {json.dumps(wrong)}"
        )


def test_keys_that_only_look_like_others(tmp_path: Path) -> None:
    other = {"max_2d_position_embeddings": 1024, "swa_num_attention_heads": 4}
    model = read(tmp_path, **other)
    assert model.found.warnings == []
    assert list(model.unused) == list(other)
