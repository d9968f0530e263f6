"""Faults with model configs from practice, each with its right answer and its id, and their kin."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Result, refused, run, run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli.models.resolve import load
from poscli.models.types import ALIASES, TYPES

Config = Callable[..., str]

LLAMA = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_hidden_layers": 4,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
}
LLAMA3 = {
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return a function that writes a config of Llama with some keys changed, or dropped by ..."""

    def write(**changes: Any) -> str:
        content = {k: v for k, v in {**LLAMA, **changes}.items() if v is not ...}
        path = tmp_path / "config.json"
        path.write_text(json.dumps(content))
        return str(path)

    return write


def refusal(file: str, command: str = "schemes") -> str:
    """Return the error on a config, less the name of the file."""
    return refused(command, "--model", file).removeprefix(f"{file}: ")


def warnings(file: str) -> list[str]:
    result = run("schemes", "--model", file)
    assert result.status == 0
    return [line.removeprefix("poscli: warning: ") for line in result.err.splitlines()]


def settings(file: str, *args: str) -> dict[str, Any]:
    return run_json("encode", "--model", file, *args, "--len", "2")["settings"]["scheme"]


def frequencies(file: str, *args: str) -> Any:
    """Angles at position 1 are the frequencies."""
    document = run_json("encode", "--model", file, *args, "--positions", "1")
    return np.array(document["sections"][1]["grids"][0]["cells"], np.float64)[0]


def layers(file: str) -> dict[str, dict[str, Any]]:
    grid = run_json("schemes", "--model", file)["result"]
    return {
        label[0]: dict(zip(grid["columns"], row, strict=True))
        for label, row in zip(grid["labels"], grid["cells"], strict=True)
    }


# B48


def test_b48_length_is_not_multiplied_twice(config: Config) -> None:
    file = config(max_position_embeddings=32768, rope_scaling=YARN)
    assert layers(file)["all"]["supported length"] == 32768
    assert warnings(file) == []
    result = run("extrapolate", "--model", file, "--to", "32769")
    assert result.status == 0
    grid = run_json("extrapolate", "--model", file, "--to", "32769")["result"]
    where = {label[0]: row[0] for label, row in zip(grid["labels"], grid["cells"], strict=True)}
    assert where["8192"] == "trained"
    assert where["8193"] == "> past the trained length (the crossing)"
    assert where["32768"] == "> past the trained length"
    assert where["32769"] == "beyond the supported length"


def test_b48_a_length_that_does_not_count_the_factor_yet(config: Config) -> None:
    file = config(max_position_embeddings=8192, rope_scaling=YARN)
    assert layers(file)["all"]["supported length"] == 32768


def test_b48_nothing_is_multiplied_where_the_original_length_is_not_given(config: Config) -> None:
    block = {"type": "yarn", "factor": 4.0}
    file = config(max_position_embeddings=8192, rope_scaling=block)
    assert layers(file)["all"]["supported length"] == 8192
    assert warnings(file) == [
        "rope_scaling.original_max_position_embeddings is not in the file: 8192 assumed, "
        "max_position_embeddings"
    ]


def test_b48_factor_against_the_ratio_of_lengths(config: Config) -> None:
    file = config(max_position_embeddings=65536, rope_scaling=YARN)
    assert warnings(file) == [
        "rope_scaling.factor is 4 and is used; the lengths say 65536 / 8192 = 8"
    ]
    assert settings(file)["factor"] == 4.0
    ratio = config(max_position_embeddings=65536, rope_scaling={**YARN, "factor": None})
    assert settings(ratio)["factor"] == 8.0


# B50


@pytest.mark.parametrize(
    "names",
    [{"rope_type": "llama3"}, {"type": "llama3"}, {"type": "llama3", "rope_type": "llama3"}],
)
@pytest.mark.parametrize("block", ["rope_scaling", "rope_parameters"])
def test_b50_old_and_new_names(config: Config, names: dict[str, str], block: str) -> None:
    file = config(head_dim=64, **{block: {**LLAMA3, **names}})
    got = frequencies(file)
    plain = 500000.0 ** (-np.arange(32) / 32)
    ratio = [0.6055727545, 0.3037425238, 0.1034476090]
    assert_allclose((got / plain)[15:18], ratio, rtol=0, atol=5e-11)
    assert_allclose(got[-1], 9.418306725e-08, rtol=5e-10)
    assert warnings(file) == []


def test_b50_names_that_disagree(config: Config) -> None:
    file = config(rope_scaling={**LLAMA3, "rope_type": "llama3", "type": "yarn"})
    assert refusal(file) == (
        'rope_scaling.rope_type: says "llama3", but type says "yarn"; they must agree'
    )


