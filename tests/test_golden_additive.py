"""Schemes that add to the embeddings, against what public libraries returned.

Tolerances follow each library's own arithmetic. float32: an angle is wrong by a few units of 2^-24
of itself, and the result is rounded once more. Some compute in float64 and round the table at the
end: half a unit of 2^-24 is all they may be off, beside what float64 does to far angles.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Golden, goldens
from numpy.testing import assert_allclose, assert_array_equal

from poscli import Learned
from poscli.schemes import SCHEMES, expand
from poscli.schemes.detr import DetrLearned
from poscli.schemes.grid import GridSines
from poscli.schemes.padding import attention_mask, pads_skipped

FLOAT32, FLOAT64 = 2.0**-24, 2.0**-53
ROUNDED_AT_THE_END = {
    *("marian", "pegasus", "roformer", "informer", "xlm", "flaubert", "distilbert", "videomae"),
}

LEFT_OUT = {
    "vit-interpolate-16x64": "resizes the table by bicubic interpolation, which no scheme does",
}


def preset(name: str, **settings: Any) -> Any:
    """Return the scheme that a preset describes, with settings of its own."""
    values = expand({"preset": name, **settings})
    return SCHEMES[values["name"]].model_validate(values)


def assert_close(case: Golden, got: np.ndarray, want: np.ndarray, angles: np.ndarray) -> None:
    """Allow a library what its own arithmetic makes of these angles, and no more."""
    if want.dtype == np.float64:
        allowed = FLOAT64 * (4 + 4 * angles)
    elif case.id.split("-")[0] in ROUNDED_AT_THE_END:
        allowed = FLOAT32 / 2 + FLOAT64 * (4 + 4 * angles)
    else:
        allowed = FLOAT32 * (1 + 8 * angles)
    assert got.shape == want.shape
    assert_array_equal(np.abs(got - want) <= allowed, True)


def grid(*shape: int) -> np.ndarray:
    """Return the positions of a grid in row-major order, (n, axes)."""
    return np.indices(shape).reshape(len(shape), -1).T


SINUSOIDAL = {
    **{name: name for name in ("marian", "pegasus", "informer", "musicgen", "whisper", "labml")},
    **{name: name for name in ("xlm", "flaubert", "distilbert", "videomae", "xglm")},
    "roformer": "roformer-table",
    "pe1d": "positional-encodings",
    "m2m100": "m2m100",
    "m2m_100": "m2m100",
    "speech2text": "speech2text",
    "speech_to_text": "speech2text",
    "trocr": "trocr-sinusoidal",
    "musicgenmelody": "musicgen",
    "gptj": "marian",
    "codegen": "marian",
    "vitmae": "marian",
    "xt": "x-transformers-scaled",
    "keras": "keras-hub-sine",
}


def sinusoidal(case: Golden) -> tuple[Any, np.ndarray]:
    """Return the scheme that a case is held against, and its positions."""
    p = case.params
    settings: dict[str, Any] = {"base": float(p["base"])}
    if "padding_idx" in p and not case.id.startswith("xglm-forward"):
        settings["origin"] = p["padding_idx"] + 1
    scheme = preset(SINUSOIDAL[case.id.split("-")[0]], **settings)
    if "input_ids" in case.inputs:
        return scheme, pads_skipped(attention_mask(case.inputs["input_ids"], p["padding_idx"]))
    if "position_ids" in case.inputs:
        return scheme, case.inputs["position_ids"]
    if "positions" in p:
        return scheme, np.array(p["positions"])
    offset = p.get("offset", 0)
    return scheme, np.arange(offset, offset + p["length"]) - scheme.origin


@pytest.mark.parametrize("case", goldens("sinusoidal"), ids=lambda c: c.id)
def test_sinusoidal(case: Golden) -> None:
    scheme, positions = sinusoidal(case)
    flat, dim = positions.ravel(), case.params["dim"]
    got = scheme.vectors(flat, dim)
    if "x" in case.inputs:
        assert_allclose(case.inputs["x"] + got, case.arrays["out"], rtol=0, atol=4 * FLOAT32)
        return
    want = case.arrays["table"].reshape(-1, dim)
    numbers = np.abs(flat + scheme.origin)[:, None]
    angles = np.zeros(got.shape)
    for columns in scheme.columns(dim):
        angles[:, columns] = numbers * [float(w) for w in scheme.frequencies(dim)[: len(columns)]]
    assert_close(case, got, want, angles)


def grid_angles(scheme: GridSines, positions: np.ndarray, width: int) -> np.ndarray:
    """Return the angle that each number of a table is the sine or cosine of."""
    numbers = np.abs(scheme.numbers(positions))
    by_axis = [
        numbers[:, axis, None] * np.array([[float(w) for w in frequencies] * 2])
        for axis, frequencies in enumerate(scheme.frequencies(width))
    ]
    angles = np.stack(by_axis, axis=1).reshape(len(positions), scheme.axes, 2, -1)
    return scheme.arranged(angles)[:, :width]


def check_grid(case: Golden, scheme: GridSines, positions: np.ndarray, want: np.ndarray) -> None:
    width = want.shape[1]
    got = scheme.add(np.zeros(want.shape), positions)
    assert_close(case, got, want, grid_angles(scheme, positions, width))


@pytest.mark.parametrize(
    "case", [c for c in goldens("sine2d") if c.id.startswith("pe")], ids=lambda c: c.id
)
def test_positional_encodings_on_a_grid(case: Golden) -> None:
    scheme = preset(f"positional-encodings-{case.id[2:4]}")
    want = case.arrays["table"].reshape(-1, case.params["dim"])
    check_grid(case, scheme, grid(*case.params["shape"]), want)


@pytest.mark.parametrize(
    "case", [c for c in goldens("sine2d") if c.id.startswith("vitmae")], ids=lambda c: c.id
)
def test_vit_mae(case: Golden) -> None:
    p, want = case.params, case.arrays["table"]
    shape = p.get("shape") or [p["grid"], p["grid"]]
    if p["cls_token"]:
        assert_array_equal(want[0], 0.0)
        want = want[1:]
    check_grid(case, preset(f"vit-mae-{case.id[8]}"), grid(*shape), want)


def test_omdet_turbo_goes_down_the_columns() -> None:
    (case,) = [c for c in goldens("sine2d") if c.id.startswith("omdet")]
    positions = grid(case.params["width"], case.params["height"])[:, ::-1]
    check_grid(case, preset("mae"), positions, case.arrays["table"][0])


@pytest.mark.parametrize(
    "case", [c for c in goldens("sine2d") if c.id.startswith("detr")], ids=lambda c: c.id
)
def test_detr(case: Golden) -> None:
    p, tables = case.params, case.arrays["table"]
    masks = case.inputs.get("mask", np.ones((len(tables), *p["shape"]), bool))
    for mask, table in zip(masks, tables, strict=True):
        positions = np.stack([mask.cumsum(0), mask.cumsum(1)], axis=-1).reshape(-1, 2) - 1
        rows, columns = (int(n) + 1 for n in positions.max(axis=0))
        if p["normalize"]:
            scheme = preset("detr", base=float(p["base"]), rows=rows, columns=columns)
        else:
            scheme = preset("detr-unnormalised", base=float(p["base"]))
        check_grid(case, scheme, positions, table.reshape(len(table), -1).T)


def test_opt() -> None:
    case = LEARNED["opt-past2"]
    scheme = Learned(table=case.inputs["weight"].tolist(), offset=case.params["offset"])
    positions = pads_skipped(case.inputs["mask"])[:, case.params["cache_length"] :]
    for row, want in zip(positions, case.arrays["table"], strict=True):
        assert_array_equal(scheme.vectors(row, 4), want)


@pytest.mark.parametrize("name", ["pad1-cache0", "pad0-cache0", "pad0-cache4", "pad2-cache4"])
def test_roberta_positions(name: str) -> None:
    case = LEARNED[f"roberta-posids-{name}"]
    padding = case.params["padding_idx"]
    mask = attention_mask(case.inputs["input_ids"], padding)
    rows = pads_skipped(mask, case.params["cache_length"]) + padding + 1
    assert_array_equal(rows, case.arrays["position_ids"])


def test_roberta_embeddings() -> None:
    """The library adds words, types and positions in float32, then normalises each row."""
    case = LEARNED["roberta-embeddings"]
    ids, padding = case.inputs["input_ids"], case.params["padding_idx"]
    scheme = Learned(table=case.inputs["position"].tolist(), offset=padding + 1)
    positions = pads_skipped(attention_mask(ids, padding))
    for row, at, want in zip(ids, positions, case.arrays["out"], strict=True):
        words = case.inputs["word"][row].astype(np.float64) + case.inputs["type"][0]
        x = scheme.add(words, at)
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + case.params["layer_norm_eps"])
        assert_allclose(x, want, rtol=0, atol=8 * FLOAT32 * np.abs(want).max())


def test_detr_learned() -> None:
    case = LEARNED["detr-learned-3x4"]
    scheme = DetrLearned(
        row_table=case.inputs["rows"].tolist(), column_table=case.inputs["columns"].tolist()
    )
    want = case.arrays["table"][0].reshape(8, -1).T
    assert_array_equal(scheme.vectors(grid(3, 4), 8), want)
    assert_array_equal(scheme.vectors(scheme.coordinates(np.arange(12)), 8), want)


def test_vit_at_the_size_it_was_trained_at() -> None:
    case = LEARNED["vit-interpolate-32x32"]
    scheme = Learned(table=case.inputs["weight"][0].tolist())
    assert_array_equal(scheme.vectors(np.arange(17), 8), case.arrays["table"][0])


def test_x_transformers_absolute() -> None:
    case = LEARNED["xt-absolute-l21"]
    weight = case.inputs["weight"].astype(np.float64)
    scheme = Learned(table=(weight / np.linalg.norm(weight, axis=1, keepdims=True)).tolist())
    positions = np.arange(6) + case.params["offset"]
    assert_allclose(scheme.vectors(positions, 8), case.arrays["table"], rtol=0, atol=2 * FLOAT32)


LEARNED = {case.id: case for case in goldens("learned")}
LEARNED_TESTED = {
    "opt-past2",
    "roberta-posids-pad1-cache0",
    "roberta-posids-pad0-cache0",
    "roberta-posids-pad0-cache4",
    "roberta-posids-pad2-cache4",
    "roberta-embeddings",
    "detr-learned-3x4",
    "vit-interpolate-32x32",
    "xt-absolute-l21",
}


@pytest.mark.parametrize(
    ("group", "tested"),
    [
        ("sinusoidal", lambda c: c.id.split("-")[0] in SINUSOIDAL),
        ("sine2d", lambda c: c.id.startswith(("pe", "vitmae", "omdet", "detr"))),
        ("learned", lambda c: c.id in LEARNED_TESTED),
    ],
)
def test_no_case_is_left_out_without_a_reason(group: str, tested: Callable[[Golden], bool]) -> None:
    cases = goldens(group)
    assert cases
    assert all(tested(case) != (case.id in LEFT_OUT) for case in cases)
