"""Turning pairs of columns: the same bits in blocks, in place and beside columns that stay."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from poscli import Rope, RopeAxial
from poscli.schemes import rotary
from poscli.schemes.rotary import Rotary

RNG = np.random.default_rng(5)
PAIRINGS = ["adjacent", "half", "adjacent-in-half-out"]
SCHEMES = [
    *[Rope.model_validate({"pairing": p}) for p in PAIRINGS],
    *[Rope.model_validate({"pairing": p, "rotary_dim": 6}) for p in PAIRINGS],
    RopeAxial(pairing="half-per-axis"),
]


def pair_by_pair(scheme: Rotary, x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """The definition, one number at a time."""
    first, second = scheme.pairs(x.shape[-1])
    to_first, to_second = scheme.written_to(x.shape[-1])
    cos, sin, turned = cos.astype(x.dtype), sin.astype(x.dtype), x.copy()
    for h, n, i in np.ndindex(*x.shape[:2], len(first)):
        a, b = x[h, n, first[i]], x[h, n, second[i]]
        turned[h, n, to_first[i]] = a * cos[n, i] - b * sin[n, i]
        turned[h, n, to_second[i]] = b * cos[n, i] + a * sin[n, i]
    return turned


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.label())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("block", [1, 20, 100, 2**17])
def test_blocks_give_the_bits_of_the_definition(
    monkeypatch: pytest.MonkeyPatch, scheme: Rotary, dtype: str, block: int
) -> None:
    monkeypatch.setattr(rotary, "_BLOCK", block)
    x = RNG.normal(size=(3, 5, 8)).astype(dtype)
    before = x.copy()
    cos, sin = scheme.cos_sin(scheme.coordinates(np.arange(7, 12)), 8)
    want = pair_by_pair(scheme, x, cos, sin)
    assert_array_equal(scheme.turn(x, cos, sin), want)
    assert_array_equal(scheme.turn(np.stack([x, x]), cos, sin), [want, want])
    assert_array_equal(x, before)
    assert scheme.turn(x, cos, sin, out=x) is x
    assert_array_equal(x, want)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_columns_in_no_pair_pass_through_and_touch_no_other(pairing: str) -> None:
    scheme = Rope.model_validate({"pairing": pairing, "rotary_dim": 4})
    x = RNG.normal(size=(1, 2, 6))
    x[..., 4:] = [np.nan, np.inf]
    turned = scheme.rotate(x, np.array([1, 2]))
    assert_array_equal(turned[..., 4:], x[..., 4:])
    assert np.isfinite(turned[..., :4]).all()


def test_turning_in_place_takes_a_block_of_memory_and_not_another_array() -> None:
    scheme, x = Rope(pairing="half"), RNG.normal(size=(16, 2048, 64))
    cos, sin = scheme.cos_sin(np.arange(2048), 64)
    tracemalloc.start()
    scheme.turn(x, cos, sin, out=x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < x.nbytes / 2