def test_b50_names_that_agree_once_renamed(config: Config) -> None:
    lists = {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32}
    names = {"type": "su", "rope_type": "longrope"}
    file = config(
        model_type="phi3",
        original_max_position_embeddings=4096,
        rope_scaling={**names, **lists},
    )
    assert settings(file)["name"] == "rope-longrope"
    yarn = config(
        model_type="phi3",
        original_max_position_embeddings=4096,
        rope_scaling={"type": "yarn", **lists},
    )
    assert settings(yarn)["name"] == "rope-longrope"


def test_b50_no_name_at_all(config: Config) -> None:
    file = config(rope_scaling={"factor": 4.0})
    assert refusal(file) == "rope_scaling.rope_type: is missing, although factor is given"


def test_b50_an_unknown_name(config: Config) -> None:
    file = config(rope_scaling={"rope_type": "yarm", "factor": 4.0})
    assert refusal(file) == (
        "rope_scaling.rope_type: there is no rope type 'yarm' in llama; nearest: 'yarn'; known: "
        "default, linear, dynamic, yarn, llama3, longrope, proportional"
    )
    su = config(rope_scaling={"type": "su", "factor": 4.0})
    assert refusal(su).startswith("rope_scaling.type: there is no rope type 'su' in llama; ")


def test_b50_both_styles_at_once(config: Config) -> None:
    new = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6}
    file = config(rope_scaling={"type": "linear", "factor": 8.0}, rope_parameters=new)
    assert warnings(file) == [
        "rope_scaling and rope_parameters are both given and differ: rope_scaling is used, as in "
        "transformers 5.24"
    ]
    assert (settings(file)["factor"], settings(file)["base"]) == (8.0, 500000.0)
    empty = config(rope_scaling={}, rope_parameters=new)
    assert settings(empty)["factor"] == 2.0
    assert warnings(empty) == [
        "rope_parameters.rope_theta is 1000000 and is used; rope_theta says 500000"
    ]


# B52


def test_the_share_of_the_slice_in_a_head_is_not_taken_twice(config: Config) -> None:
    block = {"rope_type": "yarn", "factor": 128.0, "partial_rotary_factor": 0.5}
    file = config(model_type="mistral4", qk_rope_head_dim=64, rope_parameters=block)
    assert len(frequencies(file)) == 32
    assert settings(config(model_type="mistral4", qk_rope_head_dim=64))["name"] == "rope-yarn"


def test_gpt_neox_reads_its_base_under_its_own_name_only(config: Config) -> None:
    assert settings(config(model_type="gpt_neox", rope_theta=250000))["base"] == 10000
    assert (
        settings(config(model_type="gpt_neox", rope_theta=..., rotary_emb_base=250000))["base"]
        == 250000
    )


def test_a_head_wider_than_any_is_refused(config: Config) -> None:
    assert "head_dim" in refusal(config(head_dim=2000000))
    assert "is a head wider than" in refusal(
        config(hidden_size=2**22, num_attention_heads=2, head_dim=...)
    )


def test_b52_known_keys_raise_no_warning(config: Config) -> None:
    file = config(max_position_embeddings=32768, rope_scaling={**YARN, "truncate": False})
    assert warnings(file) == []
    assert settings(file)["truncate"] is False


def test_b52_a_misspelt_key(config: Config) -> None:
    block = {"type": "yarn", "factor": 4.0, "orignal_max_position_embeddings": 8192}
    assert refusal(config(rope_scaling=block)) == (
        "rope_scaling.orignal_max_position_embeddings: is no key of a rope; did you mean "
        "original_max_position_embeddings?"
    )


def test_b52_a_misspelt_key_at_the_top(config: Config) -> None:
    file = config(rope_theta=..., rope_tetha=1e6)
    assert refusal(file) == "rope_tetha: is not known; did you mean rope_theta?"
    file = config(max_position_embeddings=..., max_position_embedings=4096)
    assert warnings(file) == [
        "max_position_embedings is not known, and not used; did you mean max_position_embeddings?"
    ]


def test_b52_a_misspelt_key_beside_the_right_one(config: Config) -> None:
    assert warnings(config(rope_tetha=1e6, max_position_embedings=4096)) == [
        "rope_tetha is not known, and not used; did you mean rope_theta, which is given too?",
        "max_position_embedings is not known, and not used; did you mean max_position_embeddings, "
        "which is given too?",
    ]


