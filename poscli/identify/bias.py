"""A matrix added to the scores: which bias is it?

Linear in the distance or in the key position: ALiBi, whose first slope names bias_max. Constant on
steps of the distance that grow: T5, with the numbers of its table read off. Bending with the
distance: KERPLE or Sandwich. Entries of minus infinity are a mask, and are left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.identify.evidence import Evidence, unbatched
from poscli.identify.findings import (
    Finding,
    attempt,
    compare_command,
    encode_command,
    positions_option,
    scheme_of,
)
from poscli.identify.fitting import FLOAT32, roundest
from poscli.schemes import Scheme
from poscli.schemes.alibi import Alibi, FalconAlibi, slopes
from poscli.schemes.score_bias import ScoreBias
from poscli.schemes.t5 import T5
from poscli.schemes.window import Window

_FORMS = ("symmetric", "causal", "key-only", "last-key")
_BUCKETS = ((32, 128), (8, 16), (16, 64), (32, 64), (32, 256), (64, 256), (16, 128), (64, 128))
_SANDWICH = (128, 64, 256, 32, 512)
_MOST_TABLE = 2**13
_MASKED = -1e4
_MOST_NUMBERS = 2**19
_KEPT_QUERIES, _KEPT_KEYS = 8, 256


@dataclass(frozen=True)
class Matrix:
    """A bias (h, n, m) with the positions of its queries and keys; seen is what no mask hides."""

    values: Array
    queries: Array
    keys: Array
    seen: Array
    evidence: Evidence
    as_stored: Callable[[Array], Array] = np.asarray
    words: str = ""

    @property
    def bits(self) -> int:
        """The significant bits of the numbers."""
        return self.evidence.array.bits

    @property
    def step(self) -> float:
        """How far apart the numbers are that a text can tell apart."""
        return self.evidence.array.step


def from_bias(evidence: Evidence) -> list[Finding]:
    """Explain a bias (h, n, m), (n, m), or with its heads last."""
    found: list[Finding] = []
    readings = [_thinned(matrix) for matrix in _readings(evidence)]
    for matrix in [m for m in readings if not m.words]:
        found += _explained(matrix)
    if not any(f.explains for f in found):
        for matrix in [m for m in readings if m.words]:
            found += _explained(matrix)
    return found


def bias_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's bias against a matrix."""
    if not isinstance(scheme, ScoreBias):
        return []
    found: list[Finding] = []
    for matrix in sorted(_readings(evidence), key=lambda m: bool(m.words)):
        if matrix.words and any(f.explains for f in found):
            break
        for start in (0, 1):
            queries, keys = (scheme.coordinates(p + start) for p in (matrix.queries, matrix.keys))
            found += attempt(_held, matrix, scheme, queries, keys)
    return found


def from_slopes(evidence: Evidence) -> list[Finding]:
    """Explain a number per head, (heads,), as ALiBi's slopes."""
    values, stored = evidence.array.values, evidence.array
    if values.ndim != 1 or not (values > 0).all() or not (values < 1).all():
        return []
    heads = len(values)
    power = 2 ** (heads.bit_length() - 1)
    most = float(-np.log2(values[0]) * power)
    slack = power * 64 * 2.0**-stored.bits + 1e-9
    bias_max = roundest(most - slack, most + slack, [8.0])
    scheme = scheme_of("alibi", bias_max=bias_max)
    return [] if scheme is None else slopes_of(evidence, scheme)


def slopes_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's slopes against a number per head, (heads,)."""
    values, stored = evidence.array.values, evidence.array
    if not isinstance(scheme, Alibi) or values.ndim != 1:
        return []
    heads = len(values)
    got = slopes(heads, scheme.bias_max)
    work = 2.0**-53 if stored.bits > 24 else FLOAT32
    return [
        Finding(
            scheme,
            "slopes",
            values,
            got,
            got * ((4 + heads) * work + 2.0**-stored.bits) + stored.step,
            compare_command(evidence, scheme, None),
            facts=[("width", f"{heads} heads"), ("layout", "a slope per head")],
            elsewhere=got,
        )
    ]


