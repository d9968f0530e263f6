"""Figures: the size of the file, its axes, its labels, and lines told apart without colour."""

import struct
from pathlib import Path

import numpy as np
import pytest
from conftest import refused, run
from numpy.testing import assert_array_equal

from poscli import SCHEMES, compare
from poscli.render.figures import draw, draw_curves, draw_heatmap
from poscli.report import Curve, Curves, Heatmap, LengthCurves

FIGURE = LengthCurves(
    "A task",
    "length",
    "loss, nats",
    [
        Curve("one", [16, 32, 64], [0.1, 0.2, 1.0], [0.0, 0.1, 0.2]),
        Curve("[two]", [16], [0.3], [0.0]),
        Curve("three", [16, 32, 64], [0.4, 0.4, 0.4], [0.0, 0.0, 0.0]),
    ],
    [("knows nothing", 1.2)],
    marked=16,
    mark="trained length",
)


def test_axes_labels_and_marks() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    draw_curves(axes, FIGURE)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("length", "loss, nats")
    assert axes.get_title(loc="left") == "A task"
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["16", "32", "64"]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["one", "[two]", "three"]
    assert {" trained length", " knows nothing"} <= {text.get_text() for text in axes.texts}
    lines = [container[0] for container in axes.containers]
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 3
    for line in lines:
        assert float(line.get_color()) < 0.6


def test_a_png_has_its_size() -> None:
    for count in (1, 2):
        data = draw([FIGURE] * count, ".png")
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack(">II", data[16:24]) == (1050, 675 * count)


def test_an_svg_holds_its_text_and_is_the_same_each_time() -> None:
    data = draw([FIGURE], ".svg")
    text = data.decode()
    assert all(f">{name}</text>" in text for name in ("one", "[two]", "length", "loss, nats"))
    assert 'width="504pt" height="324pt"' in text
    assert draw([FIGURE], ".svg") == data


def test_a_pdf_is_one() -> None:
    assert draw([FIGURE], ".pdf").startswith(b"%PDF-")


def test_the_command_draws_what_it_measured(tmp_path: Path) -> None:
    plot = tmp_path / "curves.svg"
    args = ["extrapolate", "--train", "none", "rope", "--task", "recall", "--steps", "1"]
    result = run(*args, "--seeds", "1", "--lengths", "16,32", "--workers=1", "--plot", str(plot))
    assert (result.status, result.err) == (0, f"wrote {plot}\n")
    text = plot.read_text()
    assert ">right answers, near, %</text>" in text
    assert ">right answers, far, %</text>" in text
    assert text.count(">rope</text>") == 2


def test_a_heat_map_has_its_cells_and_names() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    values = np.arange(40.0).reshape(2, 20)
    names = [f"k{i}" for i in range(20)]
    draw_heatmap(axes, Heatmap("Weights", "key", "query", names, ["a", "[b]"], values))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("key", "query")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "[b]"]
    assert [label.get_text() for label in axes.get_xticklabels()] == names[::2]
    assert_array_equal(axes.images[0].get_array(), values)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["encode", "--scheme", "rope", "--len", "9"], ["part cos", "part sin", "wavelength"]),
        (["encode", "--scheme", "alibi", "--heads", "2"], ["head 0", "head 1", "query", "key"]),
        (["compare", "rope", "alibi"], ["distance back, in positions", "rope", "alibi", "score"]),
        (["permute-test", "dog bites man"], ["Control: no positions, no mask", "bites", "query"]),
    ],
)
def test_every_command_draws(tmp_path: Path, args: list[str], words: list[str]) -> None:
    plot = tmp_path / "figure.svg"
    result = run(*args, "--plot", str(plot))
    assert (result.status, result.err) == (0, f"wrote {plot}\n")
    text = plot.read_text()
    assert all(word in text for word in words)


def test_what_cannot_be_drawn_is_refused_before_the_work(tmp_path: Path) -> None:
    for command in (["encode"], ["compare"], ["permute-test", "a b"]):
        assert "a figure is written as .png, .svg, .pdf" in refused(*command, "--plot", "x.gif")


def test_compare_draws_no_more_curves_than_can_be_told_apart() -> None:
    report = compare(length=6)
    counts = [len(figure.curves) for figure in report.figures if isinstance(figure, Curves)]
    assert sum(counts) == len(SCHEMES)
    assert max(counts) <= 8
