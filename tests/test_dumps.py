"""Dumps from strangers: four formats read, and everything else refused in one line."""

import io
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Write, refused
from numpy.testing import assert_array_equal

from poscli.errors import PoscliError
from poscli.files import LARGEST_FILE
from poscli.identify.dumps import Stored, is_dump, read_dump

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz(compressed: bool = False, **arrays: Any) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return stream.getvalue()


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (npy(ROWS), "a.npy"),
        (npy(np.asfortranarray(ROWS.astype(">f4"))), "a.npy"),
        (npy(ROWS), "misnamed.csv"),
        (npz(q=ROWS), "a.npz"),
        (npz(True, q=ROWS.astype(np.float16)), "a.npz"),
        (b"1,2,3\n4,5,6\n", "a.csv"),
        (b"1,2,3\r\n4,5,6", "a.csv"),
        (b"\xef\xbb\xbfa,b,c\r\n1,2e0,3.0\r\n+4,5,6.\r\n", "a.csv"),
        (b'"1",2,3\n4,"5",6\n', "a.csv"),
        (b"position,x,y,z\n0,1,2,3\n1,4,5,6\n", "a.csv"),
    ],
)
def test_the_same_numbers_from_every_format(write: Write, content: bytes, name: str) -> None:
    dump = read_dump(Path(write(content, name)))
    array = next(iter(dump.arrays.values()))
    assert array.values.dtype == np.float64
    assert_array_equal(array.values, ROWS)


def test_the_stored_format_is_kept(write: Write) -> None:
    kinds = ["float64", "float32", "float16", "int8"]
    dump = read_dump(Path(write(npz(**{k: ROWS.astype(k) for k in kinds}), "a.npz")))
    assert [dump.arrays[k].precision for k in kinds] == kinds


def test_the_positions_of_a_csv_are_no_data(write: Write) -> None:
    dump = read_dump(Path(write(b"position,dim 0\n5,0.25\n7,0.5\n", "a.csv")))
    assert_array_equal(dump.arrays["positions"].values, [5, 7])
    assert_array_equal(dump.arrays[""].values, [[0.25], [0.5]])
    assert dump.arrays[""].step == 0.01


@pytest.mark.parametrize(
    ("content", "name", "want"),
    [
        (b"", "a.csv", "the file is empty"),
        (b"\x80\x04K\x01.", "a.pkl.csv", "none of npy, npz, csv and safetensors"),
        (pickle.dumps([1.0, 2.0]), "a.csv", "none of npy, npz, csv and safetensors"),
        (b"1 2 3\n", "a.npy", "not an array in .npy format"),
        (b"1,2\n", "a.npz", "not an archive in .npz format"),
        (b"\x00\x00\x00\x00", "a.csv", "none of npy, npz, csv and safetensors"),
        (b"a,b\n", "a.csv", "holds no numbers"),
        (b"1,2\n3\n", "a.csv", "a.csv:2: has 1 cells; the lines before it have 2"),
        (b"a,b\n1,2\n3,x\n", "a.csv", "a.csv:3: not a number: 'x'"),
        (b"1,nan\n", "a.csv", "a.csv:1: not a number: 'nan'"),
        (b"a,b\n1,inf\n", "a.csv", "not a number: 'inf'"),
        (b"1,1_0\n2,3\n", "a.csv", "a.csv:1: not a number: '1_0'"),
        (b"1,1e999\n", "a.csv", "too large for float64"),
        (b'1,"2\n', "a.csv", "not CSV"),
        (npz(q=np.array([{}], object)), "a.npz", "q.npy: holds object; real numbers are read"),
        (npz(q=ROWS, z=ROWS.astype(complex)), "a.npz", "z.npy: holds complex128"),
        (npz(q=np.array(["a"])), "a.npz", "q.npy: holds <U1"),
        (npz(q=np.zeros(1, [("a", "f8")])), "a.npz", "real numbers are read, nothing else"),
        (npz(q=ROWS)[:-30], "a.npz", "truncated or damaged archive"),
        (archive(**{"data.pkl": b"x"}), "model.pt", "data.pkl: not an array in .npy format"),
        (archive(**{"q.npy": b""}), "a.npz", "q.npy: the file is empty"),
        (archive(**{"q.npy": npy(ROWS)[:-8]}), "a.npz", "q.npy: truncated: 48 bytes"),
        (archive(), "a.npz", "the archive holds no arrays"),
        (npy(np.array([np.nan])), "a.npy", "holds NaN or infinity"),
    ],
)
def test_what_is_no_dump_is_refused(write: Write, content: bytes, name: str, want: str) -> None:
    file = write(content, name)
    message = refused("compare", file)
    assert message.startswith(file)
    assert want in message
    assert "pickle" not in message.removeprefix(file)


def test_a_bomb_is_refused_before_it_is_unpacked(write: Write) -> None:
    content = archive(**{f"{i}.npy": bytes(2**24) for i in range(17)})
    assert len(content) < 2**20 < LARGEST_FILE < 17 * 2**24
    assert "unpacks to 285,212,672 bytes" in refused("compare", write(content, "a.npz"))


def test_a_size_that_lies_is_refused(write: Write) -> None:
    content = archive(**{"q.npy": npy(ROWS)})
    size = struct.pack("<L", len(npy(ROWS)))
    assert content.count(size) == 2
    message = refused("compare", write(content.replace(size, struct.pack("<L", 10)), "a.npz"))
    assert "damaged" in message


def test_two_members_of_one_name_are_refused(write: Write) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("q.npy", npy(ROWS))
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("q.npy", npy(ROWS))
    assert "q.npy: the archive holds it twice" in refused(
        "compare", write(stream.getvalue(), "a.npz")
    )


def test_ulps_and_bits() -> None:
    stored = Stored("", np.array([1.0, 2.0, 0.0]), "float32")
    assert_array_equal(stored.ulps(np.array([2.0**-23, 2.0**-23, 0.0])), [1.0, 0.5, 0.0])
    assert stored.bits == 8
    assert Stored("", np.array([1 / 3]), "float64").bits == 53
    assert Stored("", np.array([float(np.float32(1 / 3))]), "float64").bits == 24


def test_an_argument_is_a_file_by_its_suffix_or_by_being_there(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("1")
    assert is_dump("missing.npz")
    assert is_dump(str(tmp_path / "there"))
    assert not is_dump("rope:base=5000")
    assert not is_dump("a\0b")


def test_an_unknown_array_names_the_nearest(write: Write) -> None:
    dump = read_dump(Path(write(npz(query=ROWS, key=ROWS), "a.npz")))
    with pytest.raises(PoscliError, match="holds no array 'quer'; nearest: 'query'"):
        dump.only("quer")
    with pytest.raises(PoscliError, match="holds 2 arrays; name one: query, key"):
        dump.single()
