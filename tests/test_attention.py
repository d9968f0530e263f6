"""Attention: against a reading in loops and scalars, and against what public libraries returned."""

from math import exp, sqrt

import numpy as np
import pytest
from conftest import Golden, goldens
from numpy.testing import assert_allclose, assert_array_equal
from transformers_rope import transformers_rope

from poscli import Alibi, Model, NoPE, Rope, Scheme, Sinusoidal, softmax
from poscli.attention import attention
from poscli.schemes import SCHEMES

RNG = np.random.default_rng(3)


def in_loops(
    model: Model, x: np.ndarray, scheme: Scheme, mask: np.ndarray | None = None
) -> np.ndarray:
    """One number at a time: score, bias, mask, softmax, mix."""
    n, d = x.shape
    k = d // model.heads
    positions = np.arange(n)
    x = scheme.add(x, positions)
    out = np.zeros((n, d))
    for h in range(model.heads):
        part = slice(h * k, (h + 1) * k)
        q = scheme.rotate((x @ model.queries)[None, :, part], positions)[0]
        key = scheme.rotate((x @ model.keys)[None, :, part], positions)[0]
        value = (x @ model.values)[:, part]
        blank = np.zeros((model.heads, n, k))
        bias = scheme.bias(blank, blank, positions, positions)[h]
        for i in range(n):
            allowed = [j for j in range(n) if mask is None or mask[i, j]]
            scores = [
                sum(float(q[i, c]) * float(key[j, c]) for c in range(k)) / sqrt(k) + bias[i, j]
                for j in allowed
            ]
            total = sum(exp(s) for s in scores)
            for j, s in zip(allowed, scores, strict=True):
                for c in range(k):
                    out[i, h * k + c] += exp(s) / total * value[j, c]
    return out


@pytest.mark.parametrize("scheme", [NoPE(), Sinusoidal(), Rope(), Rope(pairing="half"), Alibi()])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_attend_equals_the_loops(scheme: Scheme, heads: int, causal: bool) -> None:
    x, (wq, wk, wv) = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 4, 4))
    model = Model(wq, wk, wv, heads)
    mask = np.tril(np.ones((5, 5), bool)) if causal else None
    got = model.attend(x, scheme, np.arange(5), mask).outputs
    assert_allclose(got, in_loops(model, x, scheme, mask), rtol=0, atol=1e-14)


def sdpa(case: Golden) -> tuple[list[np.ndarray], np.ndarray]:
    q, k, v = (case.inputs[name] for name in "qkv")
    mask = case.inputs.get("mask")
    if case.params["mode"] == "causal":
        mask = np.tril(np.ones((q.shape[2], k.shape[2]), bool))
    bias = case.inputs.get("bias", np.zeros(1))
    got = [attention(q[b], k[b], v[b], bias, mask).outputs for b in range(len(q))]
    want = case.arrays["out"].swapaxes(1, 2)
    return got, want.reshape(*want.shape[:2], -1)


@pytest.mark.parametrize(
    "case", [c for c in goldens("attention") if c.id.startswith("sdpa")], ids=lambda c: c.id
)
def test_torch_scaled_dot_product_attention(case: Golden) -> None:
    got, want = sdpa(case)
    assert_allclose(np.array(got), want, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "case", [c for c in goldens("attention") if c.id.startswith("mha")], ids=lambda c: c.id
)
def test_torch_multi_head_attention(case: Golden) -> None:
    heads, inputs = case.params["heads"], case.inputs
    for b, x in enumerate(inputs["x"]):
        n, d = x.shape
        rows = x @ inputs["in_proj_weight"].T + inputs.get("in_proj_bias", 0.0)
        q, k, v = rows.reshape(n, 3, heads, d // heads).transpose(1, 2, 0, 3)
        mask = np.tril(np.ones((n, n), bool)) if case.params["mode"] == "causal" else None
        if "key_padding_mask" in inputs:
            mask = np.tile(~inputs["key_padding_mask"][b], (n, 1))
        result = attention(q, k, v, np.zeros(1), mask)
        out = result.outputs @ inputs["out_proj.weight"].T + inputs.get("out_proj.bias", 0.0)
        assert_allclose(out, case.arrays["out"][b], rtol=0, atol=1e-14)
        assert_allclose(result.weights, case.arrays["weights_out"][b], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "case",
    [c for c in goldens("attention") if "rope_parameters" in c.params],
    ids=lambda c: c.id,
)
def test_llama_attention(case: Golden) -> None:
    """The library takes cos, sin and softmax in float32, so 1e-6 is what it can be held to."""
    p, inputs = case.params, case.inputs
    x, positions = inputs["x"][0], np.array(p["positions"])

    def heads(name: str, count: int) -> np.ndarray:
        rows = x @ inputs[f"{name}.weight"].T
        return rows.reshape(len(x), count, -1).swapaxes(0, 1)

    rope = transformers_rope(p["rope_parameters"], pairing="half")
    shared = p["heads"] // p["kv_heads"]
    q = rope.rotate(heads("q_proj", p["heads"]), positions)
    k = rope.rotate(heads("k_proj", p["kv_heads"]), positions).repeat(shared, axis=0)
    v = heads("v_proj", p["kv_heads"]).repeat(shared, axis=0)
    mask = np.tril(np.ones((len(x), len(x)), bool)) if p["causal"] else None
    result = attention(q, k, v, np.zeros(1), mask)
    assert_allclose(result.weights, case.arrays["weights_out"][0], rtol=0, atol=1e-6)
    out, want = result.outputs @ inputs["o_proj.weight"].T, case.arrays["out"][0]
    assert_allclose(out, want, rtol=0, atol=1e-6 * np.abs(want).max())


def test_softmax_of_nothing_is_zero_and_large_scores_do_not_overflow() -> None:
    scores = np.array([[-np.inf, -np.inf], [1e308, 1e308], [0.0, -np.inf]])
    assert_array_equal(softmax(scores), [[0, 0], [0.5, 0.5], [1, 0]])


def test_float32_stays_float32() -> None:
    x, w = RNG.normal(size=(4, 4)).astype("float32"), np.eye(4, dtype="float32")
    model = Model(w, w, w, 2)
    mask = np.tril(np.ones((4, 4), bool))
    for scheme in (Sinusoidal(), Rope(), Alibi()):
        result = model.attend(x, scheme, np.arange(4), mask)
        assert result.outputs.dtype == result.weights.dtype == np.float32


def test_keys_are_turned_as_keys() -> None:
    """xPos divides keys by what it multiplies queries by."""
    xpos = SCHEMES["xpos"].model_validate({"centre": 0})
    x, at, one = np.random.default_rng(0).normal(size=(6, 8)), np.arange(6), np.eye(8)
    got = Model(one, one, one, 1).attend(x, xpos, at).scores[0]
    want = xpos.rotate(x[None], at)[0] @ xpos.rotate_keys(x[None], at)[0].T / sqrt(8)
    assert_allclose(got, want, rtol=1e-12)
    assert np.abs(xpos.rotate(x[None], at) - xpos.rotate_keys(x[None], at)).max() > 0.001
