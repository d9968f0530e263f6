"""From a config.json to its model: which part describes the text, and what family that is."""

from difflib import get_close_matches
from pathlib import Path

from poscli.errors import PoscliError
from poscli.models import others
from poscli.models.families import (
    Choice,
    Family,
    Nothing,
    Parts,
    Patches,
    Plain,
    Rotating,
    Rows,
    Waves,
)
from poscli.models.fields import Fields, Findings
from poscli.models.layers import layers_without_rope
from poscli.models.lints import lint
from poscli.models.model import Kind, Model
from poscli.models.reading import read_config, shown
from poscli.models.rotating import resolve_rotating
from poscli.models.sizes import LAYERS
from poscli.models.types import ALIASES, TYPES

BY_HAND = "state the scheme by hand, as in --scheme rope:base=500000.0,pairing=half --dim 128"


def load(path: Path) -> Model:
    """Resolve a config.json, or the one in a folder.

    Raises PoscliError, one line that names file and key, for a file that cannot be read and for
    settings that cannot be right; what is only doubtful is among the findings as a warning.
    """
    file, content = read_config(path)
    found = Findings()
    top = Fields(file, "", content, found)
    text = _text(top)
    model_type = _model_type(top, text)
    found.record(
        "model type", model_type, f"{text.path if text.has('model_type') else ''}model_type"
    )
    kinds = _vision(top, text, resolve_family(text, TYPES[_known(model_type)], model_type))
    others.warn_of_rope_keys(text, kinds, model_type)
    unused = lint(top, text)
    key = text.first(LAYERS)
    return Model(file, model_type, kinds, found, unused, text.whole(key) if key else None)


def resolve_family(fields: Fields, family: Family, model_type: str) -> list[Kind]:
    """Return the kinds of layers that a family makes of an object of the file."""
    match family:
        case Rotating():
            return resolve_rotating(fields, family, model_type)
        case Choice():
            return resolve_family(fields, _chosen(fields, family), model_type)
        case Parts():
            return [
                others.rename(kind, name)
                for name, part in family.parts.items()
                for kind in resolve_family(fields, part, model_type)
            ]
    layers_without_rope(fields, Rotating(), None, None)
    match family:
        case Rows():
            kind = others.resolve_rows(fields, family, model_type)
        case Patches():
            kind = others.resolve_patches(fields, family)
        case Waves():
            kind = others.resolve_waves(fields, family)
        case Plain():
            kind = others.resolve_plain(fields, family, model_type)
        case Nothing():
            kind = others.resolve_nothing(fields, family, model_type)
    return [kind]


def _text(top: Fields) -> Fields:
    """Return the object that describes the language model: the file itself, or a part of it."""
    if top.has("thinker_config"):
        top = top.inner("thinker_config")
    if not top.has("text_config"):
        return top
    return top.inner("text_config")


def _model_type(top: Fields, text: Fields) -> str:
    fields = text if text.has("model_type") else top
    if not fields.has("model_type"):
        raise top.error("model_type", f"is missing; add it, or {BY_HAND}")
    name = fields.text("model_type")
    if _known(name) in TYPES:
        return name
    if top.has("model_type") and _known(top.text("model_type")) in TYPES:
        return top.text("model_type")
    close = get_close_matches(name, [*TYPES, *ALIASES], n=3)
    hint = f"nearest: {', '.join(close)}; " if close else ""
    raise fields.error("model_type", f"{shown(name)} is not known; {hint}{BY_HAND}")


def _known(name: str) -> str:
    return ALIASES.get(name, name)


def _chosen(fields: Fields, family: Choice) -> Family:
    """Return the family that a field decides for."""
    *parents, key = family.key.split(".")
    for parent in parents:
        fields = (
            fields.inner(parent)
            if fields.has(parent)
            else Fields(fields.file, fields.path, {}, fields.found)
        )
    value = fields.use(key)
    if value is None and None not in family.options:
        value = family.default
        fields.trace(family.key, value, "default of the model type")
    else:
        fields.record(family.key, value, key)
    for option, chosen in family.options.items():
        if type(option) is type(value) and option == value:
            return chosen
    allowed = ", ".join(shown(option) for option in family.options)
    raise fields.error(key, f"expected one of {allowed}; got {shown(value)}")


def _vision(top: Fields, text: Fields, kinds: list[Kind]) -> list[Kind]:
    """Add the kinds of a vision part, where there is one whose type is known."""
    if text.path == "" or not top.has("vision_config"):
        return kinds
    vision = top.inner("vision_config")
    name = vision.text("model_type") if vision.has("model_type") else ""
    family = TYPES.get(_known(name))
    if not isinstance(family, Patches | Plain):
        top.found.note(f"vision_config is left aside: model_type {shown(name)} is not known")
        return kinds
    try:
        pictures = resolve_family(vision, family, name)
    except PoscliError as error:
        top.found.note(f"vision_config is left aside: {error}")
        return kinds
    return [*kinds, *(others.rename(kind, "vision") for kind in pictures)]


__all__ = ["load", "resolve_family"]
