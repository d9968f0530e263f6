"""What is said of a config where a key is not what it seems: warnings, refusals, unused keys."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from poscli.errors import PoscliError
from poscli.models.model import Model
from poscli.models.resolve import load

Config = Callable[..., Model]
SIZES = {
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 32768,
}
LAYERS = {"layer_types": ["sliding_attention", "full_attention"] * 2}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
LINEAR = {"rope_type": "linear", "factor": 4.0}
THETA = {"rope_theta": 50000.0}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return a function that reads a config of one model type, with small sizes."""

    def read(model_type: str, **changes: Any) -> Model:
        file = tmp_path / "config.json"
        content = {"model_type": model_type, **SIZES, **changes}
        file.write_text(json.dumps({k: v for k, v in content.items() if v is not ...}))
        return load(file)

    return read


def settings(model: Model, kind: str | None = None) -> dict[str, Any]:
    return model.kind(kind).settings()


def refusal(config: Config, model_type: str, **changes: Any) -> str:
    with pytest.raises(PoscliError) as error:
        config(model_type, **changes)
    return str(error.value).split("config.json: ", 1)[1]


# The part of a head that turns


@pytest.mark.parametrize("name", ["llama", "qwen2", "gemma", "cohere", "smollm3", "nanochat"])
def test_whole_heads_turn_whatever_the_file_says(config: Config, name: str) -> None:
    model = config(name, partial_rotary_factor=0.5, **THETA)
    assert "partial_rotary_factor" not in settings(model)
    assert model.found.warnings == [f"partial_rotary_factor is not used: {name} turns whole heads"]
    assert "partial_rotary_factor" in model.unused


def test_whole_heads_in_a_block(config: Config) -> None:
    block = {"rope_type": "default", **THETA, "partial_rotary_factor": 0.5}
    model = config("mistral", rope_parameters=block)
    assert model.found.warnings == [
        "rope_parameters.partial_rotary_factor is not used: mistral turns whole heads"
    ]
    assert model.unused == ["rope_parameters.partial_rotary_factor"]
    assert config("llama", partial_rotary_factor=1.0, **THETA).found.warnings == []


def test_a_part_of_a_scaled_rope_where_whole_heads_turn(config: Config) -> None:
    """transformers makes a table of 16 pairs, and fails to turn heads of 64 columns by it."""
    model = config("llama", partial_rotary_factor=0.5, **THETA, rope_scaling=YARN)
    assert settings(model)["partial_rotary_factor"] == 0.5
    assert model.found.warnings == [
        "partial_rotary_factor is used; llama turns whole heads in transformers 5.24, which makes "
        "a yarn table for the part and fails"
    ]


@pytest.mark.parametrize(
    ("name", "layers", "part"), [("bamba", {}, 0.5), ("mimo_v2_flash", LAYERS, 0.334)]
)
def test_a_part_beside_the_block_that_is_not_read(
    config: Config, name: str, layers: dict[str, Any], part: float
) -> None:
    base = THETA if name == "bamba" else {}
    model = config(name, head_dim=192, partial_rotary_factor=0.25, **base, **layers)
    assert settings(model)["partial_rotary_factor"] == part
    warning = f"partial_rotary_factor is not used: {name} does not read it there"
    assert warning in model.found.warnings


def test_a_part_in_the_block_wins_over_columns(config: Config) -> None:
    block = {"rope_type": "default", **THETA, "partial_rotary_factor": 0.25}
    model = config("minimax_m2", head_dim=64, rotary_dim=32, rope_parameters=block)
    assert settings(model)["partial_rotary_factor"] == 0.25
    assert settings(config("minimax_m2", head_dim=64, rotary_dim=32, **THETA))["rotary_dim"] == 32


def test_an_odd_part_is_refused(config: Config) -> None:
    message = refusal(config, "moonshine", head_dim=64, **THETA)
    assert message.startswith("rope turns pairs, so an even number of columns; ")


# Several positions


