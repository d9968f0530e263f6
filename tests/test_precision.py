"""What rounding gets wrong, stage by stage: numbers of bfloat16, float16 and float32."""

from typing import Any

import numpy as np
import pytest
from conftest import refused, run, run_json

from poscli import Rope
from poscli.arrays import rounded
from poscli.experiments.precision import rounding_stages


def stages(precision: str, *args: str) -> dict[str, dict[str, Any]]:
    document = run_json("encode", *args, "--precision", precision)
    grid = next(
        g for s in document["sections"] for g in s["grids"] if g["title"].startswith("Rounded")
    )
    return {
        label[0]: dict(zip(grid["columns"], row, strict=True))
        for label, row in zip(grid["labels"], grid["cells"], strict=True)
    }


@pytest.mark.parametrize(
    ("position", "base", "float32_angles", "positions", "frequencies", "table"),
    [
        (4095, "10000", 1.05e-4, 0.870, 1.679, 0.00192),
        (4095, "500000", 4.6e-5, 0.870, 1.891, 0.00195),
        (32767, "1000000", 2.3e-4, 0.609, 1.852, 0.00195),
    ],
)
def test_largest_error_of_cos_at_the_end_of_a_long_text(
    position: int,
    base: str,
    float32_angles: float,
    positions: float,
    frequencies: float,
    table: float,
) -> None:
    args = ["--scheme", f"rope:base={base}", "--dim", "128", "--positions", str(position)]
    brain = stages("bfloat16", *args)
    assert brain["positions"]["cos off by"] == pytest.approx(positions, abs=6e-4)
    assert brain["inverse frequencies"]["cos off by"] == pytest.approx(frequencies, abs=6e-4)
    assert brain["finished table"]["cos off by"] == pytest.approx(table, abs=6e-6)
    single = stages("float32", *args)
    assert single["angles"]["cos off by"] == pytest.approx(float32_angles, rel=0.1)


@pytest.mark.parametrize(
    ("length", "angle"), [(512, 0.6250432630), (2048, 2.5038425819), (4096, 5.0089083405)]
)
def test_b26_frequencies_stored_in_bfloat16(length: int, angle: float) -> None:
    args = ["--scheme", "rope", "--dim", "128", "--positions", str(length - 1)]
    row = stages("bfloat16", *args)["inverse frequencies"]
    assert row["angle off by"] == pytest.approx(angle, abs=2e-10)
    assert row["of pair"] == 1


@pytest.mark.parametrize(
    ("precision", "survive", "first"),
    [
        ("bfloat16", 769, "256 and 257"),
        ("float16", 3073, "2048 and 2049"),
        ("float32", 4096, "none"),
    ],
)
def test_b25_positions_that_fall_together(precision: str, survive: int, first: str) -> None:
    args = ["--scheme", "sinusoidal", "--dim", "4", "--len", "4096"]
    row = stages(precision, *args)["positions"]
    assert (row["distinct rows"], row["first equal pair"]) == (survive, first)


def test_an_origin_is_part_of_the_position() -> None:
    moved = stages("bfloat16", "--scheme", "sinusoidal:origin=257", "--positions", "0")
    assert moved["positions"]["angle off by"] == 1.0


def test_nothing_is_lost_in_float64() -> None:
    rows = rounding_stages(Rope(), np.arange(64), 8, "float64").rows()
    assert all(row[2] < 1e-14 and row[4] == 64 for row in rows)


def test_scores_of_rounded_queries_and_keys() -> None:
    document = run_json("encode", "--scheme", "rope", "--dim", "64", "--precision", "bfloat16")
    grid = document["sections"][0]["grids"][-1]
    assert grid["title"].startswith("Queries and keys rounded to bfloat16")
    errors = [row[0] for row in grid["cells"]]
    assert all(1e-5 < error < 2**-7 for error in errors)


def test_a_position_that_the_format_cannot_hold_is_infinite_there() -> None:
    rows = stages("float16", "--scheme", "sinusoidal", "--positions", "1,65504,70000")
    assert rows["positions"]["angle off by"] == "Infinity"
    assert rows["positions"]["cos off by"] == "NaN"
    assert rows["finished table"]["cos off by"] < 2**-11


def test_it_is_shown_for_a_table_too_long_to_print() -> None:
    said = run("encode", "--scheme=rope", "--dim=128", "--len=4096", "--precision=bfloat16")
    assert said.status == 0
    assert "769" in said.out


def test_compare_shows_it_for_each_scheme_of_angles() -> None:
    document = run_json("compare", "rope", "alibi", "sinusoidal", "--precision", "float16")
    assert [s["title"] for s in document["sections"][3:]] == ["rope", "sinusoidal"]


def test_a_scheme_without_angles_is_refused() -> None:
    assert "learned has no angles" in refused("encode", "--scheme=learned", "--precision=float16")
    assert "nearest: 'float16'" in refused("encode", "--precision", "float15")


def test_a_format_that_ends_before_the_positions_do_is_named() -> None:
    args = ["encode", "--scheme", "rope", "--dim", "4", "--precision"]
    said = " ".join(run(*args, "float16", "--positions", "1000000").out.split())
    assert "at one stage; position 1,000,000; past 65,504 all is infinite" in said
    assert "infinite" not in run(*args, "float16", "--positions", "0,65504").out
    assert "infinite" not in run(*args, "bfloat16", "--positions", "1000000").out


@pytest.mark.parametrize(
    ("value", "want"),
    [(3 * 2.0**-134, 2.0**-132), (5 * 2.0**-134, 2.0**-132), (2.0**-134, 0.0), (2.0**-133,) * 2],
)
def test_the_smallest_bfloat16_numbers_are_even_steps(value: float, want: float) -> None:
    assert float(rounded(np.array([value]), "bfloat16")[0]) == want
