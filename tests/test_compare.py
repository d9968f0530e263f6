"""compare: every measure, on schemes whose answer is known."""

from typing import Any

import numpy as np
import pytest
from conftest import refused, run_json

from poscli import compare
from poscli.report import largest_difference


def measures(*args: str) -> dict[str, Any]:
    result = run_json("compare", *args)["result"]
    names = [label[0] for label in result["labels"]]
    return {
        scheme: {name: row[i] for name, row in zip(names, result["cells"], strict=True)}
        for i, scheme in enumerate(result["columns"])
    }


def test_parameters_limits_and_places() -> None:
    got = measures("none", "learned", "rope", "alibi", "--dim", "768", "--heads", "12")
    assert got["learned"]["parameters to learn"] == 786_432
    assert got["learned"]["limit"] == "1,024 positions"
    assert [got[s]["parameters to learn"] for s in ("none", "rope", "alibi")] == [0, 0, 0]
    assert got["rope"]["place"] == "queries and keys"


def test_distinct_rows_count_every_row() -> None:
    got = measures(
        "none", "learned:table=[[1,2],[1,2],[3,4]]", "--dim", "2", "--len", "3", "--places", "0,2"
    )
    assert got["none"]["distinct rows"] == "1 of 3"
    (learned,) = [value for name, value in got.items() if name.startswith("learned")]
    assert learned["distinct rows"] == "2 of 3"
    assert learned["norm added"] == "2.236 to 5"


def test_which_scores_depend_on_the_offset_alone() -> None:
    got = measures("none", "sinusoidal", "learned", "rope", "alibi", "--dim", "8", "--heads", "2")
    answers = {name: value["score by offset alone"] for name, value in got.items()}
    assert answers == {
        "none": "yes",
        "sinusoidal": "no",
        "learned": "no",
        "rope": "yes",
        "alibi": "yes",
    }
    assert got["rope"]["largest deviation"] < 1e-13
    assert got["sinusoidal"]["largest deviation"] > 0.1


def test_one_token_has_no_offsets() -> None:
    got = measures("sinusoidal", "--len", "1")["sinusoidal"]
    assert got["score by offset alone"] is None
    assert got["largest deviation"] is None


def test_adding_against_concatenating() -> None:
    facts = run_json("compare", "none", "--dim", "6")["sections"][0]["facts"]
    assert facts["adding a position keeps"] == "width 6, so 6^2 = 36 weights per projection"
    assert facts["concatenating one needs"] == "width 12, so 12^2 = 144 weights"


def test_pairs_are_differences_of_outputs_under_the_mask() -> None:
    def pairs(mask: str) -> np.ndarray:
        report = compare(schemes=["none", "rope"], mask=mask, dim=8)
        return np.array(report.sections[1].grids[0].rows())

    free, causal = pairs("none"), pairs("causal")
    for matrix in (free, causal):
        assert largest_difference(matrix, matrix.T) == 0
        assert matrix[0, 1] > 1e-3
    assert free[0, 1] != causal[0, 1]


def test_the_same_word_at_two_places() -> None:
    document = run_json("compare", "alibi", "--word", "dog", "--places", "3,7")
    assert document["sections"][2]["title"].endswith("without a mask")
    claims = [c["claim"] for c in document["sections"][2]["checks"]]
    assert claims == [
        "none: 'dog' at 3 and at 7, equal",
        "alibi: 'dog' at 3 and at 7, different",
    ]
    assert document["passed"] is True


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["learned:rows=50", "--len", "20"], "(places are 0 and 99)"),
        (["learned:rows=8"], "position 8, the 9th, is not one of them"),
        (["none", "--places", "4,4"], "two different places"),
        (["none", "--places", "1"], "--places: needs at least 2; got 1"),
        (["none", "--len", "2", "--sentence", "a b"], "sentence and length both"),
        (
            ["none", "--heads", "1024", "--dim", "1024", "--places", "0,4000"],
            "which take 2.0 TB, and 2.1 GB are free",
        ),
        (["none", "--set", "scheme.base=5"], "compare has no setting 'scheme'"),
    ],
)
def test_what_cannot_run_is_refused(args: list[str], want: str) -> None:
    assert want in refused("compare", *args)


def test_b03_the_same_table_up_to_column_order() -> None:
    args = ["sinusoidal", "sinusoidal:layout=concatenated", "sinusoidal:base=100", "--dim", "6"]
    facts = run_json("compare", *args, "--len", "4")["sections"][1]["facts"]
    assert facts == {
        "sinusoidal and sinusoidal:layout=concatenated": "the same table up to column order"
    }
