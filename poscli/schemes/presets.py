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

_BIAS: dict[str, dict[str, Any]] = {}

PRESETS: dict[str, dict[str, Any]] = {**_ADDITIVE, **_ROTARY, **_BIAS}
