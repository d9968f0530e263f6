"""convert: re-order the columns of heads, so that one RoPE convention gives the scores of another.

Checkpoints of one program are read by another that pairs other columns. The rows of W_q and W_k, of
their biases and of their norms are re-ordered, head by head; values and outputs never are. The
re-ordering is found from the pairs of the two schemes, and the scores are computed both ways before
anything is written.
"""

from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.dumps import Stored, read_dump
from poscli.identify.findings import written
from poscli.phase import as_floats
from poscli.report import Cell, Check, Grid, Report, Section, check, tolerance
from poscli.schemes import SCHEMES, AnyScheme, Scheme
from poscli.schemes.rotary import Rotary
from poscli.settings import FilePath, Settings

_PLACES = (0, 1, 2, 7, 64, 1000)
_SAMPLE = 8


class ConvertConfig(Settings):
    """Settings of `poscli convert`."""

    command: Literal["convert"] = "convert"
    source: AnyScheme = Field(description="the convention that the array follows")
    target: AnyScheme = Field(description="the convention it is to follow")
    dim: int = Field(ge=2, le=2**16, description="width of a head")
    heads: int = Field(1, ge=1, le=2**12, description="heads of the queries")
    kv_heads: int | None = Field(
        None, ge=1, description="heads of the keys, where they are fewer; as many if not given"
    )
    rope_dim: int | None = Field(
        None, ge=2, description="only the last so many columns of a head turn (MLA)"
    )
    input: FilePath | None = Field(
        None, description="the file to convert; the list of rows to take if not given"
    )
    array: str | None = Field(None, description="the array to take, of a file of several")
    axis: int = Field(0, ge=-8, le=7, description="the axis that the heads lie along")

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise PoscliError(
                f"kv_heads must divide heads, so that groups of queries share a key; got "
                f"{self.heads} heads and kv_heads {self.kv_heads}"
            )
        if self.rope_dim is not None and self.rope_dim > self.dim:
            raise PoscliError(
                f"rope_dim {self.rope_dim} is more than the head width, dim {self.dim}"
            )
        if self.input is None and (self.array is not None or "axis" in self.model_fields_set):
            raise PoscliError("array and axis choose from a file; give a file too")
        return self


def convert(config: ConvertConfig) -> Report:
    """Return the re-ordering, or the array that it was applied to, with the proof of it."""
    source, target = _rotary(config.source), _rotary(config.target)
    width = config.rope_dim or config.dim
    one_head = head_order(source, target, width)
    start = config.dim - width
    order = np.concatenate([np.arange(start), start + one_head])
    proof = _proof(source, target, one_head, width)
    _require_kept(proof, source, target)
    kv_heads = config.kv_heads or config.heads
    facts: list[tuple[str, Cell]] = [
        ("columns of a head that move", f"{int((order != np.arange(config.dim)).sum())}"),
        ("of", config.dim),
    ]
    if (order == np.arange(config.dim)).all():
        facts.append(("note", "both read the same columns as pairs, so nothing has to move"))
    settings = config.model_dump(exclude_none=True)
    title = f"convert: {written(source)} to {written(target)}"
    if config.input is None:
        grids, result, array = _lists(order, config.heads, kv_heads)
        return Report(title, settings, [Section(facts=facts, grids=grids, checks=[proof])],
                      result, array)  # fmt: skip
    path = Path(config.input)
    stored = read_dump(path).only(config.array).single()
    if np.isneginf(stored.values).any():
        raise PoscliError(f"{path}: holds -infinity, and a score of infinity is none")
    axis, heads, whose = _heads_of(path, stored, config, kv_heads)
    index = _whole(order, heads)
    moved = np.moveaxis(stored.values, axis, -1)
    real = _proof_on(moved, source, target, one_head, config.dim, width)
    _require_kept(real, source, target)
    converted = np.take(stored.values, index, axis=axis)
    facts += [("read as", whose), ("heads", heads), ("stored as", stored.precision)]
    if stored.precision == "bfloat16":
        facts.append(("npy has no bfloat16", "written as float32, which holds every number"))
    array = converted.astype({"bfloat16": "float32"}.get(stored.precision, stored.precision))
    result = _grid(stored.name or "converted", array)
    return Report(
        title, settings, [Section(facts=facts, grids=[result], checks=[proof, real])], result, array
    )


def head_order(source: Rotary, target: Rotary, width: int) -> Array:
    """Return which column of a head each column is taken from, (width,).

    Raises PoscliError where no re-ordering gives the target the scores of the source.
    """
    for scheme in (source, target):
        scheme.check_width(width, 1)
    _refuse_other_turns(source, target, width)
    first, second = source.pairs(width)
    if _sense(source) != _sense(target):
        # Turning (y, x) clockwise is turning (x, y) the other way, and swapping them back.
        first, second = second, first
    to_first, to_second = target.pairs(width)
    order = np.arange(width)
    order[to_first], order[to_second] = first, second
    if sorted(order.tolist()) != list(range(width)):
        raise PoscliError(
            f"no re-ordering turns {written(source)} into {written(target)}: they turn different "
            "columns of a head"
        )
    return order


def _rotary(scheme: Scheme) -> Rotary:
    if not isinstance(scheme, Rotary):
        raise PoscliError(
            f"{scheme.name} turns no pairs, so no order of columns belongs to it; "
            f"known: {', '.join(n for n, kind in SCHEMES.items() if issubclass(kind, Rotary))}"
        )
    return scheme


def _sense(scheme: Rotary) -> str:
    return str(getattr(scheme, "direction", "counter-clockwise"))


