"""From the settings of public libraries to the schemes that compute the same."""

from typing import Any

from poscli.schemes import SCHEMES, Scheme

NAMES = {
    "default": "rope",
    "linear": "rope-linear",
    "dynamic": "rope-dynamic",
    "yarn": "rope-yarn",
    "llama3": "rope-llama3",
    "longrope": "rope-longrope",
    "proportional": "rope-proportional",
}
KEYS = {"rope_theta": "base", "original_max_position_embeddings": "original_length"}


def transformers_rope(
    rope_parameters: dict[str, Any], longest: int | None = None, **settings: Any
) -> Scheme:
    """Return the scheme of a rope_parameters dictionary; longest is max_position_embeddings."""
    given = {KEYS.get(k, k): v for k, v in rope_parameters.items() if k != "rope_type"}
    kind = rope_parameters["rope_type"]
    if kind == "dynamic":
        given["original_length"] = longest
    if kind in ("yarn", "llama3", "longrope"):
        given.setdefault("original_length", longest)
    if kind == "longrope" and longest is not None:
        given.setdefault("factor", longest / given["original_length"])
    return SCHEMES[NAMES[kind]].model_validate({**given, **settings})
