"""Rotary schemes against what public libraries returned.

Peers work in float32. Frequencies are held to 6 units of 2^-24, cos and sin to the exact values at
the peer's own float32 frequencies within 2^-24 * (4 + 6 |angle|). Turned vectors carry both errors:
each number is a sum of two products, held to 2^-24 * (8 + 8 |angle|) times the size of its pair.
"""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from conftest import Golden, goldens
from numpy.testing import assert_allclose, assert_array_equal
from transformers_rope import transformers_rope

from poscli.arrays import rounded
from poscli.phase import angles, cos_sin
from poscli.schemes import PRESETS, SCHEMES
from poscli.schemes.axial import RopeAxial, RopeAxialPixel
from poscli.schemes.mrope import MRope
from poscli.schemes.ntk import RopeLinear, RopeNtk
from poscli.schemes.rope import Rope
from poscli.schemes.rotary import Rotary
from poscli.schemes.xpos import XPos
from poscli.schemes.yarn import RopeYarn

UNIT = 2.0**-24
LEFT_OUT: dict[str, str] = {}
"""Cases that are not held against a scheme, and why."""


def pairing(params: dict[str, Any]) -> str:
    adjacent = "interleaved" in params.get("pairing", params.get("layout", ""))
    return "adjacent" if adjacent else "half"


def scheme_of(case: Golden) -> Rotary:
    """Return the scheme that a case's library was set to, at the case's own length."""
    return scheme_as_built(case).for_length(int(positions_of(case).max()) + 1)


def scheme_as_built(case: Golden) -> Rotary:
    """Return the scheme that a case's library was set to, before any length is known."""
    p = case.params
    settings: dict[str, Any] = {"pairing": pairing(p)}
    partial = "partial_rotary_factor" in p.get("rope_parameters", {})
    if p.get("rotary_dim", p.get("head_dim")) != width_of(case) and not partial:
        settings["rotary_dim"] = p["rotary_dim"]
    if "rope_parameters" in p:
        rope = p["rope_parameters"]
        rope = rope.get(p.get("layer_type"), rope)
        found = transformers_rope(rope, p.get("max_position_embeddings"), **settings)
    elif "rope_theta" in p:
        rope = {"rope_type": "default", **(p["rope_scaling"] or {}), "rope_theta": p["rope_theta"]}
        found = transformers_rope(rope, p["max_position_embeddings"], **settings)
    elif p["scheme"] == "mrope":
        layout = "interleaved" if "interleaved" in p["mrope_layout"] else "blocked"
        found = MRope(base=float(p["base"]), sections=p["mrope_section"], layout=layout, **settings)
    elif p["scheme"] == "rope-2d-axial":
        found = RopeAxial(base=float(p["base"]), **settings)
    elif p["scheme"] == "xpos":
        found = XPos(base=float(p["base"]), scale_base=float(p["scale_base"]), centre="half-down")
    elif "keras-hub" in case.peer:
        found = keras_hub(p, settings)
    elif factor := p.get("interpolate_factor", p.get("interpolation_factor")):
        found = RopeLinear(base=float(p["base"]), factor=factor, **settings)
    elif "theta_rescale_factor" in p:
        found = RopeNtk(base=float(p["base"]), factor=p["theta_rescale_factor"], **settings)
    else:
        found = Rope(base=float(p["base"]), **settings)
    assert isinstance(found, Rotary)
    return found


def keras_hub(p: dict[str, Any], settings: dict[str, Any]) -> Rotary:
    base, factor = float(p["base"]), p.get("scaling_factor", 1.0)
    if p.get("rope_type") == "yarn":
        # Without a word on truncate the values are those of a ramp with whole edges.
        return RopeYarn(
            base=base,
            factor=factor,
            original_length=p.get("original_max_position_embeddings", 4096),
            truncate=p.get("truncate", True),
            **settings,
        )
    if p.get("rope_type") == "dynamic":
        # Every frequency is divided by factor^(d/(d-2)): linear scaling with a larger factor.
        factor = factor ** (p["head_dim"] / (p["head_dim"] - 2))
    return RopeLinear(base=base, factor=factor, **settings)


