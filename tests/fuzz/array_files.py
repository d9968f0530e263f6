"""Bytes of valid array files, mutated, given to every command that reads one."""

import io
import json
import re
import zipfile
from pathlib import Path

import hostile
import numpy as np
import promises
import safetensors.numpy
from hypothesis import strategies as st

from poscli import Alibi, Rope, Sinusoidal


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def _npz(save: object = np.savez, **arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    save(stream, **arrays)  # type: ignore[operator]
    return stream.getvalue()


_TABLE = Sinusoidal().vectors(np.arange(4), 4)
_COS, _SIN = Rope().cos_sin(np.arange(4), 4)
_BIAS = Alibi().bias(*np.zeros((2, 1, 4, 4)), np.arange(4), np.arange(4))
_ROWS = b"".join(b",".join(b"%.7g" % n for n in row) + b"\r\n" for row in _TABLE)
_TENSORS = {"cos": _COS.astype("<f4"), "sin": _SIN.astype("<f4"), "n": np.arange(4)}

NPY = [
    _npy(_TABLE),
    _npy(_TABLE.astype(np.float32)),
    _npy(np.asfortranarray(_TABLE)),
    _npy(_TABLE.astype(">f2")),
    _npy(np.arange(8, dtype=np.int64).reshape(2, 4)),
    _npy(10000.0 ** -np.arange(0, 1, 0.25)),
    _npy(np.stack([_COS, _SIN])),
    _npy(np.where(np.tri(4, dtype=bool), _BIAS, -np.inf)),
    _npy(np.array(3.0)),
    _npy(np.array([[{}]], object)),
    _npy(np.array([["a"]])),
    _npy(np.zeros((2, 4), complex)),
    _npy(np.zeros((2, 4), [("a", "f8")])),
]
NPZ = [
    _npz(cos=_COS, sin=_SIN, positions=np.arange(4)),
    _npz(np.savez_compressed, q=_TABLE, q_rot=_TABLE[::-1]),
]
CSV = [_ROWS, b"position,a,b,c,d\r\n" + _ROWS.replace(b"\r\n", b"\r\n1,")[:-2]]
TENSORS = [
    safetensors.numpy.save(_TENSORS),
    safetensors.numpy.save({"w": _TABLE.astype(np.float16)}, {"format": "pt"}),
    safetensors.numpy.save({"w": _BIAS}),
]
BASES = {"npy": NPY, "npz": NPZ, "csv": CSV, "safetensors": TENSORS}
_EVERY = [data for bases in BASES.values() for data in bases]

_CHUNKS = [
    *(b"\x00", b"\xff", b"\n", b"\r", b",", b'"', b" ", b"\t", b"-", b"(", b")", b"{", b"}", b"L"),
    *(b"nan", b"inf", b"-inf", b"1e400", b"1e308", b"-1", b"0", b"99999999999999999999", b"True"),
    *(b"\x93NUMPY", b"\x93NUMPY\x02\x00", b"PK\x03\x04", b"PK\x05\x06", b"\x80\x04."),
    *(b"'descr': '|O'", b"'<f8'", b"'>f4'", b"'<c16'", b"'|S4'", b"'fortran_order': True", b"F8"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\x00" * 64, b"\xff" * 8, b"\x7f\xf8" * 4, b"9" * 200),
]


@st.composite
def mutated(draw: st.DrawFn, bases: list[bytes]) -> bytes:
    """Flip, cut, repeat, insert and splice, a few times; or leave a file as it is."""
    data = draw(st.sampled_from(bases))
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2, 3]))):
        data = draw(_changed(data))
    return data


_WAYS = ["value"] * 6 + ["set", "cut", "end", "insert", "repeat", "number", "splice"]


