"""The base of every scheme and config: frozen, strict, and helpful about unknown keys."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, model_validator

from poscli.errors import UnknownKeyError, nearest


class Typed(str):
    """Text from the command line: a file name in it is taken from the current folder."""


def _beside_config(name: Any, info: ValidationInfo) -> Any:
    if not isinstance(name, str) or isinstance(name, Typed):
        return name
    return str(Path((info.context or {}).get("folder", "")) / name)


FilePath = Annotated[str, BeforeValidator(_beside_config)]
"""The name of a file; in a config file it is taken from the folder that the config is in."""


def union(kinds: Iterable[type[BaseModel]]) -> Any:
    """Return the type that admits any of the kinds."""
    return reduce(or_, kinds)


_MODEL_FILES_SAY = {
    "original_max_position_embeddings": "original_length",
    "max_position_embeddings": "rows",
    "rope_theta": "base",
    "theta": "base",
    "d_model": "dim",
    "hidden_size": "dim",
    "num_attention_heads": "heads",
    "num_buckets": "buckets",
    "alibi_bias_max": "bias_max",
}
"""Names that model files and papers use, and the setting that is meant."""


class Settings(BaseModel):
    """A set of named, typed values. Its fields are its schema; nothing else is accepted."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for key in given:
                if key not in cls.model_fields:
                    said = get_close_matches(str(key), _MODEL_FILES_SAY, n=1, cutoff=0.8)
                    meant = _MODEL_FILES_SAY[said[0]] if said else ""
                    known = meant if meant in cls.model_fields else str(key)
                    hint = nearest(known, cls.model_fields)
                    raise UnknownKeyError(
                        f"{cls.title()} has no setting {str(key)!r}; {hint}", str(key)
                    )
        return given

    @classmethod
    def title(cls) -> str:
        """The name under which a user knows this set of settings."""
        name = cls.model_fields.get("name") or cls.model_fields.get("command")
        return str(name.default) if name else cls.__name__
