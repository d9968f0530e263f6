"""Angles: right to the last places at any position, and the same however they are asked for."""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import traced_peak
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from poscli import phase
from poscli.phase import TWO_PI, Circle, Frequencies, cos_sin, powers
from poscli.schemes import SCHEMES
from poscli.schemes.rope import Rope
from poscli.schemes.sinusoidal import Sinusoidal
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


def single(positions: np.ndarray, frequencies: Frequencies) -> np.ndarray:
    """Return sines and cosines in turn, in float32."""
    pairs = np.empty((len(positions), len(frequencies)), np.complex64)
    Circle(frequencies).fill(positions, pairs)
    return pairs.view(np.float32)


def exact_parts(position: float, frequency: Decimal) -> tuple[Fraction, Fraction]:
    """Return sin and cos to 80 digits."""
    with localcontext(prec=100):
        angle = Decimal(position) * frequency
        angle -= (angle / TWO_PI).to_integral_value() * TWO_PI
        term, parts = Decimal(1), [Decimal(0)] * 4
        for k in range(90):
            parts[k % 4] += term
            term = term * angle / (k + 1)
        return Fraction(parts[1] - parts[3]), Fraction(parts[0] - parts[2])


def nearest_float32(exact: Fraction) -> np.float32:
    """Return the nearest float32, by comparing it with its neighbours."""
    near = np.float32(float(exact))
    around = (np.nextafter(near, np.float32(-2)), near, np.nextafter(near, np.float32(2)))
    return min(around, key=lambda number: abs(Fraction(float(number)) - exact))


anywhere = st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-300, 300))
between = st.floats(-(2.0**40), 2.0**40)
turning = st.one_of(
    st.decimals("1e-12", "40", places=30), st.integers(0, 100).map(lambda k: Decimal(10) ** -k)
)


@settings(deadline=None)
@given(st.one_of(anywhere, between), turning)
def test_every_value_is_within_a_unit_or_two_and_float32_correctly_rounded(
    position: float, frequency: Decimal
) -> None:
    sin, cos = exact_parts(position, frequency)
    got = cos_sin(np.array([position]), [frequency])
    units = 0.52 if position % 1 == 0 else 2
    for value, want in zip(got, (cos, sin), strict=True):
        assert abs(Fraction(float(value[0, 0])) - want) <= Fraction(units * UNIT)
    rounded = single(np.array([position]), [frequency])[0].tolist()
    assert rounded == [nearest_float32(sin), nearest_float32(cos)]


def frequency_of_sine(value: Fraction, position: float, turns: int) -> Decimal:
    """Return a frequency at which the sine of this position is that value, to 60 digits."""
    with localcontext(prec=90):
        want = Decimal(value.numerator) / Decimal(value.denominator)
        angle = want
        for _ in range(12):
            sin, cos = exact_parts(1, angle)
            step = (Decimal(sin.numerator) / sin.denominator - want) / (
                Decimal(cos.numerator) / cos.denominator
            )
            angle -= step
        return (angle + turns * TWO_PI) / Decimal(position)