def _readings(evidence: Evidence) -> Iterator[Matrix]:
    """Yield readings, the most usual first: heads first or last, queries from 0 or at the end."""
    values = evidence.array.values
    whole = values.shape
    values = unbatched(values, 3)
    if values.ndim == 2:
        values = values[None]
    if values.ndim != 3:
        return
    shapes: list[tuple[Array, Callable[[Array], Array]]] = [
        (values, lambda got: got.reshape(whole))
    ]
    if values.shape[0] == values.shape[1] != values.shape[2]:
        shapes.append(
            (values.transpose(2, 0, 1), lambda got: got.transpose(1, 2, 0).reshape(whole))
        )
    for shaped, as_stored in shapes:
        _, n, m = shaped.shape
        keys = np.arange(m) if evidence.key_positions is None else evidence.key_positions
        if keys.shape != (m,):
            continue
        starts = [evidence.positions] if evidence.positions is not None else []
        if evidence.positions is None and n <= m:
            starts = [keys[m - n :]] if n == m else [keys[m - n :], keys[:n]]
        elif evidence.positions is None:
            starts = [np.arange(n)]
        hidden = shaped <= _MASKED
        for queries in starts:
            if queries.shape != (n,):
                continue
            yield Matrix(shaped, queries, keys, ~hidden, evidence, as_stored)
        queries = starts[-1]
        if queries.shape != (n,):
            continue
        past = np.broadcast_to(keys[None] <= queries[:, None], shaped.shape) if n == m else None
        if past is not None and n > 2:
            yield Matrix(
                shaped,
                queries,
                keys,
                past & ~hidden,
                evidence,
                as_stored,
                "keys up to the query",
            )


def _thinned(matrix: Matrix) -> Matrix:
    """Return a large matrix with its first and last queries and keys only."""
    _, n, m = matrix.values.shape
    if matrix.values.size <= _MOST_NUMBERS:
        return matrix
    rows, columns = (
        np.unique(np.concatenate([np.arange(size)[:kept], np.arange(size)[-kept:]]))
        for size, kept in ((n, _KEPT_QUERIES), (m, _KEPT_KEYS))
    )
    pick = np.ix_(np.arange(len(matrix.values)), rows, columns)
    return replace(
        matrix,
        values=matrix.values[pick],
        seen=matrix.seen[pick],
        queries=matrix.queries[rows],
        keys=matrix.keys[columns],
    )


def _explained(matrix: Matrix) -> list[Finding]:
    found: list[Finding] = []
    for scheme, keys, queries in _candidates(matrix):
        found += attempt(_held, matrix, scheme, queries, keys)
    return found


def _candidates(matrix: Matrix) -> Iterator[tuple[Scheme, Array, Array]]:
    heads = len(matrix.values)
    for start in (0, 1):
        keys, queries = matrix.keys + start, matrix.queries + start
        for form in _FORMS if start == 0 else ("key-only",):
            for bias_max in _bias_maxima(matrix, form, keys, queries):
                scheme = scheme_of("alibi", form=form, bias_max=bias_max)
                if scheme is not None:
                    yield scheme, keys, queries
        falcon = scheme_of("alibi-falcon")
        assert falcon is not None
        yield falcon, keys, queries
    # One query row has no distances to tell steps or bends from the values of its keys.
    if len(matrix.queries) > 1:
        yield from ((s, s.coordinates(k), s.coordinates(k)) for s, k in _windows(matrix))
        yield from ((s, matrix.keys, matrix.queries) for s in _steps(matrix))
        yield from ((s, matrix.keys, matrix.queries) for s in _bends(matrix, heads))