def test_b52_keys_without_a_use(config: Config) -> None:
    file = config(rope_scaling={"type": "linear", "factor": 2.0, "beta_fast": 32, "xyzzy": 1})
    assert warnings(file) == [
        "rope_scaling.beta_fast is not used: rope type linear has no use for it",
        "rope_scaling.xyzzy is not known, and not used",
    ]
    document = run_json("schemes", "--model", file)
    unused = document["sections"][-1]["lines"][-1]
    assert unused == "keys not used (2): rope_scaling.beta_fast, rope_scaling.xyzzy"


def test_b52_attn_factor_is_not_attention_factor(config: Config) -> None:
    file = config(max_position_embeddings=32768, rope_scaling={**YARN, "attn_factor": 1.4852})
    assert warnings(file) == [
        "rope_scaling.attn_factor is not used: transformers does not read it (where it is read, "
        "it multiplies the factor computed, while attention_factor replaces it)"
    ]
    assert "attention_factor" not in settings(file)


def test_b52_half_a_pair_of_mscales(config: Config) -> None:
    file = config(max_position_embeddings=32768, rope_scaling={**YARN, "mscale": 0.7})
    assert warnings(file) == [
        "rope_scaling.mscale is not used: it counts together with mscale_all_dim only"
    ]


def test_b52_rope_keys_in_a_model_without_rope(config: Config) -> None:
    assert warnings(config(model_type="jamba")) == ["rope_theta is not used: jamba has no rope"]
    assert warnings(config(model_type="gpt2")) == ["rope_theta is not used: the scheme is learned"]


# B54


def test_b54_base_is_read(config: Config) -> None:
    file = config(head_dim=128, rope_theta=1000000)
    assert_allclose(frequencies(file)[[1, -1]], [0.8058421878, 1.240937761e-06], rtol=5e-10)
    assert warnings(file) == []


def test_b54_base_is_assumed_aloud(config: Config) -> None:
    file = config(head_dim=128, rope_theta=...)
    assert_allclose(frequencies(file)[[1, -1]], [0.8659643234, 1.154781985e-04], rtol=5e-10)
    assert warnings(file) == ["rope_theta is not in the file: 10000 assumed, the default of llama"]
    report = run("schemes", "--model", file).out
    assert "warning: rope_theta is not in the file: 10000 assumed" in report


def test_b54_least_config(config: Config) -> None:
    dropped = dict.fromkeys(LLAMA, ...)
    file = config(**{**dropped, "model_type": "llama", "head_dim": 128, "rope_theta": 1000000})
    assert_allclose(frequencies(file)[1], 0.8058421878, rtol=5e-10)
    assert warnings(file) == ["num_attention_heads is not in the file: 1 head assumed"]


@pytest.mark.parametrize(("name", "base"), [("mixtral", 1e6), ("cohere", 5e5), ("helium", 1e5)])
def test_b54_each_model_type_has_a_default_of_its_own(
    config: Config, name: str, base: float
) -> None:
    assert settings(config(model_type=name, rope_theta=...))["base"] == base


def test_b54_a_base_that_cannot_be(config: Config) -> None:
    assert refusal(config(rope_theta=0.5)) == "rope_theta: must be more than 1; got 0.5"
    assert refusal(config(rope_theta="1e6")) == 'rope_theta: expected a number; got "1e6"'
    assert refusal(config(rope_theta=True)) == "rope_theta: expected a number; got true"


def test_b54_readers_of_the_old_style(config: Config) -> None:
    new = {"rope_type": "default", "rope_theta": 1e6}
    note = "note: rope_parameters is new in transformers 5: readers of the old style see neither"
    assert note in run("schemes", "--model", config(rope_theta=..., rope_parameters=new)).out
    plain = {**new, "rope_theta": 10000.0}
    assert note not in run("schemes", "--model", config(rope_theta=..., rope_parameters=plain)).out
    assert note not in run("schemes", "--model", config()).out


# B56


def test_b56_a_scheme_given_by_hand_is_taken_whole(config: Config) -> None:
    file = config(rope_scaling={**LLAMA3, "rope_type": "llama3"})
    document = run_json("encode", "--model", file, "--scheme", "rope-dynamic:factor=8")
    given = document["settings"]["scheme"]
    assert (given["name"], given["factor"], given["base"]) == ("rope-dynamic", 8.0, 10000.0)
    assert "low_freq_factor" not in given
    assert document["settings"]["dim"] == 64
    facts = dict(document["sections"][0]["facts"])
    assert facts["scheme of the model"].startswith("rope-llama3:base=500000,")
    assert facts["scheme given by hand"] == (
        "rope-dynamic:factor=8; it is taken whole, nothing of it mixes with the model's"
    )


