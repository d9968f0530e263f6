"""Presets against the models they are named after: vectors turned by transformers in float32."""

import numpy as np
import pytest
from conftest import Golden, goldens
from test_golden_rotary import PRESET_OF, bound

from poscli.schemes import PRESETS, SCHEMES
from poscli.schemes.rotary import Rotary

UNCHECKED = {
    "rope-vit": "timm is not among the peers; held to the numbers of the paper's code",
    "torchtune-vision": "torchtune is not among the peers; the same settings as llama4-vision",
    "torchscale-xpos": "torchscale is not among the peers; its centre is held to its positions",
    "audiocraft-xpos": "audiocraft is not among the peers; the scores do not depend on the centre",
}


def preset(case: Golden) -> Rotary:
    settings = dict(PRESETS[case.params["preset"]])
    if settings["name"] == "rope-axial-centred":
        settings |= {"rows": 3, "columns": 4}
    scheme = SCHEMES[settings["name"]].model_validate(settings)
    assert isinstance(scheme, Rotary)
    return scheme


@pytest.mark.parametrize("case", goldens("rope_models"), ids=lambda c: c.id)
def test_models(case: Golden) -> None:
    scheme, positions = preset(case), np.array(case.params["positions"])
    q = case.inputs["q"].astype(np.float64)
    allowed = bound(scheme, q, positions)
    assert (np.abs(scheme.rotate(q, positions) - case.arrays["q_out"]) <= allowed).all()


def test_every_rotary_preset_is_held_or_says_why_not() -> None:
    rotary = {name for name, v in PRESETS.items() if issubclass(SCHEMES[v["name"]], Rotary)}
    held = {c.params["preset"] for c in goldens("rope_models")} | set(PRESET_OF.values())
    assert held | set(UNCHECKED) == rotary
    assert not held & set(UNCHECKED)
