"""Score biases and attention against the installed libraries, on sizes drawn at random."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from poscli.attention import attention
from poscli.schemes import SCHEMES, Scheme, expand

pytestmark = pytest.mark.peers

heads, lengths = st.integers(1, 70), st.integers(1, 30)
UNIT = 2.0**-24


def scheme(given_as: dict[str, Any]) -> Scheme:
    values = expand(given_as)
    return SCHEMES[values["name"]].model_validate(values)


def bias(built: Scheme, count: int, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    return built.bias(
        np.zeros((count, len(queries), 4)), np.zeros((count, len(keys), 4)), queries, keys
    )


@given(heads, lengths)
@settings(deadline=None, max_examples=40)
def test_bloom(count: int, length: int) -> None:
    import torch
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    want = build_alibi_tensor(torch.ones(1, length), count, torch.float32).numpy()
    got = bias(scheme({"preset": "bloom"}), count, np.array([length - 1]), np.arange(length))
    assert_allclose(got, want.reshape(got.shape), rtol=UNIT * (2 + count), atol=0)


@given(heads, lengths, st.sampled_from([4, 8, 16]))
@settings(deadline=None, max_examples=40)
def test_mpt(count: int, length: int, bias_max: int) -> None:
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    want = build_mpt_alibi_tensor(count, length, bias_max).numpy()
    built = scheme({"preset": "mpt", "bias_max": float(bias_max)})
    got = bias(built, count, np.array([length - 1]), np.arange(length))
    assert_allclose(got, want.reshape(got.shape), rtol=UNIT * (2 + count), atol=0)


@given(heads, lengths)
@settings(deadline=None, max_examples=40)
def test_falcon(count: int, length: int) -> None:
    import torch
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor

    want = build_alibi_tensor(torch.ones(1, length), count, torch.bfloat16).float().numpy()
    got = bias(scheme({"name": "alibi-falcon"}), count, np.array([0]), np.arange(length))
    assert_array_equal(got.ravel() * 2, want.ravel())  # divided by sqrt(4), the head width here


@given(st.booleans(), st.integers(2, 16).map(lambda n: 4 * n), st.integers(65, 1000))
@settings(deadline=None, max_examples=40)
def test_t5_buckets(bidirectional: bool, buckets: int, distance: int) -> None:
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    from poscli.schemes.t5 import T5

    offsets = np.arange(-1500, 1501)
    want = T5Attention._relative_position_bucket(
        torch.tensor(offsets), bidirectional, buckets, distance
    )
    built = T5(bidirectional=bidirectional, buckets=buckets, max_distance=distance)
    got = built.bucket(offsets)
    # The library takes the logarithm in float32: on the very edge of a bucket it may fall below.
    assert np.abs(got - want.numpy()).max() <= 1
    assert (got != want.numpy()).sum() <= 6


@given(st.integers(1, 4), lengths, lengths, st.booleans(), st.integers(0, 2**31))
@settings(deadline=None, max_examples=40)
def test_scaled_dot_product_attention(
    count: int, queries: int, keys: int, causal: bool, seed: int
) -> None:
    import torch

    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, queries, 4))
    k, v = rng.normal(size=(2, count, keys, 4))
    added = rng.normal(size=(count, queries, keys))
    mask = np.tril(np.ones((queries, keys), bool)) if causal else None
    peer = torch.where(torch.tensor(mask), torch.tensor(added), -torch.inf) if causal else added
    want = torch.nn.functional.scaled_dot_product_attention(
        *(torch.tensor(a) for a in (q, k, v)), attn_mask=torch.as_tensor(peer)
    )
    got = attention(q, k, v, added, mask).outputs
    assert_allclose(got, want.numpy().swapaxes(0, 1).reshape(queries, -1), rtol=0, atol=1e-13)