def test_b56_a_preset_given_by_hand_is_taken_whole(config: Config) -> None:
    given = settings(config(), "--preset", "gpt-oss")
    assert (given["name"], given["base"]) == ("rope-yarn", 150000.0)


@pytest.mark.parametrize(
    "command",
    [["compare"], ["extrapolate"], ["permute-test", "dog bites man", "--scheme"]],
    ids=lambda words: words[0],
)
def test_b56_other_commands_show_both(config: Config, command: list[str]) -> None:
    file = config(rope_scaling={**LLAMA3, "rope_type": "llama3"})
    document = run_json(*command, "rope-dynamic:factor=8", "--model", file)
    names = [scheme["name"] for scheme in document["settings"]["schemes"]]
    assert names == ["rope-llama3", "rope-dynamic"]
    assert (document["settings"]["dim"], document["settings"]["heads"]) == (64, 1)


# B72


@pytest.mark.parametrize("name", ["smollm3", "llama4"])
def test_b72_no_rope_layers(config: Config, name: str) -> None:
    file = config(model_type=name, no_rope_layers=[1, 1, 1, 0], head_dim=64)
    assert layers(file)["rope"]["layers"] == "0-2"
    assert layers(file)["no rope"]["layers"] == "3"
    assert settings(file, "--layer", "0")["name"] == "rope"
    assert settings(file, "--layer", "3") == {"name": "none"}
    assert (
        "0 as one that does not, the way transformers does" in run("schemes", "--model", file).out
    )


def test_b72_lists_and_intervals_that_do_not_fit(config: Config) -> None:
    file = config(model_type="smollm3", no_rope_layers=[1, 1, 0])
    assert refusal(file) == (
        "no_rope_layers: needs one entry per layer, 4 as num_hidden_layers says; got 3"
    )
    file = config(model_type="smollm3", no_rope_layers=[1, 1, 2, 0])
    assert refusal(file) == "no_rope_layers[2]: expected 0 or 1; got 2"
    file = config(model_type="smollm3", no_rope_layer_interval=0)
    assert refusal(file) == "no_rope_layer_interval: must be 1 or more; got 0"
    file = config(model_type="smollm3", no_rope_layer_interval=2)
    assert layers(file)["no rope"]["layers"] == "1, 3"
    file = config(model_type="smollm3", no_rope_layers=[])
    assert layers(file)["no rope"]["layers"] == "3"


@pytest.mark.parametrize("key", ["no_rope_layers", "no_rope_layer_interval"])
@pytest.mark.parametrize("name", ["llama", "gpt2", "jamba"])
def test_b72_the_field_is_refused_where_it_is_not_read(config: Config, key: str, name: str) -> None:
    value = [1, 1, 1, 0] if key == "no_rope_layers" else 4
    assert refusal(config(model_type=name, **{key: value})) == (
        f"{key}: this model type does not read it; which layers turn cannot be told"
    )


# Layers of several types

