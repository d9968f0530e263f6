"""Attention a block of queries at a time: what it gives is what attention on everything gives."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from poscli import Model, NoPE, Scheme
from poscli import attention as module
from poscli.attention import Mask, looks, seen

RNG = np.random.default_rng(11)
N, D = 9, 24
X = RNG.normal(size=(N, D))
AT = np.arange(N)
CAUSAL = np.tril(np.ones((N, N), bool))
BAND = CAUSAL & ~np.tril(CAUSAL, -3)
MASKS = {"none": None, "causal": "causal", "band": BAND, "nothing": np.zeros((N, N), bool)}


def model(heads: int, dim: int = D, dtype: str = "float64") -> Model:
    rng = np.random.default_rng(1)
    queries, keys, values = rng.normal(0, dim**-0.5, (3, dim, dim)).astype(dtype)
    return Model(queries, keys, values, heads)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("scores", [1, 2 * N * 2, 2**19])
def test_outputs_are_those_of_attend(
    monkeypatch: pytest.MonkeyPatch, scheme: Scheme, mask: Mask, scores: int
) -> None:
    monkeypatch.setattr(module, "MOST_SCORES", scores)
    want = model(2).attend(X, scheme, AT, mask).outputs
    got = model(2).outputs(X, scheme, AT, mask)
    assert_allclose(got, want, rtol=0, atol=1e-13)
    assert np.isfinite(got).all()


def test_sequences_side_by_side_are_each_as_alone(scheme: Scheme) -> None:
    orders = np.array([RNG.permutation(N) for _ in range(4)])
    got = model(2).outputs(X[orders], scheme, AT, "causal")
    alone = [model(2).outputs(X[order], scheme, AT, "causal") for order in orders]
    assert_allclose(got, alone, rtol=0, atol=1e-13)


def test_the_bias_of_some_queries_is_that_part_of_the_bias(scheme: Scheme) -> None:
    at = scheme.coordinates(AT)
    q, k = RNG.normal(size=(2, 2, N, 12))
    whole = scheme.bias(q, k, at, at)
    for rows in (slice(0, 4), slice(4, 5), slice(7, N)):
        assert_array_equal(scheme.bias(q[:, rows], k, at[rows], at), whole[:, rows])


def test_every_hook_takes_sequences_side_by_side(scheme: Scheme) -> None:
    at = scheme.coordinates(AT)
    q, k = RNG.normal(size=(2, 3, 2, N, 12))
    tokens = RNG.normal(size=(3, N, 12))
    assert_array_equal(scheme.add(tokens, at), [scheme.add(x, at) for x in tokens])
    assert_array_equal(scheme.rotate(q, at), [scheme.rotate(x, at) for x in q])
    assert_array_equal(scheme.rotate_keys(k, at), [scheme.rotate_keys(x, at) for x in k])
    bias = scheme.bias(q, k, at, at)
    for i in range(3):
        assert_array_equal(np.broadcast_to(bias, (3, 2, N, N))[i], scheme.bias(q[i], k[i], at, at))


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("queries", [range(0, 1), range(2, 5), range(8, 9)])
def test_keys_are_left_out_only_where_no_query_looks(mask: Mask, queries: range) -> None:
    whole = {"none": np.ones((N, N), bool), "causal": CAUSAL}
    want = whole.get("none" if mask is None else mask) if not isinstance(mask, np.ndarray) else mask
    keys = seen(mask, queries, N)
    got = np.zeros((len(queries), N), bool)
    look = looks(mask, queries, keys)
    got[:, keys] = True if look is None else look
    assert want is not None
    assert_array_equal(got, want[queries.start : queries.stop])
    if mask is BAND:
        assert (keys.start, keys.stop) == (max(0, queries.start - 2), queries.stop)


def test_causal_as_a_rule_and_as_an_array_are_one() -> None:
    one, other = (model(2).attend(X, NoPE(), AT, mask) for mask in ("causal", CAUSAL))
    assert_array_equal(one.weights, other.weights)
    assert_array_equal(one.outputs, other.outputs)


@pytest.mark.parametrize("rows", [slice(0, 3), slice(5, 6), slice(None)])
def test_some_queries_alone_get_their_own_weights(rows: slice) -> None:
    some = model(2).attend(X, NoPE(), AT, "causal", rows)
    assert_allclose(some.weights, model(2).attend(X, NoPE(), AT, "causal").weights[:, rows], 1e-13)


@pytest.mark.parametrize("heads", [1, 71])
@pytest.mark.parametrize("length", [1, 2, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_number_of_heads_and_tokens(
    monkeypatch: pytest.MonkeyPatch, heads: int, length: int, dtype: str
) -> None:
    monkeypatch.setattr(module, "MOST_SCORES", 3000)
    x, at = RNG.normal(size=(length, 142)).astype(dtype), np.arange(length)
    used = model(heads, 142, dtype)
    got, want = used.outputs(x, NoPE(), at), used.attend(x, NoPE(), at).outputs
    assert got.dtype == dtype
    assert np.abs(got - want).max() <= used.tolerance(x, NoPE(), at)
    assert_allclose(got, want, rtol=0, atol=1e-13 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("mask", [None, "causal"])
def test_scores_of_ten_thousand_pick_one_key(monkeypatch: pytest.MonkeyPatch, mask: Mask) -> None:
    """Beside the largest score, the others are e^-10000: 0 in any float."""
    monkeypatch.setattr(module, "MOST_SCORES", 2 * N)
    eye = np.eye(N)
    used = Model(eye, 1e4 * np.sqrt(N) * eye, eye, 1)
    assert used.attend(eye, NoPE(), AT).scores.max() == pytest.approx(1e4)
    assert_array_equal(used.outputs(eye, NoPE(), AT, mask), eye)
    assert_array_equal(used.outputs(-eye, NoPE(), AT, mask), -eye)


def test_queries_that_may_look_at_nothing_get_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SCORES", N)
    mask = CAUSAL.copy()
    mask[[0, 4]] = False
    got = model(1).outputs(X, NoPE(), AT, mask)
    assert not got[[0, 4]].any()
    assert got[[1, 2, 3, 5, 6, 7, 8]].all()


def test_what_overflows_is_not_a_number_anywhere_near_a_verdict() -> None:
    huge = np.full((3, 2), 1e200)
    assert np.isnan(Model(*np.tile(np.eye(2), (3, 1, 1)), 1).outputs(huge, NoPE(), AT[:3])).all()


@pytest.mark.parametrize("mask", [None, "causal"])
def test_memory_grows_with_the_length_and_not_with_its_square(mask: Mask) -> None:
    length = 4096
    x, used = RNG.normal(size=(length, 8)).astype("float32"), model(1, 8, "float32")
    tracemalloc.start()
    used.outputs(x, NoPE(), np.arange(length), mask)
    used.tolerance(x, NoPE(), np.arange(length))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < length**2 * 4 / 4
