"""The report on a config: what it means, where it says so, and what is odd about it."""

from collections.abc import Sequence
from dataclasses import replace

from poscli.models.model import Kind, Model, spans
from poscli.models.reading import shown
from poscli.report import Cell, Grid, Report, Section
from poscli.schemes.longrope import LongRope
from poscli.schemes.ntk import RopeDynamic
from poscli.schemes.rotary import Rotary
from poscli.schemes.scaling import Scaled
from poscli.schemes.turns import unfinished_pairs
from poscli.text import figure, plain


def explain(model: Model, asked: str | None = None) -> Report:
    """Return the report; asked narrows it to one layer or kind of layer."""
    kinds = model.kinds if asked is None else [model.kind(asked)]
    layers = Grid(
        "Scheme per kind of layer",
        ("kind",),
        (
            "layers",
            "layer types",
            "scheme",
            "width",
            "heads",
            "trained length",
            "supported length",
            "pairs without a full turn in training",
        ),
        [(kind.name,) for kind in kinds],
        [_row(kind) for kind in kinds],
    )
    changes = Grid(
        "What changes at which length",
        ("kind", "length"),
        ("what",),
        [(kind.name, str(length)) for kind in kinds for length, _ in changes_of(kind)],
        [[what] for kind in kinds for _, what in changes_of(kind)],
    )
    trail = Grid(
        "Every resolved value, and where it came from",
        ("value of",),
        ("value", "from"),
        [(entry.name,) for entry in model.found.trail],
        [[_value(entry.value), entry.origin] for entry in model.found.trail],
    )
    return Report(
        f"schemes: what {model.file} says",
        {"model": model.file},
        [
            Section(
                facts=_facts(model, kinds), grids=[layers, *([changes] if changes.cells else [])]
            ),
            *(_details(kind) for kind in kinds if isinstance(kind.scheme, Rotary)),
            Section(grids=[trail], lines=_lines(model)),
        ],
        layers,
    )


def introduce(report: Report, model: Model, kind: Kind, by_hand: str) -> Report:
    """Return the report of an experiment with a note before it of what the model gave it."""
    facts: list[tuple[str, Cell]] = [
        ("config", f"{model.file}, model type {model.model_type}"),
        ("kind of layer used", kind.name + ("" if len(model.kinds) == 1 else _others(model, kind))),
        ("scheme of the model", kind.scheme.label()),
        ("width", f"{kind.width}, {_width_of(kind)}"),
    ]
    if by_hand:
        facts.append(("scheme given by hand", by_hand))
    section = Section("From the model", facts)
    settings = {"model": model.file, "layer": kind.name, **report.settings}
    return replace(report, settings=settings, sections=[section, *report.sections])


def changes_of(kind: Kind) -> list[tuple[int, str]]:
    """Return the lengths from which on something is different, and what."""
    scheme, lengths = kind.scheme, kind.lengths
    found: list[tuple[int, str]] = []
    if isinstance(scheme, LongRope):
        found.append((scheme.original_length + 1, "the long divisors take the place of the short"))
    elif isinstance(scheme, RopeDynamic):
        found.append((scheme.original_length + 1, "the base begins to grow with the length"))
    elif isinstance(scheme, Scaled) and lengths.trained and lengths.supported != lengths.trained:
        found.append((lengths.trained + 1, "past the length before the extension; same table"))
    if scheme.limit is not None:
        found.append((scheme.limit + 1, f"no value for position {scheme.limit}: it cannot run"))
    elif lengths.supported is not None:
        found.append((lengths.supported + 1, "beyond the supported length"))
    return found


def _row(kind: Kind) -> list[Cell]:
    return [
        "not said" if kind.layers is None else spans(kind.layers),
        ", ".join(kind.types) or "-",
        kind.scheme.label(),
        kind.width,
        kind.heads,
        kind.lengths.trained,
        kind.lengths.supported,
        unfinished(kind),
    ]


def unfinished(kind: Kind) -> str | None:
    """Count the pairs that turn but never turned fully within the trained length."""
    if not isinstance(kind.scheme, Rotary) or kind.lengths.trained is None:
        return None
    frequencies = kind.scheme.trained_frequencies(kind.width)
    return f"{unfinished_pairs(frequencies, kind.lengths.trained)} of {len(frequencies)}"


def _facts(model: Model, kinds: Sequence[Kind]) -> list[tuple[str, Cell]]:
    facts: list[tuple[str, Cell]] = [("model type", model.model_type)]
    for kind in kinds:
        name = "" if len(kinds) == 1 else f" of {kind.name}"
        supported = kind.lengths.supported
        why = f": {kind.lengths.why}" if kind.lengths.why else ""
        said = "without an end in the file" if supported is None else f"{supported}{why}"
        facts.append((f"supported length{name}", said))
    return facts


def _details(kind: Kind) -> Section:
    scheme = kind.scheme
    assert isinstance(scheme, Rotary)
    frequencies = scheme.frequencies(kind.width)
    return Section(
        f"{kind.name}: {scheme.name}",
        [
            ("pairs", len(frequencies)),
            (
                "fastest and slowest",
                f"{figure(float(frequencies[0]))}, "
                f"{figure(float(frequencies[-1]))} radians per position",
            ),
            ("attention factor", scheme.amplitude),
            *scheme.facts(kind.width),
        ],
    )


def _lines(model: Model) -> list[str]:
    lines = ["", *(f"warning: {text}" for text in model.found.warnings)]
    lines += [f"note: {text}" for text in model.found.notes]
    unused = ", ".join(model.unused) or "none"
    return [*lines, f"keys not used ({len(model.unused)}): {unused}"]


def _value(value: object) -> str:
    if isinstance(value, float):
        return plain(value)
    return value if isinstance(value, str) else shown(value)


def _others(model: Model, kind: Kind) -> str:
    others = ", ".join(repr(k.name) for k in model.kinds if k is not kind)
    return f" (--layer takes a number, or {others})"


def _width_of(kind: Kind) -> str:
    return {"token embeddings": "of the model"}.get(kind.scheme.place, "of a head")