NESTED = {
    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
TYPES_OF_LAYERS = ["sliding_attention", "full_attention"] * 2


def test_nested_per_layer_type(config: Config) -> None:
    file = config(
        model_type="gemma3_text",
        head_dim=64,
        rope_theta=...,
        rope_parameters=NESTED,
        layer_types=TYPES_OF_LAYERS,
    )
    assert settings(file)["name"] == "rope-linear"
    assert settings(file, "--layer", "0")["base"] == 10000.0
    assert settings(file, "--layer", "sliding_attention")["name"] == "rope"
    assert warnings(file) == []


def test_nested_null_is_a_layer_without_rope(config: Config) -> None:
    nested = {**NESTED, "full_attention": None}
    file = config(rope_theta=..., rope_parameters=nested, layer_types=TYPES_OF_LAYERS)
    assert settings(file, "--layer", "1") == {"name": "none"}
    assert settings(file, "--layer", "0")["name"] == "rope"


def test_nested_faults(config: Config) -> None:
    half = {"full_attention": {}, "slidng_attention": {}}
    assert refusal(config(rope_parameters=half)) == (
        "rope_parameters.slidng_attention: is no layer type; did you mean sliding_attention?"
    )
    file = config(rope_parameters={"full_attention": {}}, layer_types=TYPES_OF_LAYERS)
    assert refusal(file) == ("layer_types: no rope is given for layers of type sliding_attention")
    yarn = {"full_attention": {**YARN, "truncate": False}}
    file = config(max_position_embeddings=32768, rope_parameters=yarn)
    assert warnings(file) == [
        "rope_parameters.full_attention.truncate is false and is used; transformers 5.24 does not "
        "see it inside a layer type, and truncates"
    ]
    unused = {**NESTED, "chunked_attention": {}}
    file = config(rope_parameters=unused, layer_types=TYPES_OF_LAYERS)
    assert "no layer is of type chunked_attention, which has a rope of its own" in warnings(file)


def test_layer_types_that_do_not_fit(config: Config) -> None:
    assert refusal(config(layer_types=["full_attention"] * 3)) == (
        "layer_types: needs one entry per layer, 4 as num_hidden_layers says; got 3"
    )
    assert refusal(config(layer_types=["full_atention"] * 4)) == (
        'layer_types[0]: "full_atention" is no layer type; nearest: "full_attention"'
    )


def test_old_style_with_a_base_per_layer_type(config: Config) -> None:
    block = {"rope_type": "linear", "factor": 8.0}
    gemma = {"model_type": "gemma3_text", "rope_theta": 2e6, "rope_local_base_freq": 3e4}
    file = config(**gemma, head_dim=64, num_hidden_layers=6, rope_scaling=block)
    full, sliding = settings(file, "--layer", "5"), settings(file, "--layer", "0")
    assert (full["name"], full["base"], full["factor"]) == ("rope-linear", 2e6, 8.0)
    assert (sliding["name"], sliding["base"]) == ("rope", 3e4)
    bert = {"model_type": "modernbert", "global_rope_theta": 2e5, "local_rope_theta": 2e4}
    file = config(**bert, rope_scaling=block)
    full, sliding = settings(file, "--layer", "0"), settings(file, "--layer", "1")
    assert (full["name"], full["base"]) == ("rope-linear", 2e5)
    assert (sliding["name"], sliding["base"]) == ("rope-linear", 2e4)


@pytest.mark.parametrize(
    ("name", "convention"),
    [
        ("llama", {"pairing": "half"}),
        ("nanochat", {"pairing": "half", "direction": "clockwise"}),
        ("deepseek_v2", {"pairing": "adjacent"}),
        ("deepseek_v3", {"pairing": "adjacent-in-half-out"}),
        ("llama4", {"pairing": "adjacent"}),
        ("stablelm", {"pairing": "half", "partial_rotary_factor": 0.25}),
        ("bamba", {"pairing": "half", "partial_rotary_factor": 0.5}),
        ("gptj", {"pairing": "adjacent", "rotary_dim": 64}),
    ],
)
def test_conventions_of_model_types(config: Config, name: str, convention: dict[str, Any]) -> None:
    found = settings(config(model_type=name, head_dim=64))
    assert {key: found[key] for key in convention} == convention


def test_deepseek_v3_that_reads_halves(config: Config) -> None:
    file = config(model_type="deepseek_v3", rope_interleave=False)
    assert settings(file)["pairing"] == "half"


def test_patterns(config: Config) -> None:
    gemma = {"model_type": "gemma3_text", "head_dim": 64, "num_hidden_layers": 8}
    assert layers(config(**gemma))["full_attention"]["layers"] == "5"
    assert layers(config(**gemma, sliding_window_pattern=2))["full_attention"]["layers"] == (
        "1, 3, 5, 7"
    )
    bert = config(model_type="modernbert", num_hidden_layers=8)
    assert layers(bert)["full_attention"]["layers"] == "0, 3, 6"
    exaone = {"model_type": "exaone4", "num_hidden_layers": 8, "sliding_window": 512}
    assert layers(config(**exaone, sliding_window_pattern="LLLG"))["no rope"]["layers"] == "3, 7"
    assert layers(config(**{**exaone, "sliding_window": None}))["all"]["layers"] == "0-7"
    assert refusal(config(**exaone, sliding_window_pattern="LXG")) == (
        'sliding_window_pattern: expected letters L and G, as in "LLLG"; got "LXG"'
    )


def test_layers_that_are_not_there(config: Config) -> None:
    file = config()
    assert refused("encode", "--model", file, "--layer", "4") == (
        f"{file}: there is no layer 4; the layers are 0 to 3"
    )
    assert refused("encode", "--model", file, "--layer", "cross") == (
        f"{file}: there is no kind of layer 'cross'; there is: all"
    )
    assert refused("encode", "--layer", "0") == (
        "--layer picks a layer of a --model; give --model too"
    )
    assert refused("extrapolate", "--to", "64", "rope") == (
        "--to says how far a --model is looked at; give --model too"
    )


# Widths


def test_head_width(config: Config) -> None:
    assert len(frequencies(config())) == 32
    assert len(frequencies(config(head_dim=128))) == 64
    assert len(frequencies(config(head_dim=None))) == 32
    assert warnings(config(head_dim=None)) == []
    assert refusal(config(hidden_size=2050)) == (
        "hidden_size: 2050 does not divide by num_attention_heads 32, and head_dim is not given"
    )
    assert refusal(config(hidden_size=...)) == (
        "head_dim: is missing; the width of a head is head_dim, or hidden_size / "
        "num_attention_heads"
    )
    assert refusal(config(head_dim=0)) == "head_dim: must be 1 or more; got 0"
    assert refusal(config(head_dim=7)).startswith("rope needs an even head width")


def test_null_head_width_where_transformers_fails(config: Config) -> None:
    file = config(head_dim=None, max_position_embeddings=32768, rope_scaling=YARN)
    assert warnings(file) == [
        "head_dim is null: hidden_size / heads is used; transformers falls back so for other rope "
        "types, but not for yarn"
    ]


def test_a_list_of_the_wrong_length(config: Config) -> None:
    block = {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [2.0] * 31}
    file = config(model_type="phi3", original_max_position_embeddings=4096, rope_scaling=block)
    assert refusal(file) == (
        "rope_scaling.long_factor must have one number per pair, 32 at head width 64; got 31"
    )
    sections = {"type": "mrope", "mrope_section": [16, 24, 25]}
    file = config(model_type="qwen2_vl", rope_scaling=sections, head_dim=128)
    assert refusal(file) == (
        "rope_scaling.mrope_section must add up to 64, the pairs at head width 128; got "
        "[16, 24, 25], which add up to 65"
    )


def test_sections_are_assumed_where_they_fit(config: Config) -> None:
    file = config(model_type="qwen2_vl", head_dim=128)
    assert settings(file)["sections"] == [16, 24, 24]
    assert warnings(file) == [
        "mrope_section is not in the file: [16, 24, 24] assumed, as in the published qwen2_vl"
    ]
    assert refusal(config(model_type="qwen2_vl")) == (
        "mrope_section: is missing, and that of the published qwen2_vl, [16, 24, 24], does not "
        "fit 32 pairs"
    )


# Parts of a file


def test_text_config(config: Config) -> None:
    file = config(
        model_type="llava",
        rope_theta=7777.0,
        text_config={**LLAMA, "rope_theta": 1e6},
    )
    assert settings(file)["base"] == 1e6
    assert warnings(file) == ["rope_theta beside text_config is not used: the inner one counts"]
    omni = config(model_type="omni", thinker_config={"text_config": {**LLAMA, "rope_theta": 3e6}})
    assert settings(omni)["base"] == 3e6


def test_unknown_model_type(config: Config) -> None:
    assert refusal(config(model_type="lama")).startswith(
        'model_type: "lama" is not known; nearest: llama, '
    )
    by_hand = "state the scheme by hand, as in --scheme rope:base=500000.0,pairing=half --dim 128"
    assert refusal(config(model_type="zzzz")) == f'model_type: "zzzz" is not known; {by_hand}'
    assert refusal(config(model_type=...)) == f"model_type: is missing; add it, or {by_hand}"
    assert refusal(config(model_type=3)) == "model_type: expected text; got 3"


def test_a_folder_stands_for_the_config_in_it(config: Config) -> None:
    file = Path(config())
    assert settings(str(file.parent)) == settings(str(file))
    assert refused("encode", "--model", str(file.parent / "none")).endswith("there is no such file")
    (file.parent / "empty").mkdir()
    assert refused("encode", "--model", str(file.parent / "empty")).endswith(
        "empty/config.json: there is no such file"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; a model's config is a JSON object"),
        ("[1]", "a model's config is a JSON object, not [1]"),
        ('{"a": NaN}', "NaN is no number that JSON knows"),
        ('{"a": -Infinity}', "-Infinity is no number that JSON knows"),
        ('{"a": 1e999}', "1e999 is too large for a number"),
        ('{"a": ' + "9" * 5000 + "}", "a number of 5000 digits is too large"),
        ('{"rope_theta": 1, "rope_theta": 2}', '"rope_theta" is given twice'),
        ("[" * 100000, "nested too deep; up to 32 levels are read"),
        ('{"a": ' * 900 + "1" + "}" * 900, "nested too deep; up to 32 levels are read"),
        ('{"a": ' * 40 + "1" + "}" * 40, "nested too deep; up to 32 levels are read"),
        (b"\xff{}", "not UTF-8 text: byte 0 cannot be read"),
    ],
)
def test_json_of_strangers(write: Any, text: str | bytes, message: str) -> None:
    file = write(text, "config.json")
    assert refused("schemes", "--model", file) == f"{file}: {message}"


