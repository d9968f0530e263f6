"""Models with a rope of its own per type of layer."""

from dataclasses import replace
from typing import Any

from poscli.models.families import Family, Full, Own, Rotating, each

_GEMMA3 = Rotating(
    head_dim=256,
    part_keys=(),
    own={
        "full_attention": Own(1e6),
        "sliding_attention": Own(1e4, ("rope_local_base_freq",), scaled=False),
    },
    full=Full(6, ("sliding_window_pattern", "_sliding_window_pattern")),
)
_MODERNBERT = Rotating(
    part_keys=(),
    own={
        "full_attention": Own(160000.0, ("global_rope_theta",)),
        "sliding_attention": Own(1e4, ("local_rope_theta",)),
    },
    full=Full(3, ("global_attn_every_n_layers",), at="first"),
)


def _new(base: float, head_dim: int | None = None, **built_in: Any) -> Own:
    """A layer type that knows rope_parameters only, and nothing beside it."""
    key = "global_head_dim" if head_dim else "head_dim"
    return Own(base, (), scaled=False, built_in=built_in, head_dim=head_dim, head_key=key)


_GEMMA4 = Rotating(
    head_dim=256,
    part_keys=(),
    own={
        "full_attention": _new(
            1e6, head_dim=512, rope_type="proportional", partial_rotary_factor=0.25
        ),
        "sliding_attention": _new(1e4),
    },
    full=Full(6, last_layer=True),
)

PER_LAYER: dict[str, Family] = {
    "gemma3": _GEMMA3,
    "gemma3n": replace(_GEMMA3, full=Full(5)),
    "t5gemma2": _GEMMA3,
    **each("gemma4 gemma4_unified", _GEMMA4),
    **each("modernbert modernbert-decoder", _MODERNBERT),
    "olmo3": Rotating(
        part_keys=(),
        own={
            "full_attention": Own(5e5),
            "sliding_attention": Own(5e5, unread=("rope_theta",), scaled=False),
        },
        full=Full(4),
    ),
    "mimo_v2_flash": Rotating(
        head_dim=192,
        part=0.334,
        part_keys=(),
        own={"full_attention": _new(5e6), "sliding_attention": _new(1e4)},
    ),
    "laguna": Rotating(
        head_dim=128,
        part=1.0,
        part_keys=(),
        own={
            "full_attention": _new(5e5, partial_rotary_factor=0.5),
            "sliding_attention": _new(1e4),
        },
    ),
    "mellum": Rotating(
        head_dim=128,
        part=1.0,
        part_keys=(),
        own={"full_attention": _new(5e5), "sliding_attention": _new(1e4)},
    ),
    "zaya": Rotating(
        head_dim=128,
        part=1.0,
        part_keys=(),
        own={
            "hybrid": _new(5e6, partial_rotary_factor=0.5),
            "hybrid_sliding": _new(1e4, partial_rotary_factor=0.5),
        },
    ),
}
