"""Models with learned rows or sinusoids on their embeddings."""

from poscli.models.families import (
    Choice,
    Family,
    Parts,
    Patches,
    Plain,
    Read,
    Rotating,
    Rows,
    Waves,
    each,
)
from poscli.schemes import PRESETS

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
ROBERTA = Rows(offset=None, skips_padding=True, rows=512)
_BART = Rows(offset=2, added=True, rows=1024)
_FROM_BART = each("bart mbart mvp plbart", _BART)
_FAIRSEQ = Waves(PRESETS["fairseq"], behind_padding=True)
_SPEECH = Parts(
    {
        "encoder": Waves(PRESETS["fairseq"], True, ("max_source_positions",)),
        "decoder": Waves(PRESETS["fairseq"], True, ("max_target_positions",)),
    }
)
_SINES_OR_ROWS: dict[bool, Family] = {True: Waves(PRESETS["xlm"]), False: Rows(rows=512)}

ADDITIVE: dict[str, Family] = {
    **each("gpt2 gpt-sw3 gpt_bigcode imagegpt decision_transformer", Rows(rows=1024)),
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
    **each("bigbird_pegasus blenderbot blenderbot-small", Rows(rows=1024)),
    "led": Parts(
        {
            "encoder": Rows(keys=("max_encoder_position_embeddings",), rows=16384),
            "decoder": Rows(keys=("max_decoder_position_embeddings",), rows=1024),
        }
    ),
    **each(
        "bert bert-generation albert electra convbert ernie layoutlm megatron-bert roc_bert", _BERT
    ),
    "big_bird": Rows(rows=4096),
    **each(
        "roberta roberta-prelayernorm xlm-roberta camembert data2vec-text longformer "
        "xlm-roberta-xl xmod",
        ROBERTA,
    ),
    "esm": Choice(
        "position_embedding_type",
        "absolute",
        {
            "absolute": Rows(offset=None, skips_padding=True, rows=1026),
            "rotary": Rotating(plain_only=True),
        },
    ),
    "marian": Waves(PRESETS["marian"]),
    "pegasus": Waves(PRESETS["pegasus"]),
    "pegasus_x": Waves({**PRESETS["tensor2tensor"]}),
    "informer": Waves(PRESETS["informer"], keys=("context_length",)),
    **each("fsmt m2m_100 nllb-moe xglm kosmos-2", _FAIRSEQ),
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
    **each(
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