def positions_of(case: Golden) -> np.ndarray:
    p = case.params
    if "position_ids" in p:
        return np.array(list(p["position_ids"].values())).T
    if "positions" in p:
        return np.array(p["positions"])
    return np.arange(p["length"] if "length" in p else p["k_length"]) + p.get("offset", 0)


def width_of(case: Golden) -> int:
    return int(case.params.get("head_dim", case.params.get("rotary_dim", 0)))


CASES = {c.id: c for group in ("rope_rotate", "rope_tables") for c in goldens(group)}
PIXEL = {"ret-pixel", "ret-axial-pixel"}
TURNED = [c for c in CASES.values() if "q" in c.inputs and c.id not in PIXEL]
TABLES = [c for c in CASES.values() if "cos" in c.arrays]


def rows(case: Golden, x: np.ndarray, length: int) -> np.ndarray:
    """Bring a peer's (batch, head, position, k), or its axes in another order, to (h, n, k)."""
    k = x.shape[-1]
    if x.ndim == 3:
        return x.swapaxes(0, 1)
    if case.peer.startswith("labml"):
        return x.transpose(1, 2, 0, 3).reshape(-1, length, k)
    if x.shape[1] == length and ("keras" in case.peer or is_position_first(case)):
        return x.transpose(0, 2, 1, 3).reshape(-1, length, k)
    return x.reshape(-1, length, k)


def is_position_first(case: Golden) -> bool:
    return any(name in case.peer for name in ("gptj", "codegen", "llama4"))


