"""Models that turn queries and keys (RoPE), the same way in every layer that turns.

A class that turns whole heads has no part, whatever its file says; a part is the default of a class
that reads one. built_in is what a class has where the file gives no block at all.
"""

from dataclasses import replace

from poscli.models.families import Choice, Family, Full, Nothing, Plain, Rotating, each

_LLAMA = Rotating()
_YARN_TO_LONGROPE = {"su": "longrope", "yarn": "longrope"}
_PHI3 = Rotating(
    part=1.0,
    original=4096,
    rope_types=("default", "longrope"),
    aliases=_YARN_TO_LONGROPE,
)
_GLM = Rotating("adjacent", part=0.5, head_dim=128)
_MLA = Rotating("adjacent-in-half-out", head_key="qk_rope_head_dim", head_dim=64, sliced=True)
_MLA_HALF = Rotating(head_key="qk_rope_head_dim", head_dim=64, sliced=True)
_MLA_BOTH = Choice("rope_interleave", True, {True: _MLA, False: _MLA_HALF})
_QWEN2_VL = Rotating(base=1e6, aliases={"mrope": "default"}, sections=(16, 24, 24))
_QWEN3_VL = Rotating(base=5e5, head_dim=128, sections=(24, 20, 20), three_positions="interleaved")
_QWEN3_5 = Rotating(head_dim=256, part=0.25, sections=(11, 11, 10), three_positions="interleaved")
_GLM4V = Rotating("adjacent", part=1.0, sections=(8, 12, 12))
_LLAMA4 = Rotating(
    "adjacent",
    5e5,
    head_dim=128,
    without="no_rope_layers",
    note="layers without rope multiply queries by 1 + attn_scale ln(1 + floor((p + 1) / "
    "floor_scale)) where attn_temperature_tuning is on",
)
_EXAONE = Rotating(
    without="full_attention where a sliding_window is set",
    full=Full(4, ("sliding_window_pattern",), last_layer=True),
)
_QUERIES_GROW = "queries are multiplied by 1 + llama_4_scaling_beta ln(1 + floor(p / L))"
_MINISTRAL3 = {
    "rope_type": "yarn",
    "rope_theta": 1e6,
    "factor": 16.0,
    "original_max_position_embeddings": 16384,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
_MISTRAL4 = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
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
    "rope_theta": 1.2e7,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
_CWM = {**_APERTUS, "rope_theta": 1e6, "factor": 16.0}
_ENDS = "the table of turns has as many rows as there are positions: past them nothing runs"

ROTATING: dict[str, Family] = {
    **each(
        "llama mistral qwen2 qwen2_moe qwen3_moe starcoder2 olmo olmo2 olmo_hybrid olmoe arcee "
        "granite granitemoe granitemoeshared ministral eurobert aria_text chameleon diffllama "
        "doge dots1 falcon_h1 granite_docling_text granite4_vision_text hyperclovax idefics jais2 "
        "moshi kyutai_speech_to_text deepseek_ocr2_text unlimited_ocr_text voxtral_realtime_text",
        _LLAMA,
    ),
    **each("gemma gemma2 vaultgemma t5_gemma_module", Rotating(head_dim=256)),
    **each(
        "qwen3 seed_oss internlm3 iquestcoder hrm_text qwen3_omni_moe_talker_code_predictor",
        Rotating(head_dim=128),
    ),
    **each("bitnet csm mllama evolla exaone flex_olmo", Rotating(base=5e5)),
    **each("mixtral lfm2 lfm2_moe minimax emu3 phimoe", Rotating(base=1e6)),
    **each("hunyuan_v1_dense hunyuan_v1_moe", Rotating(reads_alpha=True)),
    "hy_v3": Rotating(base=11158840.0, head_dim=128),
    "jetmoe": Rotating(head_key="kv_channels", head_dim=128),
    **each("apertus apertus1p5_text", Rotating(base=1.2e7, built_in=_APERTUS)),
    "cwm": Rotating(base=1e6, head_dim=128, built_in=_CWM),
    "gpt_oss": Rotating(base=1.5e5, head_dim=64, built_in=_GPT_OSS),
    "ministral3": Rotating(head_dim=128, built_in=_MINISTRAL3, note=_QUERIES_GROW),
    "mistral4": Rotating(
        "adjacent-in-half-out",
        head_key="qk_rope_head_dim",
        head_dim=64,
        sliced=True,
        sliced_part=True,
        built_in=_MISTRAL4,
        note=_QUERIES_GROW,
    ),
    "gpt_neox": Rotating(base_keys=("rotary_emb_base",), part=0.25, part_keys=("rotary_pct",)),
    "gpt_neox_japanese": Rotating(
        base_keys=("rotary_emb_base",), part=1.0, part_keys=("rotary_pct",)
    ),
    **each(
        "gptj codegen",
        Rotating("adjacent", base_keys=(), rotary_dim=64, plain_only=True, note=_ENDS),
    ),
    **each("phi persimmon nemotron glm4_moe", Rotating(part=0.5)),
    "stablelm": Rotating(part=0.25),
    "recurrent_gemma": Rotating(part=0.5, head_dim=256, rope_types=("default",)),
    "bamba": Rotating(part=0.5, part_keys=()),
    "qwen3_next": Rotating(part=0.25, head_dim=256),
    "minimax_m2": Rotating(base=5e6, head_dim=128, part=1.0, rotary_dim=0),
    "solar_open": Rotating(base=1e6, head_dim=128, part=1.0),
    "sarvam_moe": Rotating(base=8e6, head_dim=64, part=1.0),
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
    **each("deepseek_v3 deepseek_v32 youtu glm_moe_dsa axk1", _MLA_BOTH),
    "sarvam_mla": Choice(
        "rope_interleave",
        True,
        {
            True: replace(_MLA, aliases={"deepseek_yarn": "yarn"}),
            False: replace(_MLA_HALF, aliases={"deepseek_yarn": "yarn"}),
        },
    ),
    "glm4_moe_lite": Choice(
        "rope_interleave",
        True,
        {True: replace(_MLA, part=1.0), False: replace(_MLA_HALF, part=1.0)},
    ),
    "longcat_flash": replace(_MLA, base=1e7),
    "axk2": replace(_MLA, head_dim=32),
    "hy_v4": _MLA_HALF,
    "minicpm3": replace(_MLA_HALF, head_dim=32),
    "phi3": _PHI3,
    "phi4_multimodal": _PHI3,
    "smollm3": Rotating(base=2e6, without="no_rope_layers"),
    "exaone4": _EXAONE,
    "exaone_moe": _EXAONE,
    "afmoe": Rotating(
        head_dim=128, without="full_attention", full=Full(4, ("global_attn_every_n_layers",))
    ),
    "nanochat": Rotating(direction="clockwise"),
    "dbrx": Rotating(
        base_keys=("attn_config.rope_theta", "rope_theta"), unread=("attn_config.rope_theta",)
    ),
    "roformer": Rotating("adjacent", base_keys=(), plain_only=True, note=_ENDS),
    "nomic_bert": Rotating(base=1000.0),
    "jina_embeddings_v3": Rotating(base=20000.0),
    "gte": Rotating(base=160000.0),
    "qwen2_vl": _QWEN2_VL,
    "qwen2_5_vl": _QWEN2_VL,
    "qwen2_5_omni": Rotating(base=1e6, sections=(16, 24, 24)),
    "qwen2_5_omni_talker": Rotating(base=1e6, head_dim=128, sections=(16, 24, 24)),
    "paddleocr_vl": Rotating(base=5e5, head_dim=128, sections=(16, 24, 24)),
    "qwen3_vl": _QWEN3_VL,
    "qwen3_vl_moe": replace(_QWEN3_VL, head_dim=None),
    "qwen3_omni_moe": replace(_QWEN3_VL, base=1e6, head_dim=None),
    "qwen3_omni_moe_talker_text": Rotating(three_positions="interleaved"),
    "qwen3_5": _QWEN3_5,
    "qwen3_5_moe": _QWEN3_5,
    "glm4v": _GLM4V,
    "glm_ocr": _GLM4V,
    "glm4v_moe": Rotating(part=0.5, sections=(8, 12, 12)),
    "glm_image": Rotating(part=1.0, sections=(8, 12, 12)),
    "ernie4_5_vl_moe": Rotating(
        "adjacent", 5e5, rope_types=("default",), sections=(22, 22, 20), three_positions="text"
    ),
    "hunyuan_vl": Rotating(aliases={"xdrope": "dynamic"}, reads_alpha=True, three_positions="text"),
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
