"""Figures as files, drawn by matplotlib: one style, readable in black and white."""

import io
import warnings
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from poscli.errors import PoscliError
from poscli.report import Curves, Figure, Heatmap, LengthCurves
from poscli.text import visible

_SUFFIXES = (".png", ".svg", ".pdf")
_INCHES = (7.0, 4.5)
_DPI = 150
_MARKERS = "osD^vP*Xd<>h"
_LINES = ("-", "--", "-.", ":")
_MOST_TICKS = 16
_GREYS = ("0.0", "0.35", "0.55")
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "poscli",
}


def check_drawable(path: Path) -> None:
    """Raise PoscliError where no figure can be drawn to such a file."""
    if path.suffix.lower() not in _SUFFIXES:
        raise PoscliError(f"{path}: a figure is written as {', '.join(_SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PoscliError(
            "a figure needs matplotlib: install poscli with the extra 'plot'"
        ) from None


def draw(figures: Sequence[Figure], suffix: str) -> bytes:
    """Return the figures below each other, in the format that the suffix names."""
    import matplotlib
    from matplotlib.figure import Figure as Page

    with matplotlib.rc_context(_STYLE):
        width, height = _INCHES
        page = Page(figsize=(width, height * len(figures)), dpi=_DPI, layout="constrained")
        for axes, figure in zip(
            page.subplots(len(figures), squeeze=False)[:, 0], figures, strict=True
        ):
            if isinstance(figure, Heatmap):
                draw_heatmap(axes, figure)
            else:
                draw_curves(axes, figure)
        stream = io.BytesIO()
        dated = {".pdf": "CreationDate", ".svg": "Date"}.get(suffix)
        with warnings.catch_warnings():
            # A character that the font lacks is drawn as a box.
            warnings.filterwarnings("ignore", "Glyph")
            page.savefig(
                stream, format=suffix.removeprefix("."), metadata={dated: None} if dated else None
            )
    return stream.getvalue()


def draw_curves(axes: Any, figure: Curves) -> None:
    """Draw lines, each told apart by its marker and its dashes, not by colour."""
    styles = zip(cycle(_MARKERS), cycle(_LINES), cycle(_GREYS), strict=False)
    for curve, (marker, line, grey) in zip(figure.curves, styles, strict=False):
        axes.errorbar(
            curve.x,
            curve.y,
            yerr=curve.spread,
            label=_literal(curve.name),
            marker=marker,
            linestyle=line,
            color=grey,
            markersize=5,
            markerfacecolor="white",
            linewidth=1.2,
            capsize=2,
        )
    axes.set_xscale(figure.scales[0])
    axes.set_yscale(figure.scales[1])
    for name, value in figure.levels:
        axes.axhline(value, color="0.8", linewidth=0.8, zorder=0)
        right = axes.get_yaxis_transform()
        axes.text(
            1.0, value, _literal(f" {name}"), transform=right, va="center", color="0.4", fontsize=7
        )
    if isinstance(figure, LengthCurves):
        _mark_lengths(axes, figure)
    _label(axes, figure)
    if len(figure.curves) > 1:
        place = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.18)}
        axes.legend(frameon=False, fontsize=8, ncols=3, **place)


def _mark_lengths(axes: Any, figure: LengthCurves) -> None:
    lengths = sorted({x for curve in figure.curves for x in curve.x})
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [f"{x:g}" for x in lengths])
    axes.minorticks_off()
    axes.axvline(figure.marked, color="0.6", linewidth=0.8)
    top = axes.get_xaxis_transform()
    axes.text(figure.marked, 1.0, f" {figure.mark}", transform=top, va="bottom", color="0.4")


def draw_heatmap(axes: Any, figure: Heatmap) -> None:
    """Draw an array in shades of grey: white for the smallest value, black for the largest."""
    finite = figure.values[np.isfinite(figure.values)]
    if not finite.size or finite.max() / 4 - finite.min() / 4 > np.finfo(np.float64).max / 8:
        raise PoscliError(f"{figure.title}: its numbers are none, or too far apart, to be drawn")
    image = axes.imshow(figure.values, cmap="Greys", aspect="auto", interpolation="nearest")
    axes.figure.colorbar(image, ax=axes)
    for set_ticks, names in ((axes.set_xticks, figure.columns), (axes.set_yticks, figure.rows)):
        step = -(-len(names) // _MOST_TICKS)
        set_ticks(range(0, len(names), step), [_literal(name) for name in names[::step]])
    _label(axes, figure)


def _label(axes: Any, figure: Figure) -> None:
    axes.set_xlabel(_literal(figure.x))
    axes.set_ylabel(_literal(figure.y))
    axes.set_title(_literal(figure.title), loc="left", pad=16)


def _literal(text: str) -> str:
    """Keep matplotlib from reading a formula into a text, and SVG from breaking at controls."""
    return visible(text).replace("$", r"\$")
