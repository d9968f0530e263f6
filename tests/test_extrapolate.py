"""extrapolate: what each scheme meets past the trained length."""

from typing import Any

import pytest
from conftest import refused, run_json

from poscli.schemes.turns import ladder, unfinished_pairs


def rows(*args: str) -> dict[tuple[str, int], list[Any]]:
    result = run_json("extrapolate", *args)["result"]
    return {
        (label[0], int(label[1])): cells
        for label, cells in zip(result["labels"], result["cells"], strict=True)
    }


def section(name: str, *args: str) -> Any:
    document = run_json("extrapolate", *args)
    return next(s for s in document["sections"] if s["title"] == name)


@pytest.mark.parametrize(
    ("width", "base", "trained", "unfinished"),
    [
        (128, 1e4, 4096, 18),
        (128, 5e5, 8192, 29),
        (128, 1e6, 32768, 24),
        (256, 1e4, 8192, 28),
        (64, 1e4, 2048, 11),
    ],
)
def test_pairs_that_never_completed_a_turn(
    width: int, base: float, trained: int, unfinished: int
) -> None:
    assert unfinished_pairs(ladder(base, width), trained) == unfinished


def test_lengths_are_1_to_16_times_the_trained_one() -> None:
    assert [length for _, length in rows("none", "--len", "10")] == [10, 20, 40, 80, 160]
    assert [length for _, length in rows("none", "--lengths", "9,3")] == [3, 9]


def test_who_can_run() -> None:
    got = rows("none", "learned", "rope", "--len", "8", "--lengths", "8,9")
    assert got["none", 9][0] == got["rope", 9][0] == "yes"
    assert got["learned:rows=8", 8] == ["yes", "trained"]
    assert got["learned:rows=8", 9] == ["no", "no row for position 8"]
    assert got["none", 9][1] == "no positions, so none is new"


def test_rows_that_were_never_trained() -> None:
    got = rows("learned:rows=12", "--len", "8", "--lengths", "8,12,13")
    assert [cell[1] for cell in got.values()] == [
        "trained",
        "rows never trained",
        "no row for position 12",
    ]


def test_alibi_at_the_farthest_distance() -> None:
    got = rows("alibi", "--heads", "2", "--len", "8", "--lengths", "8,16")
    assert got["alibi", 8][1] == "trained"
    assert got["alibi", 16][1] == "bias -0.9375 at distance 15"
    (grid,) = section("alibi", "alibi", "--heads", "2", "--len", "8", "--lengths", "16")["grids"]
    assert grid["columns"] == ["at 7", "at 15"]
    assert grid["cells"] == [[-7 / 16, -15 / 16], [-7 / 256, -15 / 256]]


def test_turns_of_each_pair() -> None:
    grid = section("rope", "rope", "--len", "8", "--lengths", "80", "--dim", "4", "--heads", "1")
    turns = grid["grids"][0]
    assert turns["columns"] == ["wavelength", "turns in 8", "turns in 80", "full turn seen"]
    assert turns["cells"][0][:3] == pytest.approx([6.283185, 1.273240, 12.732395], rel=1e-6)
    assert [row[3] for row in turns["cells"]] == ["yes", "no"]


def test_the_shift_matrix_turns_each_pair_by_its_frequency() -> None:
    got = section("sinusoidal", "sinusoidal", "--dim", "4", "--heads", "1")
    matrix = next(g for g in got["grids"] if g["title"].startswith("M_1"))["cells"]
    assert matrix[0] == pytest.approx([0.54030231, 0.84147098, 0, 0], abs=1e-8)
    assert matrix[3] == pytest.approx([0, 0, -0.00999983, 0.99995], abs=1e-8)


@pytest.mark.parametrize("args", [["--lengths", "4"], ["--len", "1"], ["--len", "2"]])
@pytest.mark.parametrize("name", ["none", "sinusoidal", "learned", "rope", "alibi"])
def test_short_lengths_end_without_a_crash(name: str, args: list[str]) -> None:
    document = run_json("extrapolate", name, "--dim", "4", "--heads", "1", *args)
    assert document["result"]["cells"]


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["learned:rows=8", "--len", "9"], "cannot be trained at length 9"),
        (["--dim", "6", "--heads", "4"], "heads must divide dim"),
        (["rope", "--dim", "6", "--heads", "2"], "got width 3"),
        (["--lengths", ""], "--lengths: needs at least 1; got 0"),
        (["--len", "1e3"], "--len: expected a whole number; got 1000.0"),
        (["--len", "abc"], "--len: expected a whole number; got text 'abc'"),
    ],
)
def test_what_cannot_run_is_refused(args: list[str], want: str) -> None:
    assert want in refused("extrapolate", *args)
