"""Figures: the size of the file, its axes, its labels, and lines told apart without colour."""

import struct
from pathlib import Path

import pytest
from conftest import run

from poscli.render.figures import draw, draw_curves
from poscli.report import Curve, Curves

pytest.importorskip("matplotlib")

FIGURE = Curves(
    "A task",
    "length",
    "loss, nats",
    [
        Curve("one", [16, 32, 64], [0.1, 0.2, 1.0], [0.0, 0.1, 0.2]),
        Curve("[two]", [16], [0.3], [0.0]),
        Curve("three", [16, 32, 64], [0.4, 0.4, 0.4], [0.0, 0.0, 0.0]),
    ],
    16,
    "trained length",
    [("knows nothing", 1.2)],
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