def test_json_that_breaks_off(write: Any) -> None:
    file = write('{\n"model_type": "llama",', "config.json")
    message = refused("encode", "--model", file)
    assert message.startswith(f"{file}:2: column ")
    assert "not JSON: " in message


def test_a_file_too_large(write: Any) -> None:
    file = write(b" " * (2**22 + 1), "config.json")
    assert refused("schemes", "--model", file).endswith("files up to 4,194,304 bytes are read")


# Every model type


def test_every_name_leads_to_a_model_type() -> None:
    assert set(ALIASES.values()) <= set(TYPES)
    assert not set(ALIASES) & set(TYPES)


WIDTHS = {
    "moonshine": 36,
    "mimo_v2_flash": 192,
    **dict.fromkeys(["qwen3_5", "qwen3_5_moe"], 256),
    **dict.fromkeys(["qwen2_vl", "qwen2_5_vl", "qwen2_5_omni", "qwen2_5_omni_talker"], 128),
    **dict.fromkeys(["qwen3_vl", "qwen3_vl_moe", "qwen3_omni_moe", "paddleocr_vl"], 128),
    **dict.fromkeys(["glm4v", "glm4v_moe", "glm_image"], 128),
}


@pytest.mark.parametrize("name", [*TYPES, *ALIASES])
def test_every_model_type_resolves(config: Config, name: str) -> None:
    pictures = {"image_size": 224, "patch_size": 16}
    width = WIDTHS.get(ALIASES.get(name, name), 64)
    part = {"partial_rotary_factor": 0.5} if name[:5] in ("glm4v", "glm_i") else {}
    model = load(Path(config(model_type=name, head_dim=width, rope_theta=..., **part, **pictures)))
    for kind in model.kinds:
        kind.scheme.check_width(kind.width, kind.heads)


