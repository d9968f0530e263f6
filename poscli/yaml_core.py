"""YAML with the rules of the 1.2 core schema, read without surprises.

1e4 is a number; no, off and 1:30 are text; 010 is text, so that a typed field refuses it. Aliases,
merge keys, repeated keys, tags and second documents are refused. Every value keeps the line it
stands on, so that a later error can name it.
"""

import re
from math import isinf
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from poscli.errors import PoscliError

LARGEST = 2**16
"""Bytes of a document: PyYAML takes 6 seconds for a MiB. Larger tables belong into .npy files."""

Path = tuple[str | int, ...]
Lines = dict[Path, int]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_UNBOUNDED = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class _Loader(yaml.SafeLoader):
    """The scanner, parser and composer of PyYAML; aliases and tags stop it."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="aliases are not read; write the value out",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        if getattr(self.peek_event(), "tag", None) is not None:  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="tags (!) are not read; write the plain value",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        return super().compose_node(parent, index)


def read(data: bytes, name: str) -> tuple[Any, Lines]:
    """Return the value of one YAML document and the line (from 1) of each of its parts.

    name stands for the document in errors: a file, or an option. Raises PoscliError.
    """
    if len(data) > LARGEST:
        raise PoscliError(f"{name}: {len(data):,} bytes; up to {LARGEST:,} bytes are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PoscliError(f"{name}: not UTF-8 text: byte {error.start} cannot be read") from None
    lines: Lines = {}
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        except ValueError:
            # "\U00110000": PyYAML asks for the character without looking.
            raise yaml.MarkedYAMLError(
                problem="an escape stands for no character",
                problem_mark=loader.get_mark(),
            ) from None
        finally:
            loader.dispose()
        value = None if node is None else _build(node, (), lines)
    except yaml.MarkedYAMLError as error:
        raise PoscliError(f"{name}{_place(error)}: {_problem(error)}") from None
    except yaml.reader.ReaderError as error:
        raise PoscliError(f"{name}: character #x{error.character:04x} is not allowed") from None
    except RecursionError:
        raise PoscliError(f"{name}: nested too deeply to be read") from None
    return value, lines


def _place(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f":{mark.line + 1}:{mark.column + 1}" if mark else ""


def _problem(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    at_tab = mark is not None and mark.buffer is not None and mark.buffer[mark.pointer] == "\t"
    problem = error.problem or error.context or "not YAML"
    if at_tab or "\\t" in problem:
        return "a tab stands here; YAML is indented and spaced with spaces"
    return " ".join(problem.split())


def _build(node: Node, path: Path, lines: Lines) -> Any:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, ScalarNode):
        _refuse_halves(node)
        return _scalar(node)
    if isinstance(node, SequenceNode):
        return [_build(child, (*path, i), lines) for i, child in enumerate(node.value)]
    assert isinstance(node, MappingNode)
    mapping: dict[str, Any] = {}
    first: dict[str, int] = {}
    for key_node, child in node.value:
        key = key_node.value if isinstance(key_node, ScalarNode) else None
        if not isinstance(key, str):
            raise _refusal(key_node, "a key must be plain text")
        if key == "<<" and key_node.style is None:
            raise _refusal(key_node, "merge keys (<<) are not read; write the values out")
        _refuse_halves(key_node)
        line = key_node.start_mark.line + 1
        if key in mapping:
            raise _refusal(key_node, f"'{key}' stands twice, on lines {first[key]} and {line}")
        first[key] = line
        mapping[key] = _build(child, (*path, key), lines)
    return mapping


def _refuse_halves(node: ScalarNode) -> None:
    """Refuse "\\udcff": half of a character, which no file name and no output can hold."""
    if re.search("[\ud800-\udfff]", node.value):
        raise _refusal(node, "an escape stands for no character")


def _scalar(node: ScalarNode) -> Any:
    text = node.value
    if node.style is not None:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > 400:
            raise _refusal(node, "a number of more than 400 digits is not read")
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if isinf(value):
            raise _refusal(node, f"{text} is too large for a number")
        return value
    if _UNBOUNDED.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def _refusal(node: Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
