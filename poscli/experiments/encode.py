"""encode: the numbers of one scheme, at the positions asked for."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil, prod
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array, Precision, rounded
from poscli.errors import PoscliError
from poscli.experiments.padded import mask_of, rows_by_family
from poscli.experiments.precision import precision_grids
from poscli.files import load_array
from poscli.phase import wavelengths
from poscli.positions import Positions, as_array, grid_positions, refuse_size
from poscli.report import Curve, Curves, Figure, Grid, Heatmap, Report, Section, Table
from poscli.rows import Made, Rows
from poscli.schemes import AnyScheme
from poscli.schemes.base import Scheme, position_labels
from poscli.schemes.forms import Form, in_form
from poscli.schemes.rotary import Rotary
from poscli.schemes.sinusoidal import Sinusoidal
from poscli.settings import FilePath, Settings
from poscli.words import Embeddings, embed, split

_MOST_STEPS = 4096
_MOST_HELD = 2**22
"""Larger tables are made row by row while they are written."""
_MOST_FIGURES = 8
_DEFAULT_LENGTH = 8
_DEFAULT_WIDTH = 4


class EncodeConfig(Settings):
    """Settings of `poscli encode`."""

    command: Literal["encode"] = "encode"
    scheme: AnyScheme = Field(
        default_factory=lambda: Sinusoidal(), description="the scheme to encode with"
    )
    sentence: str | None = Field(None, description="words to encode, one position each")
    length: int | None = Field(
        None, ge=1, le=2**52, description="how many positions; 8 if nothing says"
    )
    offset: int = Field(0, gt=-(2**52), lt=2**52, description="the first position")
    positions: Positions | None = Field(None, description="the positions: 0,5,9 or a range 0:8")
    grid: (
        Annotated[list[Annotated[int, Field(ge=1, le=2**52)]], Field(min_length=2, max_length=3)]
        | None
    ) = Field(None, description="every position of a grid: [rows, columns], for several axes")
    dim: int | None = Field(None, ge=1, le=2**16, description="vector width; 4 if nothing says")
    heads: int = Field(4, ge=1, le=2**10, description="heads, where each has values of its own")
    show: Form | None = Field(
        None, description="the form of a turn's numbers; cos and sin of each pair if not given"
    )
    dtype: Precision = Field("float64", description="format the finished numbers are rounded to")
    seed: int = Field(0, ge=0, description="seed of the words' vectors")
    embeddings: Embeddings | None = Field(None, description="a vector per word")
    mask: Annotated[list[Literal[0, 1]], Field(min_length=1)] | None = Field(
        None, description="1 for a token, 0 for padding: the places that the scheme gives them"
    )
    ids: Annotated[list[int], Field(min_length=1)] | None = Field(
        None, description="token ids, of which those equal to pad are padding"
    )
    pad: int | None = Field(None, ge=0, description="the id of padding")
    precision: Precision | None = Field(
        None, description="show what rounding to this format at each stage gets wrong"
    )
    vector: list[float] | None = Field(
        None, min_length=1, description="data: one vector, put at every position"
    )
    input: FilePath | None = Field(
        None, description="data, not positions: a .npy file of vectors (n, dim), one per position"
    )
    explain: bool = Field(False, description="write every step out")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        data = [n for n in ("sentence", "vector", "input") if getattr(self, n) is not None]
        if len(data) > 1:
            raise PoscliError(f"{' and '.join(data)} are both data to encode; give one")
        where = [n for n in ("positions", "grid", "mask", "ids") if getattr(self, n) is not None]
        where += [n for n in ("length", "offset") if n in self.model_fields_set]
        if len(where) > 1 and where != ["length", "offset"]:
            raise PoscliError(f"{where[0]} and {where[1]} both say where; give one")
        if (self.ids is None) != (self.pad is None):
            raise PoscliError("ids and pad belong together: which of the ids is padding?")
        if self.show is not None and (data or self.explain or self.precision):
            other = [*data, *(n for n in ("explain", "precision") if getattr(self, n))][0]
            raise PoscliError(f"show is a form of the turns alone, so {other} does not fit it")
        if self.explain and self.dtype != "float64":
            raise PoscliError(f"explain writes float64 steps; dtype {self.dtype} does not fit it")
        if "seed" in self.model_fields_set and self.sentence is None:
            raise PoscliError("seed draws the vectors of a sentence's words; give a sentence")
        if self.embeddings is not None and self.sentence is None:
            raise PoscliError("embeddings are vectors of a sentence's words; give a sentence")
        return self


def encode(config: EncodeConfig) -> Report:
    """Return the encoding, and what it does to the data where there is any."""
    heads = config.heads
    tokens, data = _data(config)
    scheme, positions = _positions(config, data)
    width = _DEFAULT_WIDTH if config.dim is None else config.dim
    if data is not None:
        width = data.shape[1]
        if config.dim not in (None, width):
            raise PoscliError(f"dim is {config.dim}, but the data has width {width}")
        if len(data) == 1:
            data = np.repeat(data, len(positions), axis=0)
    scheme.check_width(width, heads)
    scheme.check_positions(positions)
    size = scheme.size(len(positions), width, heads)
    only_shown = config.explain or any(x is not None for x in (data, config.precision, config.show))
    in_rows = size > _MOST_HELD and bool(scheme.applied) and not only_shown
    if not in_rows:
        refuse_size(size, f"{len(positions):,} positions of width {width}")
    details: list[Grid] = []
    if config.show is not None:
        table = _in_form(config.show, scheme, positions, width, config.dtype)
    else:
        make = _in_rows if in_rows else _at_once
        table, details = make(scheme, positions, width, heads, config.dtype)
    table = table.named(tokens) if tokens and not scheme.applied else table
    grids, result, array = [*details, *table.grids()], table.grid(), table.values
    if data is not None:
        grids = [_token_grid("E, the data", tokens, positions, data), *grids]
        if scheme.applied:
            array = rounded(scheme.apply(data, positions), config.dtype)
            result = _token_grid(scheme.applied, tokens, positions, array)
            grids.append(result)
        elif not tokens:
            raise PoscliError(f"{scheme.name} acts on scores, so a vector has no use here")
    if (mask := mask_of(config.mask, config.ids, config.pad)) is not None:
        grids = [*rows_by_family(mask, config.pad), *grids]
    if config.precision is not None:
        grids = precision_grids(scheme, positions, width, config.precision)
    lines = []
    if config.explain:
        if scheme.size(len(positions), width, heads) > _MOST_STEPS:
            raise PoscliError("explain writes every step; ask for fewer positions or dims")
        lines = scheme.steps(positions, width, heads)
        if data is not None:
            lines += scheme.apply_steps(data, positions, tokens)
    return Report(
        title=f"{scheme.name}: {scheme.summary}",
        settings=_resolved(config, positions, width),
        sections=[Section(grids=grids, lines=lines)],
        result=result,
        array=array,
        figures=[] if in_rows else _figures(scheme, table, positions, width),
    )


def _in_form(form: Form, scheme: Scheme, positions: Array, width: int, dtype: Precision) -> Table:
    """Return the turns of a scheme in one of the forms."""
    if not isinstance(scheme, Rotary):
        raise PoscliError(f"{form} is a form of rotary turns, and {scheme.name} has none")
    table = in_form(form, scheme, positions, width)
    return replace(table, values=rounded(table.values, dtype))


def _at_once(
    scheme: Scheme, positions: Array, width: int, heads: int, dtype: Precision
) -> tuple[Table, list[Grid]]:
    """Return the encoding and what it is made from."""
    table = scheme.encoding(positions, width, heads)
    _require_finite(scheme, table.values)
    if dtype == "float32":
        # Not from float64, which would round twice.
        values = scheme.encoder(width, heads)(positions, dtype)
    else:
        values = rounded(table.values, dtype)
    return replace(table, values=values), scheme.details(positions, width)


def _in_rows(
    scheme: Scheme, positions: Array, width: int, heads: int, dtype: Precision
) -> tuple[Table, list[Grid]]:
    """Return the same as _at_once, the rows to be made when they are read."""
    encode, count = scheme.encoder(width, heads), len(positions)
    first = scheme.encoding(positions[:1], width, heads)

    def rows(start: int, stop: int) -> Array:
        step, row = divmod(start, count)
        here = min(stop - start, count - row)
        values = encode(positions[row : row + here], dtype)
        _require_finite(scheme, values)
        some = values.reshape(-1, here, values.shape[-1])[step]
        rest = start + here
        return some if rest == stop else np.concatenate([some, rows(rest, stop)])

    def details(k: int) -> Callable[[int, int], Array]:
        return lambda i, j: np.asarray(scheme.details(positions[i:j], width)[k].cells)

    labels = Made(count, lambda i, j: position_labels(positions[i:j]))
    (name, _), last = first.axes[-2:]
    shape = (*first.values.shape[:-2], count, first.values.shape[-1])
    kept = encode(positions[:1], dtype).dtype
    return Table(first.name, (*first.axes[:-2], (name, labels), last), Rows(shape, kept, rows)), [
        replace(
            grid,
            labels=Made(count, lambda i, j: [(label,) for label in labels[i:j]]),
            cells=Rows((count, len(grid.columns)), np.dtype(np.float64), details(k)),
        )
        for k, grid in enumerate(scheme.details(positions[:1], width))
    ]


def _require_finite(scheme: Scheme, values: Array) -> None:
    if not np.isfinite(values).all():
        raise PoscliError(f"{scheme.label()} makes numbers here that float64 cannot hold")


def _figures(scheme: Scheme, table: Table, positions: Array, width: int) -> list[Figure]:
    """Return a heat map per step of the leading axes, and the wavelengths where there are any."""
    if len(table.axes) == 1:
        return []
    (rows, row_labels), (columns, column_labels) = table.axes[-2:]
    figures: list[Figure] = [
        Heatmap(grid.title, columns, rows, column_labels, row_labels, np.asarray(grid.cells))
        for grid in table.grids()[:_MOST_FIGURES]
    ]
    if (turning := scheme.angle_parts(positions, width)) is not None:
        waves = wavelengths(turning[1])
        finite = np.flatnonzero(np.isfinite(waves))
        longest = float(np.abs(positions).max() + 1)
        figures.append(
            Curves(
                f"{scheme.name}: wavelength of each pair",
                "pair",
                "positions per turn",
                [Curve("wavelength", finite.tolist(), waves[finite].tolist())],
                [(f"the {longest:g} positions here", longest)],
                ("linear", "log"),
            )
        )
    return figures


def _data(config: EncodeConfig) -> tuple[list[str], Array | None]:
    """Return the data's labels and its vectors (n, d); one row stands for every position."""
    if config.sentence is not None:
        tokens = split(config.sentence, "word")
        width = config.dim or _DEFAULT_WIDTH
        if config.embeddings and config.dim is None:
            width = len(next(iter(config.embeddings.values())))
        return tokens, embed(tokens, width, config.seed, config.embeddings)
    if config.vector is not None:
        return [], np.array([config.vector], np.float64)
    if config.input is not None:
        return [], load_array(Path(config.input), dimensions=2)
    return [], None


