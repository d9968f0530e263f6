"""Small numbers with their origin, computed in float64 and held to the digits shown.

Sinusoidal rows: Vaswani 2017, section 3.5, at the width and position named. RoPE: Su 2021,
equation 15. ALiBi slopes: Press 2022, section 3 and the authors' code for 6 and 12 heads.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from poscli import Alibi, Rope, Sinusoidal
from poscli.schemes.alibi import slopes

ATOL = 5.1e-9


def row(position: int, width: int) -> np.ndarray:
    return Sinusoidal().vectors(np.array([position]), width)[0]


@pytest.mark.parametrize(
    ("position", "width", "want"),
    [
        (1, 4, [0.84147098, 0.54030231, 0.00999983, 0.99995000]),
        (3, 4, [0.14112001, -0.98999250, 0.02999550, 0.99955003]),
        (1, 5, [0.84147098, 0.54030231, 0.02511622, 0.99968454, 0.00063096]),
        (1, 2, [0.84147098, 0.54030231]),
        (1, 1, [0.84147098]),
    ],
)
def test_sinusoidal_rows(position: int, width: int, want: list[float]) -> None:
    assert_allclose(row(position, width), want, rtol=0, atol=ATOL)


def test_sinusoidal_at_the_width_of_the_paper() -> None:
    want = [-0.54402111, -0.83907153, -0.22002319, -0.97549464]
    assert_allclose(row(10, 512)[:4], want, rtol=0, atol=ATOL)
    assert row(100, 512) @ row(101, 512) == pytest.approx(249.10209783, abs=ATOL)


@pytest.mark.parametrize(
    ("pairing", "want"),
    [
        ("adjacent", [-1.14263966, 1.92207560, 2.95985067, 4.02979950]),
        ("half", [-1.98411065, 1.95990067, 2.46237790, 4.01979967]),
    ],
)
def test_rope_turns_1234(pairing: str, want: list[float]) -> None:
    x = np.array([[1.0, 2.0, 3.0, 4.0]])
    rope = Rope.model_validate({"pairing": pairing})
    assert_allclose(rope.apply(x, np.array([1]))[0], want, rtol=0, atol=ATOL)


@pytest.mark.parametrize(
    ("offset", "want"),
    [(1, 0.97021381), (10, 0.66906286), (100, 0.47724148), (1000, 0.15902700), (4096, -0.05285334)],
)
def test_rope_mean_cosine_of_a_head_of_128(offset: int, want: float) -> None:
    values = Rope().encoding(np.array([offset]), 128, 1).values
    assert values[0].mean() == pytest.approx(want, abs=ATOL)


@pytest.mark.parametrize(
    ("heads", "want"),
    [
        (1, [0.00390625]),
        (8, [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
    ],
)
def test_alibi_slopes(heads: int, want: list[float]) -> None:
    assert_allclose(slopes(heads), want, rtol=0, atol=ATOL)


def test_alibi_row() -> None:
    values = Alibi().encoding(np.arange(4), 4, 2).values
    assert_allclose(values[0, 3], [-0.1875, -0.125, -0.0625, 0.0], rtol=0, atol=0)
