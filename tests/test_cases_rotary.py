"""Faults with rotary schemes from practice, each with its right answer and its id."""

from typing import Any

import numpy as np
import pytest
from conftest import Write, cells, refused, run, run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli.arrays import rounded
from poscli.phase import angles
from poscli.schemes import SCHEMES
from poscli.schemes.longrope import LongRope
from poscli.schemes.rope import Rope

ATOL = 5.1e-11


def turned(*args: str) -> Any:
    return cells("--scheme", *args)[0]


def shown_angles(scheme: str, *args: str) -> Any:
    """The angles that are shown before cos and sin, (positions, pairs)."""
    document = run_json("encode", "--scheme", scheme, *args)
    return np.array(document["sections"][0]["grids"][0]["cells"], np.float64)


def frequencies(scheme: str, width: int) -> Any:
    """Angles at position 1 are the frequencies."""
    return shown_angles(scheme, "--positions", "1", "--dim", str(width))[0]


def ratios(scheme: str, width: int) -> Any:
    base = scheme.partition("base=")[2].partition(",")[0] or "10000"
    return frequencies(scheme, width) / frequencies(f"rope:base={base}", width)


def facts(scheme: str, *args: str) -> dict[str, Any]:
    sections = run_json("extrapolate", scheme, *args)["sections"]
    return dict(sections[1]["facts"])


def test_b19_widths_that_do_not_fit() -> None:
    message = refused("encode", "--scheme", "rope:rotary_dim=3", "--dim", "4")
    assert message.endswith("rotary_dim must be even: columns turn in pairs; got width 3")
    message = refused("encode", "--scheme", "rope:rotary_dim=6", "--dim", "4")
    assert message == "rope is to turn 6 columns (rotary_dim) of a head of width 4"
    message = refused("encode", "--scheme", "rope:partial_rotary_factor=0.5", "--dim", "6")
    assert message.endswith("partial_rotary_factor 0.5 makes 3 of width 6")
    both = refused("encode", "--scheme", "rope:rotary_dim=2,partial_rotary_factor=0.5")
    assert "both say how many columns turn; give one" in both


@pytest.mark.parametrize(
    ("pairing", "want"),
    [
        ("half", [-1.3254442634, 0.9798013400, 0.4931505903, 1.0197986734]),
        ("adjacent", [-1.3254442634, 0.4931505903, 0.9798013400, 1.0197986734]),
    ],
)
def test_b21_a_part_of_the_head_turns(pairing: str, want: list[float]) -> None:
    scheme = f"rope:pairing={pairing},partial_rotary_factor=0.25"
    got = turned(scheme, "--positions", "2", "--vector", ",".join(["1"] * 16))
    assert_allclose(got[:4], want, rtol=0, atol=ATOL)
    assert_array_equal(got[4:], np.ones(12))


@pytest.mark.parametrize(
    ("dtype", "distinct", "rows"),
    [("bfloat16", 769, [256, 256, 258, 260]), ("float16", 3073, [256, 257, 258, 259])],
)
def test_b25_positions_are_never_rounded(dtype: Any, distinct: int, rows: list[int]) -> None:
    naive = rounded(np.arange(4096.0), dtype)
    assert len(np.unique(naive)) == distinct
    assert naive[256:260].tolist() == rows
    table = cells("--scheme", "rope", "--dtype", dtype, "--positions", "256,257,258,259")
    assert len(np.unique(table.reshape(2, 4, -1)[0], axis=0)) == 4


@pytest.mark.parametrize(
    ("length", "want"), [(512, 0.6250432630), (2048, 2.5038425820), (4096, 5.0089083405)]
)
def test_b26_frequencies_are_never_rounded(length: int, want: float) -> None:
    exact = np.array([float(w) for w in Rope().frequencies(128)])
    error = np.abs(rounded(exact, "bfloat16") - exact) * (length - 1)
    # The three answers follow from one number per position: the second is off in its last digit.
    assert error.max() == pytest.approx(want, abs=2 * ATOL)
    assert error.argmax() == 1
    shown = shown_angles("rope", "--dim", "128", "--positions", str(length - 1))[0]
    assert_array_equal(shown, angles(np.array([length - 1]), Rope().frequencies(128))[0])


def test_b30_llama3() -> None:
    scheme = "rope-llama3:base=500000,factor=32,original_length=8192"
    got = ratios(scheme, 64)
    assert_allclose(got[:15], np.ones(15), rtol=1e-15)
    assert_allclose(got[15:18], [0.6055727545, 0.3037425238, 0.1034476090], rtol=0, atol=ATOL)
    assert_allclose(got[18:], np.full(14, 1 / 32), rtol=1e-15)
    assert frequencies(scheme, 64)[31] == pytest.approx(9.418306725e-08, rel=1e-9)
    assert "high_freq_factor must be above" in refused(
        "encode", "--scheme", "rope-llama3:low_freq_factor=4"
    )


