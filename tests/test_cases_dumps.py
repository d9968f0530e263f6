"""Faults reported in practice, by their id: layouts, and arrays that come as files."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Write, refused, run, run_json
from numpy.testing import assert_array_equal

from poscli import Rope, Sinusoidal
from poscli.schemes.nope import NoPE


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def said(*args: str) -> str:
    return " ".join(run(*args).out.split())


def test_b03_alternating_and_block_order_are_the_same_columns(write: Write) -> None:
    one, other = (
        write(npy(Sinusoidal(layout=layout).vectors(np.arange(4), 6)), f"{layout}.npy")
        for layout in ("interleaved", "concatenated")
    )
    text = said("compare", one, other)
    assert "answer: same up to column order" in text
    assert "in the order of the second: 0, 2, 4, 1, 3, 5" in text
    assert "sinusoidal layout interleaved and concatenated" in text
    assert run("compare", one, other).status == 0


def test_b03_the_other_way_round(write: Write) -> None:
    one, other = (
        write(npy(Sinusoidal(layout=layout).vectors(np.arange(4), 6)), f"{layout}.npy")
        for layout in ("concatenated", "interleaved")
    )
    assert "in the order of the second: 0, 3, 1, 4, 2, 5" in said("compare", one, other)


@pytest.mark.parametrize("pairing", ["half", "adjacent"])
def test_b18_a_dump_of_the_first_token_names_no_layout(write: Write, pairing: Any) -> None:
    q = np.random.default_rng(0).normal(size=(2, 1, 8))
    after = Rope(pairing=pairing).rotate(q, np.arange(1))
    file = write(npz(q=q, q_out=after), "a.npz")
    assert run("compare", file).status == 1
    assert "The evidence cannot decide: nothing was turned, as at position 0" in said(
        "compare", file
    )


@pytest.mark.parametrize("pairing", ["half", "adjacent"])
def test_b18_the_second_token_is_not_named_alone_either(write: Write, pairing: Any) -> None:
    """One row at position 1 has an angle per pair, but nothing says where it stands."""
    q = np.random.default_rng(0).normal(size=(2, 8))[:1]
    after = Rope(pairing=pairing).rotate(q[None], np.arange(1, 2))[0]
    assert "a single position cannot tell" in said("compare", write(npz(q=q, q_out=after), "a.npz"))


@pytest.mark.parametrize("pairing", ["half", "adjacent"])
def test_b18_two_tokens_do(write: Write, pairing: Any) -> None:
    q = np.random.default_rng(0).normal(size=(2, 2, 8))
    after = Rope(pairing=pairing).rotate(q, np.arange(2))
    document = run_json("compare", write(npz(q=q, q_out=after), "a.npz"))
    assert document["result"]["cells"][0][1] == Rope(pairing=pairing).label()


def test_b18_equal_dumps_of_constant_rows_prove_nothing(write: Write) -> None:
    file = write(npy(np.ones((3, 4))), "a.npy")
    assert run("compare", file, file).status == 1
    assert "NOT INFORMATIVE" in run("compare", file, file).out


def test_b79_layout_has_no_meaning_where_nothing_turns(write: Write) -> None:
    q, k = np.array([[[1.0, 2, 3, 4]]]), np.array([[[4.0, 3, 2, 1]]])
    order = [0, 2, 1, 3]
    at = np.array([3])
    assert (NoPE().rotate(q, at) @ NoPE().rotate(k, at).swapaxes(1, 2)).item() == 20
    assert (q[..., order] @ k[..., order].swapaxes(1, 2)).item() == 20
    message = refused("convert", "--from", "none", "--to", "rope/half", "--dim", "4")
    assert message.startswith("none turns no pairs, so no order of columns belongs to it")


def test_b79_turned_scores_do_see_the_order() -> None:
    x = np.array([[[1.0, 2, 3, 4], [4.0, 3, 2, 1]]])
    scores = [
        (lambda t: (t[0, 0] @ t[0, 1]).item())(Rope(pairing=p).rotate(x, np.array([1, 4])))
        for p in ("adjacent", "half")
    ]
    assert abs(scores[0] - scores[1]) > 0.5


@pytest.mark.parametrize("container", ["npy", "npz"])
def test_b108_memory_order(write: Write, container: str) -> None:
    table = Sinusoidal().vectors(np.arange(3), 6)
    pack = npy if container == "npy" else lambda array: npz(t=array)
    plain, fortran = (
        write(pack(array), f"{name}.{container}")
        for name, array in (("c", table), ("f", np.asfortranarray(table)))
    )
    assert "answer: identical" in said("compare", plain, fortran)
    names = [run_json("compare", f)["result"]["cells"] for f in (plain, fortran)]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (npy(np.ones((2, 3)))[:-8], "truncated: 48 bytes of values are announced, 40 found"),
        (b"", "the file is empty"),
        (b"hello\n", "not an array in .npy format"),
    ],
)
@pytest.mark.parametrize("command", ["compare", "convert"])
def test_b109_cut_empty_and_foreign_files(
    write: Write, command: str, content: bytes, want: str
) -> None:
    file = write(content, "x.npy")
    args = ["--from", "rope", "--to", "rope/half", "--dim", "2"] if command == "convert" else []
    assert refused(command, file, *args) == f"{file}: {want}"


def test_b109_a_cut_archive_and_a_cut_member(write: Write) -> None:
    whole = npz(q=np.ones((20, 30)))
    assert "truncated or damaged" in refused("compare", write(whole[:200], "a.npz"))
    flipped = bytearray(whole)
    flipped[300] ^= 1
    assert "damaged" in refused("compare", write(bytes(flipped), "a.npz"))


@pytest.mark.parametrize(
    "array",
    [
        np.array([[print]], object),
        np.zeros(2, [("a", "f8")]),
        np.array(["a"]),
        np.array([1j]),
        np.array([True]),
        np.array(["2020-01-01"], "datetime64[D]"),
    ],
    ids=["object", "structured", "string", "complex", "bool", "date"],
)
def test_b111_objects_and_other_kinds(write: Write, array: np.ndarray, tmp_path: Path) -> None:
    for name, content in (("a.npy", npy(array)), ("a.npz", npz(q=array))):
        message = refused("compare", write(content, name))
        assert "real numbers are read, nothing else" in message
        assert not any(word in message for word in ("pickle", "allow", "trust"))


def test_b111_a_pickle_under_another_name_is_never_loaded(write: Write, tmp_path: Path) -> None:
    trap = tmp_path / "trapped"
    content = b"cos\nsystem\n(S'touch %s'\ntR." % str(trap).encode()
    for name in ("a.npy", "a.npz", "a.csv", "a.safetensors", "a"):
        refused("compare", write(content, name))
    assert not trap.exists()


def test_a_layout_of_halves_and_neighbours_of_turned_vectors(write: Write) -> None:
    """Turned neighbours are turned halves of re-ordered columns, re-ordered back."""
    x, at = np.random.default_rng(0).normal(size=(1, 5, 8)), np.arange(5)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    one = Rope().rotate(x, at)[0]
    other = Rope(pairing="half").rotate(x[..., order], at)[0]
    assert_array_equal(one[:, order], other)
    text = said("compare", write(npy(one), "a.npy"), write(npy(other), "b.npy"))
    assert "same up to column order" in text
    assert "in the order of the second: 0, 2, 4, 6, 1, 3, 5, 7" in text
