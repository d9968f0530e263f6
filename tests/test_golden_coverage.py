"""No scheme and no preset without numbers of its own: from a library, or from its paper."""

import json
import re
from pathlib import Path

from conftest import GOLDEN, ROOT

from poscli.schemes import PRESETS, SCHEMES

HERE = Path(__file__).parent
SOURCES = [
    *HERE.glob("test_golden_*.py"),
    *HERE.glob("test_numbers_*.py"),
    HERE / "transformers_rope.py",
]


def named_in_tests() -> set[str]:
    """Every word in quotes, and every class name, of the files that hold numbers."""
    words: set[str] = set()
    for source in SOURCES:
        if source != Path(__file__):
            words |= set(re.findall(r"[\"']([\w.-]+)[\"':]|\b([A-Z]\w+)\(", source.read_text()))
    return {word for pair in words for word in pair if word}


def test_every_scheme_has_golden_numbers() -> None:
    named = named_in_tests()
    missing = [n for n, kind in SCHEMES.items() if not {n, kind.__name__} & named]
    assert set(missing) <= {"none"}  # it makes no numbers; the laws hold it


SAME_RULE = {
    "positional-encodings-3d": "PositionalEncoding3D in test_golden_additive",
    "jina-bert-v2": "the form of x-transformers-alibi",
    "t5-encoder": "t5-bucket-bi in test_golden_bias",
    "t5-decoder": "t5-bucket-uni in test_golden_bias",
    "mt5-encoder": "as t5-encoder",
    "mt5-decoder": "as t5-decoder",
    "mpnet": "mpnet-bucket in test_golden_bias",
    "swin": "swin-index in test_golden_bias, at another size",
    "beit": "beit-index in test_golden_bias, at another size",
    "deberta-v3": "deberta in test_golden_bias",
}


def test_every_preset_has_golden_numbers() -> None:
    models = json.loads((GOLDEN / "rope_models.json").read_text())
    named = named_in_tests() | {case["params"]["preset"] for case in models}
    assert {preset for preset in PRESETS if preset not in named} == set(SAME_RULE)


def test_the_readme_says_what_each_scheme_was_held_against() -> None:
    table = re.findall(r"^\| `([\w-]+)` \|.*\|.*\|.*\|$", (ROOT / "README.md").read_text(), re.M)
    assert table == list(SCHEMES)
