"""Every model type known here, and what its class makes of a config: a table, not code.

Defaults, layouts and names of fields are those of the classes in transformers 5.24.0. To add a
model type, add a line.
"""

from poscli.models.families import (
    Choice,
    Family,
    Full,
    Nothing,
    Own,
    Parts,
    Patches,
    Plain,
    Read,
    Rotating,
    Rows,
    Waves,
)
from poscli.schemes import PRESETS


def _each(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


_LLAMA = Rotating()
_PHI3 = Rotating(aliases={"su": "longrope", "yarn": "longrope"})
_GLM = Rotating("adjacent", part=0.5, head_dim=128)
_MLA_BOTH = Choice(
    "rope_interleave",
    True,
    {
        True: Rotating(
            "adjacent-in-half-out", head_key="qk_rope_head_dim", head_dim=64, sliced=True
        ),
        False: Rotating("half", head_key="qk_rope_head_dim", head_dim=64, sliced=True),
    },
)
_LONGCAT = Rotating(
    "adjacent-in-half-out", 1e7, head_key="qk_rope_head_dim", head_dim=64, sliced=True
)
_GEMMA3 = Rotating(
    head_dim=256,
    own={
        "full_attention": Own(1e6),
        "sliding_attention": Own(1e4, ("rope_local_base_freq",), scaled=False),
    },
    full=Full(6, ("sliding_window_pattern", "_sliding_window_pattern")),
)
_MODERNBERT = Rotating(
    own={
        "full_attention": Own(160000.0, ("global_rope_theta",)),
        "sliding_attention": Own(1e4, ("local_rope_theta",)),
    },
    full=Full(3, ("global_attn_every_n_layers",), at="first"),
)
_QWEN2_VL = Rotating(base=1e6, aliases={"mrope": "default"}, assumed_sections=(16, 24, 24))
_QWEN3_VL = Rotating(
    base=5e5, head_dim=128, assumed_sections=(24, 20, 20), sections_layout="interleaved"
)
_QWEN3_5 = Rotating(
    head_dim=256, part=0.25, assumed_sections=(11, 11, 10), sections_layout="interleaved"
)
_GLM4V = Rotating("adjacent", part=0.5, assumed_sections=(8, 12, 12))
_LLAMA4 = Rotating(
    "adjacent",
    5e5,
    head_dim=128,
    without="no_rope_layers",
    note="layers without rope multiply queries by 1 + attn_scale ln(1 + floor((p + 1) / "
    "floor_scale)) where attn_temperature_tuning is on",
)
_MINISTRAL3 = {
    "rope_type": "yarn",
    "factor": 16.0,
    "original_max_position_embeddings": 16384,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
_MISTRAL4 = {
    "rope_type": "yarn",
    "factor": 128.0,
    "original_max_position_embeddings": 8192,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
_GPT_OSS = {
    "rope_type": "yarn",
    "factor": 32.0,
    "original_max_position_embeddings": 4096,
    "truncate": False,
}
_APERTUS = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
_ENDS = "the table of turns has as many rows as there are positions: past them nothing runs"
_HALF_TURNS = Rotating(part=0.5)
_QUARTER_TURNS = Rotating(part=0.25)

_ROTATING: dict[str, Family] = {
    **_each(
        "llama mistral mixtral qwen2 qwen2_moe qwen3_moe starcoder2 olmo olmo2 olmoe arcee "
        "granite granitemoe ministral eurobert",
        _LLAMA,
    ),
    **_each("hunyuan_v1_dense hunyuan_v1_moe", Rotating(reads_alpha=True)),
    "mixtral": Rotating(base=1e6),
    "qwen3": Rotating(head_dim=128),
    "gemma": Rotating(head_dim=256),
    "gemma2": Rotating(head_dim=256),
    "seed_oss": Rotating(head_dim=128),
    "internlm3": Rotating(head_dim=128),
    "bitnet": Rotating(base=5e5),
    "apertus": Rotating(base=1.2e7, built_in=_APERTUS),
    "lfm2": Rotating(base=1e6),
    "minimax": Rotating(base=1e6),
    "csm": Rotating(base=5e5),
    "mllama": Rotating(base=5e5),
    "emu3": Rotating(base=1e6),
    "phimoe": Rotating(base=1e6),
    "gpt_oss": Rotating(base=1.5e5, head_dim=64, built_in=_GPT_OSS),
    "ministral3": Rotating(
        base=1e6,
        head_dim=128,
        built_in=_MINISTRAL3,
        note="queries are multiplied by 1 + llama_4_scaling_beta ln(1 + floor(p / L))",
    ),
    "mistral4": Rotating(
        "adjacent-in-half-out",
        head_key="qk_rope_head_dim",
        head_dim=64,
        sliced=True,
        # Its partial_rotary_factor is the share of the slice in a head, not of what turns in it.
        part_is_fixed=True,
        built_in=_MISTRAL4,
        note="queries are multiplied by 1 + llama_4_scaling_beta ln(1 + floor(p / L))",
    ),
    "gpt_neox": Rotating(
        base_keys=("rotary_emb_base",),
        part=0.25,
        part_keys=("partial_rotary_factor", "rotary_pct"),
    ),
    "gpt_neox_japanese": Rotating(
        base_keys=("rope_theta", "rotary_emb_base"),
        part_keys=("partial_rotary_factor", "rotary_pct"),
    ),
    "gptj": Rotating("adjacent", base_keys=(), rotary_dim=64, plain_only=True, note=_ENDS),
    "codegen": Rotating("adjacent", base_keys=(), rotary_dim=64, plain_only=True, note=_ENDS),
    "phi": _HALF_TURNS,
    "persimmon": _HALF_TURNS,
    "nemotron": _HALF_TURNS,
    "stablelm": _QUARTER_TURNS,
    "recurrent_gemma": Rotating(part=0.5, head_dim=256),
    "bamba": Rotating(part=0.5, part_is_fixed=True),
    "glm4_moe": _HALF_TURNS,
    "qwen3_next": Rotating(part=0.25, head_dim=256),
    "minimax_m2": Rotating(base=5e6, head_dim=128, rotary_dim=0),
    "glm": _GLM,
    "glm4": _GLM,
    "moonshine": Rotating("adjacent", part=0.9),
    "cohere": Rotating("adjacent", 5e5),
    "cohere2": Rotating(
        "adjacent", without="full_attention", full=Full(4, ("sliding_window_pattern",))
    ),
    "helium": Rotating("adjacent", 1e5, head_dim=128),
    "ernie4_5": Rotating("adjacent", 5e5, head_dim=128),
    "ernie4_5_moe": Rotating("adjacent", 5e5),
    "blt": Rotating("adjacent", 5e5),
    "llama4": _LLAMA4,
    "deepseek_v2": Rotating("adjacent", head_key="qk_rope_head_dim", head_dim=64, sliced=True),
    **_each("deepseek_v3 deepseek_v32 glm4_moe_lite youtu glm_moe_dsa axk1", _MLA_BOTH),
    "longcat_flash": _LONGCAT,
    "phi3": _PHI3,
    "phi4_multimodal": _PHI3,
    "gemma3": _GEMMA3,
    "gemma3n": Rotating(head_dim=256, own=_GEMMA3.own, full=Full(5)),
    "t5gemma2": _GEMMA3,
    "gemma4": Rotating(
        head_dim=256,
        own={
            "full_attention": Own(
                1e6,
                (),
                built_in={"rope_type": "proportional", "partial_rotary_factor": 0.25},
                head_dim=512,
                head_key="global_head_dim",
            ),
            "sliding_attention": Own(1e4, ()),
        },
        full=Full(6, last_layer=True),
    ),
    "modernbert": _MODERNBERT,
    "modernbert-decoder": _MODERNBERT,
    "olmo3": Rotating(
        own={"full_attention": Own(5e5), "sliding_attention": Own(5e5, scaled=False)},
        full=Full(4),
    ),
    "mimo_v2_flash": Rotating(
        head_dim=192,
        part=0.334,
        own={"full_attention": Own(5e6, ()), "sliding_attention": Own(1e4, ())},
    ),
    "smollm3": Rotating(base=2e6, without="no_rope_layers"),
    "exaone4": Rotating(
        without="full_attention where a sliding_window is set",
        full=Full(4, ("sliding_window_pattern",), last_layer=True),
    ),
    "nanochat": Rotating(direction="clockwise"),
    "dbrx": Rotating(
        note="attn_config.rope_theta is left aside: the rotary module of transformers 5.24 reads "
        "the top level only",
    ),
    "roformer": Rotating("adjacent", base_keys=(), plain_only=True, note=_ENDS),
    "nomic_bert": Rotating(base=1000.0),
    "jina_embeddings_v3": Rotating(base=20000.0),
    "gte": Rotating(base=160000.0),
    "qwen2_vl": _QWEN2_VL,
    "qwen2_5_vl": _QWEN2_VL,
    "qwen3_vl": _QWEN3_VL,
    "qwen3_vl_moe": _QWEN3_VL,
    "qwen3_5": _QWEN3_5,
    "glm4v": _GLM4V,
    "falcon": Choice("alibi", False, {False: _LLAMA, True: Plain("alibi-falcon")}),
    "granitemoehybrid": Choice("position_embedding_type", None, {"rope": _LLAMA, None: Nothing()}),
    "zamba2": Choice(
        "use_mem_rope",
        False,
        {
            True: Rotating(head_key="attention_head_dim"),
            False: Nothing(
                "transformers builds a table of turns all the same, and uses it only "
                "where use_mem_rope is true"
            ),
        },
    ),
}

_BERT = Choice(
    "position_embedding_type",
    "absolute",
    {
        "absolute": Rows(rows=512),
        "relative_key": Plain(
            "shaw",
            read={
                "left": Read(("max_position_embeddings",), 512, -1),
                "right": Read(("max_position_embeddings",), 512, -1),
            },
        ),
    },
)
_ROBERTA = Rows(offset=None, skips_padding=True, rows=512)
_BART = Rows(offset=2, added=True, rows=1024)
_FROM_BART = _each("bart mbart mvp plbart", _BART)
_FAIRSEQ = Waves(PRESETS["fairseq"], behind_padding=True)
_SPEECH = Parts(
    {
        "encoder": Waves(PRESETS["fairseq"], True, ("max_source_positions",)),
        "decoder": Waves(PRESETS["fairseq"], True, ("max_target_positions",)),
    }
)
_SINES_OR_ROWS: dict[bool, Family] = {True: Waves(PRESETS["xlm"]), False: Rows(rows=512)}

_ADDITIVE: dict[str, Family] = {
    **_each("gpt2 gpt_bigcode imagegpt decision_transformer", Rows(rows=1024)),
    "openai-gpt": Rows(rows=512),
    "gpt_neo": Rows(rows=2048),
    "ctrl": Waves(PRESETS["marian"]),
    "opt": Rows(offset=2, skips_padding=True, added=True, rows=2048),
    "biogpt": Rows(offset=2, skips_padding=True, added=True, rows=1024),
    **_FROM_BART,
    "trocr": Choice(
        "use_learned_position_embeddings",
        True,
        {True: Rows(offset=2, added=True, rows=512), False: _FAIRSEQ},
    ),
    **_each("bigbird_pegasus blenderbot blenderbot-small", Rows(rows=1024)),
    "led": Parts(
        {
            "encoder": Rows(keys=("max_encoder_position_embeddings",), rows=16384),
            "decoder": Rows(keys=("max_decoder_position_embeddings",), rows=1024),
        }
    ),
    **_each("bert albert electra convbert layoutlm", _BERT),
    "big_bird": Rows(rows=4096),
    **_each("roberta xlm-roberta camembert longformer xlm-roberta-xl", _ROBERTA),
    "esm": Choice(
        "position_embedding_type",
        "absolute",
        {"absolute": Rows(offset=None, skips_padding=True, rows=1026), "rotary": Rotating()},
    ),
    "marian": Waves(PRESETS["marian"]),
    "pegasus": Waves(PRESETS["pegasus"]),
    "pegasus_x": Waves({**PRESETS["tensor2tensor"]}),
    "informer": Waves(PRESETS["informer"], keys=("context_length",)),
    **_each("fsmt m2m_100 nllb-moe xglm kosmos-2", _FAIRSEQ),
    "speech_to_text": _SPEECH,
    "seamless_m4t": _FAIRSEQ,
    "musicgen": Waves(PRESETS["musicgen"]),
    "musicgen_melody": Waves(PRESETS["musicgen"]),
    "whisper": Parts(
        {
            "encoder": Waves(PRESETS["whisper"], keys=("max_source_positions",)),
            "decoder": Rows(keys=("max_target_positions",), rows=448),
        }
    ),
    "speecht5": Parts(
        {
            "speech encoder": Waves(PRESETS["fairseq"], True, ("max_speech_positions",)),
            "text encoder and speech decoder": Waves(
                {"name": "scaled-sinusoidal"}, keys=("max_text_positions",)
            ),
            "encoder scores": Plain(
                "shaw",
                read={
                    "left": Read(("encoder_max_relative_position",), 160, -1),
                    "right": Read(("encoder_max_relative_position",), 160),
                },
            ),
        }
    ),
    "xlm": Choice("sinusoidal_embeddings", False, _SINES_OR_ROWS),
    "flaubert": Choice("sinusoidal_embeddings", False, _SINES_OR_ROWS),
    "distilbert": Choice("sinusoidal_pos_embds", False, _SINES_OR_ROWS),
    "vit": Patches(),
    "deit": Patches(2),
    "clip_vision_model": Patches(),
    "clip_text_model": Rows(rows=77),
    "siglip_vision_model": Patches(0),
    "siglip_text_model": Rows(rows=64),
    "vit_mae": Plain("sincos-2d", {"blocks": "columns-last"}, patches=("columns",)),
    **_each(
        "detr conditional_detr table-transformer",
        Choice(
            "position_embedding_type",
            "sine",
            {"sine": Plain("detr-sine"), "learned": Plain("detr-learned")},
        ),
    ),
    "deformable_detr": Choice(
        "position_embedding_type",
        "sine",
        {"sine": Plain("detr-sine", {"pixel": "centre"}), "learned": Plain("detr-learned")},
    ),
}

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

_BIAS: dict[str, Family] = {
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
    **_each("t5 mt5 umt5 longt5 switch_transformers pop2piano udop", _T5),
    "pix2struct_text_model": Plain("t5", {"bidirectional": False}, _BUCKETS),
    "mpnet": Parts(
        {
            "scores": Plain("t5", {"bidirectional": True}, {"buckets": _BUCKETS["buckets"]}),
            "embeddings": _ROBERTA,
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

_AXIAL: dict[str, Family] = {
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

_NO_POSITIONS: dict[str, Family] = _each(
    "jamba nemotron_h kimi_linear zamba mamba mamba2 rwkv", Nothing()
)

TYPES: dict[str, Family] = {**_ROTATING, **_ADDITIVE, **_BIAS, **_AXIAL, **_NO_POSITIONS}

ALIASES = {
    "gemma3_text": "gemma3",
    "gemma3n_text": "gemma3n",
    "gemma4_text": "gemma4",
    "t5gemma2_text": "t5gemma2",
    "llama4_text": "llama4",
    "mllama_text_model": "mllama",
    "emu3_text_model": "emu3",
    "qwen2_vl_text": "qwen2_vl",
    "qwen2_5_vl_text": "qwen2_5_vl",
    "qwen3_vl_text": "qwen3_vl",
    "qwen3_vl_moe_text": "qwen3_vl_moe",
    "qwen3_5_text": "qwen3_5",
    "glm4v_text": "glm4v",
    "kosmos_2_text_model": "kosmos-2",
    "musicgen_decoder": "musicgen",
    "pix2struct_text": "pix2struct_text_model",
    "clip": "clip_text_model",
    "siglip": "siglip_text_model",
}
"""Other names, as of the text part of a multimodal model."""
