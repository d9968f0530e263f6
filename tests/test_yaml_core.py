"""YAML without surprises: what is read, what is refused, and where the error points."""

import time
from typing import Any

import pytest

from poscli.errors import PoscliError
from poscli.yaml_core import read


def value(text: str) -> Any:
    return read(text.encode(), "t.yaml")[0]


def error(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(PoscliError, match=r"^t\.yaml") as caught:
        read(data, "t.yaml")
    return str(caught.value)


@pytest.mark.parametrize("text", ["1e4", "1.0e4", "1E4", "1.0e+4", "10000.0", "+1e4", "1.e4"])
def test_every_spelling_of_ten_thousand_is_a_number(text: str) -> None:
    assert value(f"base: {text}") == {"base": 10000.0}
    assert isinstance(value(text), float)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1e-4", 0.0001),
        (".5", 0.5),
        ("12", 12),
        ("-3", -3),
        ("0x1f", 31),
        ("0o17", 15),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("no", "no"),
        ("off", "off"),
        ("yes", "yes"),
        ("1:30", "1:30"),
        ("0:8", "0:8"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("'12'", "12"),
        ("2024-01-01", "2024-01-01"),
        ("= x", "= x"),
        ("[1, [2, a]]", [1, [2, "a"]]),
        ("{a: 1}", {"a": 1}),
        ("-.inf", float("-inf")),
    ],
)
def test_scalars_are_what_they_look_like(text: str, want: object) -> None:
    got = value(text)
    assert got == want
    assert type(got) is type(want)


def test_lines_are_kept() -> None:
    _, lines = read(b"a: 1\nb:\n  c:\n    - 2\n    - 3\n", "t.yaml")
    assert lines[("b", "c", 1)] == 5
    assert lines[("a",)] == 1


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a: 1\nb: 2\na: 3\n", "t.yaml:3:1: 'a' stands twice, on lines 1 and 3"),
        ("a:\n  b: 1\n  b: 2\n", "t.yaml:3:3: 'b' stands twice, on lines 2 and 3"),
        ("a: &x 1\nb: *x\n", "t.yaml:2:4: aliases are not read; write the value out"),
        ("<<: {a: 1}\n", "t.yaml:1:1: merge keys (<<) are not read; write the values out"),
        ("a: 1e400", "t.yaml:1:4: 1e400 is too large for a number"),
        ("a:\n\tb: 1\n", "t.yaml:2:1: a tab stands here; YAML is indented and spaced with spaces"),
        ("a: 1\t# b\n", "t.yaml:1:5: a tab stands here; YAML is indented and spaced with spaces"),
        ("? [1]\n: 2\n", "t.yaml:1:3: a key must be plain text"),
        ("a: !!python/name:os.system x", "t.yaml:1:4: tags (!) are not read"),
        ("a: !!str 4", "t.yaml:1:4: tags (!) are not read"),
        ("a: ! 4", "t.yaml:1:4: tags (!) are not read"),
        ("!!map {a: 1}", "t.yaml:1:1: tags (!) are not read"),
        ("a: !!set {}", "tags (!) are not read"),
        ("a: 1\n---\nb: 2\n", "t.yaml:2:1: but found another document"),
        ("a: [1, 2", "t.yaml:1:9: expected ',' or ']', but got '<stream end>'"),
        (b"a: \xff\xfe", "t.yaml: not UTF-8 text: byte 3 cannot be read"),
        (r'a: "\U00110000"', "t.yaml:1:7: an escape stands for no character"),
        (r'a: "x\udcff"', "t.yaml:1:4: an escape stands for no character"),
        (r'"\ud800": 1', "t.yaml:1:1: an escape stands for no character"),
        ("a: \x07", "t.yaml: character #x0007 is not allowed"),
        ("[" * 5000, "t.yaml: nested too deeply to be read"),
        ("a: " + "9" * 5000, "t.yaml:1:4: a number of more than 400 digits is not read"),
        ("a: " + "x" * 2**16, "t.yaml: 65,539 bytes; up to 65,536 bytes are read"),
    ],
)
def test_b99_b105_refusals_name_the_place(text: str | bytes, want: str) -> None:
    got = error(text)
    assert want in got
    assert "\n" not in got


def test_b104_an_alias_bomb_is_refused_without_growing() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    start = time.process_time()
    assert error("\n".join(levels)) == "t.yaml:2:10: aliases are not read; write the value out"
    assert time.process_time() - start < 30