def test_b32_dynamic_below_the_trained_length() -> None:
    scheme = "rope-dynamic:factor=2,base=1000,original_length=2048"
    for last, base in ((511, 1000), (2047, 1000), (4095, 3108.2236667)):
        at = ["--dim", "64", "--positions", f"1,{last}"]
        got = cells("--scheme", scheme, *at)
        assert np.isfinite(got).all()
        want = cells("--scheme", f"rope:base={base}", *at)
        assert_allclose(got[::2], want[::2], rtol=1e-9 if last == 4095 else 0)


def test_b34_a_linear_factor_divides_once() -> None:
    for pairing, want in (
        ("half", [-3.1440391170, 1.9196053466, -0.3391430828, 4.0391973601]),
        ("adjacent", [-2.2347416902, 0.0770037537, 2.9194053532, 4.0591960267]),
    ):
        scheme = f"rope-linear:factor=4,pairing={pairing}"
        got = turned(scheme, "--positions", "8", "--vector", "1,2,3,4")
        assert_allclose(got, want, rtol=0, atol=ATOL)
        plain = turned(f"rope:pairing={pairing}", "--positions", "2", "--vector", "1,2,3,4")
        assert_array_equal(got, plain)


@pytest.mark.parametrize("name", [n for n, k in SCHEMES.items() if "factor" in k.model_fields])
def test_b34_a_factor_below_1_is_refused(name: str) -> None:
    message = refused("encode", "--scheme", f"{name}:factor=0.25")
    assert "how many times longer the context becomes, 1 or more" in message
    assert message.endswith("got 0.25; did you mean 4?")
    assert run("encode", "--scheme", f"{name}:factor=1").status == 0


@pytest.mark.parametrize(
    ("width", "factor", "base"),
    [(128, 4, 40889.9424325), (64, 8, 85550.3758857), (4, 2, 40000.0)],
)
def test_b36_static_ntk(width: int, factor: int, base: float) -> None:
    scheme = f"rope-ntk:factor={factor}"
    shown = facts(scheme, "--heads", "1", "--dim", str(width))["base"]
    assert float(shown.rpartition(" ")[2]) == pytest.approx(base, abs=5.1e-8)
    last = frequencies("rope", width)[-1] / factor
    assert frequencies(scheme, width)[-1] == pytest.approx(last, rel=1e-15)
    if width == 128:
        assert last == pytest.approx(2.886954962e-05, rel=2e-10)


@pytest.mark.parametrize("name", ["rope-ntk", "rope-dynamic"])
def test_b36_one_pair_has_no_exponent(name: str) -> None:
    message = refused("encode", "--scheme", f"{name}:factor=2", "--dim", "2")
    assert message.endswith("its exponent r/(r-2) has no value at 2; got width 2")


def test_b38_longrope_uses_the_short_list_first(write: Write) -> None:
    config = write(
        "scheme:\n  name: rope-longrope\n  original_length: 16\n"
        "  short_factor: [1, 1, 1.1, 1.2]\n  long_factor: [1, 2, 4, 8]\ndim: 8\n"
    )
    for length, want in (
        (8, [1, 0.1, 0.00909091, 0.00083333]),
        (16, [1, 0.1, 0.00909091, 0.00083333]),
        (17, [1, 0.05, 0.0025, 0.000125]),
        (64, [1, 0.05, 0.0025, 0.000125]),
    ):
        document = run_json("encode", "--config", config, "--len", str(length))
        got = np.array(document["sections"][0]["grids"][0]["cells"], np.float64)[1]
        assert_allclose(got, want, rtol=0, atol=5.1e-9)
    message = refused("encode", "--config", config, "--dim", "6")
    assert message == "short_factor must have one number per pair, 3 at head width 6; got 4"


@pytest.mark.parametrize(
    ("longest", "original", "want"),
    [
        (131072, 4096, 1.1902380714),
        (8192, 4096, 1.0408329997),
        (4096, 4096, 1.0),
        (64, 16, 1.2247448714),
    ],
)
def test_b39_longrope_magnitude(longest: int, original: int, want: float) -> None:
    rope = LongRope(factor=longest / original, original_length=original)
    assert rope.amplitude == pytest.approx(want, abs=ATOL)
    scheme = f"rope-longrope:factor={longest / original},original_length={original}"
    assert cells("--scheme", scheme, "--len", "1")[0, 0] == pytest.approx(want, abs=ATOL)


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        ("factor=64", 1.4158883083),
        ("factor=64,attention_factor=1.0", 1.0),
        ("factor=128,attention_factor=1.4852030264", 1.4852030264),
        ("factor=4", 1.1386294361),
        ("factor=16", 1.2772588722),
        ("factor=32", 1.3465735903),
        ("factor=40", 1.3688879454),
        ("factor=1", 1.0),
    ],
)
def test_b42_yarn_magnitude_is_applied_once(settings: str, want: float) -> None:
    cos = cells("--scheme", f"rope-yarn:{settings}", "--len", "1")[0, 0]
    assert cos == pytest.approx(want, abs=0 if want in (1.0, 1.4852030264) else ATOL)


