"""Which layer is of which type, and which layers have no rope."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from poscli.models.families import Full, Rotating
from poscli.models.fields import Fields
from poscli.models.sizes import LAYERS

WITH_ROPE = (
    "full_attention",
    "sliding_attention",
    "chunked_attention",
    "attention",
    "hybrid",
    "hybrid_sliding",
    "compressed_sparse_attention",
)
WITHOUT_ATTENTION = ("linear_attention", "mamba", "conv", "recurrent", "moe", "mlp")
LAYER_TYPES = (*WITH_ROPE, *WITHOUT_ATTENTION)


def layer_types(fields: Fields, family: Rotating, count: int | None) -> list[str] | None:
    """Return the type of every layer: as listed, or by the rule of the model; None if unknown."""
    if fields.has("layer_types"):
        per = fields.first(LAYERS) or LAYERS[0]
        types = fields.texts("layer_types", count, per)
        for i, name in enumerate(types):
            close = get_close_matches(name, LAYER_TYPES, n=1, cutoff=0.8)
            if name not in LAYER_TYPES and close:
                raise fields.error(
                    f"layer_types[{i}]", f'"{name}" is no layer type; nearest: "{close[0]}"'
                )
        fields.record("layer types", f"{len(types)} given", "layer_types")
        return types
    if family.full is None or count is None:
        return None
    return _by_rule(fields, family.full, count)


def _by_rule(fields: Fields, full: Full, count: int) -> list[str]:
    key, step, origin = fields.first(full.keys), full.every, "default of the model type"
    if key is not None:
        origin = f"{fields.path}{key}"
        if isinstance(fields.content[key], str):
            pattern = fields.text(key)
            if not pattern or set(pattern) - set("LG"):
                raise fields.error(key, f'expected letters L and G, as in "LLLG"; got "{pattern}"')
            fields.trace("every nth layer is full", pattern, origin)
            types = [pattern[i % len(pattern)] for i in range(count)]
            if full.last_layer:
                types[-1] = "G"
            return ["full_attention" if t == "G" else "sliding_attention" for t in types]
        step = fields.whole(key)
    fields.trace("every nth layer is full", step, origin)
    first = 0 if full.at == "first" else step - 1
    return [
        "full_attention"
        if i % step == first or (full.last_layer and i == count - 1)
        else "sliding_attention"
        for i in range(count)
    ]


def layers_without_rope(
    fields: Fields, family: Rotating, types: Sequence[str] | None, count: int | None
) -> set[int]:
    """Return the numbers of the layers that do not turn.

    In no_rope_layers, as transformers reads it, 1 stands for a layer that does turn.
    """
    if family.without != "no_rope_layers":
        for key in ("no_rope_layers", "no_rope_layer_interval"):
            if fields.has(key):
                raise fields.error(
                    key, "this model type does not read it; which layers turn cannot be told"
                )
    if family.without == "no_rope_layers":
        return _listed(fields, count)
    if types is None or not family.without:
        return set()
    if family.without != "full_attention" and not fields.has("sliding_window"):
        return set()
    if family.without != "full_attention":
        fields.use("sliding_window")
    return {i for i, name in enumerate(types) if name == "full_attention"}


def _listed(fields: Fields, count: int | None) -> set[int]:
    if fields.content.get("no_rope_layers"):
        per = fields.first(LAYERS) or LAYERS[0]
        turns = fields.flags("no_rope_layers", count, per)
        fields.record("layers that turn", "1 means it turns", "no_rope_layers")
        fields.found.note(
            f"{fields.path}no_rope_layers: 1 is read as a layer that turns, 0 as one that does "
            "not, the way transformers does, whatever its name says"
        )
        return {i for i, turn in enumerate(turns) if not turn}
    fields.use("no_rope_layers")
    interval, origin = 4, "default of the model type"
    if fields.has("no_rope_layer_interval"):
        interval = fields.whole("no_rope_layer_interval")
        origin = f"{fields.path}no_rope_layer_interval"
    fields.trace("every nth layer does not turn", interval, origin)
    return {i for i in range(count or 0) if (i + 1) % interval == 0}


def by_name(names: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """Return the numbers of the layers of each name, full attention first."""
    order = sorted(dict.fromkeys(names), key=lambda name: name != "full_attention")
    return {name: tuple(i for i, n in enumerate(names) if n == name) for name in order}
