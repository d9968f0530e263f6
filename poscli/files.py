"""Reading array files from strangers, and writing files whole or not at all."""

import io
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.room import disk_available, refuse_unfit

LARGEST_FILE = 2**28
LARGEST_TEXT = 2**20
NPY_MAGIC = b"\x93NUMPY"
MOST_DIMENSIONS = 32
_LONGEST_END = 500


def read_bytes(path: Path, limit: int) -> bytes:
    """Return a file's bytes; PoscliError where it is missing, no file, or larger than limit."""
    if "\0" in str(path):
        raise PoscliError(f"{str(path)!r} is not a file name")
    name = _shown(path)
    try:
        if not path.is_file():
            what = "is not a file" if path.exists() else "there is no such file"
            raise PoscliError(f"{name}: {what}")
        size = path.stat().st_size
        if size > limit:
            raise PoscliError(f"{name}: {size:,} bytes; files up to {limit:,} bytes are read")
        return path.read_bytes()
    except OSError as error:
        raise PoscliError(f"{name}: {error.strerror}") from None


def _shown(path: Path) -> str:
    """Return a file's name for an error: of one too long to be a name, both ends."""
    name = str(path)
    return (
        name if len(name) <= 2 * _LONGEST_END else f"{name[:_LONGEST_END]}...{name[-_LONGEST_END:]}"
    )


def read_text(path: Path) -> str:
    """Return a UTF-8 file's text; PoscliError where it is none."""
    try:
        return read_bytes(path, LARGEST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PoscliError(f"{path}: not UTF-8 text: byte {error.start} cannot be read") from None


def load_array(path: Path, dimensions: int) -> Array:
    """Read a .npy file of finite numbers into float64. Nothing in it is ever run.

    Raises PoscliError naming the file for an empty, cut or foreign file, objects, text, complex
    numbers, a wrong number of dimensions, and values that are not finite.
    """
    found = parse_npy(str(path), read_bytes(path, LARGEST_FILE))
    if found.ndim != dimensions:
        raise PoscliError(f"{path}: has {found.ndim} dimensions; {dimensions} are needed")
    values = widened(str(path), found)
    if not np.isfinite(values).all():
        raise PoscliError(f"{path}: holds NaN or infinity, or a number too large for float64")
    return values


def widened(where: str, found: Array) -> Array:
    """Return real numbers of any dtype as float64; PoscliError where float64 cannot hold them."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = found.astype(np.float64, order="C")
    if found.dtype.kind in "iu" and max(int(found.max()), -int(found.min())) > 2**53:
        raise PoscliError(
            f"{where}: holds whole numbers past 2^53, which float64 cannot keep apart"
        )
    return values


def parse_npy(where: str, data: bytes) -> Array:
    """Return the array of real numbers in the bytes of a .npy file, in its own dtype.

    where names the file, or the member of an archive, in the error for anything else.
    """
    if not data:
        raise PoscliError(f"{where}: the file is empty")
    if not data.startswith(NPY_MAGIC):
        raise PoscliError(f"{where}: not an array in .npy format")
    dtype, shape, fortran, start = _header(where, data)
    if dtype.hasobject or dtype.names or dtype.kind not in "fiu":
        parts = "; save real and imaginary parts side by side" if dtype.kind == "c" else ""
        raise PoscliError(f"{where}: holds {dtype}; real numbers are read, nothing else{parts}")
    if any(isinstance(n, bool) or n < 0 for n in shape) or len(shape) > MOST_DIMENSIONS:
        raise PoscliError(f"{where}: damaged: its header says the shape is {shape}")
    needed = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if len(data) - start != needed:
        found = len(data) - start
        word = "truncated" if found < needed else "too long"
        raise PoscliError(f"{where}: {word}: {needed} bytes of values are announced, {found} found")
    if 0 in shape:
        raise PoscliError(f"{where}: holds no values; its shape is {shape}")
    flat = np.frombuffer(data, dtype, offset=start)
    return flat.reshape(shape, order="F" if fortran else "C")


def _header(where: str, data: bytes) -> tuple[np.dtype, tuple[int, ...], bool, int]:
    stream = io.BytesIO(data)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    version = tuple(data[6:8])
    if len(version) == 2 and version not in readers:
        raise PoscliError(
            f"{where}: is .npy version {version[0]}.{version[1]}; 1.0 and 2.0 are read"
        )
    try:
        shape, fortran, dtype = readers[np.lib.format.read_magic(stream)](stream)
    except Exception:
        raise PoscliError(
            f"{where}: truncated or damaged: its .npy header cannot be read"
        ) from None
    return dtype, shape, fortran, stream.tell()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader never meets half of it; PoscliError where that fails.

    A link is followed; what is no plain file, such as a device or a pipe, is written to directly.
    """
    refuse_unfit(len(data), disk_available(path), "its bytes")
    write_pieces(path, [data])


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file as write_whole does, from pieces that may be made while it is written.

    Where anything stops the writing, the file is what it was before, and nothing else is left.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                stream.writelines(pieces)
        else:
            _replace(target, pieces)
    except PoscliError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise PoscliError(f"{path}: cannot be written: {_why(error)}") from None


def _replace(target: Path, pieces: Iterable[bytes | memoryview]) -> None:
    mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".poscli-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(pieces)
        os.chmod(name, mode)
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
