"""Padding: where tokens stand, which rows each family reads, and where a text stops fitting."""

from typing import Any

import pytest
from conftest import refused, run_json


def rows(*args: str) -> dict[str, list[int]]:
    grid = run_json("encode", *args)["sections"][0]["grids"][0]
    return dict(zip(grid["columns"], map(list, zip(*grid["cells"], strict=True)), strict=True))


def limits(*args: str) -> dict[str, Any]:
    grid = run_json("encode", *args)["sections"][0]["grids"][1]
    return dict(zip(grid["columns"], grid["cells"][0], strict=True))


def test_a_mask_with_padding_at_the_left() -> None:
    got = rows("--mask", "0,0,1,1,1")
    assert got == {
        "bert": [0, 1, 2, 3, 4],
        "bart": [2, 3, 4, 5, 6],
        "opt": [1, 1, 2, 3, 4],
        "roberta": [1, 1, 2, 3, 4],
        "m2m100": [1, 1, 2, 3, 4],
        "bloom": [0, 0, 0, 1, 2],
    }


@pytest.mark.parametrize(
    ("ids", "pad", "want"),
    [
        ("5,1,6,7,1", "1", [2, 1, 3, 4, 1]),
        ("1,1,6,7,9", "1", [1, 1, 2, 3, 4]),
        ("0,5,6,2,1,1", "1", [2, 3, 4, 5, 1, 1]),
        ("5,0,6", "0", [1, 0, 2]),
        ("3,3,3", "3", [3, 3, 3]),
    ],
)
def test_b09_padding_inside_the_text(ids: str, pad: str, want: list[int]) -> None:
    assert rows("--ids", ids, "--pad", pad)["roberta"] == want


def test_the_longest_text() -> None:
    assert limits("--ids", "1,2", "--pad", "3")["roberta"] == 510
    assert limits("--mask", "1,1")["opt"] == 2048
    assert limits("--mask", "1")["bloom"] == "no end"


def test_the_scheme_is_encoded_where_its_own_rule_says() -> None:
    def labels(*args: str) -> list[str]:
        result = run_json("encode", *args)["result"]
        return [label[0] for label in result["labels"]]

    assert labels("--preset", "opt", "--mask", "0,1,1") == ["-1", "0", "1"]
    assert labels("--preset", "bart", "--mask", "0,1,1") == ["0", "1", "2"]
    document = run_json("encode", "--preset", "m2m100", "--ids", "1,5", "--pad", "1", "--dim", "8")
    assert document["result"]["cells"][0] == [0.0] * 8


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["--mask", "0,2"], "--mask: mask.1: expected 0 or 1; got 2"),
        (["--mask", ""], "--mask: needs at least 1; got 0"),
        (["--ids", "1,2"], "ids and pad belong together"),
        (["--pad", "1"], "ids and pad belong together"),
        (["--mask", "1", "--ids", "1", "--pad", "1"], "mask and ids both say where"),
        (["--mask", "1,1,1", "--scheme", "learned:rows=2"], "position 2, the 3rd"),
        (["--mask", "0,1", "--scheme", "learned:padding=skipped"], "position -1"),
        (["a b c", "--mask", "1,1"], "the data has 3 rows, but there are 2 positions"),
    ],
)
def test_what_does_not_fit_is_refused(args: list[str], want: str) -> None:
    assert want in refused("encode", *args)
