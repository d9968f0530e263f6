"""Large scores, hidden keys, one token, many heads, far positions: finite, or said to be not."""

import numpy as np
import pytest
from conftest import cells, refused, run, run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli import Verdict, permute_test
from poscli.arrays import rounded
from poscli.attention import Model, attention, softmax
from poscli.errors import PoscliError
from poscli.report import check
from poscli.schemes import SCHEMES, Scheme

FAR = 2**31


def entering(scheme: Scheme, tokens: int, heads: int, width: int = 8) -> np.ndarray:
    """Return random token vectors (n, heads * width), fewer where a scheme has fewer rows."""
    rows = tokens if scheme.limit is None else min(tokens, scheme.limit)
    return np.random.default_rng(0).normal(size=(rows, heads * width))


def test_softmax_of_scores_far_apart_is_exact() -> None:
    assert_array_equal(softmax(np.array([[1e4, -1e4, 0.0]])), [[1, 0, 0]])
    assert_array_equal(softmax(np.array([[-1e4, -1e4]])), [[0.5, 0.5]])
    assert_array_equal(softmax(np.array([[8e307, -8e307]])), [[1, 0]])
    assert_allclose(softmax(np.array([[1e4, 1e4 - 1]]))[0, 1], 1 / (1 + np.e), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scores_of_10000_give_finite_outputs(scheme: Scheme, dtype: str) -> None:
    x = entering(scheme, 6, 1).astype(dtype)
    strong = np.asarray(np.eye(8) * 100, dtype)
    attended = Model(strong, strong, np.eye(8, dtype=dtype), 1).attend(x, scheme, np.arange(len(x)))
    assert np.abs(attended.scores).max() >= 1e4
    assert np.isfinite(attended.outputs).all()
    assert_allclose(attended.weights.sum(axis=-1), 1, rtol=1e-6)


def test_every_key_masked_gives_zeros(scheme: Scheme) -> None:
    x = entering(scheme, 5, 2)
    mask = np.zeros((len(x), len(x)), bool)
    mask[0] = True
    matrices = [np.eye(x.shape[1])] * 3
    outputs = Model(*matrices, 2).attend(x, scheme, np.arange(len(x)), mask).outputs
    assert np.isfinite(outputs[0]).all()
    assert np.abs(outputs[0]).max() > 0
    assert_array_equal(outputs[1:], np.zeros_like(outputs[1:]))


@pytest.mark.parametrize("heads", [1, 71])
def test_one_token_and_one_head_or_71(scheme: Scheme, heads: int) -> None:
    x = entering(scheme, 1, heads)
    matrices = [np.eye(x.shape[1])] * 3
    alone = Model(*matrices, heads).attend(x, scheme, np.arange(1))
    assert_array_equal(alone.weights, np.ones((heads, 1, 1)))
    assert_array_equal(alone.outputs, scheme.for_length(1).add(x, scheme.coordinates(np.arange(1))))


def test_heads_are_laid_side_by_side_also_at_71() -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 71, 3, 2))
    whole = attention(q, k, v, np.zeros((71, 3, 3)), None).outputs
    for h in (0, 35, 70):
        one = attention(q[h : h + 1], k[h : h + 1], v[h : h + 1], np.zeros((1, 3, 3)), None)
        assert_allclose(whole[:, 2 * h : 2 * h + 2], one.outputs, rtol=0, atol=1e-15)


def test_a_single_token_is_no_evidence() -> None:
    document = run_json("permute-test", "a", "--scheme", "rope", "--causal")
    verdicts = [c["verdict"] for s in document["sections"] for c in s["checks"]]
    assert len(verdicts) == 4
    assert set(verdicts) == {"not informative"}


@pytest.mark.parametrize("positions", [f"{FAR - 1},{FAR}", f"-{FAR},-1", f"0.5,{FAR}.5"])
@pytest.mark.parametrize("name", SCHEMES)
def test_far_and_negative_positions_are_finite_or_refused(name: str, positions: str) -> None:
    args = ["encode", "--scheme", name, "--positions", positions, "--dim", "8"]
    result = run(*args, "--format", "json")
    if result.status == 2:
        assert name in refused(*args)
        assert name not in UNBOUNDED
    else:
        assert np.isfinite(cells(*args[1:])).all()