def test_b42_yarn_settings_without_use_are_refused() -> None:
    given = "rope-yarn:attention_factor=1.0,mscale=1.0,mscale_all_dim=1.0"
    assert "have no use; give one" in refused("encode", "--scheme", given)
    assert "give both or none" in refused("encode", "--scheme", "rope-yarn:mscale=1.0")
    assert "beta_fast counts more" in refused("encode", "--scheme", "rope-yarn:beta_fast=0.5")


def test_b45_the_yarn_ramp_counts_pairs() -> None:
    scheme = "rope-yarn:factor=4,original_length=4096"
    got = ratios(scheme, 128)[[20, 30, 33, 46]]
    assert_allclose(got, [1, 0.7115384615, 0.625, 0.25], rtol=0, atol=ATOL)
    found = facts(scheme, "--heads", "1", "--dim", "128", "--len", "4096")
    assert found["ramp from pair to pair"] == "20 to 46"
    assert found["pairs kept, blended, divided by 4"] == "21, 25, 18"


@pytest.mark.parametrize(
    ("width", "original", "want"),
    [(8, 64, [1, 0.625, 0.25, 0.25]), (8, 1024, [1, 0.75, 0.5, 0.25]), (4, 4, [1, 0.25])],
)
def test_b46_yarn_on_very_small_sizes(width: int, original: int, want: list[float]) -> None:
    got = ratios(f"rope-yarn:factor=4,original_length={original}", width)
    assert_allclose(got, want, rtol=1e-14)


def test_b48_the_supported_length_is_multiplied_once() -> None:
    scheme = "rope-yarn:factor=4,original_length=8192"
    args = ["--dim", "16", "--heads", "1", "--len", "8192", "--set", "lengths=[32768,32769]"]
    assert facts(scheme, *args)["extended length"] == 32768
    rows = run_json("extrapolate", scheme, *args)["result"]["cells"]
    assert [row[1] for row in rows] == [
        "0 of 8 pairs at new angles",
        "1 of 8 pairs at new angles; past the extended length 32768",
    ]


def test_b70_each_half_has_its_own_angle(write: Write) -> None:
    def at(position: str) -> Any:
        config = write(
            "scheme: {name: rope-axial, pairing: half-per-axis}\n"
            f"positions: [{position}]\nvector: [1, 1, 1, 1, 1, 1, 1, 1]\n"
        )
        return cells("--config", config)[0]

    want = [-0.30116868, 0.98995017, 1.38177329, 1.00994983]
    want += [-1.32544426, 0.97980134, 0.49315059, 1.01979867]
    assert_allclose(at("[1, 2]"), want, rtol=0, atol=5.1e-9)
    assert_array_equal(at("[1, 0]")[4:], np.ones(4))
    assert_array_equal(at("[0, 1]")[:4], np.ones(4))


def test_settings_and_positions_that_do_not_fit() -> None:
    message = refused("encode", "--scheme", "rope-mrope", "--set", "sections=[1,1,1]", "--dim", "8")
    assert message == (
        "sections must add up to 4, the pairs at head width 8; got [1, 1, 1], which add up to 3"
    )
    message = refused("encode", "--scheme", "rope-axial", "--dim", "6")
    assert message.endswith("got width 6")
    message = refused("encode", "--scheme", "rope-proportional:partial_rotary_factor=0.25")
    assert "turns no pair at head width 4" in message
    message = refused("encode", "--scheme", "rope", "--grid", "2,2")
    assert message == "rope takes positions of 1 number each; got 2"


def test_what_changes_at_which_length_is_shown() -> None:
    for scheme in ("rope-dynamic", "rope-longrope"):
        grid = run_json("extrapolate", scheme)["sections"][1]["grids"][1]
        assert grid["columns"][:3] == ["plain", "at length 16", "at length 32"]
        assert [row[0] for row in grid["cells"]] == [row[1] for row in grid["cells"]]
    assert len(run_json("extrapolate", "rope-yarn")["sections"][1]["grids"][1]["columns"]) == 2


def test_interpolation_shows_no_new_angles_up_to_the_factor() -> None:
    cells = run_json("extrapolate", "rope-linear")["result"]["cells"]
    assert [cell for _, cell in cells] == [
        "trained",
        "0 of 4 pairs at new angles",
        "0 of 4 pairs at new angles",
        "3 of 4 pairs at new angles",
        "3 of 4 pairs at new angles",
    ]


def test_xpos_far_away_is_a_finding_not_a_crash() -> None:
    args = ["xpos", "--len", "262144", "--set", "lengths=[524288]", "--dim", "4", "--heads", "1"]
    document = run_json("extrapolate", *args)
    assert document["passed"] is True
    assert document["result"]["cells"][0][1].endswith("scales past 282317 do not fit float64")
