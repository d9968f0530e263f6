"""safetensors files, read through their own library."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import Write, refused
from numpy.testing import assert_array_equal
from safetensors.numpy import save

from poscli.identify.dumps import read_dump

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def safe(header: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header.encode() + data


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("name", ["a.safetensors", "misnamed.bin"])
def test_the_same_numbers(write: Write, dtype: str, name: str) -> None:
    stored = read_dump(Path(write(save({"q": ROWS.astype(dtype)}), name))).single()
    assert_array_equal(stored.values, ROWS)
    assert stored.precision == dtype


def test_bfloat16_is_widened(write: Write) -> None:
    header = '{"w":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}'
    content = safe(header, struct.pack("<4H", 0x3F80, 0xC000, 0x3EAB, 0x0000))
    stored = read_dump(Path(write(content, "a.safetensors"))).single()
    assert_array_equal(stored.values, [[1.0, -2.0], [0.333984375, 0.0]])
    assert (stored.precision, stored.bits) == ("bfloat16", 8)
    assert_array_equal(stored.ulps(np.full((2, 2), 2.0**-7)).ravel()[:2], [1.0, 0.5])


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (b"1,2\n", "truncated or damaged, or no safetensors"),
        (save({"q": ROWS})[:-8], "truncated or damaged"),
        (save({"q": ROWS})[:9], "truncated or damaged"),
        (safe("{}"), "holds no arrays"),
        (
            safe('{"w":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}', b"\x01"),
            "w: holds BOOL; real numbers are read",
        ),
        (struct.pack("<Q", 2**62) + b"{", "truncated or damaged"),
        (save({"q": ROWS * np.nan}), "q: holds NaN"),
    ],
)
def test_what_is_none_is_refused(write: Write, content: bytes, want: str) -> None:
    file = write(content, "a.safetensors")
    message = refused("compare", file)
    assert message.startswith(file)
    assert want in message


def test_without_the_package_one_line_says_so(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    message = refused("compare", write(save({"q": ROWS}), "a.safetensors"))
    assert message.endswith(
        "reading safetensors needs the package safetensors; pip install 'poscli[safetensors]'"
    )


def test_arrays_come_in_the_order_of_their_names(write: Write) -> None:
    """The library gives them in another order in every process."""
    tensors = {name: np.eye(2, dtype=np.float32) for name in "qwertyuiop"}
    file = write(save(tensors), "a.safetensors")
    assert list(read_dump(Path(file)).arrays) == sorted("qwertyuiop")
