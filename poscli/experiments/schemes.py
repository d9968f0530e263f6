"""schemes: what there is, and what one scheme is made of."""

from typing import Any

from poscli.errors import PoscliError
from poscli.report import Cell, Grid, Report, Section
from poscli.schemes import PRESETS, SCHEMES, Scheme, no_scheme
from poscli.text import setting


def list_schemes() -> Report:
    """Return a table of every scheme and of every preset."""
    result = Grid(
        "Schemes",
        ("name",),
        ("place", "settings", "limit", "source", "who uses it"),
        [(name,) for name in SCHEMES],
        [_row(kind) for kind in SCHEMES.values()],
    )
    presets = Grid(
        "Presets: what a library or model does, in values of these settings",
        ("preset",),
        ("scheme", "settings"),
        [(preset,) for preset in PRESETS],
        [[values["name"], _written(values)] for values in PRESETS.values()],
    )
    return Report(
        "schemes: every positional encoding here", {}, [Section(grids=[result, presets])], result
    )


def show_scheme(name: str) -> Report:
    """Return one scheme: its formula, where it acts, and its settings with their defaults."""
    if name not in SCHEMES:
        raise PoscliError(no_scheme(name))
    kind = SCHEMES[name]
    scheme = kind.model_validate({})
    facts: list[tuple[str, Cell]] = [
        ("formula", kind.formula),
        ("acts on", kind.place),
        ("limit", _limit(scheme)),
        ("source", kind.source),
        ("who uses it", kind.users),
        ("presets", ", ".join(p for p, v in PRESETS.items() if v["name"] == name) or "none"),
    ]
    fields = [(key, field) for key, field in kind.model_fields.items() if key != "name"]
    settings = Grid(
        "Settings" if fields else "It has no settings",
        ("setting",),
        ("default", "meaning"),
        [(key,) for key, _ in fields],
        [[_default(field), field.description or ""] for _, field in fields],
    )
    section = Section(facts=facts, grids=[settings], lines=_paragraphs(kind.__doc__ or ""))
    return Report(f"{name}: {kind.summary}", {}, [section], settings)


def _row(kind: type[Scheme]) -> list[Cell]:
    settings = [f"{k}={_default(f)}" for k, f in kind.model_fields.items() if k != "name"]
    limit = _limit(kind.model_validate({}))
    return [kind.place, ", ".join(settings) or "none", limit, kind.source, kind.users]


def _limit(scheme: Scheme) -> str:
    return "none" if scheme.limit is None else f"{scheme.limit:,} positions"


def _default(field: Any) -> str:
    return setting(field.get_default(call_default_factory=True))


def _written(values: dict[str, Any]) -> str:
    return (
        ", ".join(f"{key}={setting(value)}" for key, value in values.items() if key != "name")
        or "defaults"
    )


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n")]