@pytest.mark.parametrize(
    "tie", [0.5 + 2**-25, 0.75 - 2**-25, 2**-12 + 2**-37, 0.7 // 2**-24 * 2**-24]
)
@pytest.mark.parametrize("position", [1, -1, 130, 2**30 + 7, 0.5])
@pytest.mark.parametrize("away", [Fraction(1, 2**90), Fraction(-1, 2**90), Fraction(1, 2**56)])
def test_a_value_beside_a_tie_is_rounded_to_its_own_side(
    tie: float, position: float, away: Fraction
) -> None:
    exact = Fraction(tie) + away
    turns = 3 if abs(position) < 2**20 else 0
    frequency = frequency_of_sine(exact, abs(position), turns)
    want = nearest_float32(exact)
    assert single(np.array([position]), [frequency])[0, 0] == np.copysign(want, position)


def test_float32_is_the_same_where_nothing_is_decided_by_the_first_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    positions, frequencies = np.arange(-70, 400), ladder(10000.0, 18)
    quick = single(positions, frequencies)
    monkeypatch.setattr(phase, "_PRODUCT_ERROR", 1.0)
    assert_array_equal(single(positions, frequencies), quick)
    monkeypatch.setattr(phase, "_PIECES_ERROR", 2.0**-30)
    assert_array_equal(single(positions, frequencies), quick)


rows = st.lists(
    st.one_of(st.integers(-600, 600), st.integers(-(2**50), 2**50), st.floats(-1e6, 1e6)),
    min_size=1,
    max_size=40,
)


@settings(deadline=None, max_examples=50)
@given(rows, st.integers(1, 70), st.booleans())
def test_a_row_is_the_same_in_any_company(at: list[float], pairs: int, narrow: bool) -> None:
    kind = np.complex64 if narrow else np.complex128
    circle = Circle(ladder(10000.0, 2 * pairs))
    together = np.empty((len(at), pairs), kind)
    circle.fill(np.array(at), together)
    for p, row in zip(at, together, strict=True):
        alone = np.empty((1, pairs), kind)
        Circle(ladder(10000.0, 2 * pairs)).fill(np.array([p]), alone)
        assert alone.tobytes() == row.tobytes()


def test_blocks_of_any_size_make_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    frequencies, positions = ladder(10000.0, 10), np.arange(16_300, 17_100)
    tables = [single(positions, frequencies)]
    for entries in (1, 40, 1000):
        monkeypatch.setattr(phase, "_ANCHORED", entries)
        monkeypatch.setattr(phase, "_AT_ONCE", max(1, entries // 4))
        tables.append(single(positions, frequencies))
    for table in tables[1:]:
        assert_array_equal(table, tables[0])


def test_powers_are_exact_where_they_end_and_right_to_60_digits() -> None:
    assert powers(10000.0, [Fraction(1, 2), Fraction(1, 4), Fraction(0)]) == (
        Decimal("0.01"),
        Decimal("0.1"),
        Decimal(1),
    )
    exponents = [Fraction(2 * i, 510) for i in range(255)] + [Fraction(-3, 7)]
    for got, e in zip(powers(500000.0, exponents), exponents, strict=True):
        with localcontext(prec=90):
            want = Decimal(500000) ** (Decimal(-e.numerator) / e.denominator)
            assert abs(got / want - 1) < Decimal("1e-59")


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_a_float32_table_needs_little_beside_itself(layout: str) -> None:
    scheme = Sinusoidal.model_validate({"layout": layout})
    tables = []
    peak = traced_peak(lambda: tables.append(scheme.encoder(1024, 1)(np.arange(2**14), "float32")))
    assert tables[0].nbytes == 2**26
    assert peak - tables[0].nbytes < 2**24
    want = scheme.vectors(np.arange(2**13, 2**13 + 9), 1024).astype(np.float32)
    assert_array_equal(tables[0][2**13 : 2**13 + 9], want)


@pytest.mark.parametrize(
    "name", ["rope", "rope-yarn", "rope-mrope", "rope-axial", "rope-axial-centred", "xpos"]
)
@pytest.mark.parametrize("precision", ["float64", "float32", "float16"])
def test_turns_in_every_format_are_those_of_the_exact_angles(name: str, precision: Any) -> None:
    scheme = SCHEMES[name].model_validate({})
    at = scheme.coordinates(np.arange(200))
    used = scheme.for_length(200)
    got = used.encoder(16, 1)(at, precision)
    assert got.dtype == precision
    assert_allclose(got, used.encoding(at, 16, 1).values, rtol=np.finfo(precision).eps / 1.9)


def test_turns_in_float32_are_rounded_once() -> None:
    """The float64 sine of this angle is a tie; the true one lies to one side of it."""
    tie = Fraction(0.75 - 2**-25) - Fraction(1, 2**90)
    frequency = frequency_of_sine(tie, 1, 0)

    class Beside(Rope):
        def frequencies(self, width: int) -> Frequencies:
            return [frequency]

    turn = Beside().encoder(2, 1)(np.array([1]), "float32")[1, 0, 0]
    twice = np.float32(Beside().encoder(2, 1)(np.array([1]), "float64")[1, 0, 0])
    assert turn == nearest_float32(tie) != twice
