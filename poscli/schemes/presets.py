"""What libraries and models do, as values of the schemes' settings: a table, not code.

A preset names a scheme and the settings that differ from its defaults. To add one, add a line.
"""

from typing import Any

_ADDITIVE: dict[str, dict[str, Any]] = {
    "gpt2": {"name": "learned", "rows": 1024, "std": 0.02},
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
