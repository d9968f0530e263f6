"""From file, --set and flags to one config; every refusal is one line that names the place."""

import pytest
from conftest import Write, refused, run, run_json

from poscli import Rope


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ("length: off\n", "{f}:1: length: expected a whole number; got text 'off'"),
        ("length: 010\n", "{f}:1: length: expected a whole number; got text '010'"),
        ("length: 2.5\n", "{f}:1: length: expected a whole number; got 2.5"),
        ("length: true\n", "{f}:1: length: expected a whole number; got true"),
        ("length: 0\n", "{f}:1: length: must be 1 or more; got 0"),
        ("length: -4\n", "{f}:1: length: must be 1 or more; got -4"),
        (
            "scheme:\n  name: rope\n  base: abc\n",
            "{f}:3: scheme.base: expected a number; got text 'abc'",
        ),
        (
            "scheme:\n  name: rope\n  base: .inf\n",
            "{f}:3: scheme.base: expected a finite number; got inf",
        ),
        (
            "scheme:\n  name: rope\n  base: .nan\n",
            "{f}:3: scheme.base: expected a finite number; got nan",
        ),
        (
            "scheme:\n  name: rope\n  bse: 3\n",
            "{f}:3: scheme: rope has no setting 'bse'; nearest: 'base'; known: name, base, pairing",
        ),
        ("lenght: 3\n", "{f}:1: encode has no setting 'lenght'; nearest: 'length'"),
        ("scheme: rop\n", "{f}:1: scheme: there is no scheme 'rop'; nearest: 'rope'"),
        ("scheme: 3\n", "{f}:1: scheme: expected a mapping; got 3"),
        ("scheme: {base: 3}\n", "{f}:1: scheme: a scheme needs a name"),
        ("command: compare\n", "{f}:1: command: expected 'encode'; got text 'compare'"),
        ("dtype: float\n", "(nearest: 'float64'); got text 'float'"),
        ("positions: 5:3\n", "{f}:1: positions: the range '5:3' is empty; its end is not included"),
        ("positions: [1, a]\n", "{f}:1: positions: positions are numbers"),
        ("positions: []\n", "{f}:1: positions: "),
        (
            "positions: [9007199254740992]\n",
            "positions lie between -2^53 and 2^53; got 9007199254740992",
        ),
        ("- 1\n", "{f}: a config is a mapping of keys to values, not a list of 1"),
        ("", "{f}: the file is empty; a config is a mapping of keys to values"),
        ("explain: yes\n", "{f}:1: explain: expected true or false; got text 'yes'"),
        ("input: missing.npy\n", "missing.npy: there is no such file"),
    ],
)
def test_what_does_not_fit_is_refused(write: Write, content: str, want: str) -> None:
    file = write(content)
    assert want.replace("{f}", file) in refused("encode", "--config", file)


def test_files_beside_a_config_are_found_from_its_folder(write: Write) -> None:
    assert run("encode", "--len", "3", "--out", write(b"", "rows.npy"), "--force").status == 0
    config = write("scheme:\n  name: learned\n  table: rows.npy\nlength: 3\n")
    cells = run_json("encode", "--config", config)["result"]["cells"]
    assert cells == run_json("encode", "--len", "3")["result"]["cells"]


def test_the_later_wins_and_the_resolved_values_are_printed(write: Write) -> None:
    config = write("scheme: {name: sinusoidal, base: 7.0}\nlength: 2\ndim: 6\n")
    args = ["encode", "--config", config, "--set", "length=3", "--set", "base=8", "--base", "9"]
    settings = run_json(*args)["settings"]
    scheme = settings["scheme"]
    assert (scheme["name"], scheme["base"], scheme["ladder"]) == ("sinusoidal", 9.0, "paper")
    assert (settings["length"], settings["dim"]) == (3, 6)


def test_a_named_scheme_replaces_the_one_in_the_file(write: Write) -> None:
    config = write("scheme: {name: learned, rows: 5}\nlength: 2\n")
    settings = run_json("encode", "--config", config, "--scheme", "rope")["settings"]
    assert settings["scheme"] == Rope().model_dump(exclude_none=True)


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["--set", "length"], "'length' is no setting; settings read key=value"),
        (["--set", "scheme=rope", "--scheme", "alibi"], "--set scheme and --scheme both name it"),
        (["--set", "length=1e400"], "1e400 is too large for a number"),
        (["--scheme", "rope:base"], "'base' is no setting; settings read key=value"),
        (["--scheme", "rope:base=1,base=2"], "'base' is given twice"),
        (
            ["--scheme", "rope:pairing=hlf"],
            "--scheme: scheme.pairing: expected 'adjacent', 'half' or "
            "'adjacent-in-half-out' (nearest: 'half')",
        ),
        (["--scheme", "alibi", "--base", "3"], "alibi has no setting 'base'"),
        (["--base", "1"], "--base: must be more than 1; got 1"),
        (["--positions", "1", "--len", "2"], "positions and length both say where; give one"),
        (["--vector", "1,a"], "--vector: vector.1: expected a number; got text 'a'"),
        (["--vector", "1", "a sentence"], "sentence and vector are both data to encode; give one"),
        (["  "], "the text has no word in it; give at least one"),
        (["--len", "1000000000"], "which take 128.0 GB, and 2.1 GB are free; --force"),
        (["--config", "/nowhere.yaml"], "/nowhere.yaml: there is no such file"),
        (["--config", "/"], "/: is not a file"),
    ],
)
def test_options_that_do_not_fit_are_refused(args: list[str], want: str) -> None:
    assert want in refused("encode", *args)