UNBOUNDED = {"none", "sinusoidal", "rope", "rope-yarn", "alibi", "kerple-log", "transformer-xl"}
RELATIVE = ["alibi", "t5", "kerple-log", "kerple-power", "sandwich", "transformer-xl"]


@pytest.mark.parametrize("start", [FAR, -FAR])
@pytest.mark.parametrize("name", RELATIVE)
def test_a_bias_of_distances_does_not_care_where_it_starts(name: str, start: int) -> None:
    near = cells("--scheme", name, "--positions", "0,1,7", "--dim", "8")
    far = cells("--scheme", name, "--positions", f"{start},{start + 1},{start + 7}", "--dim", "8")
    assert_allclose(far, near, rtol=1e-13, atol=0)


ONE = np.array([1.0])


@pytest.mark.parametrize("expected", ["equal", "different"])
@pytest.mark.parametrize(
    ("one", "other", "tolerance"),
    [
        (ONE * np.nan, ONE, 1.0),
        (ONE, ONE, np.nan),
        (ONE, ONE * 2, np.nan),
        (ONE, ONE, np.inf),
        (ONE, ONE * 2, np.inf),
    ],
)
def test_a_verdict_needs_finite_evidence(
    expected: str, one: np.ndarray, other: np.ndarray, tolerance: float
) -> None:
    verdict = check("x", one, other, expected=expected, tolerance=tolerance).verdict
    assert verdict is Verdict.UNDEFINED


def test_an_infinity_is_no_difference_that_was_looked_for() -> None:
    found = check("x", ONE, ONE * np.inf, expected="different", tolerance=1.0)
    assert found.verdict is Verdict.UNDEFINED
    assert check("x", ONE, ONE * np.inf, expected="equal", tolerance=1.0).verdict is Verdict.FAIL


@pytest.mark.parametrize("size", [1e100, 1e154, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_no_check_passes_on_numbers_that_overflow(size: float, mask: str) -> None:
    report = permute_test(
        sentence="a b c",
        dim=2,
        embeddings={"a": [size, 1.0], "b": [-size, 0.5], "c": [size / 2, -size]},
        schemes=["sinusoidal", "rope", "alibi"],
        mask=mask,
    )
    assert report.checks
    for found in report.checks:
        if found.verdict is Verdict.PASS:
            assert np.isfinite([found.difference, found.tolerance]).all()
    assert size < 1e150 or not report.passed


@pytest.mark.parametrize(
    ("precision", "fits", "too_large"),
    [
        ("bfloat16", 3.3895313892515355e38, 3.3962e38),
        ("float16", 65504.0, 65520.0),
        ("float32", 3.4028234663852886e38, 3.4028236e38),
    ],
)
def test_what_overflows_a_format_is_refused(precision: str, fits: float, too_large: float) -> None:
    assert rounded(np.array([fits, -fits]), precision).tolist() == [fits, -fits]
    for values in ([0.0, too_large], [-np.inf, -too_large]):
        with pytest.raises(PoscliError, match=f"is too large for {precision}"):
            rounded(np.array(values), precision)
    assert rounded(np.array([-np.inf]), precision).tolist() == [-np.inf]


def test_bfloat16_output_that_overflows_is_refused() -> None:
    args = ["encode", "--vector", "1e39,1", "--scheme", "none", "--dtype", "bfloat16"]
    assert refused(*args) == "1e+39 is too large for bfloat16"


def test_more_samples_than_there_are_orders_tries_each_once() -> None:
    args = ["permute-test", "a a a b c d e f", "--dim", "2", "--samples"]
    facts = run_json(*args, "6720")["sections"][0]["facts"]
    assert facts["re-orderings"] == "every one that changes the text: 6,719"
    facts = run_json(*args, "40")["sections"][0]["facts"]
    assert facts["re-orderings"] == "40 drawn with seed 0, a 3-cycle among them"