@st.composite
def _changed(draw: st.DrawFn, data: bytes) -> bytes:
    # Most of what can go wrong is in the first bytes and in the last.
    at = draw(st.integers(0, min(len(data), 160)) | st.integers(min(len(data), 128), len(data)))
    match draw(st.sampled_from(_WAYS)):
        case "value":
            at = draw(st.integers(len(data) * 3 // 5, len(data)))
            return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
        case "set":
            return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
        case "cut":
            return data[:at] + data[at + draw(st.integers(1, 16)) :]
        case "end":
            return data[:at]
        case "insert":
            return data[:at] + draw(st.sampled_from(_CHUNKS)) + data[at:]
        case "repeat":
            part = data[at : at + draw(st.integers(1, 64))]
            return data[:at] + part * draw(st.integers(2, 40)) + data[at:]
        case "number":
            return _other_number(data, at, str(draw(st.sampled_from(hostile.NUMBERS))).encode())
        case _:
            other = draw(st.sampled_from(_EVERY))
            return data[:at] + other[draw(st.integers(0, len(other))) :]


def _other_number(data: bytes, at: int, number: bytes) -> bytes:
    found = re.search(rb"[0-9]+", data[at:])
    return data[: at + found.start()] + number + data[at + found.end() :] if found else data


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    """Pack mutated members, so that what is damaged lies behind a checksum that is right."""
    stream = io.BytesIO()
    method = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    names = draw(st.lists(st.sampled_from([*_NAMES, *hostile.TEXTS[:12]]), max_size=3, unique=True))
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name in names:
            safe = name.replace("\0", "?") + draw(st.sampled_from([".npy"] * 6 + ["x", "/"]))
            archive.writestr(safe, draw(mutated(NPY)))
    return stream.getvalue()


_NAMES = ["cos", "sin", "q", "q_rot", "positions", "x", "out", "before", "after", "key_positions"]


@st.composite
def tensors(draw: st.DrawFn) -> bytes:
    """Write a safetensors header of its own, true or not, before some bytes."""
    names = draw(st.lists(st.sampled_from(_NAMES), max_size=3, unique=True))
    start, header = 0, {}
    for name in names:
        dtype, size = draw(
            st.sampled_from(
                [
                    *(("F32", 4), ("F64", 8), ("BF16", 2), ("F16", 2), ("I64", 8), ("U8", 1)),
                    *(("BOOL", 1), ("F8_E4M3", 1), ("C64", 8), ("X", 1)),
                ]
            )
        )
        shape = draw(st.lists(st.sampled_from([0, 1, 2, 4, 4, 4]), max_size=3))
        stop = start + size * int(np.prod(shape, dtype=object))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}
        start = stop
    wrong = draw(st.sampled_from([0] * 12 + [1, -1, 8, 2**31, -(2**31)]))
    text = json.dumps(header).encode()
    size = min(max(len(text) + wrong, 0), 2**63)
    return size.to_bytes(8, "little") + text + draw(st.binary(min_size=start, max_size=start))


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Write a CSV of random cells."""
    cells = st.sampled_from(["0", "1", "0.5", "-1", "1e-3", "0.8414710"]) | hostile.texts
    rows = draw(st.lists(st.lists(cells, min_size=1, max_size=4), max_size=5))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return end.join(",".join(row) for row in rows).encode("utf-8", "surrogatepass")


_READERS = (
    [["encode", "--input", "{}"]] * 3
    + [["convert", "{}", "--from", "rope/adjacent", "--to", "rope/half", "--dim", "4"]] * 3
    + [["convert", "{}", "--from", "rope/half", "--to", "rope", "--dim", "2", "--heads", "2"]]
    + [["encode", "--scheme", "learned:table={}", "--len", "4", "--format", "json"]] * 2
    + [["compare", "{}", "--scheme", "rope", "--format", "json"]]
    + [["compare", "{}", "--array", "cos"]]
    + [["compare", "{}", "--positions", "0:4", "--format", "json"]]
    + [["compare", "{}", "whole.npy", "--format", "json"]] * 2
    + [["compare", "{}", "--format", "json"]]
)


@st.composite
def _inputs(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    kind = draw(st.sampled_from([*BASES, "archive", "tensors", "table", "bytes"]))
    if kind in BASES:
        data = draw(mutated(BASES[kind]))
    else:
        made = {"archive": archives(), "tensors": tensors(), "table": tables()}
        data = draw(made.get(kind, st.binary(max_size=200)))
        kind = {"archive": "npz", "tensors": "safetensors", "table": "csv"}.get(kind, "npy")
    suffix = draw(st.sampled_from([kind] * 30 + [*BASES, "txt", ""]))
    reader = draw(st.sampled_from(_READERS))
    name = f"dump.{suffix}"
    return data, [word.replace("{}", name) for word in reader]


INPUTS = _inputs()


def prepare(folder: Path) -> None:
    """Write the file that others are held against."""
    (folder / "whole.npy").write_bytes(NPY[0])


def hold(given: tuple[bytes, list[str]], folder: Path) -> str:
    """Write the file and run the command on it."""
    data, args = given
    name = next(w.rpartition("=")[2] for w in args if w.rpartition("=")[2].startswith("dump."))
    path = folder / name
    path.write_bytes(data)
    try:
        return promises.hold(args, folder)
    except promises.BrokenPromiseError as broken:
        raise promises.BrokenPromiseError(f"{broken}, and a file of {data!r}") from broken
    finally:
        path.unlink()
