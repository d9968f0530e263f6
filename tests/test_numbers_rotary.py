"""Small numbers of the rotary schemes, computed in float64 elsewhere, held to the digits shown.

Each group names its rule; the sources are those of the schemes' own files.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from poscli import PoscliError
from poscli.phase import angles
from poscli.schemes import SCHEMES
from poscli.schemes.axial import BaseAxial, RopeAxial, RopeAxialCentred
from poscli.schemes.llama3 import RopeLlama3
from poscli.schemes.longrope import LongRope
from poscli.schemes.mrope import MRope
from poscli.schemes.ntk import RopeDynamic, RopeLinear, RopeNtk, RopeNtkFixed, RopeNtkMixed
from poscli.schemes.proportional import RopeProportional
from poscli.schemes.rope import Rope
from poscli.schemes.rotary import Rotary
from poscli.schemes.turns import ladder, unfinished_pairs
from poscli.schemes.xpos import XPos
from poscli.schemes.yarn import RopeYarn

ATOL = 5.1e-9
ONE = np.array([1])
X4 = np.array([[1.0, 2.0, 3.0, 4.0]])
X8 = np.arange(1.0, 9.0)[None]


def frequencies(scheme: Rotary, width: int) -> list[float]:
    return [float(w) for w in scheme.frequencies(width)]


ADJACENT_IN_HALF_OUT = [-1.14263966, 2.95985067, 1.92207560, 4.02979950]


def test_adjacent_in_half_out() -> None:
    rope = Rope(pairing="adjacent-in-half-out")
    assert_allclose(rope.apply(X4, ONE)[0], ADJACENT_IN_HALF_OUT, rtol=0, atol=ATOL)
    permuted = Rope(pairing="half").apply(X4[:, [0, 2, 1, 3]], ONE)
    assert_allclose(permuted[0], ADJACENT_IN_HALF_OUT, rtol=0, atol=ATOL)
    assert_array_equal(rope.apply(X4, np.array([0])), [[1, 3, 2, 4]])


def test_clockwise() -> None:
    rope = Rope(pairing="half", direction="clockwise")
    want = [3.06471526, 2.03989933, 0.77943593, 3.97980033]
    assert_allclose(rope.apply(X4, ONE)[0], want, rtol=0, atol=ATOL)
    assert_array_equal(rope.apply(X4, ONE), Rope(pairing="half").apply(X4, -ONE))


@pytest.mark.parametrize("part", [{"partial_rotary_factor": 0.5}, {"rotary_dim": 4}])
def test_a_part_of_the_head(part: dict[str, float]) -> None:
    rope = Rope.model_validate({"pairing": "half", **part})
    want = [-1.98411065, 1.95990067, 2.46237790, 4.01979967, 5, 6, 7, 8]
    assert_allclose(rope.apply(X8, ONE)[0], want, rtol=0, atol=ATOL)


def test_a_fraction_is_cut_to_a_whole_number() -> None:
    assert Rope(partial_rotary_factor=0.334).rotary_width(192) == 64
    assert Rope(partial_rotary_factor=0.45).rotary_width(6) == 2


@pytest.mark.parametrize(
    ("scheme", "want"),
    [
        (Rope(), [1, 0.1, 0.01, 0.001]),
        (RopeLinear(factor=4.0), [0.25, 0.025, 0.0025, 0.00025]),
        (RopeNtk(factor=4.0), [1, 0.06299605, 0.00396850, 0.00025]),
        (RopeDynamic(factor=2.0, original_length=2048, length=2048), [1, 0.1, 0.01, 0.001]),
        (
            RopeDynamic(factor=2.0, original_length=2048, length=4096),
            [1, 0.06933613, 0.00480750, 1 / 3000],
        ),
        (
            RopeDynamic(factor=2.0, original_length=2048, length=8192),
            [1, 0.05227580, 0.00273276, 1 / 7000],
        ),
        (RopeNtkFixed(factor=4.0), [0.70710678, 0.05, 0.00353553, 0.00025]),
        (RopeNtkMixed(factor=4.0), [0.55829657, 0.04070169, 0.00314063, 0.00025]),
        (RopeLinear(factor=4 ** (8 / 6)), [0.15749013, 0.01574901, 0.00157490, 0.00015749]),
    ],
    ids=lambda value: value.label() if isinstance(value, Rotary) else "",
)
def test_frequencies_of_width_8(scheme: Rotary, want: list[float]) -> None:
    assert_allclose(frequencies(scheme, 8), want, rtol=0, atol=ATOL)


@pytest.mark.parametrize(
    ("scheme", "want"),
    [
        (RopeNtk(factor=4.0), "63496.0420787"),
        (RopeDynamic(factor=2.0, original_length=2048, length=4096), "43267.4871092"),
        (RopeDynamic(factor=2.0, original_length=2048, length=8192), "133905.182794"),
    ],
    ids=["ntk", "dynamic-4096", "dynamic-8192"],
)
def test_scaled_bases_of_width_8(scheme: Rotary, want: str) -> None:
    assert dict(scheme.facts(8))["base"] == f"10000, scaled to {want}"


YARN = {"original_length": 4096, "factor": 4.0}


@pytest.mark.parametrize(
    ("settings", "width", "raw", "edges", "amplitude", "want"),
    [
        (
            {**YARN, "original_length": 2048},
            16,
            (2.01600, 5.02630),
            (2, 6),
            1.13862944,
            {0: 1, 1: 0.31622777, 2: 0.1, 3: 0.02569351, 4: 0.00625, 5: 0.00138350, 6: 0.00025}
            | {7: 0.0000790569},
        ),
        (
            YARN,
            128,
            (20.94448, 45.02688),
            (20, 46),
            1.13862944,
            {0: 1, 16: 0.1, 32: 0.00653846, 48: 0.00025, 63: 2.88695e-5},
        ),
        (
            {**YARN, "base": 1e6, "original_length": 32768},
            128,
            (23.59595, 39.65088),
            (23, 40),
            1.13862944,
            {0: 1, 16: 0.03162278, 32: 6.02941e-4, 48: 7.90569e-6, 63: 3.10234e-7},
        ),
        (
            {**YARN, "base": 150000.0, "factor": 32.0, "truncate": False},
            64,
            (8.09278, 17.39802),
            (8.09278, 17.39802),
            1.34657359,
            {0: 1, 8: 0.05081327, 16: 4.56484e-4, 24: 4.09998e-6, 31: 3.02351e-7},
        ),
        (
            {**YARN, "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0},
            64,
            (10.47224, 22.51344),
            (10, 23),
            1.0,
            {0: 1, 8: 0.1, 16: 0.0055, 24: 2.5e-5, 31: 3.33380e-6},
        ),
    ],
    ids=["width-16", "width-128", "qwen", "gpt-oss", "deepseek-v3"],
)
def test_yarn(
    settings: dict[str, float],
    width: int,
    raw: tuple[float, float],
    edges: tuple[float, float],
    amplitude: float,
    want: dict[int, float],
) -> None:
    yarn = RopeYarn.model_validate(settings)
    whole = yarn.model_copy(update={"truncate": False})
    assert_allclose([float(e) for e in whole.edges(width)], raw, rtol=0, atol=5.1e-6)
    assert_allclose([float(e) for e in yarn.edges(width)], edges, rtol=0, atol=5.1e-6)
    assert yarn.amplitude == pytest.approx(amplitude, abs=ATOL)
    got = frequencies(yarn, width)
    assert_allclose([got[i] for i in want], list(want.values()), rtol=1e-5)


@pytest.mark.parametrize(("mscale", "want"), [(1.0, 1.87385421), (0.707, 1.58962617)])
def test_deepseek_multiplies_its_softmax_by_the_square(mscale: float, want: float) -> None:
    """With mscale_all_dim so small that its part is 1, what is left is that of mscale."""
    yarn = RopeYarn(factor=40.0, mscale=mscale, mscale_all_dim=1e-12)
    assert yarn.amplitude**2 == pytest.approx(want, abs=ATOL)
    assert RopeYarn(factor=40.0).amplitude == pytest.approx(1.36888795, abs=ATOL)


@pytest.mark.parametrize(("mscale", "of_all"), [(0.707, 0.0), (0.0, 0.707), (0.0, 0.0)])
def test_a_zero_mscale_counts_as_none(mscale: float, of_all: float) -> None:
    yarn = RopeYarn(factor=40.0, mscale=mscale, mscale_all_dim=of_all)
    assert yarn.amplitude == RopeYarn(factor=40.0).amplitude


def test_llama3() -> None:
    llama = RopeLlama3(base=500000.0, factor=8.0, original_length=8192)
    want = {28: 0.00321144599, 29: 0.00216657076, 30: 0.00137189357, 31: 8.56751413e-4}
    want |= {32: 5.24846161e-4, 33: 3.12693750e-4, 34: 1.78507813e-4, 35: 9.55621235e-5}
    want |= {63: 3.06892599e-7}
    got = frequencies(llama, 128)
    assert_allclose([got[i] for i in want], list(want.values()), rtol=2e-9)
    assert dict(llama.facts(128))["pairs kept, blended, divided by 8"] == "29, 6, 29"
    got = frequencies(llama.model_copy(update={"factor": 32.0}), 128)
    want = {29: 0.00211840700, 34: 9.70828780e-5, 35: 2.38905309e-5, 63: 7.67231497e-8}
    assert_allclose([got[i] for i in want], list(want.values()), rtol=3e-9)


LONG = {"factor": 8.0, "original_length": 4, "short_factor": [1.0, 1.0], "long_factor": [2.0, 4.0]}


@pytest.mark.parametrize(
    ("length", "want"), [(1, [1, 0.01]), (4, [1, 0.01]), (5, [0.5, 0.0025]), (32, [0.5, 0.0025])]
)
def test_longrope_switches_past_the_original_length(length: int, want: list[float]) -> None:
    rope = LongRope.model_validate(LONG).for_length(length)
    assert_allclose(frequencies(rope, 4), want, rtol=1e-15)
    assert rope.amplitude == pytest.approx(1.58113883, abs=ATOL)


def test_longrope_with_a_magnitude_per_list() -> None:
    rope = LongRope.model_validate({**LONG, "short_mscale": 1.1, "long_mscale": 1.3})
    assert [rope.for_length(n).amplitude for n in (4, 5)] == [1.1, 1.3]


@pytest.mark.parametrize(("length", "ratio"), [(2048, 1), (2049, (1 + 2 / 2048) ** -1)])
def test_dynamic_changes_one_past_the_original_length(length: int, ratio: float) -> None:
    rope = RopeDynamic(factor=2.0, original_length=2048).for_length(length)
    assert frequencies(rope, 8)[3] == pytest.approx(0.001 * ratio, rel=1e-14)


def test_a_given_length_is_used_whatever_the_sequence() -> None:
    for kind in (RopeDynamic, LongRope):
        scheme = kind(length=8192)
        assert scheme.for_length(16) == scheme
        assert frequencies(scheme, 8) == frequencies(kind().for_length(8192), 8)


def test_proportional() -> None:
    rope = RopeProportional(pairing="half", partial_rotary_factor=0.5)
    assert_allclose(frequencies(rope, 8), [1, 0.1, 0, 0], rtol=1e-15)
    want = [-3.66705262, 1.39100783, 3, 4, 3.54298251, 6.16969182, 7, 8]
    assert_allclose(rope.apply(X8, ONE)[0], want, rtol=0, atol=ATOL)
    gemma4 = RopeProportional(base=1e6, partial_rotary_factor=0.25)
    assert np.count_nonzero(frequencies(gemma4, 512)) == 64


@pytest.mark.parametrize(
    ("layout", "sections", "width", "want"),
    [
        ("blocked", [2, 3, 3], 16, [5, 5, 6, 6, 6, 7, 7, 7]),
        ("interleaved", [2, 3, 3], 16, [5, 6, 7, 5, 6, 7, 5, 6]),
        ("interleaved", [24, 20, 20], 128, [5, 6, 7] * 20 + [5] * 4),
        ("interleaved", [11, 11, 10], 64, [5, 6, 7] * 10 + [5, 6]),
        ("blocked", None, 16, [5, 5, 5, 6, 6, 6, 7, 7]),
        ("blocked", None, 2, [5]),
    ],
)
def test_mrope_positions(
    layout: str, sections: list[int] | None, width: int, want: list[int]
) -> None:
    rope = MRope.model_validate({"layout": layout, "sections": sections})
    rope.check_width(width, 1)
    assert_array_equal(rope.per_pair(np.array([[5, 6, 7]]), width), [want])


def test_mrope_says_what_comes_out_of_the_sections() -> None:
    rope = MRope(layout="interleaved", sections=[2, 3, 3])
    assert dict(rope.facts(16)) == {"pairs turned by time, row, column": "3, 3, 2"}


def test_mrope_of_text_is_rope() -> None:
    x = np.random.default_rng(0).normal(size=(2, 5, 16))
    for layout in ("blocked", "interleaved"):
        mrope = MRope.model_validate({"layout": layout, "pairing": "half"})
        text = mrope.rotate(x, mrope.coordinates(np.arange(5)))
        assert_array_equal(text, Rope(pairing="half").rotate(x, np.arange(5)))


def shown(scheme: Rotary, position: list[int], width: int) -> np.ndarray:
    at = np.array([position])
    return angles(scheme.per_pair(at, width), scheme.frequencies(width))[0]


def test_axial_angles_of_width_8() -> None:
    rope_vit = RopeAxial(base=100.0, first="column")
    assert_allclose(shown(rope_vit, [2, 1], 8), [1, 0.1, 2, 0.2], rtol=1e-15)
    assert_allclose(frequencies(RopeAxial(), 8), [1, 0.01, 1, 0.01], rtol=1e-15)
    pixtral = RopeAxial(frequency_order="alternating")
    assert_allclose(frequencies(pixtral, 8), [1, 0.01, 0.1, 0.001], rtol=1e-15)


def test_centres_of_two_patches() -> None:
    rope = RopeAxialCentred(rows=2, columns=2)
    assert_array_equal(rope.number(np.array([[0, 0], [1, 1]])), [[-0.5, -0.5], [0.5, 0.5]])
    assert_allclose(frequencies(rope, 8), [2 * np.pi, 0.2 * np.pi] * 2, rtol=1e-15)


def test_a_class_token_at_minus_one_is_not_turned() -> None:
    x = np.random.default_rng(0).normal(size=(1, 1, 8))
    assert_array_equal(RopeAxial(origin=1).rotate(x, np.array([[-1, -1]])), x)


def test_xpos_scales() -> None:
    at = np.array([1, 512])
    want = [[0.99755619, 0.99913742], [0.28571429, 0.64285714]]
    assert_allclose(XPos().scales(at, 4), want, rtol=0, atol=ATOL)
    assert XPos().scales(at, 128)[1, -1] == pytest.approx(0.98883929, abs=ATOL)


@pytest.mark.parametrize(
    ("centre", "length", "first"),
    [("half-up", 4, -2), ("half-up", 5, -3), ("half-down", 4, -2), ("half-down", 5, -2), (0, 5, 0)],
)
def test_xpos_centres(centre: str, length: int, first: int) -> None:
    xpos = XPos.model_validate({"centre": centre}).for_length(length)
    assert xpos.centre == -first


def test_xpos_scores_depend_on_the_offset_alone_whatever_the_centre() -> None:
    q, k = np.random.default_rng(0).normal(size=(2, 1, 6, 8))
    at = np.arange(6)
    scores = []
    for centre in (0, 3, "half-up"):
        xpos = XPos.model_validate({"centre": centre}).for_length(6)
        for shift in (0, 1000):
            turned, keys = xpos.rotate(q, at + shift), xpos.rotate_keys(k, at + shift)
            scores.append(turned @ keys.swapaxes(1, 2))
    for one in scores:
        assert_allclose(one, scores[0], rtol=0, atol=1e-13)
    plain = Rope().rotate(q, at) @ Rope().rotate(k, at).swapaxes(1, 2)
    assert_allclose(np.diagonal(scores[0], axis1=1, axis2=2), np.diagonal(plain, axis1=1, axis2=2))


def test_xpos_refuses_what_no_float_holds() -> None:
    x = np.ones((1, 1, 4), np.float32)
    far = np.array([50000])
    with pytest.raises(PoscliError, match="more than float32 holds"):
        XPos().rotate_keys(x, far)
    assert np.isfinite(XPos().rotate_keys(x.astype(np.float64), far)).all()
    with pytest.raises(PoscliError, match="only once a length is known"):
        XPos(centre="half-up").scales(far, 4)


@pytest.mark.parametrize(
    ("width", "base", "trained", "unfinished", "longest"),
    [
        (128, 1e4, 4096, 18, 54410.14),
        (128, 5e5, 8192, 29, 2559195.52),
        (128, 1e6, 32768, 24, 5063255.79),
        (256, 1e4, 8192, 28, 58469.57),
        (64, 1e4, 2048, 11, 47117.24),
    ],
)
def test_pairs_without_a_full_turn(
    width: int, base: float, trained: int, unfinished: int, longest: float
) -> None:
    found = ladder(base, width)
    assert unfinished_pairs(found, trained) == unfinished
    assert 2 * np.pi / float(found[-1]) == pytest.approx(longest, abs=0.0051)


ROTARY = [name for name, kind in SCHEMES.items() if issubclass(kind, Rotary)]


@pytest.mark.parametrize("name", ROTARY)
@pytest.mark.parametrize("heads", [1, 3])
def test_heads_and_widths(name: str, heads: int) -> None:
    """Any number of heads; the narrowest width that a scheme takes; odd widths are refused."""
    scheme = SCHEMES[name].model_validate({})
    assert isinstance(scheme, Rotary)
    needs_two_pairs = isinstance(scheme, BaseAxial | RopeNtk | RopeDynamic | RopeProportional)
    narrow = 4 if needs_two_pairs else 2
    if needs_two_pairs:
        with pytest.raises(PoscliError, match="width 2"):
            scheme.check_width(2, heads)
    x = np.random.default_rng(0).normal(size=(heads, 3, narrow))
    at = scheme.coordinates(np.arange(3))
    assert np.isfinite(scheme.rotate(x, at)).all()
    for odd in (1, 3, 9):
        with pytest.raises(PoscliError, match=f"got width {odd}"):
            scheme.rotate(np.ones((heads, 3, odd)), at)


@pytest.mark.parametrize("name", [n for n in ROTARY if n not in ("rope-axial-centred", "xpos")])
def test_position_0_turns_nothing(name: str) -> None:
    scheme = SCHEMES[name].model_validate({"rows": 3, "columns": 3} if "pixel" in name else {})
    assert isinstance(scheme, Rotary)
    x = np.random.default_rng(0).normal(size=(1, 1, 8))
    start = np.array([4]) if "pixel" in name else np.array([0])
    assert_allclose(scheme.rotate(x, scheme.coordinates(start)), x * scheme.amplitude, rtol=1e-15)


def test_yarn_may_end_its_ramp_past_the_last_pair() -> None:
    """One turn within the length falls to pair 9.24 of 8: rounded up to 10, and not cut to 7."""
    yarn = RopeYarn(original_length=2**18, factor=4.0)
    assert [float(e) for e in yarn.edges(16)] == [6.0, 10.0]
    assert frequencies(yarn, 16)[7] == pytest.approx(10000 ** (-14 / 16) * (0.75 + 0.25 / 4))