@pytest.mark.parametrize("name", ["llama", "gpt2", "bloom", "t5", "jamba", "marian", "qwen2_vl"])
@pytest.mark.parametrize("command", ["encode", "compare", "permute-test", "extrapolate"])
def test_every_command_takes_a_model(config: Config, name: str, command: str) -> None:
    file = config(
        model_type=name,
        head_dim=128,
        hidden_size=512,
        num_attention_heads=8,
        max_position_embeddings=128,
    )
    sentence = ["dog bites man"] if command == "permute-test" else []
    result = run(command, *sentence, "--model", file)
    assert result.status in (0, 1), result.err
    assert f"config: {file}, model type {name}" in result.out


# extrapolate


def programs(result: Result | Any) -> dict[str, list[Any]]:
    grid = result["sections"][2]["grids"][1]
    return {label[0]: row for label, row in zip(grid["labels"], grid["cells"], strict=True)}


def past(file: str, *args: str) -> Any:
    return run_json("extrapolate", "--model", file, *args)


def test_extrapolate_dynamic(config: Config) -> None:
    block = {"type": "dynamic", "factor": 2.0}
    file = config(head_dim=8, max_position_embeddings=2048, rope_theta=10000.0, rope_scaling=block)
    document = past(file, "--to", "8192")
    grid = document["result"]
    slowest = {label[0]: row[2] for label, row in zip(grid["labels"], grid["cells"], strict=True)}
    assert_allclose(
        [slowest["2048"], slowest["4096"], slowest["8192"]], [1e-3, 1 / 3000, 1 / 7000], rtol=1e-12
    )
    found = programs(document)
    assert_allclose(found["transformers"][0], 1 / 7000, rtol=1e-12)
    assert_allclose(found["vLLM"][0], 1e-3 / (2**2 - 2 + 1), rtol=1e-12)
    assert_allclose(found["keras-hub"][0], 1e-3 / 2 ** (8 / 6), rtol=1e-12)


def test_extrapolate_longrope_marks_the_crossing(config: Config) -> None:
    lists = {"short_factor": [1.0, 1.0], "long_factor": [2.0, 4.0]}
    file = config(
        model_type="phi3",
        head_dim=4,
        rope_theta=10000.0,
        max_position_embeddings=32,
        original_max_position_embeddings=4,
        rope_scaling={"type": "longrope", **lists},
    )
    document = past(file, "--to", "32")
    rows = dict(
        zip(
            (label[0] for label in document["result"]["labels"]),
            document["result"]["cells"],
            strict=True,
        )
    )
    assert_allclose(rows["4"][1:], [1, 0.01, 1.58113883], rtol=1e-8)
    assert_allclose(rows["5"][1:], [0.5, 0.0025, 1.58113883], rtol=1e-8)
    assert rows["5"][0] == "> past the trained length (the crossing)"
    found = programs(past(file, "--to", "4"))
    assert found["MLX ports"][0] == 0.0025
    assert found["transformers"][0] == 0.01


