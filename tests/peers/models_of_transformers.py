"""What transformers makes of the content of a config.json: tables of turns, and turned vectors."""

import copy
import importlib
import warnings
from functools import cache
from typing import Any

import numpy as np

Table = tuple[np.ndarray, float]


@cache
def known() -> Any:
    """Return the table of config classes by model type."""
    warnings.filterwarnings("ignore")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.utils import logging

    logging.set_verbosity_error()
    return CONFIG_MAPPING


def modelling(config: Any) -> Any:
    """Return the module of the classes that go with a config."""
    return importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))


def rotary_class(config: Any) -> Any:
    """Return the class that makes the table of turns of a config, None where there is none."""
    module = modelling(config)
    stem = type(config).__name__.removesuffix("Config")
    names = [
        name
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and name.endswith("RotaryEmbedding")
        and not any(part in name for part in ("Vision", "Audio", "DiT"))
    ]
    for name in (f"{stem}RotaryEmbedding", f"{stem.removesuffix('Text')}RotaryEmbedding"):
        if name in names:
            return getattr(module, name)
    return getattr(module, names[0]) if names else None


def built(content: dict[str, Any]) -> Any:
    """Return the config of the text that a file's content makes."""
    content = copy.deepcopy(content)
    config = known()[content.pop("model_type")](**content)
    config = getattr(config, "thinker_config", config)
    if "text_config" in content or rotary_class(config) is None:
        config = config.get_text_config()
    return config


def tables(config: Any) -> dict[str, Table]:
    """Return the inverse frequencies and attention factor per layer type; "all" is every one."""
    table = rotary_class(config)(config)
    if hasattr(table, "inv_freq"):
        return {"all": (table.inv_freq.float().numpy(), table.attention_scaling)}
    return {
        name: (
            getattr(table, f"{name}_inv_freq").float().numpy(),
            getattr(table, f"{name}_attention_scaling"),
        )
        for name in table.rope_type
    }


def turned(config: Any, layer_type: str, x: np.ndarray, positions: list[int]) -> np.ndarray | None:
    """Return vectors (n, width) turned by the model's own function; None where it has another."""
    import torch

    module, table = modelling(config), rotary_class(config)(config)
    names = ["apply_rotary_pos_emb"]
    if getattr(config, "rope_interleave", hasattr(module, "apply_rotary_pos_emb_interleave")):
        names.insert(0, "apply_rotary_pos_emb_interleave")
    apply = next((getattr(module, name) for name in names if hasattr(module, name)), None)
    if apply is None or not hasattr(table, "forward"):
        return None
    q = torch.tensor(x, dtype=torch.float32)[None, None]
    args = [q, torch.tensor([positions])]
    cos, sin = table(*args) if layer_type == "all" else table(*args, layer_type)
    width = 2 * len(tables(config)[layer_type][0])
    if "k" in apply.__code__.co_varnames[:2]:
        out = apply(q[..., :width], q[..., :width], cos, sin)[0]
    else:
        out = apply(q[..., :width], cos, sin)
    return np.concatenate([out[0, 0].numpy(), x[:, width:]], axis=1)
