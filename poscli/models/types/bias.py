"""Models that act on scores, that turn by rows and columns, or that have no positions at all."""

from poscli.models.families import (
    Choice,
    Family,
    Nothing,
    Parts,
    Patches,
    Plain,
    Read,
    Rotating,
    Rows,
    each,
)
from poscli.models.types.additive import ROBERTA
from poscli.schemes import PRESETS

_BUCKETS = {
    "buckets": Read(("relative_attention_num_buckets",), 32),
    "max_distance": Read(("relative_attention_max_distance",), 128),
}
_T5 = Parts(
    {
        "encoder": Plain("t5", {"bidirectional": True}, _BUCKETS),
        "decoder": Plain("t5", {"bidirectional": False}, _BUCKETS),
    }
)
_XL = Plain("transformer-xl", read={"clamp": Read(("clamp_len",), None)})
_DEBERTA = Choice(
    "relative_attention",
    False,
    {
        True: Plain(
            "deberta",
            read={
                "buckets": Read(("position_buckets",), None),
                "max_distance": Read(("max_relative_positions", "max_position_embeddings"), 512),
            },
        ),
        False: Choice("position_biased_input", True, {True: Rows(rows=512), False: Nothing()}),
    },
)

BIAS: dict[str, Family] = {
    "bloom": Plain("alibi", {"form": "key-only"}),
    "mpt": Choice(
        "attn_config.alibi",
        True,
        {
            True: Plain(
                "alibi",
                {"form": "last-key"},
                {"bias_max": Read(("attn_config.alibi_bias_max",), 8)},
            ),
            False: Nothing(),
        },
    ),
    **each("t5 mt5 umt5 longt5 switch_transformers pop2piano udop", _T5),
    "pix2struct_text_model": Plain("t5", {"bidirectional": False}, _BUCKETS),
    "mpnet": Parts(
        {
            "scores": Plain("t5", {"bidirectional": True}, {"buckets": _BUCKETS["buckets"]}),
            "embeddings": ROBERTA,
        }
    ),
    "prophetnet": Parts(
        {
            "embeddings": Rows(offset=None, skips_padding=True, rows=512, pad=0),
            "decoder scores": Plain(
                "t5",
                {"bidirectional": False},
                {
                    "buckets": Read(("num_buckets",), 32),
                    "max_distance": Read(("relative_max_distance",), 128),
                },
            ),
        }
    ),
    "xlnet": _XL,
    "funnel": Plain("transformer-xl"),
    "deberta": _DEBERTA,
    "deberta-v2": _DEBERTA,
    "beit": Choice(
        "use_relative_position_bias",
        False,
        {
            True: Plain("window", patches=("rows", "columns")),
            False: Choice(
                "use_absolute_position_embeddings", False, {True: Patches(), False: Nothing()}
            ),
        },
    ),
    "swin": Plain(
        "window",
        read={"rows": Read(("window_size",), 7), "columns": Read(("window_size",), 7)},
    ),
    "wav2vec2-bert": Choice(
        "position_embeddings_type",
        "relative_key",
        {
            "relative_key": Plain(
                "shaw",
                read={
                    "left": Read(("left_max_position_embeddings",), 64),
                    "right": Read(("right_max_position_embeddings",), 8),
                },
            ),
            "relative": Plain("transformer-xl"),
            "rotary": Rotating(base_keys=("rotary_embedding_base",), plain_only=True),
            None: Nothing(),
        },
    ),
    "wav2vec2-conformer": Choice(
        "position_embeddings_type",
        "relative",
        {
            "relative": Plain("transformer-xl"),
            "rotary": Rotating(base_keys=("rotary_embedding_base",), plain_only=True),
            None: Nothing(),
        },
    ),
}

AXIAL: dict[str, Family] = {
    "pixtral": Plain(
        "rope-axial", PRESETS["pixtral"], {"base": Read(("rope_theta",), 1e4)}, ("columns",)
    ),
    "llama4_vision_model": Plain(
        "rope-axial", PRESETS["llama4-vision"], {"base": Read(("rope_theta",), 1e4)}, ("columns",)
    ),
    "gemma4_vision": Plain(
        "rope-axial", PRESETS["gemma4-vision"], {"base": Read(("rope_theta",), 100.0)}
    ),
    "dinov3_vit": Plain(
        "rope-axial-centred",
        PRESETS["dinov3"],
        {"base": Read(("rope_theta",), 100.0)},
        ("rows", "columns"),
    ),
}

NO_POSITIONS: dict[str, Family] = each(
    "jamba nemotron_h kimi_linear zamba mamba mamba2 falcon_mamba rwkv xlstm", Nothing()
)
