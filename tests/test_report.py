"""A check keeps its evidence, and nothing passes vacuously."""

import numpy as np
import pytest

from poscli import Verdict
from poscli.report import check, largest_difference, tolerance

ONE = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("other", "expected", "verdict", "identical"),
    [
        (ONE, "equal", Verdict.PASS, True),
        (ONE, "different", Verdict.FAIL, True),
        (ONE + 1e-12, "equal", Verdict.PASS, False),
        (ONE + 1e-12, "different", Verdict.FAIL, False),
        (ONE + 0.1, "equal", Verdict.FAIL, False),
        (ONE + 0.1, "different", Verdict.PASS, False),
        (np.array([1.0, np.nan]), "equal", Verdict.UNDEFINED, False),
        (np.array([1.0, np.nan]), "different", Verdict.UNDEFINED, False),
        (np.array([1.0, np.inf]), "different", Verdict.UNDEFINED, False),
        (np.array([1.0, np.inf]), "equal", Verdict.FAIL, False),
    ],
)
def test_verdicts(other: np.ndarray, expected: str, verdict: Verdict, identical: bool) -> None:
    got = check("c", ONE, other, expected=expected, tolerance=1e-9)
    assert (got.verdict, got.identical) == (verdict, identical)


def test_nan_on_both_sides_is_undefined_even_where_uninformative() -> None:
    nan = np.array([np.nan])
    got = check("c", nan, nan, expected="equal", tolerance=1.0, uninformative="why")
    assert got.verdict is Verdict.UNDEFINED


@pytest.mark.parametrize("allowed", [np.nan, np.inf])
@pytest.mark.parametrize("expected", ["equal", "different"])
def test_a_tolerance_that_is_no_number_allows_no_verdict(allowed: float, expected: str) -> None:
    got = check("c", ONE, ONE + 1, expected=expected, tolerance=allowed)
    assert got.verdict is Verdict.UNDEFINED


def test_a_check_that_proves_nothing_says_so() -> None:
    got = check("c", ONE, ONE, expected="equal", tolerance=1.0, uninformative="one token")
    assert (got.verdict, got.reason) == (Verdict.NOT_INFORMATIVE, "one token")


def test_signed_zeros_are_equal_but_not_bit_identical() -> None:
    got = check("c", np.array([0.0]), np.array([-0.0]), expected="equal", tolerance=0.0)
    assert (got.verdict, got.identical, got.difference) == (Verdict.PASS, False, 0.0)


def test_equal_infinities_differ_by_nothing() -> None:
    inf = np.array([-np.inf, 1.0])
    assert largest_difference(inf, inf) == 0.0


def test_the_tolerance_scales_with_dtype_size_and_terms() -> None:
    assert tolerance(10, 1.0, np.float32) > 1e8 * tolerance(10, 1.0, np.float64)
    assert tolerance(20, 8.0, np.float64) == 16 * tolerance(10, 1.0, np.float64)


def test_the_tolerance_is_a_unit_per_term_and_no_more() -> None:
    assert tolerance(3, 2.0, np.float64) == 6 * 2.0**-52
    assert tolerance(1, 1.0, np.float32) == 2.0**-23
