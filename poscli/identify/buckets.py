"""Whole numbers made of distances: buckets of T5 or DeBERTa, or the index of a window's table."""

from collections.abc import Iterator

import numpy as np

from poscli.arrays import Array
from poscli.identify.evidence import Evidence
from poscli.identify.findings import Finding, attempt, compare_command, scheme_of
from poscli.schemes import Scheme
from poscli.schemes.deberta import Deberta
from poscli.schemes.shaw import Shaw
from poscli.schemes.t5 import T5
from poscli.schemes.window import Window

_USUAL = (128, 512, 64, 256, 32, 20, 16, 8, 1000, 1024)
_MOST_DISTANCE = 2048
_MOST_SIDE = 64


def buckets_of(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's buckets, offsets or index against whole numbers."""
    if isinstance(scheme, T5 | Deberta) and evidence.array.values.ndim == 1:
        return _by_distance(evidence, scheme)
    if isinstance(scheme, Window | Deberta):
        return [f for f in from_index(evidence) if f.scheme == scheme]
    return _of_table(evidence, scheme) if isinstance(scheme, Shaw) else []


def from_buckets(evidence: Evidence) -> list[Finding]:
    """Explain whole numbers (n,) by the distances, key minus query, given as positions."""
    rows, distance = evidence.array.values, evidence.positions
    if distance is None or rows.ndim != 1 or rows.shape != distance.shape or (rows % 1 != 0).any():
        return []
    found: list[Finding] = []
    for bidirectional in (True, False):
        for buckets in _counts(rows, bidirectional):
            for most in _most_distances(rows, distance, bidirectional, buckets):
                scheme = scheme_of(
                    "t5", bidirectional=bidirectional, buckets=buckets, max_distance=most
                )
                if isinstance(scheme, T5):
                    found += _by_distance(evidence, scheme)
    for buckets in (16, 32, 64, 128, 256, 512):
        for most in _USUAL:
            scheme = scheme_of("deberta", buckets=buckets, max_distance=most)
            if isinstance(scheme, Deberta):
                found += _by_distance(evidence, scheme)
    return found


def _by_distance(evidence: Evidence, scheme: T5 | Deberta) -> list[Finding]:
    """Hold buckets against whole numbers (n,): DeBERTa counts them either way."""
    rows, distance = evidence.array.values, evidence.positions
    if distance is None or rows.shape != distance.shape:
        return []
    readings = [(1, "key minus query")]
    if isinstance(scheme, Deberta):
        readings = [(1, "query minus key"), (-1, "key minus query")]
    return [_held(evidence, scheme, scheme.bucket(sign * distance), w) for sign, w in readings]


def from_index(evidence: Evidence) -> list[Finding]:
    """Explain whole numbers (n, n): offsets, or the rows of a window's table."""
    values = evidence.array.values
    if values.ndim == 3 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 1 and round(len(values) ** 0.5) ** 2 == len(values):
        values = values.reshape(round(len(values) ** 0.5), -1)
    if values.ndim != 2 or (values % 1 != 0).any():
        return []
    found: list[Finding] = []
    for class_token in (0, 1):
        index = values[class_token:, class_token:]
        count = len(index)
        if index.shape != (count, count) or count < 4:
            continue
        for rows in range(2, min(count, _MOST_SIDE) + 1):
            if count % rows == 0 and count // rows > 1:
                scheme = scheme_of("window", rows=rows, columns=count // rows)
                assert isinstance(scheme, Window)
                words = "after the row and column of a class token" if class_token else ""
                found += attempt(_indexed, evidence, scheme, index, words)
    plain = scheme_of("deberta")
    assert isinstance(plain, Deberta)
    queries, keys = (np.arange(n) for n in values.shape)
    offsets = plain.offsets(queries, keys)
    for sign, words in ((1, "query minus key"), (-1, "key minus query")):
        found.append(
            Finding(
                plain,
                "offsets",
                values,
                sign * offsets,
                np.zeros(values.shape),
                compare_command(evidence, plain, None),
                facts=[("layout", words)],
                as_stored=lambda got: got.reshape(evidence.array.values.shape),
            )
        )
    return found


def _indexed(evidence: Evidence, scheme: Window, index: Array, words: str) -> Finding:
    at, stored = scheme.coordinates(np.arange(len(index))), evidence.array.values

    def as_stored(got: Array) -> Array:
        """Leave the row and column of a class token as they are."""
        whole = stored.reshape(round(stored.size**0.5), -1).copy()
        whole[-len(got) :, -len(got) :] = got
        return whole.reshape(stored.shape)

    return Finding(
        scheme,
        "index of a table",
        index,
        scheme.index(scheme.offsets(at, at)),
        np.zeros(index.shape),
        compare_command(evidence, scheme, None),
        facts=[("width", len(index)), ("layout", words)],
        as_stored=as_stored,
    )


def from_clipped(evidence: Evidence) -> list[Finding]:
    """Explain vectors (n, n, k), one per query and key, by their clipped distance (Shaw)."""
    values = evidence.array.values
    if values.ndim != 3 or values.shape[0] != values.shape[1] or values.shape[0] < 4:
        return []
    count = len(values)
    # Two distances fall together where their vectors are equal all along their diagonals.
    rows = {k: values[0, k] if k >= 0 else values[-k, 0] for k in range(1 - count, count)}
    left = next((k for k in range(count) if np.array_equal(rows[-k], rows[1 - count])), count)
    right = next((k for k in range(count) if np.array_equal(rows[k], rows[count - 1])), count)
    if left >= count - 1 or right >= count - 1:
        return []
    table = np.array([rows[k] for k in range(-left, right + 1)])
    scheme = scheme_of("shaw", left=left, right=right, table=table.tolist())
    return _of_table(evidence, scheme) if isinstance(scheme, Shaw) else []


def _of_table(evidence: Evidence, scheme: Shaw) -> list[Finding]:
    """Hold the vectors of a table that is given against vectors (n, n, k)."""
    values = evidence.array.values
    if values.ndim != 3 or values.shape[0] != values.shape[1] or not isinstance(scheme.table, list):
        return []
    table, count = np.array(scheme.table), len(values)
    got = table[scheme.row(np.arange(count) - np.arange(count)[:, None])]
    return [
        Finding(
            scheme,
            "vectors of clipped distances",
            values,
            got,
            np.zeros(values.shape),
            compare_command(evidence, scheme, None),
            facts=[
                ("width", values.shape[2]),
                ("layout", f"{scheme.left} before, {scheme.right} after"),
            ],
        )
    ]


def _counts(rows: Array, bidirectional: bool) -> list[int]:
    top = int(rows.max()) + 1
    return sorted({top, top + top % 2, 32} if bidirectional else {top, 32})


def _most_distances(
    rows: Array, distance: Array, bidirectional: bool, buckets: int
) -> Iterator[int]:
    """Yield the usual maximal distances that fit, or else the first of all that fit."""
    for options in (_USUAL, range(2, _MOST_DISTANCE)):
        fits = False
        for most in options:
            scheme = scheme_of(
                "t5", bidirectional=bidirectional, buckets=buckets, max_distance=most
            )
            if isinstance(scheme, T5) and np.array_equal(scheme.bucket(distance), rows):
                fits = True
                yield most
                if options is not _USUAL:
                    return
        if fits:
            return
    yield 128


def _held(evidence: Evidence, scheme: T5 | Deberta, got: Array, words: str) -> Finding:
    rows = evidence.array.values
    further = np.arange(-4096, 4097)
    return Finding(
        scheme,
        "buckets of distances",
        rows,
        got.astype(np.float64),
        np.zeros(rows.shape),
        compare_command(evidence, scheme, evidence.positions),
        facts=[("width", int(rows.max()) + 1), ("layout", words)],
        elsewhere=scheme.bucket(further).astype(np.float64),
    )
