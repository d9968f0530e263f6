"""Every command through its runner: status, streams, formats, help."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, refused, run, run_apart, run_json
from numpy.testing import assert_array_equal

from poscli import Rope, Sinusoidal
from poscli.arrays import rounded
from poscli.schemes import SCHEMES

COMMANDS = {
    "encode": ["encode", "--len", "3"],
    "compare": ["compare"],
    "permute-test": ["permute-test", "dog bites man"],
    "extrapolate": ["extrapolate"],
    "convert": ["convert", "--from", "rope/adjacent", "--to", "rope/half", "--dim", "8"],
}


@pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)
def test_each_command_runs_and_passes(args: list[str]) -> None:
    result = run(*args)
    assert (result.status, result.err) == (0, "")
    assert "FAIL" not in result.out


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_goes_through_every_command(name: str) -> None:
    assert run("encode", "dog bites man", "--scheme", name, "--explain").status == 0
    assert run("compare", name, "none").status == 0
    assert run("permute-test", "dog bites man", "--scheme", name).status == 0
    assert run("extrapolate", name).status == 0


@pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)
def test_json_and_csv_hold_the_same_result(args: list[str]) -> None:
    document = run_json(*args)
    rows = list(csv.reader(io.StringIO(run(*args, "--format", "csv").out, newline="")))
    result = document["result"]
    assert rows[0] == [*result["index"], *result["columns"]]
    assert len(rows) - 1 == len(result["cells"])
    assert document["passed"] is True


@pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)
def test_the_same_command_gives_the_same_bytes(args: list[str]) -> None:
    once, again = (run_apart(*args, "--format", "json") for _ in range(2))
    assert once.out == again.out


@pytest.mark.parametrize("command", [*COMMANDS, "schema"])
def test_help_has_an_example_that_runs(command: str) -> None:
    text = run(command, "--help").out
    example = text.partition("Example: poscli ")[2]
    assert example
    assert command in example


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_npy_has_the_asked_dtype(tmp_path: Path, dtype: str) -> None:
    out = tmp_path / "t.npy"
    result = run("encode", "--len", "3", "--dtype", dtype, "--out", str(out))
    assert (result.status, result.out, result.err) == (0, "", f"wrote {out}\n")
    table = np.load(out)
    assert table.dtype == dtype
    assert_array_equal(table, Sinusoidal().vectors(np.arange(3), 4).astype(dtype))


def test_npy_of_each_place_has_its_shape(tmp_path: Path) -> None:
    for scheme, shape in (("sinusoidal", (5, 4)), ("rope", (2, 5, 2)), ("alibi", (4, 5, 5))):
        out = tmp_path / f"{scheme}.npy"
        assert run("encode", "--scheme", scheme, "--len", "5", "--out", str(out)).status == 0
        assert np.load(out).shape == shape


def test_formats_that_do_not_fit_are_refused() -> None:
    assert "no array to write as npy" in refused("compare", "--format", "npy")
    assert "npy cannot hold bfloat16" in refused("encode", "--dtype=bfloat16", "--format=npy")
    assert "'--format'" in refused("encode", "--format", "xml")


def test_bfloat16_rounds_to_nearest_even() -> None:
    values = np.array([257.0, 258.0, 259.0, 1.0, -1 / 3, 0.0, 1 + 2**-8, 1 + 3 * 2**-8])
    want = [256.0, 258.0, 260.0, 1.0, -0.333984375, 0.0, 1.0, 1.015625]
    assert_array_equal(rounded(values, "bfloat16"), np.array(want, np.float32))


def test_unknown_options_and_commands_name_the_nearest() -> None:
    assert "there is no option --lenght; nearest: '--length'" in refused("encode", "--lenght", "3")
    assert "encod" in refused("encod")
    assert "unexpected extra argument" in refused("encode", "a", "b")
    assert "--len" in refused("encode", "--len")
    assert "--len" in refused("encode", "--len", "abc")


@pytest.mark.parametrize("args", [["--offset", "-3"], ["--offset=-3"], ["--positions", "-3,-2"]])
def test_b86_negative_positions_are_numbers(args: list[str]) -> None:
    length = [] if "--positions" in args else ["--len", "2"]
    labels = run_json("encode", *args, *length)["result"]["labels"]
    assert labels == [["-3"], ["-2"]]


def test_a_sentence_may_begin_with_a_minus() -> None:
    assert run_json("encode", "-3 is cold")["result"]["labels"][0] == ["0", "-3"]
    assert "│ --len │" in run("encode", "--", "--len x").out


def test_version_and_module() -> None:
    assert run("--version").out == run_apart("--version").out == "poscli 0.1.0\n"


def test_b85_a_pipe_closed_early_is_no_error() -> None:
    for unbuffered in ("", "1"):
        with subprocess.Popen(
            [sys.executable, "-m", "poscli", "encode", "--len", "5000", "--dim", "16"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline().startswith(b"sinusoidal:")
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode in (0, -signal.SIGPIPE)


def test_b96_completion_knows_the_schemes_and_a_script_needs_no_shell() -> None:
    words = {"COMP_WORDS": "poscli encode --scheme sinu", "COMP_CWORD": "3"}
    done = run_apart(env={**os.environ, **words, "_POSCLI_COMPLETE": "complete_bash"})
    assert done.out.split() == ["sinusoidal"]
    script = run_apart(env={**os.environ, "_POSCLI_COMPLETE": "source_bash"})
    assert "complete" in script.out
    assert "Traceback" not in run_apart("--show-completion").err


def test_the_schema_is_the_one_shipped_and_admits_every_config() -> None:
    import jsonschema

    from poscli.yaml_core import read

    schema = json.loads(run("schema").out)
    assert schema == json.loads((ROOT / "configs" / "schema.json").read_text())
    for config in sorted((ROOT / "configs").glob("*.yaml")):
        assert config.read_text().startswith("# yaml-language-server: $schema=schema.json\n")
        jsonschema.validate(read(config.read_bytes(), config.name)[0], schema)
    for wrong in ({"command": "encode", "lenght": 3}, {"command": "encode", "scheme": "rop"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_json_pins_an_array_by_the_hash_of_its_float64_bytes() -> None:
    document = run_json("encode", "--scheme", "rope:base=500000", "--len", "3")
    values = np.stack(Rope(base=500000.0).cos_sin(np.arange(3), 4))
    assert document["array"] == {
        "shape": [2, 3, 2],
        "sha256": sha256(values.astype("<f8").tobytes()).hexdigest(),
    }
    assert document["poscli"] == "0.1.0"
    assert document["settings"]["scheme"]["base"] == 500000.0
    again = run_apart("encode", "--scheme", "rope:base=500000", "--len", "3", "--format", "json")
    assert json.loads(again.out) == document
