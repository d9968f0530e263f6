"""Edges of the schemes' rules, where a float falls beside the number that it should be."""

from fractions import Fraction

import numpy as np
import pytest
from conftest import refused, run, run_json

from poscli import T5, Deberta
from poscli.schemes.log_buckets import log_steps


@pytest.mark.parametrize(
    ("buckets", "bidirectional", "max_distance", "distances", "want"),
    [
        (18, True, 128, [-8, -16, -64], [5, 6, 8]),
        (10, False, 160, [-5, -10, -20, -40, -80, -160], [5, 6, 7, 8, 9, 9]),
        (40, True, 320, [-10, -20, -40, -80, -160], [10, 12, 14, 16, 18]),
    ],
)
def test_t5_buckets_on_their_edges(
    buckets: int, bidirectional: bool, max_distance: int, distances: list[int], want: list[int]
) -> None:
    scheme = T5(buckets=buckets, bidirectional=bidirectional, max_distance=max_distance)
    assert scheme.bucket(np.array(distances)).tolist() == want


@pytest.mark.parametrize(
    ("buckets", "max_distance", "offsets", "want"),
    [
        (32, 129, [32, 64, -64, 128], [21, 26, -26, 31]),
        (256, 512, [128, 129, 511], [128, 129, 255]),
    ],
)
def test_deberta_buckets_on_their_edges(
    buckets: int, max_distance: int, offsets: list[int], want: list[int]
) -> None:
    scheme = Deberta(buckets=buckets, max_distance=max_distance)
    assert scheme.bucket(np.array(offsets)).tolist() == want


@pytest.mark.parametrize(("start", "end", "steps"), [(8, 128, 8), (5, 160, 5), (16, 128, 15)])
def test_log_steps_equal_a_comparison_of_fractions(start: int, end: int, steps: int) -> None:
    distances = np.arange(start, 3 * end)
    floor, ceiling = log_steps(distances, start, end, steps)
    for n, low, high in zip(distances.tolist(), floor.tolist(), ceiling.tolist(), strict=True):
        size = Fraction(n, start) ** steps
        assert Fraction(end, start) ** low <= size < Fraction(end, start) ** (low + 1)
        assert Fraction(end, start) ** (high - 1) < size <= Fraction(end, start) ** high


def test_falcon_skips_padding_like_bloom() -> None:
    args = ["--mask", "0,0,1,1,1", "--heads", "1"]
    keys = run_json("encode", "--scheme", "alibi-falcon", *args)["result"]["cells"][0]
    assert [key / keys[3] for key in keys] == [0, 0, 0, 1, 2]


def test_a_grid_is_the_size_of_the_picture() -> None:
    cells = run_json("encode", "--preset", "detr", "--grid", "2,2", "--dim", "8")["result"]["cells"]
    assert cells[0][:2] == pytest.approx([1.57079554e-06, -1], abs=1e-11)
    grids = run_json("encode", "--preset", "dinov3", "--grid", "2,2", "--dim", "4")
    angles = grids["sections"][0]["grids"][0]["cells"]
    assert angles[0][0] == pytest.approx(-np.pi)
    assert "has 3 rows, but the grid has 2" in refused(
        "encode", "--scheme", "detr-sine:rows=3", "--grid", "2,2", "--dim", "8"
    )


def test_longrope_switches_just_past_its_length() -> None:
    def frequency(position: str) -> float:
        args = ["--scheme", "rope-longrope:original_length=16,factor=4", "--positions", position]
        angles = run_json("encode", *args)["sections"][0]["grids"][0]["cells"][0]
        return float(angles[0]) / float(position)

    assert frequency("15") == 1.0
    assert frequency("15.5") == frequency("16") == 0.25


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["--scheme", "xpos", "--positions", "-100000000"], "past what float64 holds"),
        (["--scheme", "xpos", "--positions", "100000000"], "past what float64 holds"),
        (["--scheme", "sinusoidal:origin=2", "--positions", str(2**53 - 1)], "2^53 or more"),
        (["--scheme", "rope-yarn:factor=1e308"], "must be 1000000 or less; got 1.000e+308"),
        (["--scheme", "learned:std=1e308"], "must be 1000000 or less"),
        (["--scheme", "rope-axial-pixel:max_freq=1e300"], "must be 1000000 or less"),
        (
            ["--scheme", "rope-axial-centred:rows=2,columns=2", "--set", "positions=[[5,0]]"],
            "outside",
        ),
        (["--seed", "3"], "seed draws the vectors of a sentence's words"),
    ],
)
def test_what_cannot_be_computed_is_refused(args: list[str], want: str) -> None:
    assert want in refused("encode", *args)


def test_two_places_with_nothing_beside_them_prove_nothing() -> None:
    result = run("compare", "rope", "--places", "0,1", "--len", "3")
    assert result.status == 1
    assert "no other word stands beside these two" in result.out
    assert "FAIL" not in result.out


def test_extrapolate_prints_the_settings_it_used() -> None:
    settings = run_json("extrapolate", "rope-yarn", "learned", "--len", "16")["settings"]
    assert settings["schemes"][0]["original_length"] == 16
    assert settings["schemes"][1]["rows"] == 16


def test_short_lists_are_written_out_in_labels() -> None:
    result = run_json(
        "compare", "rope-mrope:sections=[0,0,4]", "rope-mrope:sections=[4,0,0]", "--dim", "8"
    )["result"]
    assert result["columns"] == ["rope-mrope:sections=[0,0,4]", "rope-mrope:sections=[4,0,0]"]


def test_equations_of_scaled_frequencies_hold() -> None:
    lines = run(
        "encode", "--scheme", "rope-linear:factor=4", "--dim", "8", "--positions", "1", "--explain"
    ).out
    assert "10000^(-2/8) * 0.25 = 0.025 radians per position" in lines


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ("rope-yarn:original_max_position_embeddings=4096", "nearest: 'original_length'"),
        ("rope-yarn:orignal_max_position_embeddings=4096", "nearest: 'original_length'"),
        ("rope:rope_theta=5e5", "nearest: 'base'"),
        ("learned:max_position_embeddings=512", "nearest: 'rows'"),
        ("llama", "'llama' is a preset of rope: write rope:preset=llama"),
    ],
)
def test_names_of_model_files_lead_to_the_setting(spec: str, want: str) -> None:
    assert want in refused("compare", spec)


def test_key_only_biases_grow_with_the_last_key() -> None:
    rows = run_json("extrapolate", "alibi:form=key-only", "--heads", "1", "--dim", "4")["result"]
    assert [cells[1] for cells in rows["cells"][:2]] == ["trained", "bias 0.121094 of the last key"]


def test_yarn_says_where_it_interpolates_nothing() -> None:
    args = ["rope-yarn", "--len", "4", "--dim", "128", "--heads", "1", "--lengths", "16"]
    facts = run_json("extrapolate", *args)["sections"][1]["facts"]
    assert facts["interpolated"] == "nothing: no pair is divided"
