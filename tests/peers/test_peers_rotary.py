"""RoPE and its scalings against the installed libraries, on settings drawn at random.

The libraries compute in float32. A power base^-x is off by half a unit of its exponent times
ln(base), so frequencies are held to 2^-24 * (8 + 2 ln(base)), relative; the angles made from them,
and the vectors turned by those, to that times the angle.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from transformers_rope import transformers_rope

from poscli import Rope, XPos
from poscli.schemes.rope import PartialRope

pytestmark = pytest.mark.peers

UNIT = 2.0**-24
widths = st.integers(2, 64).map(lambda half: 2 * half)
bases = st.floats(100, 1e7)
factors = st.floats(1, 64)
originals = st.sampled_from([64, 2048, 4096, 8192, 32768])
positions = st.lists(st.integers(0, 8191), min_size=1, max_size=6)


def held(
    scheme: PartialRope, width: int, parameters: dict[str, Any], longest: int, at: Any
) -> None:
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(
        hidden_size=width,
        num_attention_heads=1,
        head_dim=width,
        max_position_embeddings=longest,
        rope_parameters=parameters,
    )
    peer = LlamaRotaryEmbedding(config)
    cos, sin = peer(torch.zeros(1, 1, width), torch.tensor([at]))
    used = scheme.for_length(max(at) + 1)
    frequencies = np.array([float(w) for w in used.frequencies(width)])
    rtol = UNIT * (8 + 2 * np.log(scheme.base * parameters.get("factor", 1.0)))
    assert_allclose(peer.inv_freq.numpy(), frequencies, rtol=rtol, atol=0)
    want = used.cos_sin(np.array(at), width)
    angle = np.multiply.outer(np.array(at), frequencies)
    for mine, theirs in zip(want, (cos, sin), strict=True):
        error = np.abs(mine - theirs[0, :, : width // 2].numpy())
        assert (error <= (4 * UNIT + rtol * angle) * max(used.amplitude, 1.0)).all()


def rope(parameters: dict[str, Any], longest: int) -> PartialRope:
    scheme = transformers_rope(parameters, longest, pairing="half")
    assert isinstance(scheme, PartialRope)
    return scheme


@given(widths, bases, positions)
@settings(deadline=None, max_examples=30)
def test_default(width: int, base: float, at: list[int]) -> None:
    parameters = {"rope_type": "default", "rope_theta": base}
    held(rope(parameters, 8192), width, parameters, 8192, at)


@given(widths, bases, factors, positions)
@settings(deadline=None, max_examples=30)
def test_linear(width: int, base: float, factor: float, at: list[int]) -> None:
    parameters = {"rope_type": "linear", "rope_theta": base, "factor": factor}
    held(rope(parameters, 8192), width, parameters, 8192, at)


@given(st.integers(2, 64).map(lambda half: 2 * half), bases, factors, originals, positions)
@settings(deadline=None, max_examples=30)
def test_dynamic(width: int, base: float, factor: float, original: int, at: list[int]) -> None:
    parameters = {"rope_type": "dynamic", "rope_theta": base, "factor": factor}
    held(rope(parameters, original), width, parameters, original, at)


@given(widths, bases, factors, originals, st.booleans(), positions)
@settings(deadline=None, max_examples=40)
def test_yarn(
    width: int, base: float, factor: float, original: int, truncate: bool, at: list[int]
) -> None:
    parameters = {
        "rope_type": "yarn",
        "rope_theta": base,
        "factor": factor,
        "original_max_position_embeddings": original,
        "truncate": truncate,
    }
    longest = int(original * factor)
    held(rope(parameters, longest), width, parameters, longest, at)


@given(widths, bases, factors, originals, st.floats(0.5, 2), st.floats(2.5, 16), positions)
@settings(deadline=None, max_examples=40)
def test_llama3(
    width: int,
    base: float,
    factor: float,
    original: int,
    low: float,
    high: float,
    at: list[int],
) -> None:
    parameters = {
        "rope_type": "llama3",
        "rope_theta": base,
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }
    longest = int(original * factor)
    held(rope(parameters, longest), width, parameters, longest, at)


@given(widths, bases, st.integers(1, 16), originals, st.integers(0, 2**31), positions)
@settings(deadline=None, max_examples=40)
def test_longrope(
    width: int, base: float, factor: int, original: int, seed: int, at: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    parameters = {
        "rope_type": "longrope",
        "rope_theta": base,
        "short_factor": rng.uniform(1, 4, width // 2).tolist(),
        "long_factor": rng.uniform(1, 64, width // 2).tolist(),
        "original_max_position_embeddings": original,
    }
    longest = original * factor
    held(rope(parameters, longest), width, parameters, longest, at)


@given(widths, st.floats(100, 1e6), st.integers(1, 20), st.integers(0, 500))
@settings(deadline=None, max_examples=30)
def test_rotary_embedding_torch(width: int, base: float, length: int, offset: int) -> None:
    import torch
    from rotary_embedding_torch import RotaryEmbedding

    x = np.random.default_rng(0).normal(size=(1, length, width)).astype("float32")
    peer = RotaryEmbedding(dim=width, theta=base)
    want = peer.rotate_queries_or_keys(torch.tensor(x[None]), offset=offset)[0].detach().numpy()
    got = Rope(base=base).rotate(x.astype(np.float64), np.arange(offset, offset + length))
    assert_allclose(got, want, rtol=0, atol=UNIT * (8 + 40 * (offset + length)) * np.abs(x).max())


@given(st.integers(2, 32).map(lambda half: 2 * half), st.integers(1, 20))
@settings(deadline=None, max_examples=30)
def test_xpos(width: int, length: int) -> None:
    import torch
    from rotary_embedding_torch import RotaryEmbedding

    q, k = np.random.default_rng(0).normal(size=(2, 1, length, width)).astype("float32")
    peer = RotaryEmbedding(dim=width, use_xpos=True)
    turned = peer.rotate_queries_and_keys(torch.tensor(q[None]), torch.tensor(k[None]))
    scheme = XPos(centre="half-down").for_length(length)
    at = np.arange(length)
    atol = UNIT * (16 + 12 * length) * max(np.abs(q).max(), np.abs(k).max())
    for got, want in zip((scheme.rotate(q, at), scheme.rotate_keys(k, at)), turned, strict=True):
        assert_allclose(got, want[0].detach().numpy(), rtol=0, atol=atol)
