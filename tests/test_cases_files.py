"""Faults from practice with YAML and with array files, held at every door they can come in by."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from conftest import Write, refused, run, run_json
from numpy.testing import assert_array_equal

from poscli import Sinusoidal

COMMANDS = {
    "encode": ["encode"],
    "compare": ["compare"],
    "permute-test": ["permute-test", "a b c"],
    "extrapolate": ["extrapolate"],
    "train": ["extrapolate", "--train"],
    "convert": ["convert", "--from", "rope", "--to", "rope/half"],
}
FAULTS = {
    "b97": ("dim: 1e400\n", ":1:6: 1e400 is too large for a number"),
    "b99": ("dim: 8\nseed: 1\ndim: 16\n", ":3:1: 'dim' stands twice, on lines 1 and 3"),
    "b99 inside": ("scheme:\n  name: rope\n  name: none\n", ":3:3: 'name' stands twice, on lines"),
    "b99 merge": ("<<: {dim: 4}\ndim: 8\n", ":1:1: merge keys (<<) are not read"),
    "b102": ("dim: 1:30\n", ":1: dim: expected a whole number; got text '1:30'"),
    "b104": ("a: &a [x]\nb: [*a, *a]\n", ":2:5: aliases are not read"),
    "b105": ("scheme:\n\tname: rope\n", ":2:1: a tab stands here"),
    "b105 comment": ("dim: 8\t# eight\n", ":1:7: a tab stands here"),
    "octal": ("dim: 010\n", ":1: dim: expected a whole number; got text '010'"),
    "no": ("dim: no\n", ":1: dim: expected a whole number; got text 'no'"),
    "unknown": ("dim: 8\ndimm: 8\n", ":2: "),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_b97_to_b105_a_config_of_any_command_is_refused_with_file_line_and_key(
    write: Write, command: str, fault: str
) -> None:
    text, want = FAULTS[fault]
    if fault == "b99 inside" and command != "encode":
        text = text.replace("scheme:", "x:")
    if command == "convert" and fault == "b99":
        text = text.replace("seed", "axis")
    file = write(text)
    line = refused(*COMMANDS[command], "--config", file)
    assert line.startswith(f"{file}{want}")
    assert fault != "unknown" or "no setting 'dimm'; nearest: 'dim'" in line


@pytest.mark.parametrize("text", ["1e4", "1.0e4", "1E4", "1.0e+4", "10000.0", "10000"])
def test_b97_a_number_is_a_number_at_every_door(write: Write, text: str) -> None:
    config = write(f"scheme: {{name: rope, base: {text}}}\n")
    for args in (
        ["--config", config],
        ["--scheme", f"rope:base={text}"],
        ["--scheme", "rope", "--base", text],
        ["--scheme", "rope", "--set", f"base={text}"],
    ):
        assert run_json("encode", *args)["settings"]["scheme"]["base"] == 10000.0
    small = run_json("encode", "--scheme", "learned:std=1e-4")["settings"]["scheme"]["std"]
    assert small == 0.0001


@pytest.mark.parametrize("text", ["1e400", "010", "1_000", "off", "1:30", "nan", ".nan", ".inf"])
def test_b97_b102_what_is_no_number_is_one_at_no_door(text: str) -> None:
    for args in (
        ["--scheme", f"rope:base={text}"],
        ["--scheme", "rope", "--base", text],
        ["--scheme", "rope", "--set", f"base={text}"],
        ["--len", text],
    ):
        refused("encode", *args)


BOMBS = {
    "aliases": "a0: &a0 [x, x]\n"
    + "\n".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40)),
    "deep": "[" * 2**16,
    "deep mappings": "{a: " * 2**14,
    "long text": "a: '" + "x" * 65_000,
    "many keys": "\n".join(f"k{i}: 1" for i in range(7_000)),
    "many words": "[" + "x," * 32_000 + "]",
    "digits": "dim: " + "9" * 65_000,
    "large": "#" * 2**16 + "x",
}


@pytest.mark.parametrize("name", BOMBS)
def test_b104_a_bomb_is_refused_in_one_short_line(write: Write, name: str) -> None:
    config = write(BOMBS[name])
    line = refused("encode", "--config", config)
    assert line.startswith(f"{config}:")
    assert len(line) < 1000


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs wait4")
def test_b104_memory_stays_flat(write: Write) -> None:
    """Held against a small file that is refused: less than 128 MiB more, in a fresh process."""

    def peak(content: str) -> int:
        args = [sys.executable, "-m", "poscli", "encode", "--config", write(content)]
        process = subprocess.Popen(args, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 2
        return used.ru_maxrss

    small = peak("a: 1")
    for name in BOMBS:
        assert peak(BOMBS[name]) < small + 2**17, name


TABLE = Sinusoidal().vectors(np.arange(4), 4)
READERS = {
    "encode --input": ["encode", "--input"],
    "compare": ["compare"],
    "compare two": ["compare", "{whole}"],
    "compare --scheme": ["compare", "--scheme", "sinusoidal"],
    "convert": ["convert", "--from", "rope", "--to", "rope/half", "--dim", "4"],
    "learned": ["encode", "--len", "4", "--scheme"],
}


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=True, **arrays)
    return stream.getvalue()


def reading(write: Write, reader: str, content: bytes, name: str) -> list[str]:
    """Return a command that reads a file of this content."""
    whole = write(npy(TABLE), "whole.npy")
    args = [whole if arg == "{whole}" else arg for arg in READERS[reader]]
    file = write(content, name)
    return [*args, f"learned:table={file}" if reader == "learned" else file]


KINDS = {
    "objects": np.array([[{}] * 4] * 4, object),
    "text": np.full((4, 4), "a"),
    "bytes": np.full((4, 4), b"a"),
    "complex": TABLE.astype(complex),
    "truth": TABLE > 0,
    "records": np.zeros((4, 4), [("a", "f8")]),
    "times": np.zeros((4, 4), "M8[s]"),
    "nothing": np.zeros((0, 4)),
    "NaN": np.full((4, 4), np.nan),
    "infinity": np.full((4, 4), np.inf),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_b111_what_is_no_array_of_numbers_is_refused_by_name_by_every_reader(
    write: Write, reader: str, kind: str
) -> None:
    for content, name in ((npy(KINDS[kind]), "x.npy"), (npz(x=KINDS[kind]), "x.npz")):
        line = refused(*reading(write, reader, content, name))
        assert name in line
        assert "pickle" not in line


CUTS = [0, 1, 5, 6, 7, 9, 40, 127, 128, 129, 200, -8, -1]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("reader", READERS)
def test_b109_a_file_cut_anywhere_is_refused_by_every_reader(
    write: Write, reader: str, cut: int
) -> None:
    line = refused(*reading(write, reader, npy(TABLE)[:cut], "x.npy"))
    assert "x.npy: " in line
    assert any(word in line for word in ("empty", "truncated", "not an array"))


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 9, 30, 60, -8, -1])
@pytest.mark.parametrize("reader", [name for name in READERS if name.startswith("co")])
def test_b109_the_kind_archives_and_safetensors_too(write: Write, reader: str, cut: int) -> None:
    for content, name in (
        (npz(x=TABLE), "x.npz"),
        (safetensors.numpy.save({"x": TABLE}), "x.safetensors"),
    ):
        line = refused(*reading(write, reader, content[:cut], name))
        assert f"{name}: " in line


@pytest.mark.parametrize("text", ["a,b\n", "1,2\n3\n", "1,x\n", "\n\n", "1,2\n1,nan\n", "1;2\n"])
def test_b109_the_kind_tables_of_text_too(write: Write, text: str) -> None:
    assert "x.csv" in refused("compare", write(text, "x.csv"))


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<f2"])
def test_b108_memory_order_means_nothing_to_any_reader(write: Write, dtype: str) -> None:
    """Rows that are no square, so that an exchange of rows and columns would be seen."""
    array = Sinusoidal().vectors(np.arange(6), 4).astype(dtype)
    for reader in ("encode --input", "compare", "compare --scheme"):
        found = []
        for order in ("C", "F"):
            command = reading(write, reader, npy(np.asarray(array, order=order)), "x.npy")  # type: ignore[call-overload]
            found.append(run(*command, "--format", "json"))
        assert found[0] == found[1], reader
        assert found[0].status in (0, 1)


def test_b108_a_converted_file_is_the_one_of_the_other_order(write: Write, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(size=(4, 6))
    made = list(converted(write, tmp_path, weights))
    assert_array_equal(made[0], made[1])
    assert_array_equal(made[0], weights[[0, 2, 1, 3]])


def converted(write: Write, folder: Path, weights: np.ndarray) -> Iterator[Any]:
    orders: tuple[Any, Any] = ("C", "F")
    for order in orders:
        file = write(npy(np.asarray(weights, order=order)), "w.npy")
        out = folder / f"{order}.npy"
        args = ["--from", "rope/adjacent", "--to", "rope/half", "--dim", "4", "--out", str(out)]
        assert run("convert", file, *args).status == 0
        yield np.load(out)


def test_a_model_file_of_every_hostile_kind_is_one_line(write: Write) -> None:
    good = {"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_positions": 16}
    for content in (
        "",
        "[]",
        "{",
        '{"model_type": NaN}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '{"n_embd": 1e999}',
        '{"n_embd": ' + "9" * 5000 + "}",
        json.dumps({**good, "n_embd": [8]}),
        json.dumps({**good, "n_head": 0}),
        json.dumps({**good, "n_positions": -1}),
        json.dumps({**good, "n_positions": True}),
    ):
        file = write(content, "config.json")
        assert refused("schemes", "--model", file).startswith(f"{file}:")
