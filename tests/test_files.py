"""Array files from strangers, and files written whole or not at all."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Write, refused, run
from numpy.testing import assert_array_equal

from poscli.errors import PoscliError
from poscli.files import load_array, write_whole


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<f2", "<i4", ">u2", "|i1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_real_dtype_and_both_orders_read_the_same(
    write: Write, dtype: str, order: Any
) -> None:
    file = write(npy(np.asarray(ROWS.astype(dtype), order=order)), "a.npy")
    assert_array_equal(load_array(Path(file), 2), ROWS)


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (b"", "the file is empty"),
        (b"1 2 3\n", "not an array in .npy format"),
        (b"PK\x03\x04", "not an array in .npy format"),
        (npy(ROWS)[:-8], "truncated: 48 bytes of values are announced, 40 found"),
        (npy(ROWS) + b"x", "too long: 48 bytes of values are announced, 49 found"),
        (npy(ROWS)[:20], "truncated or damaged: its .npy header cannot be read"),
        (npy(np.array([[{}]], object)), "holds object; real numbers are read, nothing else"),
        (npy(np.array([["a"]])), "holds <U1; real numbers are read, nothing else"),
        (npy(ROWS.astype(complex)), "holds complex128; real numbers are read, nothing else"),
        (npy(ROWS.astype(bool)), "holds bool; real numbers are read, nothing else"),
        (npy(np.zeros((1, 1), [("a", "f8")])), "real numbers are read, nothing else"),
        (npy(ROWS[0]), "has 1 dimensions; 2 are needed"),
        (npy(np.zeros((0, 3))), "holds no values; its shape is (0, 3)"),
        (npy(np.array([[np.nan]])), "holds NaN or infinity"),
        (npy(np.array([[-np.inf]])), "holds NaN or infinity"),
        (npy(ROWS).replace(b"(2, 3)", b"(9, 9)"), "truncated: 648 bytes"),
    ],
)
def test_b109_b111_what_is_no_array_of_numbers_is_refused(
    write: Write, content: bytes, want: str
) -> None:
    file = write(content, "x.npy")
    assert want in refused("encode", "--input", file)
    assert "pickle" not in refused("encode", "--input", file)


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o640)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_device_is_written_to_not_replaced() -> None:
    write_whole(Path(os.devnull), b"anything")
    assert Path(os.devnull).is_char_device()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(PoscliError, match="cannot be written"):
        write_whole(tmp_path / "no" / "out", b"x")
    with pytest.raises(PoscliError, match="cannot be written"):
        write_whole(tmp_path, b"x")
    assert os.listdir(tmp_path) == []


def test_a_refused_command_leaves_the_old_file(write: Write, tmp_path: Path) -> None:
    out = write("precious", "out.csv")
    refused("encode", "--scheme", "rope", "--dim", "9", "--out", out, "--force")
    refused("encode", "--dtype", "bfloat16", "--format", "npy", "--out", out, "--force")
    assert Path(out).read_text() == "precious"
    assert run("encode", "--len", "1", "--out", out, "--force").status == 0
    assert Path(out).read_text().startswith("position,")
