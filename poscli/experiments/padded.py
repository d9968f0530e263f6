"""Which rows each family of models reads for a text with padding in it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError

from poscli.arrays import Array
from poscli.padding import attention_mask
from poscli.report import Cell, Grid
from poscli.schemes import SCHEMES, Scheme, expand

_FAMILIES = ("bert", "bart", "opt", "roberta", "m2m100", "bloom")
_BY_PADDING_ID = {"roberta": ("offset",), "m2m100": ("origin",)}
_DEFAULT_PADDING_ID = 1


def mask_of(mask: Sequence[int] | None, ids: Sequence[int] | None, pad: int | None) -> Array | None:
    """Return the mask that was given, or that of the ids, or None; (n,), true for a real token."""
    if mask is not None:
        return np.array(mask, bool)
    return None if ids is None else attention_mask(np.array(ids), -1 if pad is None else pad)


def rows_by_family(mask: Array, pad: int | None) -> list[Grid]:
    """Return the row or number that each family encodes a token as, and its longest text.

    pad is the padding id; RoBERTa and M2M100 begin one row behind it (id 1 where none is given).
    """
    behind = (_DEFAULT_PADDING_ID if pad is None else pad) + 1
    schemes = {
        family: _scheme(family, dict.fromkeys(_BY_PADDING_ID.get(family, ()), behind))
        for family in _FAMILIES
    }
    rows: list[list[Cell]] = [
        [None] * len(mask) if scheme is None else scheme.number(scheme.places(mask)).tolist()
        for scheme in schemes.values()
    ]
    tokens = [(str(i), "real" if real else "padding") for i, real in enumerate(mask.tolist())]
    limits: list[Cell] = [
        0 if scheme is None else "no end" if scheme.limit is None else scheme.limit
        for scheme in schemes.values()
    ]
    return [
        Grid(
            "Row each family reads",
            ("token", "is"),
            _FAMILIES,
            tokens,
            list(zip(*rows, strict=True)),
        ),
        Grid("Longest text, in tokens", ("",), _FAMILIES, [("limit",)], [limits]),
    ]


def _scheme(preset: str, changes: dict[str, Any]) -> Scheme | None:
    """Return a preset with changes; None where its table ends before its first token."""
    values = expand({"preset": preset, **changes})
    try:
        return SCHEMES[values["name"]].model_validate(values)
    except ValidationError:
        return None