def _refuse_other_turns(source: Rotary, target: Rotary, width: int) -> None:
    """Raise PoscliError where the pairs of the two turn by other angles: columns cannot mend it."""
    names = f"{written(source)} into {written(target)}"
    if source.axes != target.axes:
        raise PoscliError(
            f"no re-ordering turns {names}: one has {source.axes} axes, one {target.axes}"
        )
    at = source.coordinates(np.arange(1, 4))
    turns = []
    for scheme in (source, target):
        number = np.abs(np.asarray(scheme.per_pair(at, width), np.float64))
        w = as_floats(scheme.frequencies(width))
        turns.append((number if number.ndim == 2 else number[:, None]) * w)
    if turns[0].shape != turns[1].shape:
        raise PoscliError(
            f"no re-ordering turns {names}: {turns[0].shape[1]} pairs turn in one, "
            f"{turns[1].shape[1]} in the other"
        )
    if not np.allclose(turns[0], turns[1], rtol=1e-12, atol=0):
        raise PoscliError(f"no re-ordering turns {names}: their pairs turn by other angles")
    if source.amplitude != target.amplitude:
        raise PoscliError(
            f"no re-ordering turns {names}: they multiply cos and sin by other numbers"
        )


def _scores(scheme: Rotary, queries: Array, keys: Array) -> Array:
    """Queries and keys (n, width), both at the same places -> all scores, (n, n)."""
    at = scheme.coordinates(np.resize(np.array(_PLACES), len(queries)))
    used = scheme.for_length(max(_PLACES) + 1)
    # Numbers too large for a score give a difference of NaN, which is no proof.
    with np.errstate(over="ignore", invalid="ignore"):
        turned = used.rotate(queries[None], at)[0], used.rotate_keys(keys[None], at)[0]
        return np.asarray(turned[0] @ turned[1].T)


def _proof(source: Rotary, target: Rotary, order: Array, width: int) -> Check:
    queries, keys = np.random.default_rng(0).normal(size=(2, len(_PLACES), width))
    return _kept("scores of random queries and keys are kept", source, target, order, queries, keys)


def _proof_on(
    moved: Array, source: Rotary, target: Rotary, order: Array, dim: int, width: int
) -> Check:
    """Take the array's own vectors as queries, (..., heads * dim), each of its first head."""
    rows = moved.reshape(-1, moved.shape[-1] // dim, dim)[:_SAMPLE, 0, dim - width :]
    queries = np.resize(rows, (len(_PLACES), width))
    keys = np.random.default_rng(1).normal(size=queries.shape)
    return _kept("scores of the array's own vectors are kept", source, target, order, queries, keys)


def _kept(
    claim: str, source: Rotary, target: Rotary, order: Array, queries: Array, keys: Array
) -> Check:
    want = _scores(source, queries, keys)
    got = _scores(target, queries[:, order], keys[:, order])
    with np.errstate(over="ignore"):
        scale = float(np.abs(queries).max() * np.abs(keys).max()) * source.amplitude**2
    width = queries.shape[1]
    return check(claim, want, got, expected="equal",
                 tolerance=tolerance(4 * width, scale, np.float64))  # fmt: skip


def _require_kept(proof: Check, source: Rotary, target: Rotary) -> None:
    if not proof.difference <= proof.tolerance:
        raise PoscliError(
            f"no re-ordering turns {written(source)} into {written(target)}: scores would differ "
            f"by {proof.difference:g}; nothing was written"
        )


def _heads_of(
    path: Path, stored: Stored, config: ConvertConfig, kv_heads: int
) -> tuple[int, int, str]:
    """Return the axis that heads lie along, how many there are, and whose they are."""
    values = stored.values
    if not -values.ndim <= config.axis < values.ndim:
        raise PoscliError(f"{path}: has {values.ndim} axes; there is no axis {config.axis}")
    size = values.shape[config.axis]
    known = {
        config.dim: (1, "one head, or a norm shared by all"),
        kv_heads * config.dim: (kv_heads, "keys"),
        config.heads * config.dim: (config.heads, "queries"),
    }
    if kv_heads == config.heads > 1:
        known[config.heads * config.dim] = (config.heads, "queries or keys")
    if size not in known:
        sizes = ", ".join(f"{n} for {whose}" for n, (_, whose) in known.items())
        raise PoscliError(
            f"{path}: axis {config.axis} has {size} numbers; with heads of width {config.dim} "
            f"it would have {sizes}"
        )
    return config.axis, *known[size]


def _whole(order: Array, heads: int) -> Array:
    return np.asarray((np.arange(heads)[:, None] * len(order) + order).ravel())


def _lists(order: Array, heads: int, kv_heads: int) -> tuple[list[Grid], Grid, Array]:
    """Return the list for queries and for keys; the one for queries is the result."""
    grids = []
    sizes = {"queries: W_q and its bias": heads, "keys: W_k and its bias": kv_heads}
    if heads == kv_heads:
        sizes = {"queries and keys: W_q, W_k and their biases": heads}
    for words, count in sizes.items():
        index = _whole(order, count)
        grids.append(
            Grid(
                f"{words}; new row i is old row ...",
                ("new",),
                ("old",),
                [(str(i),) for i in range(len(index))],
                [[int(i)] for i in index],
            )
        )
    if heads > 1:
        labels = [(str(i),) for i in range(len(order))]
        rows = [[int(i)] for i in order]
        grids.append(Grid("q and k norms, one head wide", ("new",), ("old",), labels, rows))
    return grids, grids[0], _whole(order, heads)


def _grid(name: str, array: Array) -> Grid:
    table = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array[None]
    return Grid(
        name,
        ("row",),
        tuple(str(j) for j in range(table.shape[1])),
        [(str(i),) for i in range(len(table))],
        table,
    )
