"""Reading dumps: arrays that an implementation wrote, in files from strangers.

Four formats are read: .npy, .npz, CSV and safetensors, told apart by their first bytes; a name that
promises another binary format than the bytes hold is refused. Nothing in a file is ever run, and
sizes are checked before anything is unpacked.
"""

import csv
import io
import re
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from poscli.arrays import PRECISIONS, Array, rounded
from poscli.errors import PoscliError, nearest
from poscli.files import LARGEST_FILE, NPY_MAGIC, parse_npy, read_bytes, widened
from poscli.text import plain

SUFFIXES = (".npy", ".npz", ".csv", ".safetensors")
MOST_ARRAYS = 2**12
LARGEST_CSV = 2**26

_BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
_SMALLEST = {"float64": -1074, "float32": -149, "float16": -24, "bfloat16": -133}
_SAFE_DTYPES = {
    **{f"F{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)},
    **{f"I{bits}": f"<i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"<u{bits // 8}" for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class Stored:
    """One array of a dump, widened to float64, and what its numbers were stored as.

    precision is float64, float32, float16, bfloat16, or an integer type. step is the distance of
    neighbouring numbers that a text of so many decimals can tell apart, and 0 elsewhere.
    """

    name: str
    values: Array
    precision: str
    step: float = 0.0
    as_written: bool = False

    @property
    def format_bits(self) -> int:
        """The significant bits of the format the numbers were stored in."""
        return _BITS.get(self.precision, _BITS["float64"])

    @cached_property
    def bits(self) -> int:
        """The significant bits of the narrowest format that holds every number as it is.

        A float32 dump of an implementation that works in bfloat16 counts as bfloat16, unless the
        numbers are to be taken as_written.
        """
        if self.as_written:
            return self.format_bits
        if self.precision not in _BITS:
            return _BITS["float64"]
        held = [p for p in PRECISIONS if _BITS[p] <= _BITS[self.precision] and self._holds(p)]
        return min((_BITS[p] for p in held), default=_BITS[self.precision])

    @property
    def smallest(self) -> float:
        """The distance of the smallest numbers of the format that the numbers came in."""
        return float(2.0 ** _SMALLEST.get(self.precision, -1074))

    def ulps(self, difference: Array) -> Array:
        """Return differences in units of the last place of the stored numbers."""
        if self.precision not in _BITS:
            return np.abs(difference)
        _, exponent = np.frexp(self.values)
        smallest = _SMALLEST[self.precision]
        unit = np.ldexp(1.0, np.maximum(exponent - _BITS[self.precision], smallest))
        with np.errstate(over="ignore"):
            return np.asarray(np.abs(difference) / np.maximum(unit, self.step))

    def _holds(self, precision: str) -> bool:
        try:
            with np.errstate(over="ignore"):
                return bool(np.all(rounded(self.values, precision) == self.values))
        except PoscliError:
            return False


@dataclass(frozen=True)
class Dump:
    """The arrays of a file, by name; a file of one array has it under an empty name."""

    path: Path
    arrays: dict[str, Stored]

    def only(self, name: str | None) -> "Dump":
        """Return the dump of one of its arrays; PoscliError where it has none of this name."""
        if name is None:
            return self
        if name not in self.arrays:
            raise PoscliError(f"{self.path}: holds no array {name!r}; {nearest(name, self.arrays)}")
        return Dump(self.path, {name: self.arrays[name]})

    def single(self) -> Stored:
        """Return the only array; PoscliError where there are several to choose from."""
        if len(self.arrays) > 1:
            known = ", ".join(self.arrays)
            raise PoscliError(f"{self.path}: holds {len(self.arrays)} arrays; name one: {known}")
        return next(iter(self.arrays.values()))


def is_dump(argument: str) -> bool:
    """Say whether a command's argument means a file: it exists, or its suffix is one of a dump."""
    if Path(argument).suffix.lower() in SUFFIXES:
        return True
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):
        return False


def read_dump(path: Path) -> Dump:
    """Read every array of a dump; PoscliError names the file, the array and what is wrong."""
    data, suffix = read_bytes(path, LARGEST_FILE), path.suffix.lower()
    if not data:
        raise PoscliError(f"{path}: the file is empty")
    if data.startswith(NPY_MAGIC):
        return Dump(path, {"": _stored("", str(path), parse_npy(str(path), data))})
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Dump(path, _members(path, data))
    if suffix == ".npy":
        raise PoscliError(f"{path}: not an array in .npy format")
    if suffix == ".npz":
        raise PoscliError(f"{path}: not an archive in .npz format")
    if suffix == ".safetensors" or data[8:9] == b"{":
        return Dump(path, _tensors(path, data))
    if len(data) > LARGEST_CSV:
        raise PoscliError(f"{path}: CSV of {len(data):,} bytes; up to {LARGEST_CSV:,} are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PoscliError(
            f"{path}: not an array: it is none of npy, npz, csv and safetensors"
        ) from None
    return Dump(path, _columns(path, text))


def _stored(name: str, where: str, found: Array, precision: str | None = None) -> Stored:
    values = widened(where, found)
    if np.isnan(values).any() or np.isposinf(values).any():
        raise PoscliError(f"{where}: holds NaN or infinity, or a number too large for float64")
    return Stored(name, values, precision or found.dtype.newbyteorder("=").name)


def _members(path: Path, data: bytes) -> dict[str, Stored]:
    """Read the members of an archive, after their announced sizes were found to be bounded."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            _refuse_archive(path, infos)
            arrays = {}
            for info in infos:
                name, where = info.filename.removesuffix(".npy"), f"{path}: {info.filename}"
                # One byte more than announced is enough to see that an announcement was false.
                content = archive.open(info).read(info.file_size + 1)
                if len(content) != info.file_size:
                    raise PoscliError(f"{where}: truncated or damaged")
                arrays[name] = _stored(name, where, parse_npy(where, content))
    except PoscliError:
        raise
    except Exception as error:
        # A damaged directory makes zipfile raise nearly anything, ValueError among it.
        why = " ".join(str(error).split()) or "its data ends early"
        raise PoscliError(f"{path}: truncated or damaged archive: {why}") from None
    return arrays


def _refuse_archive(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    if not infos:
        raise PoscliError(f"{path}: the archive holds no arrays")
    if len(infos) > MOST_ARRAYS:
        raise PoscliError(f"{path}: holds {len(infos):,} members; up to {MOST_ARRAYS:,} are read")
    for info in infos:
        if not info.filename.endswith(".npy"):
            raise PoscliError(f"{path}: {info.filename}: not an array in .npy format")
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PoscliError(f"{path}: {twice}: the archive holds it twice")
    total = sum(info.file_size for info in infos)
    if total > LARGEST_FILE:
        raise PoscliError(
            f"{path}: unpacks to {total:,} bytes; up to {LARGEST_FILE:,} bytes are read"
        )


def _tensors(path: Path, data: bytes) -> dict[str, Stored]:
    try:
        import safetensors
    except ImportError:
        raise PoscliError(
            f"{path}: reading safetensors needs the package safetensors; "
            "pip install 'poscli[safetensors]'"
        ) from None
    try:
        deserialize: Any = safetensors.deserialize
        tensors = deserialize(data)
    except safetensors.SafetensorError as error:
        why = str(error).removeprefix("Error while deserializing: ")
        raise PoscliError(f"{path}: truncated or damaged, or no safetensors: {why}") from None
    if not tensors:
        raise PoscliError(f"{path}: holds no arrays")
    # The library gives them in an order of its own, which differs from run to run.
    ordered = sorted(tensors, key=lambda pair: pair[0])
    return {name: _tensor(path, name, tensor) for name, tensor in ordered}


def _tensor(path: Path, name: str, tensor: dict[str, Any]) -> Stored:
    where, dtype, shape = f"{path}: {name}", tensor["dtype"], tuple(tensor["shape"])
    if 0 in shape:
        raise PoscliError(f"{where}: holds no values; its shape is {shape}")
    if dtype == "BF16":
        # The upper half of a float32 is a bfloat16.
        halves = np.frombuffer(tensor["data"], "<u2").astype(np.uint32)
        return _stored(name, where, (halves << 16).view(np.float32).reshape(shape), "bfloat16")
    if dtype not in _SAFE_DTYPES:
        raise PoscliError(f"{where}: holds {dtype}; real numbers are read, nothing else")
    flat = np.frombuffer(tensor["data"], _SAFE_DTYPES[dtype])
    return _stored(name, where, flat.reshape(shape))


def _columns(path: Path, text: str) -> dict[str, Stored]:
    """Read a table of numbers. A header begins with a name; one named position holds positions."""
    if text.startswith("\x00") or "\0" in text:
        raise PoscliError(f"{path}: not an array: it is none of npy, npz, csv and safetensors")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[float]] = []
    header: list[str] = []
    decimals = 0
    try:
        for cells in reader:
            if not cells:
                continue
            if not rows and not header and not _is_number(cells[0]):
                header = cells
                continue
            width = len(rows[0]) if rows else len(header) or len(cells)
            if len(cells) != width:
                raise PoscliError(
                    f"{path}:{reader.line_num}: has {len(cells)} cells; the lines before it have "
                    f"{width}"
                )
            wrong = next((cell for cell in cells if not _is_number(cell)), None)
            if wrong is not None:
                raise PoscliError(f"{path}:{reader.line_num}: not a number: {wrong[:40]!r}")
            rows.append([float(cell) for cell in cells])
            decimals = max(decimals, *map(_decimals, cells))
    except csv.Error as error:
        raise PoscliError(f"{path}:{reader.line_num}: not CSV: {error}") from None
    if not rows:
        raise PoscliError(f"{path}: holds no numbers")
    table = np.array(rows)
    if not np.isfinite(table).all():
        raise PoscliError(f"{path}: holds a number too large for float64")
    step = 10.0**-decimals if decimals < 15 else 0.0
    positions = [i for i, name in enumerate(header) if name.strip().lower() == "position"]
    kept = [i for i in range(table.shape[1]) if i not in positions]
    if not positions or not kept:
        return {"": Stored("", table, "float64", step)}
    return {
        "": Stored("", table[:, kept], "float64", step),
        "positions": Stored("positions", table[:, positions[0]], "float64"),
    }


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,6})?\s*", cell, re.ASCII))


def _decimals(cell: str) -> int:
    mantissa, _, exponent = cell.strip().lower().partition("e")
    return max(len(mantissa.partition(".")[2]) - int(exponent or 0), 0)


def described(dump: Dump) -> str:
    """Say what a dump holds, for a report: shape and dtype of each array.

    >>> described(Dump(Path("x"), {"": Stored("", np.zeros((2, 3)), "float32")}))
    '2 x 3 of float32'
    """
    parts = []
    for name, array in dump.arrays.items():
        size = " x ".join(map(plain, array.values.shape)) or "one number"
        parts.append(f"{name + ': ' if name else ''}{size} of {array.precision}")
    return "; ".join(parts)