def _bias_maxima(matrix: Matrix, form: str, keys: Array, queries: Array) -> list[float]:
    """Return the bias_max that the first head's slope names, and the usual one."""
    heads = len(matrix.values)
    unit = scheme_of("alibi", form=form)
    assert unit is not None
    per_slope = _bias(unit, heads, queries, keys)[0] / slopes(heads)[0]
    seen = matrix.seen[0] & (per_slope != 0)
    if not seen.any():
        return []
    size = (per_slope[seen] ** 2).sum()
    slope = float((matrix.values[0][seen] * per_slope[seen]).sum() / size)
    if slope <= 0:
        return [8.0]
    power = 2 ** (heads.bit_length() - 1)
    found, slack = -np.log2(slope) * power, power * 64 * 2.0**-matrix.bits + 1e-9
    return [roundest(found - slack, found + slack, [8.0])] if 0 < found <= 1024 else [8.0]


def _steps(matrix: Matrix) -> Iterator[Scheme]:
    """Yield T5 with the table read off, wherever all distances of a bucket have one value."""
    distance = matrix.keys[None] - matrix.queries[:, None]
    if (distance % 1 != 0).any():
        return
    slack = 8 * 2.0**-matrix.bits * max(float(np.abs(matrix.values[matrix.seen]).max()), 1e-30)
    distinct = np.unique(distance)
    for bidirectional in (True, False):
        for buckets, most in _BUCKETS:
            scheme = scheme_of(
                "t5", bidirectional=bidirectional, buckets=buckets, max_distance=most
            )
            if not isinstance(scheme, T5):
                continue
            index = scheme.bucket(distance)
            if len(np.unique(index)) == len(distinct):
                continue
            used = np.unique(index)
            table = np.zeros((buckets, len(matrix.values)))
            spread = 0.0
            for row in used:
                here = (index == row) & matrix.seen.all(axis=0)
                if here.any():
                    values = matrix.values[:, here]
                    table[row] = np.median(values, axis=1)
                    spread = max(spread, float(np.ptp(values, axis=1).max()))
            if spread <= slack + matrix.step:
                yield from _with(scheme, table)


def _with(scheme: T5, table: Array) -> Iterator[Scheme]:
    given = scheme.model_dump(exclude_defaults=True, exclude={"name", "seed"})
    if table.size <= _MOST_TABLE and (found := scheme_of("t5", **given, table=table.tolist())):
        yield found