@pytest.mark.parametrize(
    ("name", "block", "scheme"),
    [
        ("qwen2_5_vl", YARN, "rope-yarn"),
        ("qwen2_vl", LINEAR, "rope-linear"),
        ("qwen3_vl", {"rope_type": "dynamic", "factor": 4.0}, "rope-dynamic"),
    ],
)
def test_sections_of_a_scaled_rope(
    config: Config, name: str, block: dict[str, Any], scheme: str
) -> None:
    scaled = {**block, "mrope_section": [8, 12, 12]}
    model = config(name, head_dim=64, **THETA, rope_scaling=scaled)
    assert settings(model)["name"] == scheme
    assert model.found.warnings == []
    assert model.found.notes == [
        "in pictures each pair turns by one of several positions; those of text are equal, and "
        "this is what text turns by"
    ]
    assert (
        refusal(
            config, name, head_dim=64, **THETA, rope_scaling={**block, "mrope_section": [8, 12, 13]}
        )
        == "rope_scaling.mrope_section: must add up to 32, the pairs; got [8, 12, 13]"
    )


def test_sections_are_whole_numbers(config: Config) -> None:
    block = {"type": "mrope", "mrope_section": [8.0, 12.0, 12.0]}
    assert settings(config("qwen2_vl", **THETA, rope_scaling=block))["sections"] == [8, 12, 12]
    block["mrope_section"] = [8.5, 11.5, 12.0]
    assert refusal(config, "qwen2_vl", **THETA, rope_scaling=block) == (
        "rope_scaling.mrope_section[0]: expected a whole number; got 8.5"
    )


def test_four_positions_of_hunyuan(config: Config) -> None:
    block = {"type": "xdrope", "alpha": 1000.0, "factor": 1.0, "xdrope_section": [8, 8, 8, 8]}
    model = config("hunyuan_vl", head_dim=64, **THETA, rope_scaling=block)
    assert (settings(model)["name"], settings(model)["factor"]) == ("rope-ntk", 1000.0)
    assert len(model.found.notes) == 1


def test_ernie_turns_text_as_if_it_had_no_sections(config: Config) -> None:
    block = {"rope_type": "default", **THETA, "mrope_section": [11, 11, 10]}
    model = config("ernie4_5_vl_moe", rope_parameters=block)
    assert (settings(model)["name"], settings(model)["pairing"]) == ("rope", "adjacent")
    assert refusal(config, "ernie4_5_vl_moe", rope_scaling=LINEAR) == (
        "rope_scaling.rope_type: ernie4_5_vl_moe takes default only; got 'linear'"
    )


# Layer types


def test_an_original_length_beside_layer_types_is_not_read(config: Config) -> None:
    nested = {name: {**YARN, **THETA} for name in set(LAYERS["layer_types"])}
    model = config(
        "gemma3_text", **LAYERS, original_max_position_embeddings=2048, rope_parameters=nested
    )
    assert settings(model, "full_attention")["original_length"] == 8192
    assert model.found.warnings == [
        "original_max_position_embeddings is not used: gemma3_text has one per layer type"
    ]
    assert "original_max_position_embeddings" in model.unused


def test_an_original_length_beside_one_block_wins(config: Config) -> None:
    model = config("llama", **THETA, original_max_position_embeddings=2048, rope_scaling=YARN)
    assert settings(model)["original_length"] == 2048
    assert model.found.warnings[0] == (
        "original_max_position_embeddings is 2048 and is used; "
        "rope_scaling.original_max_position_embeddings says 8192"
    )


def test_the_original_length_of_the_class_wins_in_phi3(config: Config) -> None:
    lists = {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32}
    block = {"rope_type": "longrope", **THETA, "original_max_position_embeddings": 2048, **lists}
    model = config("phi3", rope_parameters=block)
    assert settings(model)["original_length"] == 4096
    assert model.found.warnings[0].startswith(
        "original_max_position_embeddings is 4096 by default and is used; "
    )


