"""Models with RoPE: which block of settings each layer type has, and the schemes they make."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from poscli.config import build
from poscli.errors import PoscliError
from poscli.models.families import Own, Rotating
from poscli.models.fields import Fields
from poscli.models.layers import LAYER_TYPES, by_name, layer_types, layers_without_rope
from poscli.models.model import Kind, Lengths
from poscli.models.rope_block import FILE_KEYS, SCHEMES_OF, Block, empty
from poscli.models.sizes import heads, layer_count, length, rotary_head_width
from poscli.schemes import SCHEMES, Scheme
from poscli.schemes.nope import NoPE

_STYLES = ("rope_scaling", "rope_parameters")


@dataclass(frozen=True)
class Turn:
    """A scheme, the width it turns, and the lengths it is for."""

    scheme: Scheme
    width: int
    lengths: Lengths


def resolve_rotating(fields: Fields, family: Rotating, model_type: str) -> list[Kind]:
    """Return the kinds of layers of a model with RoPE, full attention first."""
    count = layer_count(fields)
    types = layer_types(fields, family, count)
    turns = _turns(fields, family, model_type)
    if family.note:
        fields.found.note(family.note)
    if any(turn and _needs_new_readers(fields, turn) for turn in turns.values()):
        fields.found.note(
            f"{fields.path}rope_parameters is new in transformers 5: readers of the old style see "
            "neither base nor scaling here, and use 10000 and none without a word"
        )
    if family.sliced:
        fields.found.note(
            "what turns is a slice of its own, the last columns of each query and key"
        )
    bare = layers_without_rope(fields, family, types, count)
    return _kinds(fields, turns, types, bare, count, heads(fields))


def make(fields: Fields, settings: Mapping[str, Any], width: int, head_count: int) -> Scheme:
    """Return the scheme; PoscliError names the file and the key where its settings are wrong."""
    scheme_name = settings["name"]
    try:
        scheme: Scheme = build(SCHEMES[scheme_name], settings)
        scheme.check_width(width, head_count)
    except PoscliError as error:
        text = str(error)
        for ours, theirs in FILE_KEYS.items():
            text = re.sub(rf"\b{ours}\b(?! [a-z]+ing)", theirs, text)
        path = "" if text.startswith(scheme_name) else fields.path
        raise PoscliError(f"{fields.file}: {path}{text}") from None
    return scheme


def _turns(fields: Fields, family: Rotating, model_type: str) -> dict[str, Turn | None]:
    """Return what turns per layer type, under "all" where the types do not differ."""
    style, block = _block(fields)
    if family.plain_only:
        if style:
            fields.found.warn(f"{fields.path}{style} is not used: {model_type} does not read it")
        return {"all": _turn(Block(empty(fields, {}), fields, family, None, model_type))}
    names = [key for key in block.content if key in LAYER_TYPES]
    if names:
        return _nested(block, fields, family, model_type)
    if not family.own:
        inner = block if style else empty(fields, family.built_in)
        if not style and family.built_in:
            fields.found.warn(
                f"{fields.path}rope_parameters is not in the file: {family.built_in['rope_type']} "
                f"with factor {family.built_in['factor']:g} assumed, as {model_type} has built in"
            )
        return {"all": _turn(Block(inner, fields, family, None, model_type))}
    return _each_own(style, block, fields, family, model_type)


def _each_own(
    style: str, block: Fields, fields: Fields, family: Rotating, model_type: str
) -> dict[str, Turn | None]:
    """Return what turns in a model with a rope per layer type whose file does not have it so."""
    reach = style == "rope_scaling" and any(own.scaled for own in family.own.values())
    if style and not reach:
        fields.found.used.discard(fields.path + style)
        fields.found.warn(
            f"{fields.path}{style} is not used: {model_type} has rope_parameters per layer type"
        )
    elif style and block.has("type") and not block.has("rope_type"):
        fields.found.warn(
            f"{block.path}type is read as rope_type; transformers 5.24 does not read it in "
            f"{model_type}, and does not scale; 4.57 does"
        )
    turns: dict[str, Turn | None] = {}
    for name, own in family.own.items():
        inner = block if reach and own.scaled else empty(fields, own.built_in)
        turns[name] = _turn(Block(*_for(name, inner, fields), family, own, model_type))
    return turns


def _needs_new_readers(fields: Fields, turn: Turn) -> bool:
    """Whether a reader of the old style would turn by something else."""
    if fields.content.get("rope_scaling") or not fields.has("rope_parameters"):
        return False
    plain = turn.scheme.name == "rope" and getattr(turn.scheme, "base", None) == 10000.0
    return not (plain or fields.has("rope_theta"))


def _block(fields: Fields) -> tuple[str, Fields]:
    """Return the name of the field that holds the block, empty where there is none, and the block.

    Where both are given, a rope_scaling that is not empty wins.
    """
    given = [key for key in _STYLES if fields.content.get(key)]
    if not given:
        for key in _STYLES:
            fields.use(key)
        return "", empty(fields, {})
    blocks = [fields.inner(key) for key in given]
    if len(given) == 2 and blocks[0].content != blocks[1].content:
        fields.found.warn(
            f"{fields.path}rope_scaling and {fields.path}rope_parameters are both given and "
            "differ: rope_scaling is used, as in transformers 5.24"
        )
    return given[0], blocks[0]


def _nested(
    block: Fields, fields: Fields, family: Rotating, model_type: str
) -> dict[str, Turn | None]:
    turns: dict[str, Turn | None] = {}
    for key, value in block.content.items():
        if key not in LAYER_TYPES:
            close = get_close_matches(key, LAYER_TYPES, n=1, cutoff=0.8)
            if close:
                raise block.error(key, f"is no layer type; did you mean {close[0]}?")
            block.found.warn(f"{block.path}{key} stands beside layer types, and is not used")
            continue
        if value is None:
            block.use(key)
            block.record(f"{key}: no rope", None, key)
            turns[key] = None
            continue
        own = family.own.get(key, Own(family.base, family.base_keys))
        inner, outer = _for(key, block.inner(key), fields)
        turns[key] = _turn(Block(inner, outer, family, own, model_type))
    for key, own in family.own.items():
        if key not in turns:
            inner, outer = _for(key, empty(fields, own.built_in), fields)
            turns[key] = _turn(Block(inner, outer, family, own, model_type))
    return turns


def _for(layer_type: str, inner: Fields, outer: Fields) -> tuple[Fields, Fields]:
    """Return a block and its config as read for one layer type."""
    return replace(inner, subject=layer_type), replace(outer, subject=layer_type)


def _turn(block: Block) -> Turn:
    fields, outer, family = block.fields, block.outer, block.family
    kind = block.rope_type()
    block.check_keys(kind)
    width = rotary_head_width(outer, family, block.own, kind)
    added, lengths = block.scaling(kind, length(outer))
    part = block.part(kind, width)
    pairs = int(width * part.get("partial_rotary_factor", 1.0)) // 2
    settings: dict[str, Any] = {
        "name": SCHEMES_OF[kind],
        "pairing": family.pairing,
        "base": block.base(),
        **part,
        **added,
        **_sections(block, kind, pairs),
    }
    if family.direction != "counter-clockwise":
        settings["direction"] = family.direction
    outer.trace("pairing", family.pairing, "model type")
    return Turn(make(fields if fields.content else outer, settings, width, 1), width, lengths)


def _sections(block: Block, kind: str, pairs: int) -> dict[str, Any]:
    """Return what makes a plain RoPE one of three positions, where the model has that.

    For a scaled one there is no scheme of three positions: those of text are equal, and turn by the
    scaled frequencies as they are.
    """
    fields, family = block.fields, block.family
    text_only = kind != "default" or family.three_positions == "text"
    key = fields.first(("mrope_section", "xdrope_section"))
    if key:
        sections = fields.wholes(key)
        fields.record("sections", sections, key)
    elif family.sections and not text_only:
        sections = list(family.sections)
        if sum(sections) != pairs:
            raise block.outer.error(
                "mrope_section",
                f"is missing, and that of the published {block.model_type}, {sections}, does not "
                f"fit {pairs} pairs",
            )
        fields.trace("sections", sections, "default of the model type")
        fields.found.warn(
            f"{block.outer.path}mrope_section is not in the file: {sections} "
            f"assumed, as in the published {block.model_type}"
        )
    elif not family.sections:
        return {}
    if text_only:
        if key and sum(sections) != pairs:
            raise fields.error(key, f"must add up to {pairs}, the pairs; got {sections}")
        fields.use("mrope_interleaved")
        fields.found.note(
            "in pictures each pair turns by one of several positions; those of text are equal, and "
            "this is what text turns by"
        )
        return {}
    layout = family.three_positions
    if fields.has("mrope_interleaved"):
        layout = "interleaved" if fields.truth("mrope_interleaved") else "blocked"
        fields.record("layout of the sections", layout, "mrope_interleaved")
    return {"name": "rope-mrope", "layout": layout, "sections": sections}


def _kinds(
    fields: Fields,
    turns: Mapping[str, Turn | None],
    types: list[str] | None,
    bare: set[int],
    count: int | None,
    head_count: int,
) -> list[Kind]:
    """Sort the layers by what turns in them."""
    width = next((turn.width for turn in turns.values() if turn), 1)
    lengths = next((turn.lengths for turn in turns.values() if turn), Lengths(None, None))

    def kind(name: str, turn: Turn | None) -> Kind:
        if turn is None:
            return Kind(name, NoPE(), width, head_count, replace(lengths, why=""))
        return Kind(name, turn.scheme, turn.width, head_count, turn.lengths)

    if types is None and not bare:
        layers = None if count is None or len(turns) > 1 else tuple(range(count))
        ordered = sorted(turns.items(), key=lambda item: item[0] != "full_attention")
        return [replace(kind(name, turn), layers=layers) for name, turn in ordered]
    types = types or ["all"] * (count or 0)
    names = [_name(fields, turns, name, i in bare) for i, name in enumerate(types)]
    found = []
    for name, layers in by_name(names).items():
        if not name:
            fields.found.note(
                "layers without attention, and so without a scheme: "
                + ", ".join(f"{i} ({types[i]})" for i in layers[:3])
                + (f" and {len(layers) - 3} more" if len(layers) > 3 else "")
            )
            continue
        own = tuple(dict.fromkeys(types[i] for i in layers if types[i] != "all"))
        found.append(replace(kind(name, turns.get(name)), layers=layers, types=own))
    for name in turns:
        if name != "all" and name not in names:
            fields.found.warn(f"no layer is of type {name}, which has a rope of its own")
    if not found:
        raise fields.error("layer_types", "no layer has attention")
    if bare:
        found = [replace(k, name="rope") if k.name == "all" else k for k in found]
    return sorted(found, key=lambda k: isinstance(k.scheme, NoPE))


def _name(fields: Fields, turns: Mapping[str, Turn | None], layer_type: str, bare: bool) -> str:
    """Return the kind that a layer belongs to, empty for one without attention."""
    if bare:
        return "no rope"
    if layer_type in turns:
        return layer_type
    if "all" not in turns and layer_type.endswith("_attention") and layer_type[0] != "l":
        raise fields.error("layer_types", f"no rope is given for layers of type {layer_type}")
    attends = layer_type in ("all", "attention", "hybrid") or (
        layer_type.endswith("attention") and layer_type != "linear_attention"
    )
    return "all" if attends else ""
