"""Faults from practice that concern score biases, each with its right answer and its id."""

from typing import Any

import numpy as np
import pytest
from conftest import refused, run, run_json
from numpy.testing import assert_array_equal

from poscli.schemes.t5 import T5

NUMBERED = [[float(bucket)] for bucket in range(32)]
"""A table of one head whose biases are the numbers of their buckets."""


def bias(write: Any, scheme: str, **settings: Any) -> np.ndarray:
    """Return the bias of one head at positions 0 to n - 1, through the command line."""
    lines = "".join(f"  {key}: {value}\n" for key, value in settings.items())
    config = write(f"scheme:\n  name: {scheme}\n{lines}")
    grid = run_json("encode", "--config", config, "--heads", "1", "--len", "140")["result"]
    return np.array(grid["cells"], float)


def test_b58_slopes_of_any_number_of_heads_and_of_another_maximum() -> None:
    def slopes(scheme: str, heads: int) -> list[float]:
        args = ("--scheme", scheme, "--heads", str(heads), "--len", "2", "--dim", "1")
        grid = run_json("encode", *args)["result"]
        return [-b for b in np.array(grid["cells"], float).reshape(heads, 2, 2)[:, 1, 0]]

    assert slopes("alibi", 6) == [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    assert slopes("alibi", 1) == [0.00390625]
    assert slopes("alibi:bias_max=16", 4) == [2.0**-4, 2.0**-8, 2.0**-12, 2.0**-16]


@pytest.mark.parametrize("form", ["causal", "key-only", "last-key"])
def test_b63_the_forms_for_a_causal_mask_agree_up_to_the_query(form: str) -> None:
    """And none is the two-sided form: without a mask they reward the keys after the query."""

    def weights(scheme: str, *mask: str) -> Any:
        args = ("permute-test", "a b c d", "--permutation", "1,2,0,3")
        sections = run_json(*args, "--scheme", scheme, *mask)["sections"]
        return np.array(sections[-2]["grids"][-1]["cells"], float)

    one, other = (weights(f"alibi:form={name}", "--causal") for name in ("symmetric", form))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)
    assert np.abs(weights("alibi") - weights(f"alibi:form={form}")).max() > 1e-3


def test_b65_distance_is_key_minus_query(write: Any) -> None:
    two_sided = bias(write, "t5", table=NUMBERED)
    assert two_sided[5, 2] == 3
    assert two_sided[5, 8] == 19


def test_b66_one_sided(write: Any) -> None:
    one_sided = bias(write, "t5", bidirectional="false", table=NUMBERED)
    assert [one_sided[i, j] for i, j in ((3, 3), (3, 6), (3, 0), (15, 0), (16, 0))] == [
        0,
        0,
        3,
        15,
        16,
    ]
    assert [one_sided[20, 0], one_sided[128, 0]] == [17, 31]
    rows = one_sided[:, 0].astype(int)
    starts = [int(np.argmax(rows == bucket)) for bucket in range(17, 32)]
    assert starts == [19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]


def test_two_sided_buckets_begin_where_they_should() -> None:
    rows = T5().bucket(-np.arange(200))
    starts = [int(np.argmax(rows == bucket)) for bucket in range(8, 16)]
    assert starts == [8, 12, 16, 23, 32, 46, 64, 91]
    assert_array_equal(T5().bucket(np.arange(1, 200)), rows[1:] + 16)
    assert_array_equal(T5().bucket(np.array([-128, 128, -(2**53), 2**53])), [15, 31, 15, 31])


@pytest.mark.parametrize("mask", [[], ["--causal"]])
@pytest.mark.parametrize(
    "scheme",
    ["alibi:form=causal", "alibi:form=key-only", "alibi:form=last-key", "fire:threshold=0"],
)
def test_no_form_makes_a_number_that_is_none(scheme: str, mask: list[str]) -> None:
    result = run("permute-test", "dog bites man", "--scheme", scheme, *mask)
    assert result.status == 0
    assert "nan" not in result.out.lower()


def test_extrapolate_shows_the_last_query_on_the_first_key() -> None:
    def cells(scheme: str) -> Any:
        args = ("extrapolate", scheme, "--len", "4", "--lengths", "4,8")
        return [row[1] for row in run_json(*args)["result"]["cells"]]

    assert cells("alibi") == ["trained", "bias -1.75 at distance 7"]
    assert cells("alibi:form=last-key") == ["trained", "bias -1.75 at distance 7"]
    assert cells("alibi:form=key-only") == ["trained", "bias 1.75 of the last key"]


def test_a_window_ends_where_it_ends() -> None:
    assert "position 14,0 is outside" in refused(
        "encode", "--scheme", "window", "--positions", "196"
    )
    cells = run_json("extrapolate", "window", "--len", "16")["result"]["cells"]
    assert cells[-1] == ["no", "no bias for position 196"]
    assert cells[-2][0] == "yes"


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("t5:buckets=7", "an even number of buckets; got 7"),
        ("t5:buckets=2", "each side needs 2 buckets or more"),
        ("t5:max_distance=8", "max_distance must be greater than 8"),
        ("t5:max_distance=16,bidirectional=false", "max_distance must be greater than 16"),
        ("t5:table=[[1.0]],seed=1", "so 'seed' has no use"),
        ("t5:table=[[1.0]]", "t5 needs table of shape 32 x 4 for 4 heads"),
        ("kerple-power:p=[2.5]", "p must be greater than 0 and at most 2; got 2.5"),
        ("kerple-log:a=[0.0]", "a must be greater than 0; got 0"),
        ("deberta:max_distance=129", "max_distance must be greater than 129"),
        ("sandwich:width=7", "multiple of 2"),
        ("alibi:form=left", "symmetric"),
        ("alibi:slope=1", "alibi has no setting 'slope'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(scheme: str, message: str) -> None:
    assert message in refused("encode", "--scheme", scheme)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1.0], [2.0]], "shaw needs table of shape 2 x 4 for 4 heads of width 4; got 2 x 1"),
        ([[1.0], [2.0, 3.0]], "the rows of table must all have the same width"),
        ([[1.0], [float("inf")]], "table"),
        ("absent.npy", "there is no such file"),
    ],
)
def test_tables_that_do_not_fit_are_refused(write: Any, table: Any, message: str) -> None:
    lines = f"scheme:\n  name: shaw\n  left: 1\n  right: 0\n  table: {table}\n"
    assert message in refused("encode", "--config", write(lines))


@pytest.mark.parametrize("scheme", ["t5", "shaw", "deberta"])
def test_a_table_has_no_value_between_two_positions(scheme: str) -> None:
    message = refused("encode", "--scheme", scheme, "--positions", "0,1.5")
    assert message.endswith(f"{scheme} has rows for whole positions only; got position 1.5")


@pytest.mark.parametrize("width", ["1", "3"])
def test_an_odd_model_has_no_pairs_of_sines(width: str) -> None:
    args = ("encode", "--scheme", "transformer-xl", "--dim", width, "--heads", "1")
    assert "needs an even model width" in refused(*args)
    assert run(*args[:-1], "2").status == 0
