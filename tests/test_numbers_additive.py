"""The choices of the schemes that add: small numbers with their origin, edges, and refusals.

The numbers are computed in float64 from the formulas of the sources that the schemes name, and
held to the digits shown.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pydantic import ValidationError

from poscli import Learned, PoscliError, Scheme, Sinusoidal
from poscli.report import Verdict
from poscli.schemes import PRESETS, SCHEMES, expand
from poscli.schemes.additive import Additive
from poscli.schemes.detr import DetrLearned, DetrSine
from poscli.schemes.grid import Sincos2D, Sincos3D
from poscli.schemes.padding import attention_mask, pads_counted, pads_skipped
from poscli.schemes.sinusoidal import ScaledSinusoidal

ATOL = 5.1e-9
LADDERS = ("paper", "log-timescale")
LAYOUTS = ("interleaved", "concatenated", "cos-first")
ODD = ("lone-sine", "cut", "zero-column")


def preset(name: str, **settings: Any) -> Any:
    values = expand({"preset": name, **settings})
    return SCHEMES[values["name"]].model_validate(values)


def row(scheme: Scheme, position: int | tuple[int, int], width: int) -> np.ndarray:
    assert isinstance(scheme, Additive)
    return scheme.vectors(np.array([position]), width)[0]


@pytest.mark.parametrize(
    ("name", "position", "want"),
    [
        ("xlm", 1, [0.84147098, 0.54030231, 0.00999983, 0.99995000]),
        ("marian", 1, [0.84147098, 0.00999983, 0.54030231, 0.99995000]),
        ("tensor2tensor", 1, [0.84147098, 9.99999998e-05, 0.54030231, 0.999999995]),
        ("musicgen", 1, [0.54030231, 0.999999995, 0.84147098, 9.99999998e-05]),
        ("fairseq", 0, [0.90929743, 1.99999999e-04, -0.41614684, 0.99999998]),
        ("fairseq", -1, [0, 0, 0, 0]),
        ("xlm", 1, [0.84147098, 0.54030231, 0.02511622, 0.99968454, 0.00063096]),
        ("keras-hub-sine", 1, [0.84147098, 0.54030231, 0.02511622, 0.99968454, 0.00063096]),
        ("positional-encodings", 1, [0.84147098, 0.54030231, 0.04639922, 0.99892298, 0.00215443]),
        ("marian", 1, [0.84147098, 0.02511622, 0.00063096, 0.54030231, 0.99968454]),
        ("fairseq", -1, [0, 0, 0, 0, 0]),
        ("tensor2tensor", 1, [0.84147098, 1e-4, 0.54030231, 0.999999995, 0]),
        ("big-vision", (0, 1), [0.84147098, 1e-4, 0.54030231, 0.999999995, 0, 0, 1, 1]),
        ("mae", (0, 1), [0.84147098, 0.00999983, 0.54030231, 0.99995, 0, 0, 1, 1]),
        ("vit-mae-4", (0, 1), [0.84147098, 0.00999983, 0.54030231, 0.99995, 0, 0, 1, 1]),
        ("vit-mae-5", (0, 1), [0, 0, 1, 1, 0.84147098, 0.00999983, 0.54030231, 0.99995]),
        ("timm", (0, 1), [0, 0, 0.84147098, 0.00999983, 1, 1, 0.54030231, 0.99995]),
        ("timm-interleaved", (0, 1), [0, 0, 1, 1, 0.84147098, 0.00999983, 0.54030231, 0.99995]),
        (
            "positional-encodings-2d",
            (1, 0),
            [0.84147098, 0.54030231, 0.00999983, 0.99995, 0, 1, 0, 1],
        ),
        ("positional-encodings-2d", (1, 0), [0.84147098, 0.54030231, 0.00999983, 0.99995, 0, 1]),
        ("detr-unnormalised", (0, 0), [0.84147098, 0.54030231, 0.00999983, 0.99995] * 2),
    ],
)
def test_rows_of_presets(name: str, position: int | tuple[int, int], want: list[float]) -> None:
    assert_allclose(row(preset(name), position, len(want)), want, rtol=0, atol=ATOL)


def test_whisper_at_its_size() -> None:
    got = row(preset("whisper"), 100, 384)[[0, 1, 191, 192, 383]]
    want = [-0.50636564, 0.86465973, 0.00999983, 0.86231887, 0.99995000]
    assert_allclose(got, want, rtol=0, atol=ATOL)


def test_detr_on_two_by_two_pixels() -> None:
    detr = preset("detr", rows=2, columns=2)
    block = [1.57079554e-06, -1, 0.0314107434, 0.9995065603]
    assert_allclose(row(detr, (0, 0), 8), block * 2, rtol=2e-9, atol=0)
    want = [-3.14159108e-06, 1, 0.0627904882, 0.9980267300]
    assert_allclose(row(detr, (0, 1), 8)[4:], want, rtol=2e-9, atol=0)
    centres = preset("deformable-detr", rows=2, columns=2)
    angle = np.arctan2(*row(centres, (0, 0), 8)[:2])
    assert angle == pytest.approx(1.57079554 / 1, abs=ATOL)


def test_dab_detr_has_a_base_of_20() -> None:
    sin, cos = row(preset("dab-detr", rows=2, columns=2), (0, 0), 8)[2:4]
    assert np.arctan2(sin, cos) == pytest.approx(np.pi / (1 + 5e-7) / 20**0.5, rel=1e-15)


@pytest.mark.parametrize(("width", "scale"), [(2, 2**-0.5), (512, 512**-0.5)])
def test_scaled_sinusoidal_starts_at_one_over_the_root_of_the_width(
    width: int, scale: float
) -> None:
    positions = np.array([0, 1, 99])
    plain = Sinusoidal(layout="concatenated").vectors(positions, width)
    scaled = ScaledSinusoidal().vectors(positions, width)
    assert_array_equal(scaled, plain * scale)
    assert_allclose((scaled**2).sum(axis=1), 0.5, rtol=1e-14)
    assert_array_equal(ScaledSinusoidal(scale=-3.0).vectors(positions, width), plain * -3.0)
    assert ScaledSinusoidal().parameters(width, 4) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ladder", LADDERS)
@pytest.mark.parametrize("width", [2, 6, 512])
def test_norms_and_dot_products_do_not_depend_on_the_position(
    layout: str, ladder: str, width: int
) -> None:
    scheme = Sinusoidal.model_validate({"layout": layout, "ladder": ladder})
    rows = scheme.vectors(np.array([0, 3, 1000, 1003, 131068, 131071]), width)
    assert_allclose((rows**2).sum(axis=1), width / 2, rtol=1e-14)
    products = (rows[::2] * rows[1::2]).sum(axis=1)
    want = sum(np.cos(3 * float(w)) for w in scheme.frequencies(width))
    assert_allclose(products, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("layout", "ladder", "odd"), list(product(LAYOUTS, LADDERS, ODD)))
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 33])
def test_the_shift_matrix_holds_in_every_layout(
    layout: str, ladder: str, odd: str, width: int
) -> None:
    if (width, odd) == (1, "zero-column"):
        return
    scheme = Sinusoidal.model_validate({"layout": layout, "ladder": ladder, "odd": odd})
    beyond = scheme.beyond(16, [16, 64], width, 1)
    want = Verdict.PASS if width > 1 else Verdict.NOT_INFORMATIVE
    assert [c.verdict for c in beyond.checks] == [want]
    waves, matrix, dots = beyond.grids
    assert len(waves.labels) == width // 2
    assert len(matrix.labels) == min(width // 2, 3) * 2
    columns = [int(label) for (label,) in matrix.labels]
    before, after = scheme.vectors(np.array([6, 7]), width)[:, columns]
    assert_allclose(np.array(matrix.cells) @ before, after, rtol=0, atol=1e-15)
    near, far = np.array(dots.cells).T
    assert_allclose(near, far, rtol=0, atol=1e-12)
    assert near[0] == pytest.approx(width // 2)


@pytest.mark.parametrize(("layout", "odd"), list(product(LAYOUTS, ODD)))
@pytest.mark.parametrize("width", [2, 3])
def test_the_log_timescale_is_finite_where_it_has_one_pair(
    layout: str, odd: str, width: int
) -> None:
    settings = {"ladder": "log-timescale", "layout": layout, "odd": odd}
    got = row(Sinusoidal.model_validate(settings), 1, width)
    assert np.isfinite(got).all()
    assert {0.8414709848078965, 0.5403023058681398} <= set(got.tolist())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("width", [3, 5, 33])
def test_what_odd_widths_are_made_of(layout: str, width: int) -> None:
    positions = np.array([0, 1, 70])

    def table(odd: str, width: int) -> np.ndarray:
        return Sinusoidal.model_validate({"layout": layout, "odd": odd}).vectors(positions, width)

    assert_array_equal(table("cut", width), table("refuse", width + 1)[:, :-1])
    assert_array_equal(table("zero-column", width)[:, :-1], table("refuse", width - 1))
    assert_array_equal(table("zero-column", width)[:, -1], 0.0)
    sines, cosines = Sinusoidal.model_validate({"layout": layout}).columns(width)
    assert (len(sines), len(cosines)) == ((width + 1) // 2, width // 2)
    assert sorted([*sines, *cosines]) == list(range(width))


def test_the_origin_is_where_position_0_stands() -> None:
    positions = np.array([0, 1, 1000])
    plain = Sinusoidal().vectors(positions + 2, 6)
    assert_array_equal(Sinusoidal(origin=2).vectors(positions, 6), plain)
    table = Sinusoidal(origin=2, zero_padding=True).vectors(np.array([-2, -1, 0]), 6)
    assert_array_equal(table, Sinusoidal().vectors(np.array([0, 1, 2]), 6) * [[1], [0], [1]])


def test_steps_say_what_each_number_is() -> None:
    scheme = Sinusoidal(
        ladder="log-timescale",
        layout="concatenated",
        odd="zero-column",
        origin=2,
        zero_padding=True,
    )
    assert scheme.steps(np.array([-1, 0]), 5, 1) == [
        "position -1: padding, a row of zeros",
        "position 0",
        "  dim 0: divisor 10000^(0/1) = 1; angle 2 / 1 = 2; sin(2) = 0.909297",
        "  dim 1: divisor 10000^(1/1) = 10000; angle 2 / 10000 = 0.0002; sin(0.0002) = 0.0002",
        "  dim 2: divisor 10000^(0/1) = 1; angle 2 / 1 = 2; cos(2) = -0.416147",
        "  dim 3: divisor 10000^(1/1) = 10000; angle 2 / 10000 = 0.0002; cos(0.0002) = 1",
        "  dim 4: 0, the column that fills an odd width",
    ]
    assert ScaledSinusoidal().steps(np.array([1]), 4, 1)[1] == (
        "  dim 0: divisor 10000^(0/4) = 1; angle 1 / 1 = 1; 0.5 * sin(1) = 0.420735"
    )
    assert Sincos2D().steps(np.array([[2, 1]]), 4, 1) == [
        "position 2,1",
        "  dim 0: column 1: 1 * 1 = 1; sin(1) = 0.841471",
        "  dim 1: column 1: 1 * 1 = 1; cos(1) = 0.540302",
        "  dim 2: row 2: 2 * 1 = 2; sin(2) = 0.909297",
        "  dim 3: row 2: 2 * 1 = 2; cos(2) = -0.416147",
    ]
    assert Learned(table=[[0.5], [1.5]], offset=1).steps(np.array([-1, 0]), 1, 1) == [
        "position -1: row 0 of 2 = [0.5]",
        "position 0: row 1 of 2 = [1.5]",
    ]


@pytest.mark.parametrize(
    ("scheme", "width", "want"),
    [
        (
            Sinusoidal(odd="refuse"),
            5,
            "sinusoidal with odd=refuse needs an even width; got width 5",
        ),
        (
            Sinusoidal(odd="zero-column"),
            1,
            "odd=zero-column needs a width of 2 or more; got width 1",
        ),
        (ScaledSinusoidal(), 3, "scaled-sinusoidal with odd=refuse needs an even width"),
        (Sincos2D(), 2, "sincos-2d needs a width that 4 divides"),
        (Sincos3D(uneven="refuse"), 8, "sincos-3d needs a width that 6 divides"),
        (DetrSine(), 6, "detr-sine needs a width that 4 divides"),
        (DetrLearned(), 3, "detr-learned needs an even width"),
        (
            DetrLearned(columns=1, row_table=[[1.0]], column_table=[[1.0]]),
            4,
            "tables of width 1 for half of the width each; the width asked for is 4",
        ),
    ],
)
def test_widths_refused(scheme: Scheme, width: int, want: str) -> None:
    for ask in (scheme.check_width, lambda width, _: row(scheme, (0, 0), width)):
        with pytest.raises(PoscliError, match=want):
            ask(width, 1)


@pytest.mark.parametrize(
    ("name", "settings", "want"),
    [
        ("sinusoidal", {"scale": 1.0}, "sinusoidal has no setting 'scale'"),
        ("learned", {"rows": 2, "offset": 2}, "2 rows, so the offset is at most 1; got 2"),
        ("learned", {"table": [[1.0]], "offset": 1}, "1 rows, so the offset is at most 0; got 1"),
        ("detr-learned", {"row_table": [[1.0]]}, "column_table is missing"),
        ("detr-learned", {"column_table": [[1.0]]}, "row_table is missing"),
        (
            "detr-learned",
            {"row_table": [[1.0]], "column_table": [[1.0]], "seed": 1},
            "'seed' has no use",
        ),
        (
            "detr-learned",
            {"row_table": [[1.0]], "column_table": [[1.0, 2.0]]},
            "row_table has 1 columns, column_table 2",
        ),
        ("detr-learned", {"entries": 3}, "vectors for 3 columns; got columns 4"),
    ],
)
def test_settings_refused(name: str, settings: dict[str, Any], want: str) -> None:
    with pytest.raises((PoscliError, ValidationError), match=want):
        SCHEMES[name].model_validate(settings)


def test_axes_of_a_laid_out_sequence() -> None:
    index = np.array([0, 3, 4, 15, 16, 99])
    assert Sincos2D().coordinates(index).tolist() == [
        [0, 0], [0, 3], [1, 0], [3, 3], [4, 0], [24, 3],
    ]  # fmt: skip
    assert Sincos3D(rows=2, columns=3).coordinates(index).tolist() == [
        [0, 0, 0], [0, 1, 0], [0, 1, 1], [2, 1, 0], [2, 1, 1], [16, 1, 0],
    ]  # fmt: skip
    with pytest.raises(PoscliError, match="sincos-2d takes positions of 2 numbers each; got 1"):
        Sincos2D().add(np.zeros((2, 4)), np.arange(2))


@pytest.mark.parametrize(
    ("scheme", "position", "want"),
    [
        (DetrSine(rows=2, columns=3), (2, 0), "2 rows, 0 to 1; row 2 is not one"),
        (DetrSine(rows=2, columns=3), (0, 3), "3 columns, 0 to 2; column 3 is not one"),
        (DetrSine(rows=2, columns=3), (-2, 0), "row -2"),
        (DetrSine(rows=2, columns=3, pixel="centre"), (-1, 0), "row -1"),
        (DetrLearned(entries=5), (0, 5), "5 columns, 0 to 4; column 5 is not one"),
        (DetrLearned(entries=5), (-1, 0), "row -1"),
        (DetrLearned(), (0.5, 0), "whole positions only; got position 0.5"),
        (Learned(rows=4, offset=2), -3, "position -3, would read row -1, which is not one"),
        (Learned(rows=4, offset=2), 2, "position 2, the 3rd, would read row 4, which is not one"),
    ],
)
def test_positions_refused(scheme: Scheme, position: Any, want: str) -> None:
    assert isinstance(scheme, Additive)
    with pytest.raises(PoscliError, match=want):
        scheme.add(np.zeros((1, 4)), np.array([position]))


def test_the_last_position_before_the_limit() -> None:
    for scheme in (Learned(rows=4, offset=2), DetrSine(rows=2, columns=3), DetrLearned(entries=5)):
        assert scheme.limit in (2, 6, 20)
        last = scheme.coordinates(np.array([scheme.limit - 1]))
        assert np.isfinite(scheme.add(np.zeros((1, 4)), last)).all()
        with pytest.raises(PoscliError, match="is not one of them"):
            scheme.add(np.zeros((1, 4)), scheme.coordinates(np.array([scheme.limit])))


def test_tables_grow_with_the_trained_length_unless_their_size_was_given() -> None:
    assert Learned(offset=2).trained_at(5000).limit == 5000
    assert Learned(offset=2, rows=9).trained_at(5000).limit == 7
    assert DetrSine().trained_at(5001).limit == 5004
    assert DetrSine(rows=9).trained_at(5001).limit == 36
    assert DetrLearned().trained_at(5001).limit == 5004
    assert DetrLearned().trained_at(16) == DetrLearned()
    assert DetrLearned(entries=9).trained_at(5001).limit == 36


def test_detr_learned_draws_between_0_and_1_whatever_is_asked_for() -> None:
    few = DetrLearned().vectors(np.array([[2, 3]]), 8)
    many = DetrLearned().vectors(np.array([[49, 49], [2, 3]]), 8)
    assert_array_equal(few[0], many[1])
    table = DetrLearned().vectors(np.array([[i, i] for i in range(50)]), 256)
    assert 0 <= table.min() < 0.01
    assert 0.99 < table.max() < 1
    assert not np.array_equal(table[:, :128], table[:, 128:])
    assert DetrLearned().parameters(256, 8) == 2 * 50 * 128


def test_learned_with_an_offset() -> None:
    plain = Learned(rows=8).vectors(np.arange(8), 4)
    moved = Learned(rows=8, offset=2)
    assert_array_equal(moved.vectors(np.arange(-2, 6), 4), plain)
    assert (moved.limit, moved.parameters(4, 1)) == (6, 32)
    facts = dict(moved.beyond(4, [4, 6, 7], 4, 1).facts)
    assert facts["first missing position"] == "6, the 9th of a table of 8 rows"
    assert moved.beyond(4, [4, 6, 7], 4, 1).cells == [
        "trained",
        "rows never trained",
        "no row for position 6",
    ]


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("gpt2", 1024),
        ("gpt2-openai", 1024),
        ("bert", 512),
        ("roberta", 512),
        ("opt", 2048),
        ("bart", 1024),
        ("whisper-decoder", 448),
        ("clip-text", 77),
        ("siglip-text", 64),
    ],
)
def test_limits_of_learned_presets(name: str, usable: int) -> None:
    assert preset(name).limit == usable


def test_norms_of_drawn_rows() -> None:
    for name, std in (("gpt2", 0.02), ("gpt2-openai", 0.01)):
        rows = preset(name).vectors(np.arange(1024), 768)
        assert np.linalg.norm(rows, axis=1).mean() == pytest.approx(std * 768**0.5, rel=0.005)


def test_rows_that_real_models_read() -> None:
    table = [[float(i)] for i in range(514)]
    opt = pads_skipped(np.array([0, 0, 1, 1, 1]))
    assert Learned(table=table, offset=2).vectors(opt, 1).ravel().tolist() == [1, 1, 2, 3, 4]
    ids = np.array([0, 5, 6, 2, 1, 1])
    roberta = pads_skipped(attention_mask(ids, 1))
    want = [2, 3, 4, 5, 1, 1]
    assert Learned(table=table, offset=2).vectors(roberta, 1).ravel().tolist() == want
    bart = pads_counted(attention_mask(ids, 1))
    want = [2, 3, 4, 5, 6, 7]
    assert Learned(table=table, offset=2).vectors(bart, 1).ravel().tolist() == want
    assert Learned(table=table, offset=3 + 1).limit == 510


def test_positions_after_a_cache() -> None:
    mask = np.array([[0, 1, 1], [1, 0, 1]])
    assert pads_skipped(mask, 4).tolist() == [[-1, 4, 5], [4, -1, 5]]
    assert pads_counted(mask, 4).tolist() == [[4, 5, 6]] * 2


def test_presets_are_valid_and_name_settings_that_exist() -> None:
    for name in PRESETS:
        preset(name)
