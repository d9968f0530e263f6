"""Widths, heads, layers and lengths of a model: the same few quantities under many names."""

from collections.abc import Sequence

from poscli.models.families import LENGTHS, Own, Rotating
from poscli.models.fields import Fields

WIDTHS = ("hidden_size", "d_model", "n_embd", "n_embed", "embed_dim", "emb_dim", "dim")
HEADS = (
    "num_attention_heads",
    "n_head",
    "n_heads",
    "num_heads",
    "encoder_attention_heads",
    "decoder_num_attention_heads",
    "num_encoder_attention_heads",
    "decoder_attention_heads",
    "attention_heads",
)
LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "encoder_layers",
    "decoder_num_hidden_layers",
    "decoder_layers",
)
_WIDEST = 2**16
HEAD_WIDTHS = ("head_dim", "d_kv", "d_head")


def model_width(fields: Fields) -> int:
    """Return the width of a token's vector; PoscliError where the file does not give it."""
    return _required(fields, "width of the model", WIDTHS)


def heads(fields: Fields) -> int:
    """Return the number of heads; 1, with a warning, where the file does not give it."""
    key = fields.first(HEADS)
    if key is None:
        fields.found.warn(f"{fields.path}{HEADS[0]} is not in the file: 1 head assumed")
        return 1
    return _recorded(fields, "heads", key)


def layer_count(fields: Fields) -> int | None:
    key = fields.first(LAYERS)
    return None if key is None else _recorded(fields, "layers", key)


def length(fields: Fields, keys: Sequence[str] = LENGTHS) -> int | None:
    key = fields.first(keys)
    return None if key is None else _recorded(fields, "positions", key)


def bias_head_width(fields: Fields) -> int:
    """Return the width of a head of a model whose scheme acts on scores."""
    key = fields.first(HEAD_WIDTHS)
    return (
        _shared(fields, "width of a head")
        if key is None
        else _recorded(fields, "width of a head", key)
    )


def rotary_head_width(fields: Fields, family: Rotating, own: Own | None, kind: str) -> int:
    """Return the width that turns, before a part of it is taken.

    A null head_dim falls back to hidden_size / heads; transformers does so for some rope types
    only, which is worth a warning for the others.
    """
    key, default = family.head_key, family.head_dim
    if own is not None and own.head_dim is not None:
        key, default = own.head_key, own.head_dim
    name = "width of the slice that turns" if family.sliced else "width of a head"
    if fields.has(key):
        return _recorded(fields, name, key)
    is_null = key in fields.content
    if default is not None and not is_null:
        fields.trace(name, default, "default of the model type")
        return default
    if is_null:
        fields.use(key)
        if kind in ("dynamic", "yarn", "longrope"):
            fields.found.warn(
                f"{fields.path}{key} is null: hidden_size / heads is used; transformers falls back "
                f"so for other rope types, but not for {kind}"
            )
    return _shared(fields, name)


def _shared(fields: Fields, name: str) -> int:
    width_key, heads_key = fields.first(WIDTHS), fields.first(HEADS)
    if width_key is None or heads_key is None:
        lacking = "head_dim" if width_key is None else HEADS[0]
        raise fields.error(
            lacking,
            "is missing; the width of a head is head_dim, or hidden_size / num_attention_heads",
        )
    width, count = fields.whole(width_key, most=2**24), fields.whole(heads_key, most=2**16)
    if width % count:
        raise fields.error(
            width_key, f"{width} does not divide by {heads_key} {count}, and head_dim is not given"
        )
    if width // count > _WIDEST:
        raise fields.error(
            width_key, f"{width} / {heads_key} {count} is a head wider than {_WIDEST:,}"
        )
    fields.trace(name, width // count, f"{fields.path}{width_key} / {fields.path}{heads_key}")
    return width // count


def _required(fields: Fields, name: str, keys: Sequence[str]) -> int:
    key = fields.first(keys)
    if key is None:
        raise fields.error(keys[0], f"is missing; it is the {name}")
    return _recorded(fields, name, key)


def _recorded(fields: Fields, name: str, key: str) -> int:
    value = fields.whole(key, most=_WIDEST if name.startswith("width of") else 2**24)
    fields.record(name, value, key)
    return value
