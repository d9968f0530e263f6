"""Model config.json files: those of public models with keys changed, added and taken away."""

import json
from pathlib import Path
from typing import Any

import hostile
import promises
from config_files import damaged
from conftest import GOLDEN
from hypothesis import strategies as st

BASES: list[dict[str, Any]] = [
    case["config"] for case in json.loads((GOLDEN / "model_configs.json").read_text())
]
_ROPE = {"rope_scaling", "rope_parameters"}


def _keys(config: dict[str, Any]) -> set[str]:
    inner = [value for value in config.values() if isinstance(value, dict)]
    return set(config) | {key for value in inner for key in _keys(value)}


KEYS = sorted(set().union(*map(_keys, BASES)) | _ROPE | {"rope_theta", "no_rope_layers"})
_TYPES = sorted({str(config.get("model_type")) for config in BASES})
_BLOCK_TYPES = ["default", "linear", "dynamic", "yarn", "llama3", "longrope", "su", "mrope", "x"]

_numbers = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 64, 128, 4096, 131072, 10000.0, 0.25, 0.5, 1.0])
_blocks = st.fixed_dictionaries(
    {},
    optional={
        "rope_type": st.sampled_from(_BLOCK_TYPES),
        "type": st.sampled_from(_BLOCK_TYPES),
        **dict.fromkeys(
            [
                *("factor", "original_max_position_embeddings", "low_freq_factor", "rope_theta"),
                *("high_freq_factor", "attention_factor", "beta_fast", "beta_slow", "mscale"),
            ],
            _numbers,
        ),
        "mrope_section": st.lists(_numbers, max_size=3),
        "short_factor": st.lists(_numbers, max_size=4),
        "long_factor": st.lists(_numbers, max_size=4),
        "truncate": st.booleans(),
    },
)
_values = (
    _numbers
    | _blocks
    | hostile.values
    | st.sampled_from([*_TYPES, *_BLOCK_TYPES, "absolute", "rotary", "full_attention"])
    | st.lists(_numbers, max_size=5)
)


@st.composite
def _changed(draw: st.DrawFn) -> dict[str, Any]:
    config = dict(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(0, 4))):
        target = config
        inner = [key for key in sorted(config) if isinstance(config[key], dict)]
        if inner and draw(st.integers(0, 2)) == 0:
            key = draw(st.sampled_from(inner))
            target = config[key] = dict(config[key])
        match draw(st.sampled_from(["set", "set", "add", "drop", "rope", "misspell"])):
            case "set" if target:
                target[draw(st.sampled_from(sorted(target)))] = draw(_values)
            case "drop" if target:
                del target[draw(st.sampled_from(sorted(target)))]
            case "misspell" if target:
                key = draw(st.sampled_from(sorted(target)))
                target[key[:-1] + draw(st.sampled_from(["", "s", "x", "[b]"]))] = target.pop(key)
            case "rope":
                target[draw(st.sampled_from(sorted(_ROPE)))] = draw(_blocks)
            case _:
                target[draw(st.sampled_from(KEYS) | hostile.texts)] = draw(_values)
    return config


_COMMANDS = (
    [["schemes", "--model", "config.json"]] * 16
    + [["schemes", "--model", "config.json", "--format", "json"]] * 16
    + [["encode", "--model", "config.json", "--len", "2", "--format", "json"]] * 2
    + [["encode", "--model", "config.json", "--scheme", "rope-yarn", "--len", "2"]]
    + [["extrapolate", "--model", "config.json", "--format", "json"]]
    + [["extrapolate", "--model", "config.json", "--to", "9000"]]
    + [["compare", "--model", "config.json", "rope", "--format", "json"]]
    + [["permute-test", "a b c", "--model", "config.json", "--format", "json"]]
)
_LAYERS = ["0", "1", "3", "99", "-1", "full_attention", "sliding_attention", "text", "x", "", "1.5"]


@st.composite
def _inputs(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    text = st.builds(json.dumps, _changed())
    data = draw(st.one_of(*[text.map(str.encode)] * 4, damaged(text)))
    args = list(draw(st.sampled_from(_COMMANDS)))
    if draw(st.integers(0, 5)) == 0:
        args += ["--layer", draw(st.sampled_from(_LAYERS) | hostile.texts)]
    return data, args


INPUTS = _inputs()


def hold(given: tuple[bytes, list[str]], folder: Path) -> str:
    """Write the file and run the command on it."""
    data, args = given
    path = folder / "config.json"
    path.write_bytes(data)
    try:
        return promises.hold(args, folder)
    except promises.BrokenPromiseError as broken:
        raise promises.BrokenPromiseError(f"{broken}, and a file of {data!r}") from broken
    finally:
        path.unlink()
