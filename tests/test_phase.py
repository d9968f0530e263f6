"""Angles: right to the last places at any position, and the same however they are asked for."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from poscli.phase import TWO_PI, cos_sin
from poscli.schemes.turns import ladder

UNIT = 2.0**-53


def exact_cos_sin(angle: Decimal) -> tuple[float, float]:
    """Sum the two series in 80 digits, after taking off whole turns."""
    with localcontext(prec=80):
        angle = angle - (angle / TWO_PI).to_integral_value() * TWO_PI
        term, cos, sin = Decimal(1), Decimal(0), Decimal(0)
        for k in range(80):
            if k % 2 == 0:
                cos += term * (1 if k % 4 == 0 else -1)
            else:
                sin += term * (1 if k % 4 == 1 else -1)
            term = term * angle / (k + 1)
        return float(cos), float(sin)


@pytest.mark.parametrize(
    "position", [0, 1, 2, 3, 255, 4095, 131071, 1_000_000, -131071, 0.5, 123456.789, 2**31]
)
def test_within_two_units_of_the_exact_value(position: float) -> None:
    frequencies = ladder(10000.0, 128)
    cos, sin = cos_sin(np.array([position]), frequencies)
    for i in range(0, 64, 7):
        with localcontext(prec=80):
            angle = Decimal(position) * frequencies[i]
        want_cos, want_sin = exact_cos_sin(angle)
        assert abs(cos[0, i] - want_cos) <= 2 * UNIT
        assert abs(sin[0, i] - want_sin) <= 2 * UNIT


def test_the_naive_product_is_far_worse() -> None:
    frequencies = ladder(10000.0, 1024)
    cos, _ = cos_sin(np.array([131071]), frequencies)
    naive = np.cos(131071 * np.array([float(w) for w in frequencies]))
    assert np.abs(cos - naive).max() > 1000 * UNIT


@given(st.integers(-(2**40), 2**40), st.integers(1, 40))
def test_a_row_is_the_same_alone_and_in_a_range(start: int, length: int) -> None:
    frequencies = ladder(10000.0, 20)
    together = cos_sin(np.arange(start, start + length), frequencies)
    alone = cos_sin(np.array([start + length - 1]), frequencies)
    assert_array_equal(together[0][-1], alone[0][0])
    assert_array_equal(together[1][-1], alone[1][0])


def test_float32_is_the_correctly_rounded_value() -> None:
    frequencies = ladder(10000.0, 8)
    cos, _ = cos_sin(np.array([100_003]), frequencies)
    want = [exact_cos_sin(Decimal(100_003) * w)[0] for w in frequencies]
    assert_array_equal(cos[0].astype(np.float32), np.array(want, np.float64).astype(np.float32))