def test_a_block_for_one_layer_type_leaves_the_other_its_default(config: Config) -> None:
    model = config("gemma3_text", **LAYERS, rope_parameters={"full_attention": LINEAR | THETA})
    assert settings(model, "full_attention")["name"] == "rope-linear"
    assert (settings(model, "sliding_attention")["name"], model.found.warnings) == (
        "rope",
        ["rope_local_base_freq is not in the file: 10000 assumed, the default of gemma3_text"],
    )


def test_a_block_that_is_not_per_layer_type_is_not_used(config: Config) -> None:
    model = config("gemma3_text", **LAYERS, **THETA, rope_parameters={**LINEAR, "rope_theta": 2e6})
    assert settings(model, "full_attention") == {
        "name": "rope",
        "pairing": "half",
        "base": 50000.0,
    }
    assert model.found.warnings[0] == (
        "rope_parameters is not used: gemma3_text has rope_parameters per layer type"
    )
    assert "rope_parameters" in model.unused


def test_sliding_layers_of_olmo3_turn_by_the_base_of_the_file(config: Config) -> None:
    model = config("olmo3", **LAYERS, rope_theta=1e6)
    assert settings(model, "sliding_attention")["base"] == 1e6
    assert model.found.warnings == [
        "rope_theta is 1000000 and is used for sliding_attention; transformers 5.24 does not read "
        "it there, and takes 500000"
    ]
    assert config("olmo3", **LAYERS, rope_theta=500000.0).found.warnings == []


# Bases


def test_a_base_beside_a_built_in_block_is_not_read(config: Config) -> None:
    model = config("ministral3", head_dim=64, **THETA)
    assert settings(model)["base"] == 1e6
    assert "(built in) rope_theta is 1000000 and is used; rope_theta says 50000" in (
        model.found.warnings
    )
    assert settings(config("ministral3", head_dim=64, rope_scaling=YARN))["base"] == 10000.0
    assert settings(config("ministral3", head_dim=64, **THETA, rope_scaling=YARN))["base"] == 5e4


def test_the_base_of_dbrx(config: Config) -> None:
    model = config("dbrx", attn_config={"rope_theta": 500000})
    assert settings(model)["base"] == 5e5
    assert model.found.warnings == [
        "attn_config.rope_theta is 500000 and is used; transformers 5.24 does not read it there, "
        "and takes 10000"
    ]


def test_rope_settings_that_esm_does_not_read(config: Config) -> None:
    model = config("esm", position_embedding_type="rotary", **THETA, rope_scaling=LINEAR)
    assert (settings(model)["name"], settings(model)["base"]) == ("rope", 50000.0)
    assert model.found.warnings == ["rope_scaling is not used: esm does not read it"]


def test_glm4v_without_a_part_has_no_sections_that_fit(config: Config) -> None:
    assert refusal(config, "glm4v", head_dim=128, **THETA) == (
        "mrope_section: is missing, and that of the published glm4v, [8, 12, 12], does not fit 64 "
        "pairs"
    )


# Parts of a file


def test_heads_of_a_decoder(config: Config) -> None:
    heads = {"encoder_num_attention_heads": 8, "decoder_num_attention_heads": 8}
    model = config("moonshine", hidden_size=288, num_attention_heads=..., **heads, **THETA)
    assert (model.kinds[0].width, model.kinds[0].heads) == (36, 8)


@pytest.mark.parametrize(
    ("name", "text"),
    [("qwen2_5_omni", "qwen2_5_omni_text"), ("qwen3_omni_moe", "qwen3_omni_moe_text")],
)
def test_the_text_of_a_thinker(config: Config, name: str, text: str) -> None:
    block = {"rope_type": "default", **THETA, "mrope_section": [8, 12, 12]}
    inner = {**SIZES, "model_type": text, "head_dim": 64, "rope_scaling": block}
    model = config(name, thinker_config={"text_config": inner})
    assert (model.model_type, settings(model)["base"]) == (text, 50000.0)
    layout = "blocked" if name == "qwen2_5_omni" else "interleaved"
    assert settings(model)["layout"] == layout
