"""What is odd about the keys of a config: misspelt ones, and all that nothing read."""

from collections.abc import Sequence
from difflib import get_close_matches

from poscli.models.families import LENGTHS
from poscli.models.fields import Fields
from poscli.models.others import ROPE_KEYS
from poscli.models.reading import shown
from poscli.models.sizes import HEAD_WIDTHS, HEADS, LAYERS, WIDTHS

TARGETS = (
    *ROPE_KEYS,
    "max_position_embeddings",
    "original_max_position_embeddings",
    "head_dim",
    "hidden_size",
    "num_attention_heads",
    "num_hidden_layers",
    "qk_rope_head_dim",
    "global_rope_theta",
    "local_rope_theta",
    "rotary_emb_base",
    "layer_types",
    "no_rope_layers",
    "no_rope_layer_interval",
    "sliding_window_pattern",
    "position_embedding_type",
    "text_config",
)
"""The keys that decide most: one that is nearly spelt so is likely to be meant so."""

GROUPS = "num_key_value_heads"
"""The heads of keys and values, each shared by as many heads of queries."""

_LOOK_ALIKES = (
    *LENGTHS,
    *WIDTHS,
    *HEADS,
    *LAYERS,
    *HEAD_WIDTHS,
    "rope_interleave",
    "_sliding_window_pattern",
    "v_head_dim",
    "qk_head_dim",
    "qk_nope_head_dim",
    "global_head_dim",
    GROUPS,
    "swa_num_attention_heads",
    "max_2d_position_embeddings",
    "t2u_max_position_embeddings",
    "position_embedding_size",
    "position_embeddings_type",
    "position_embedding_type",
)


def lint(top: Fields, text: Fields) -> Sequence[str]:
    """Look for misspelt keys, and return every key that was not used.

    A misspelt rope key is an error, since what it was to set took its default; any other is a
    warning.
    """
    _check_groups(text)
    for fields in (top, text):
        for key in fields.content:
            if fields.path + key not in fields.found.used:
                _check_spelling(fields, key)
    if text.path and any(top.has(key) for key in ROPE_KEYS):
        found = ", ".join(key for key in ROPE_KEYS if top.has(key))
        top.found.warn(f"{found} beside {text.path.rstrip('.')} is not used: the inner one counts")
    return top.unused()


def _check_spelling(fields: Fields, key: str) -> None:
    if key in TARGETS or key in _LOOK_ALIKES:
        return
    close = get_close_matches(key, TARGETS, n=1, cutoff=0.86)
    if not close:
        return
    (meant,) = close
    given = meant in fields.content
    if meant in ROPE_KEYS and not given:
        raise fields.error(key, f"is not known; did you mean {meant}?")
    fields.found.warn(
        f"{fields.path}{key} is not known, and not used; did you mean {meant}"
        f"{', which is given too' if given else ''}?"
    )


def _check_groups(fields: Fields) -> None:
    """Refuse key and value heads that do not share the query heads evenly."""
    key, groups = fields.first(HEADS), fields.content.get(GROUPS)
    if key is None or not isinstance(groups, int | float):
        return
    heads = fields.whole(key)
    if groups < 1 or heads % groups:
        raise fields.error(GROUPS, f"must divide {key}, {heads}; got {shown(groups)}")
