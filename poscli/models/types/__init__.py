"""Every model type known here, and what its class makes of a config: a table, not code.

Defaults, layouts and names of fields are those of the classes in transformers 5.24.0. To add a
model type, add a line to the file of its kind; where one name only stands for another, to ALIASES.
"""

from poscli.models.families import Family
from poscli.models.types.additive import ADDITIVE
from poscli.models.types.bias import AXIAL, BIAS, NO_POSITIONS
from poscli.models.types.layers import PER_LAYER
from poscli.models.types.rope import ROTATING

TYPES: dict[str, Family] = {
    **ROTATING,
    **PER_LAYER,
    **ADDITIVE,
    **BIAS,
    **AXIAL,
    **NO_POSITIONS,
}

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
    "gemma4_unified_text": "gemma4_unified",
    "paddleocr_vl_text": "paddleocr_vl",
    "hunyuan_vl_text": "hunyuan_vl",
    "ernie4_5_vl_moe_text": "ernie4_5_vl_moe",
    "glm_image_text": "glm_image",
    "glm_ocr_text": "glm_ocr",
    "glm4v_moe_text": "glm4v_moe",
    "qwen3_5_moe_text": "qwen3_5_moe",
    "qwen3_omni_moe_thinker": "qwen3_omni_moe",
    "qwen3_omni_moe_text": "qwen3_omni_moe",
    "qwen2_5_omni_thinker": "qwen2_5_omni",
    "qwen2_5_omni_text": "qwen2_5_omni",
    "kosmos_2_text_model": "kosmos-2",
    "musicgen_decoder": "musicgen",
    "pix2struct_text": "pix2struct_text_model",
    "clip": "clip_text_model",
    "siglip": "siglip_text_model",
}
"""Other names, as of the text part of a multimodal model."""
