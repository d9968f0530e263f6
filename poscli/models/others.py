"""Models without RoPE: learned tables, sinusoids, biases, and none at all."""

from dataclasses import replace
from typing import Any

from poscli.models import sizes
from poscli.models.families import Nothing, Patches, Plain, Read, Rows, Waves
from poscli.models.fields import Fields
from poscli.models.model import Kind, Lengths
from poscli.models.rotating import make
from poscli.schemes import SCHEMES
from poscli.schemes.additive import Additive
from poscli.schemes.nope import NoPE
from poscli.schemes.rotary import Rotary

ROPE_KEYS = (
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rope_local_base_freq",
    "rotary_dim",
    "rotary_pct",
    "partial_rotary_factor",
)


def resolve_rows(fields: Fields, family: Rows, model_type: str) -> Kind:
    width, heads = sizes.model_width(fields), sizes.heads(fields)
    count = sizes.length(fields, family.keys)
    if count is None:
        count = family.rows
        if count is None:
            raise fields.error(family.keys[0], "is missing; it is the number of rows")
        fields.trace("positions", count, "default of the model type")
        fields.found.warn(
            f"{fields.path}{family.keys[0]} is not in the file: {count} assumed, the default of "
            f"{model_type}"
        )
    offset = _behind_padding(fields, family.pad) if family.offset is None else family.offset
    rows = count + offset if family.added else count
    settings: dict[str, Any] = {"name": "learned", "rows": rows}
    if family.skips_padding:
        settings["padding"] = "skipped"
    if offset:
        settings["offset"] = offset
        if family.offset is not None:
            fields.trace("offset", offset, "model type")
    scheme = make(fields, settings, width, heads)
    lengths = Lengths(scheme.limit, scheme.limit, "rows of the table, less those before position 0")
    return Kind("all", scheme, width, heads, lengths)


def resolve_patches(fields: Fields, family: Patches) -> Kind:
    width, heads = sizes.model_width(fields), sizes.heads(fields)
    rows, columns = _patches(fields)
    scheme = make(
        fields, {"name": "learned", "rows": rows * columns + family.special}, width, heads
    )
    why = f"{rows} x {columns} patches and {family.special} rows before them"
    fields.found.note("other sizes of picture are met by interpolating the rows; that is not done")
    return Kind("all", scheme, width, heads, Lengths(scheme.limit, scheme.limit, why))


def resolve_waves(fields: Fields, family: Waves) -> Kind:
    width, heads = sizes.model_width(fields), sizes.heads(fields)
    settings = dict(family.settings)
    if family.behind_padding:
        settings["origin"] = _behind_padding(fields, 1)
    count = sizes.length(fields, family.keys)
    scheme = make(fields, settings, width, heads)
    return Kind("all", scheme, width, heads, Lengths(count, count))


def resolve_plain(fields: Fields, family: Plain, model_type: str) -> Kind:
    heads, kind = sizes.heads(fields), SCHEMES[family.scheme]
    settings: dict[str, Any] = {**family.settings, "name": family.scheme}
    for name, read in family.read.items():
        value = _read(fields, name, read, kind.model_fields[name].annotation is float)
        if value is not None:
            settings[name] = value
    if family.patches:
        settings |= dict(zip(("rows", "columns"), _patches(fields), strict=True))
        settings = {k: v for k, v in settings.items() if k in kind.model_fields}
    if issubclass(kind, Additive):
        width = sizes.model_width(fields)
        width = width // 2 if family.scheme.startswith("detr") else width
    elif issubclass(kind, Rotary) or family.scheme != "window":
        width = sizes.bias_head_width(fields)
    else:
        width = 1
    count = sizes.length(fields)
    return Kind("all", make(fields, settings, width, heads), width, heads, Lengths(count, count))


def resolve_nothing(fields: Fields, family: Nothing, model_type: str) -> Kind:
    for key in ROPE_KEYS:
        if fields.has(key):
            fields.use(key)
            fields.found.warn(f"{fields.path}{key} is not used: {model_type} has no rope")
    if family.note:
        fields.found.note(family.note)
    width = fields.first(sizes.WIDTHS)
    return Kind(
        "all",
        NoPE(),
        1 if width is None else sizes.model_width(fields),
        sizes.heads(fields) if fields.first(sizes.HEADS) else 1,
        Lengths(sizes.length(fields), None, "no positions, so no limit of their own"),
    )


def rename(kind: Kind, name: str) -> Kind:
    """Return a kind as a part of its model."""
    return replace(kind, name=name if kind.name == "all" else f"{name} {kind.name}")


def warn_of_rope_keys(fields: Fields, kinds: list[Kind], model_type: str) -> None:
    """Warn of rope fields in a model none of whose schemes is a rope."""
    if any(isinstance(kind.scheme, Rotary) for kind in kinds):
        return
    for key in ROPE_KEYS:
        if fields.has(key) and fields.path + key not in fields.found.used:
            fields.use(key)
            name = kinds[0].scheme.name
            fields.found.warn(f"{fields.path}{key} is not used: the scheme is {name}")


def _read(fields: Fields, name: str, read: Read, real: bool) -> Any:
    for dotted in read.keys:
        *parents, key = dotted.split(".")
        inner = fields
        for parent in parents:
            inner = inner.inner(parent) if inner.has(parent) else replace(inner, content={})
        if not inner.has(key):
            continue
        value = inner.number(key) if real else inner.whole(key, least=-(2**31))
        if value < 0:
            continue
        inner.record(name, value + read.add, key)
        return value + read.add
    if read.default is None:
        return None
    fields.trace(name, read.default + read.add, "default of the model type")
    return float(read.default + read.add) if real else read.default + read.add


def _behind_padding(fields: Fields, pad: int) -> int:
    origin = "default of the model type"
    if fields.has("pad_token_id"):
        pad = fields.whole("pad_token_id", least=0)
        origin = f"{fields.path}pad_token_id"
    fields.trace("offset, padding_idx + 1", pad + 1, origin)
    return pad + 1


def _patches(fields: Fields) -> tuple[int, int]:
    for key in ("image_size", "patch_size"):
        if not fields.has(key):
            raise fields.error(key, "is missing; it decides how many patches there are")
    image, patch = _pair(fields, "image_size"), _pair(fields, "patch_size")
    rows, columns = (i // p for i, p in zip(image, patch, strict=True))
    if not rows or not columns:
        raise fields.error("patch_size", "is larger than the picture")
    fields.trace(
        "patches", f"{rows} x {columns}", f"{fields.path}image_size / {fields.path}patch_size"
    )
    return rows, columns


def _pair(fields: Fields, key: str) -> tuple[int, int]:
    if not isinstance(fields.content[key], list):
        size = fields.whole(key, most=2**20)
        return size, size
    sizes_given = fields.numbers(key)
    if len(sizes_given) != 2 or any(n < 1 or n % 1 for n in sizes_given):
        raise fields.error(key, "expected one whole number, or two")
    return int(sizes_given[0]), int(sizes_given[1])