def bound(scheme: Rotary, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """How far a turned vector in float32 may be from the exact one, of x's shape."""
    width = x.shape[-1]
    angle = np.abs(angles(scheme.per_pair(positions, width), scheme.frequencies(width)))
    first, second = scheme.pairs(width)
    to_first, to_second = scheme.written_to(width)
    size = np.abs(x[..., first]) + np.abs(x[..., second])
    allowed = np.zeros_like(x)
    allowed[..., to_first] = allowed[..., to_second] = (
        UNIT * (8 + 8 * angle) * size * max(scheme.amplitude, 1.0)
    )
    return allowed


@pytest.mark.parametrize("case", TURNED, ids=lambda c: c.id)
@pytest.mark.parametrize("which", ["q", "k"])
def test_turned_queries_and_keys(case: Golden, which: str) -> None:
    if which not in case.inputs:
        assert which == "k"
        assert "k_out" not in case.arrays
        return
    scheme, positions = scheme_of(case), positions_of(case)
    if "q_length" in case.params and which == "q":
        positions = positions[-case.params["q_length"] :]
    x = rows(case, case.inputs[which].astype(np.float64), len(positions))
    want = rows(case, case.arrays[f"{which}_out"].astype(np.float64), len(positions))
    got = (scheme.rotate if which == "q" else scheme.rotate_keys)(x, positions)
    allowed = bound(scheme, x, positions)
    if case.id == "llama-rot-bf16":
        # cos, sin, both products and their sum are each rounded to 8 bits.
        allowed = 2.0**-8 * 2.5 * np.abs(x).max(axis=-1, keepdims=True)
    assert (np.abs(got - want) <= allowed).all()
    assert np.abs(got - x).max() > 0.1


@pytest.mark.parametrize("case", [c for c in TABLES if "inv_freq" in c.arrays], ids=lambda c: c.id)
def test_frequencies(case: Golden) -> None:
    got = [float(w) for w in scheme_of(case).frequencies(width_of(case))]
    assert_allclose(case.arrays["inv_freq"], got, rtol=6 * UNIT, atol=0)
    if "inv_freq_init" in case.arrays:
        got = [float(w) for w in scheme_as_built(case).frequencies(width_of(case))]
        assert_allclose(case.arrays["inv_freq_init"], got, rtol=6 * UNIT, atol=0)
    if "attention_factor" in case.params:
        assert scheme_of(case).amplitude == pytest.approx(
            case.params["attention_factor"], rel=1e-15
        )


@pytest.mark.parametrize("case", TABLES, ids=lambda c: c.id)
def test_tables_of_cos_and_sin(case: Golden) -> None:
    scheme, width, positions = scheme_of(case), width_of(case), positions_of(case)
    own = scheme.frequencies(width)
    if "inv_freq" in case.arrays:
        own = [Decimal(float(w)) for w in case.arrays["inv_freq"]]
    at = scheme.per_pair(positions, width)
    angle = np.abs(angles(at, own))
    allowed = UNIT * (4 + 6 * angle) * scheme.amplitude
    for name, exact in zip(("cos", "sin"), cos_sin(at, own), strict=True):
        exact, table = exact * scheme.amplitude, case.arrays[name].astype(np.float64)
        if case.id == "llama-default-d16-bfloat16":
            exact = np.asarray(rounded(exact, "bfloat16"), np.float64)
            allowed = 2.0**-8 * np.abs(exact)
        repeat = table.shape[1] // exact.shape[1]
        columns = np.repeat(exact, repeat, axis=1) if is_repeated(case) else np.tile(exact, repeat)
        limits = (
            np.repeat(allowed, repeat, axis=1) if is_repeated(case) else np.tile(allowed, repeat)
        )
        assert (np.abs(table - columns) <= limits).all()


def is_repeated(case: Golden) -> bool:
    return case.id.startswith("ret")


def angles_repeated(scheme: Rotary, positions: np.ndarray, width: int) -> np.ndarray:
    found = angles(scheme.per_pair(positions, width), scheme.frequencies(width))
    return np.repeat(found, 2, axis=1)


ANGLES = [c for c in CASES.values() if "angles" in c.arrays and "positions" in c.params]


@pytest.mark.parametrize("case", ANGLES, ids=lambda c: c.id)
def test_angles(case: Golden) -> None:
    got = angles_repeated(scheme_of(case), positions_of(case), width_of(case))
    assert_allclose(case.arrays["angles"], got, rtol=8 * UNIT, atol=0)


XPOS = [c for c in CASES.values() if "scale" in c.arrays]


@pytest.mark.parametrize("case", XPOS, ids=lambda c: c.id)
def test_xpos_scales(case: Golden) -> None:
    scheme = scheme_of(case)
    assert isinstance(scheme, XPos)
    got = scheme.scales(positions_of(case), width_of(case))
    assert_allclose(case.arrays["scale"], np.repeat(got, 2, axis=1), rtol=4 * UNIT, atol=0)


FREQS = [c for c in CASES.values() if "freqs" in c.arrays and c.id not in PIXEL]


@pytest.mark.parametrize("case", FREQS, ids=lambda c: c.id)
def test_frequencies_of_rotary_embedding_torch(case: Golden) -> None:
    scheme, width = scheme_of(case), width_of(case)
    if isinstance(scheme, RopeLinear):
        # It divides the positions and keeps the frequencies.
        got = [float(w) for w in scheme.trained_frequencies(width)]
    else:
        got = [float(w) for w in scheme.frequencies(width)]
    assert_allclose(case.arrays["freqs"], got, rtol=6 * UNIT, atol=0)


@pytest.mark.parametrize("id", ["ret-axial-lang", "ret-axial-pixel"])
def test_axial_angles_of_rotary_embedding_torch(id: str) -> None:
    case = CASES[id]
    rows, columns = case.params["shape"]
    scheme: Rotary = RopeAxial(columns=columns)
    if case.params["freqs_for"] == "pixel":
        scheme = RopeAxialPixel(rows=rows, columns=columns, max_freq=float(case.params["max_freq"]))
    width = 2 * case.params["dim_per_axis"]
    got = angles_repeated(scheme, scheme.coordinates(np.arange(rows * columns)), width)
    assert_allclose(case.arrays["angles"].reshape(-1, width), got, rtol=6 * UNIT, atol=0)


def test_pixel_frequencies_on_one_axis() -> None:
    """The first 16 of 32 columns turn by the row; the library takes any number for one."""
    case = CASES["ret-pixel"]
    scheme = RopeAxialPixel(rows=3, columns=3, max_freq=float(case.params["max_freq"]))
    assert_allclose(
        case.arrays["freqs"], [float(w) for w in scheme.frequencies(32)[:8]], rtol=6 * UNIT, atol=0
    )
    q, want = (
        rows(case, x.astype(np.float64), 9) for x in (case.inputs["q"], case.arrays["q_out"])
    )
    at, frequencies = np.arange(9), scheme.frequencies(32)[:8]
    cos, sin = cos_sin(at, frequencies)
    even, odd = q[..., 0::2], q[..., 1::2]
    got = np.stack([even * cos - odd * sin, odd * cos + even * sin], axis=-1).reshape(q.shape)
    angle = np.multiply.outer(at, [float(w) for w in frequencies]).repeat(2, axis=1)
    assert (np.abs(got - want) <= UNIT * (4 + 6 * angle) * 2 * np.abs(q).max()).all()


def test_every_case_is_held_or_left_out() -> None:
    held = {c.id for c in TURNED + TABLES + ANGLES + XPOS + FREQS} | PIXEL | {"ret-axial-lang"}
    assert held | set(LEFT_OUT) == set(CASES)
    assert not held & set(LEFT_OUT)


PRESET_OF = {
    "llama-rot-d64": "llama",
    "llama-llama3-f8-d64": "llama3.1",
    "llama-llama3-f32-d64": "llama3.2",
    "llama4-complex-default": "llama4",
    "llama-default-d64-b500000": "llama3",
    "llama-yarn-qwen": "qwen2.5-yarn",
    "llama-default-d32-b1000000": "qwen2",
    "mistral-default-config": "mistral",
    "olmo2-default-config": "olmo2",
    "gemma-default-config": "gemma",
    "starcoder2-default-config": "starcoder2",
    "stablelm-default-config": "stablelm",
    "falcon-default-config": "falcon",
    "gemma3-sliding_attention": "gemma3-local",
    "gemma4-sliding_attention": "gemma4-local",
    "llama-proportional-p0.25-f1.0": "gemma4-global",
    "gptneox-20b-like-d96": "gpt-neox",
    "gptj-rd64-d64": "gptj",
    "glm-p0.5": "glm",
    "phi-p0.5": "phi",
    "nemotron-p0.5": "nemotron",
    "gptoss-yarn": "gpt-oss",
    "qwen2vl-mrope-d128": "qwen2-vl",
    "qwen3vl-mrope-d128": "qwen3-vl",
    "qwen2vl-vision-2d": "qwen2-vl-vision",
    "xt-xpos-d8-sb64": "x-transformers-xpos",
}


@pytest.mark.parametrize(("id", "preset"), PRESET_OF.items())
def test_presets_are_what_the_libraries_do(id: str, preset: str) -> None:
    """The preset turns the case's vectors, or makes its table, as the case's own settings do."""
    case, values = CASES[id], PRESETS[preset]
    scheme = SCHEMES[values["name"]].model_validate(values)
    assert isinstance(scheme, Rotary)
    if preset == "x-transformers-xpos":
        scheme = scheme.model_copy(update={"scale_base": 64.0})
    width, positions = width_of(case), positions_of(case)
    x = np.random.default_rng(0).normal(size=(1, len(positions), width))
    scheme = scheme.for_length(int(positions.max()) + 1)
    assert_array_equal(scheme.rotate(x, positions), scheme_of(case).rotate(x, positions))