def _positions(config: EncodeConfig, data: Array | None) -> tuple[Scheme, Array]:
    """Return the positions, and the scheme as it is used on a sequence that reaches them."""
    given = config.scheme
    rows = None if data is None or config.vector is not None else len(data)
    if config.positions is not None:
        positions = as_array(config.positions)
    elif (mask := mask_of(config.mask, config.ids, config.pad)) is not None:
        positions = given.places(mask)
    elif config.grid is not None:
        given = given.for_grid(config.grid)
        refuse_size(prod(config.grid), f"a grid of {config.grid}")
        positions = grid_positions(config.grid)
    else:
        length = config.length or rows or _DEFAULT_LENGTH
        refuse_size(length, f"{length:,} positions")
        positions = np.arange(config.offset, config.offset + length)
    if rows is not None and len(positions) != rows:
        raise PoscliError(f"the data has {rows} rows, but there are {len(positions)} positions")
    scheme = given.for_length(max(ceil(positions.max()) + 1, 1))
    return scheme, scheme.coordinates(positions) if positions.ndim == 1 else positions


def _resolved(config: EncodeConfig, positions: Array, width: int) -> dict[str, Any]:
    """Return the settings with everything filled in that the data or a default decided."""
    counted = config.positions is config.grid is config.mask is config.ids is None
    where = {"length": len(positions), "offset": config.offset} if counted else {}
    unused = {"explain", "length", "offset", "dim"}
    if config.sentence is None:
        unused.add("seed")
    if config.scheme.applied:
        unused.add("heads")
    given = config.model_dump(exclude=unused, exclude_none=True)
    return {**given, **where, "dim": width}


def _token_grid(title: str, tokens: list[str], positions: Array, values: Array) -> Grid:
    labels = position_labels(positions)
    return Grid(
        title,
        ("position", "token") if tokens else ("position",),
        tuple(f"dim {j}" if j == 0 else str(j) for j in range(values.shape[1])),
        list(zip(labels, tokens, strict=True)) if tokens else [(label,) for label in labels],
        values,
    )
