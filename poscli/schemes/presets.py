"""What libraries and models do, as values of the schemes' settings: a table, not code.

A preset names a scheme and the settings that differ from its defaults. To add one, add a line.
"""

from typing import Any

_LOG_TIMESCALE = {"name": "sinusoidal", "ladder": "log-timescale"}
_TENSOR2TENSOR = {**_LOG_TIMESCALE, "layout": "concatenated", "odd": "zero-column"}
_FAIRSEQ = {**_TENSOR2TENSOR, "origin": 2, "zero_padding": True}
_MARIAN = {"name": "sinusoidal", "layout": "concatenated"}
_DETR = {"name": "sincos-2d", "layout": "interleaved", "blocks": "columns-last", "origin": 1}

_ADDITIVE: dict[str, dict[str, Any]] = {
    "xlm": {"name": "sinusoidal"},
    "flaubert": {"name": "sinusoidal"},
    "distilbert": {"name": "sinusoidal"},
    "videomae": {"name": "sinusoidal"},
    "keras-hub-sine": {"name": "sinusoidal"},
    "labml": {"name": "sinusoidal", "odd": "refuse"},
    "positional-encodings": {"name": "sinusoidal", "odd": "cut"},
    "marian": _MARIAN,
    "pegasus": _MARIAN,
    "informer": _MARIAN,
    "roformer-table": _MARIAN,
    "tensor2tensor": _TENSOR2TENSOR,
    "fairseq": _FAIRSEQ,
    "m2m100": _FAIRSEQ,
    "xglm": _FAIRSEQ,
    "speech2text": _FAIRSEQ,
    "trocr-sinusoidal": _FAIRSEQ,
    "whisper": {**_LOG_TIMESCALE, "layout": "concatenated", "odd": "refuse"},
    "musicgen": {**_LOG_TIMESCALE, "layout": "cos-first", "odd": "zero-column"},
    "x-transformers-scaled": {"name": "scaled-sinusoidal"},
    "gpt2": {"name": "learned", "rows": 1024, "std": 0.02},
    "gpt2-openai": {"name": "learned", "rows": 1024, "std": 0.01},
    "bert": {"name": "learned", "rows": 512, "std": 0.02},
    "roberta": {"name": "learned", "rows": 514, "std": 0.02, "offset": 2},
    "opt": {"name": "learned", "rows": 2050, "std": 0.02, "offset": 2},
    "bart": {"name": "learned", "rows": 1026, "std": 0.02, "offset": 2},
    "whisper-decoder": {"name": "learned", "rows": 448, "std": 0.02},
    "clip-text": {"name": "learned", "rows": 77, "std": 0.02},
    "siglip-text": {"name": "learned", "rows": 64, "std": 0.02},
    "mae": {"name": "sincos-2d"},
    "vit-mae-4": {"name": "sincos-2d"},
    "vit-mae-5": {"name": "sincos-2d", "blocks": "columns-last"},
    "big-vision": {"name": "sincos-2d", "ladder": "log-timescale"},
    "timm": {"name": "sincos-2d", "layout": "sines-first", "blocks": "columns-last"},
    "timm-interleaved": {"name": "sincos-2d", "blocks": "columns-last"},
    "positional-encodings-2d": {
        "name": "sincos-2d",
        "layout": "interleaved",
        "blocks": "columns-last",
        "uneven": "cut",
    },
    "positional-encodings-3d": {
        "name": "sincos-3d",
        "layout": "interleaved",
        "blocks": "columns-last",
        "uneven": "cut",
    },
    "detr": {"name": "detr-sine"},
    "detr-unnormalised": _DETR,
    "deformable-detr": {"name": "detr-sine", "pixel": "centre"},
    "dab-detr": {"name": "detr-sine", "base": 20.0},
}

_ROTARY: dict[str, dict[str, Any]] = {
    "llama": {"name": "rope", "pairing": "half"},
    "gptj": {"name": "rope", "pairing": "adjacent"},
}

_BIAS: dict[str, dict[str, Any]] = {
    "bloom": {"name": "alibi", "form": "key-only"},
    "mpt": {"name": "alibi", "form": "last-key", "bias_max": 8.0},
    "jina-bert-v2": {"name": "alibi", "form": "symmetric"},
    "x-transformers-alibi": {"name": "alibi", "form": "symmetric"},
    "keras-hub-alibi": {"name": "alibi", "form": "last-key"},
    "falcon-rw": {"name": "alibi-falcon"},
    "t5-encoder": {"name": "t5", "bidirectional": True, "buckets": 32, "max_distance": 128},
    "t5-decoder": {"name": "t5", "bidirectional": False, "buckets": 32, "max_distance": 128},
    "mt5-encoder": {"name": "t5", "bidirectional": True, "buckets": 32, "max_distance": 128},
    "mt5-decoder": {"name": "t5", "bidirectional": False, "buckets": 32, "max_distance": 128},
    "mpnet": {"name": "t5", "bidirectional": True, "buckets": 32, "max_distance": 128},
    "transformer-xl": {"name": "transformer-xl"},
    "xlnet": {"name": "transformer-xl"},
    "wav2vec2-bert": {"name": "shaw", "left": 64, "right": 8},
    "speecht5": {"name": "shaw", "left": 159, "right": 160},
    "swin": {"name": "window", "rows": 7, "columns": 7},
    "beit": {"name": "window", "rows": 14, "columns": 14},
    "deberta": {"name": "deberta", "buckets": None, "max_distance": 512},
    "deberta-v3": {"name": "deberta", "buckets": 256, "max_distance": 512},
}

PRESETS: dict[str, dict[str, Any]] = {**_ADDITIVE, **_ROTARY, **_BIAS}