def test_extrapolate_yarn_against_the_paper(config: Config) -> None:
    block = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    file = config(
        head_dim=128, rope_theta=10000.0, max_position_embeddings=16384, rope_scaling=block
    )
    found = programs(past(file))
    assert found["the paper"][1].startswith("42")
    assert found["the paper"][1].endswith("% at pair 34")
    assert_allclose(found["transformers"][2], 1.13862944, rtol=1e-8)
    longer = {**block, "factor": 40.0}
    file = config(head_dim=64, rope_theta=10000.0, rope_scaling=longer)
    assert programs(past(file))["the paper"][1] == "76.6 % at pair 20"
    assert found["torchtitan"][2] == 1.0


def test_extrapolate_yarn_factor_squared(config: Config) -> None:
    block = {
        "type": "yarn",
        "factor": 128.0,
        "original_max_position_embeddings": 1024,
        "attention_factor": 1.4852030263919618,
    }
    found = programs(past(config(rope_scaling=block)))
    assert_allclose(found["transformers"][2], 1.4852, atol=5e-5)
    assert_allclose(found["authors' code, older vLLM and SGLang"][2], 2.2058, atol=5e-5)


@pytest.mark.parametrize(
    ("mscale", "scale"), [(1.0, 1.87385421), (0.707, 1.58962617)], ids=["v3", "v2"]
)
def test_extrapolate_deepseek_scales_scores(config: Config, mscale: float, scale: float) -> None:
    block = {
        "type": "yarn",
        "factor": 40,
        "original_max_position_embeddings": 4096,
        "mscale": mscale,
        "mscale_all_dim": mscale,
    }
    file = config(
        model_type="deepseek_v3",
        qk_rope_head_dim=64,
        rope_theta=10000,
        max_position_embeddings=163840,
        rope_scaling=block,
    )
    row = programs(past(file))["DeepSeek's own code"]
    assert row[2] == 1.0
    assert f"scores are multiplied by {scale}" in row[3]


@pytest.mark.parametrize(
    ("width", "base", "trained", "pairs"),
    [
        (128, 1e4, 4096, "18 of 64"),
        (128, 5e5, 8192, "29 of 64"),
        (128, 1e6, 32768, "24 of 64"),
        (256, 1e4, 8192, "28 of 128"),
        (64, 1e4, 2048, "11 of 32"),
    ],
)
def test_pairs_without_a_full_turn(
    config: Config, width: int, base: float, trained: int, pairs: str
) -> None:
    file = config(head_dim=width, rope_theta=base, max_position_embeddings=trained)
    assert layers(file)["all"]["pairs without a full turn in training"] == pairs


def test_extrapolate_lengths_by_hand(config: Config) -> None:
    file = config(max_position_embeddings=..., head_dim=64)
    assert refused("extrapolate", "--model", file) == (
        "the config does not say at what length it was trained; give --len"
    )
    given = past(file, "--len", "16", "--to", "64")["settings"]
    assert (given["length"], given["lengths"]) == (16, [16, 17, 32, 64])
    given = past(file, "--len", "16", "--lengths", "20,40")["settings"]
    assert (given["length"], given["lengths"]) == (16, [20, 40])
    long = past(config(max_position_embeddings=10485760, rope_theta=5e5))["settings"]
    assert long["length"] == 10485760
    both = refused("extrapolate", "--model", file, "--to", "8", "--lengths", "8")
    assert both == "--to and --lengths both say which lengths; give one"
    assert refused("extrapolate", "--model", file, "--to", "x") == (
        "--to: expected a whole number, 1 or more; got x"
    )
    assert refused("extrapolate", "--model", file, "--to", "99999999") == (
        "--to: lengths up to 16,777,216 are looked at; got 99999999"
    )


def test_learned_table_ends(config: Config) -> None:
    file = config(model_type="opt", max_position_embeddings=16, rope_theta=..., hidden_size=64)
    assert settings(file) == {
        "name": "learned",
        "rows": 18,
        "offset": 2,
        "padding": "skipped",
        "std": 0.02,
        "seed": 0,
    }
    rows = past(file, "--to", "17")["result"]
    assert_array_equal(rows["cells"][-1], ["PAST THE TABLE: cannot run"])
    roberta = config(
        model_type="roberta", max_position_embeddings=514, rope_theta=..., pad_token_id=1
    )
    assert (settings(roberta)["offset"], settings(roberta)["rows"]) == (2, 514)
    assert layers(roberta)["all"]["supported length"] == 512