def _windows(matrix: Matrix) -> Iterator[tuple[Scheme, Array]]:
    """Yield windows of rows and columns, wherever all places of one offset have one value."""
    heads, count, keys = matrix.values.shape
    if count != keys or count < 4 or not matrix.seen.all():
        return
    for rows in range(2, count // 2 + 1):
        if count % rows:
            continue
        plain = scheme_of("window", rows=rows, columns=count // rows)
        assert isinstance(plain, Window)
        at = plain.coordinates(matrix.keys)
        index = plain.index(plain.offsets(at, at))
        table = np.zeros((int(index.max()) + 1, heads))
        table[index.ravel()] = matrix.values.reshape(heads, -1).T
        if table.size <= _MOST_TABLE and np.array_equal(table.T[:, index], matrix.values):
            scheme = scheme_of("window", rows=rows, columns=count // rows, table=table.tolist())
            if scheme is not None:
                yield scheme, matrix.keys


def _bends(matrix: Matrix, heads: int) -> Iterator[Scheme]:
    """Yield KERPLE with p and a read off the near and far distances, and Sandwich."""
    distance = np.abs(matrix.queries[:, None] - matrix.keys[None]).astype(np.float64)
    for width in _SANDWICH:
        for first in (0, 1):
            scheme = scheme_of("sandwich", width=width, first=first)
            if scheme is not None:
                yield scheme
    settings: dict[str, list[list[float]]] = {"kerple-power": [], "kerple-log": []}
    for head, seen in zip(matrix.values, matrix.seen, strict=True):
        d, v = distance[seen & (distance > 0)], -head[seen & (distance > 0)]
        if len(np.unique(d)) < 3 or not (v > 1e-300).all():
            return
        power, level = np.polyfit(np.log(d), np.log(v), 1)
        settings["kerple-power"].append([float(power), float(np.exp(level))])
        settings["kerple-log"].append(_log_bend(d, v))
    for name, values in settings.items():
        p, a = np.array(values).T
        rounded = [[roundest(x * (1 - 1e-6), x * (1 + 1e-6)) for x in y.tolist()] for y in (p, a)]
        scheme = scheme_of(name, p=rounded[0], a=rounded[1])
        if scheme is not None:
            yield scheme


def _log_bend(d: Array, v: Array) -> list[float]:
    """Return p and a of v = p ln(1 + a d): a by halving the range of its logarithm."""
    grid = np.linspace(np.log(1e-6), np.log(1e6), 97)
    for _ in range(12):
        curve = np.log1p(np.exp(grid)[:, None] * d)
        p = (curve * v).sum(axis=1) / (curve**2).sum(axis=1)
        best = int(np.argmin(((p[:, None] * curve - v) ** 2).sum(axis=1)))
        step = grid[1] - grid[0]
        grid = np.linspace(grid[best] - step, grid[best] + step, 33)
    return [float(p[best]), float(np.exp(grid[16]))]


def _bias(scheme: Scheme, heads: int, queries: Array, keys: Array) -> Array:
    return scheme.bias(
        np.ones((heads, len(queries), 1)), np.ones((heads, len(keys), 1)), queries, keys
    )


def _held(matrix: Matrix, scheme: Scheme, queries: Array, keys: Array) -> Finding:
    heads = len(matrix.values)
    bias = _bias(scheme, heads, queries, keys)
    work = 2.0**-53 if matrix.bits > 24 else FLOAT32
    # Libraries raise a rounded number to the power of the head, which multiplies its error.
    allowed = np.abs(bias) * ((4 + heads) * work + 2.0**-matrix.bits)
    want, got = (np.where(matrix.seen, values, 0.0) for values in (matrix.values, bias))
    count = int(keys.max()) + 1 if scheme.axes == 1 else len(keys)
    where = positions_option(keys) if scheme.axes == 1 else f"--len {count}"
    command = encode_command(scheme, f"--heads {heads}", where, *_width_of(scheme))
    square = queries.shape == keys.shape and np.array_equal(queries, keys)
    if not square or not matrix.seen.all() or matrix.evidence.array.values.shape != want.shape:
        command = compare_command(matrix.evidence, scheme, None)
    further = np.arange(count + 3)
    settings: dict[str, Any] = scheme.model_dump(exclude={"name", "table", "seed"})
    words = ", ".join(f"{k} {v}" for k, v in settings.items() if isinstance(v, str))
    facts = [
        ("width", f"{heads} heads"),
        ("offset", f"queries from {queries[0]}, keys from {keys[0]}"),
        ("layout", ", ".join(filter(None, [words, matrix.words and f"for {matrix.words} only"]))),
    ]
    return Finding(
        scheme,
        "score bias",
        want,
        got,
        allowed + matrix.step + 2.0**-1000,
        command,
        facts=facts,
        elsewhere=_bias(scheme, heads, further, further) if scheme.axes == 1 else None,
        extra=_usual_for(matrix, scheme),
        as_stored=lambda got: matrix.as_stored(np.where(matrix.seen, got, matrix.values)),
    )


def _width_of(scheme: Scheme) -> list[str]:
    """The bias that is divided by sqrt(k) was held as it is before that."""
    return ["--dim 1"] if isinstance(scheme, FalconAlibi) else []


def _usual_for(matrix: Matrix, scheme: Scheme) -> float:
    """A row for all queries is stored where the key alone decides; a matrix elsewhere."""
    form = getattr(scheme, "form", "")
    if form:
        return {"last-key": 0.0, "key-only": 0.0}.get(form, 0.5) if len(matrix.queries) == 1 else 0
    return 0.0
