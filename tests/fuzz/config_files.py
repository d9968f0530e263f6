"""Random YAML: valid by the schema of each command, nearly valid, and hostile."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostile
from hypothesis import strategies as st
from promises import BrokenPromiseError

from poscli.config import resolve
from poscli.errors import PoscliError
from poscli.experiments.compare import CompareConfig
from poscli.experiments.convert import ConvertConfig
from poscli.experiments.encode import EncodeConfig
from poscli.experiments.extrapolate import ExtrapolateConfig
from poscli.experiments.identify import IdentifyConfig
from poscli.experiments.permute_test import PermuteTestConfig
from poscli.experiments.train import TrainConfig
from poscli.settings import Settings

KINDS: tuple[type[Settings], ...] = (
    EncodeConfig,
    CompareConfig,
    IdentifyConfig,
    PermuteTestConfig,
    ExtrapolateConfig,
    TrainConfig,
    ConvertConfig,
)
WORDS = ["dog bites man", "a b c", "cat", "0:4", "0,5,9", "1,0", "rows.npy", "causal", "half"]

_WRONG = 24
"""One value in so many is not what the schema asks for."""


def by_schema(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that a JSON schema admits, and here and there one that it does not."""
    right = _admitted(schema, definitions)
    return st.integers(1, _WRONG).flatmap(lambda n: hostile.values if n == _WRONG else right)


def _admitted(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    def again(inner: dict[str, Any]) -> st.SearchStrategy[Any]:
        return st.deferred(lambda: by_schema(inner, definitions))

    if "$ref" in schema:
        return st.deferred(
            lambda: _admitted(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        )
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return st.one_of([again(inner) for inner in schema[key]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        return _mapping(schema, again)
    if kind == "array":
        items = again(schema.get("items", {}))
        least = schema.get("minItems", 0)
        return st.lists(items, min_size=least, max_size=min(schema.get("maxItems", 9), least + 3))
    simple: dict[str, st.SearchStrategy[Any]] = {
        "integer": _whole(schema),
        "number": st.floats(-4, 4) | st.sampled_from([0.5, 2, 8, 10000, 1e-3]),
        "boolean": st.booleans(),
        "null": st.none(),
        "string": st.sampled_from(WORDS) | hostile.texts,
    }
    return simple.get(str(kind), hostile.values)


def _whole(schema: dict[str, Any]) -> st.SearchStrategy[int]:
    least = schema.get("minimum", schema.get("exclusiveMinimum", -5))
    least = max(least, -8)
    most = schema.get("maximum", 2**60)
    near = st.integers(least, min(least + 8, most))
    return near | st.sampled_from([n for n in (2, 4, 8, 12, most, most + 1) if n >= least])


def _mapping(
    schema: dict[str, Any], again: Callable[[dict[str, Any]], st.SearchStrategy[Any]]
) -> st.SearchStrategy[Any]:
    known = schema.get("properties", {})
    if not known:
        extra = schema.get("additionalProperties", {})
        inner = again(extra if isinstance(extra, dict) else {})
        return st.dictionaries(st.sampled_from(["dog", "a", "b", "man"]), inner, max_size=3)
    always = set(schema.get("required", ())) | {k for k in known if "const" in known[k]}
    values = {key: again(inner) for key, inner in known.items()}

    @st.composite
    def mapping(draw: st.DrawFn) -> dict[str, Any]:
        some = draw(st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True))
        return {key: draw(values[key]) for key in [*sorted(always), *some]}

    return mapping()


def _schema_of(kind: type[Settings]) -> st.SearchStrategy[Any]:
    schema = kind.model_json_schema()
    return _admitted({k: v for k, v in schema.items() if k != "$defs"}, schema.get("$defs", {}))


def as_yaml(value: Any, indent: int = 0) -> str:
    """Write a value as YAML: mappings in block style, so that keys have lines; the rest in flow."""
    if not isinstance(value, dict) or not value:
        return _flow(value) + "\n"
    lines = []
    for key, inner in value.items():
        block = isinstance(inner, dict) and bool(inner) and indent < 3
        text = "\n" + as_yaml(inner, indent + 1) if block else " " + _flow(inner) + "\n"
        lines.append("  " * indent + _quoted(str(key)) + ":" + text)
    return "".join(lines)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(str(k))}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(repr(value), repr(value))
    return str(value) if isinstance(value, int) else _quoted(value)


def _quoted(text: str) -> str:
    if re.fullmatch("[a-z][a-z_]*", text):
        return text
    escaped = "".join(c if c.isprintable() and c not in '"\\' else _escape(c) for c in text)
    return f'"{escaped}"'


def _escape(character: str) -> str:
    return f"\\U{ord(character):08x}" if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


FRAGMENTS = [
    *("\t", "  ", "\n", "\r", "\r\n", "\x00", "\x07", "\x85", "\u2028", "\ufeff", "\ufffe"),
    *("&a ", "*a", "<<: ", "!!str ", "!!python/name:os.system ", "!x ", "? ", "- ", ": ", ":", "-"),
    *("---\n", "...\n", "%YAML 1.1\n", "%TAG ! a\n", "# x", "#", "|", ">", "|+2\n", "@", "`"),
    *("[", "]", "{", "}", ",", '"', "'", "\\", '"\\x', '"\\U00110000"', "=", "~"),
    *("1e400", "1:30", "010", "0o8", "1_0", ".nan", "0x", "9" * 401, "[" * 300, "{a: " * 300),
    *("name: ", "scheme: ", "scheme:\n  name: rope\n", "length: 3\n", "dim: 4\n", "a: &b [*b]\n"),
]


@st.composite
def damaged(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> bytes:
    """Put fragments into a text, take parts out, and change its encoding or its bytes."""
    text = draw(texts)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        stop = start + draw(st.sampled_from([0, 0, 0, 1, 2, 7]))
        text = text[:start] + draw(st.sampled_from(FRAGMENTS)) + text[stop:]
    codec = draw(st.sampled_from(["utf-8"] * 12 + ["utf-16", "utf-32-le", "latin-1", "utf-7"]))
    data = text.encode(codec, "surrogatepass" if codec.startswith("utf") else "replace")
    if data and draw(st.integers(0, 15)) == 0:
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
    return data


_SCHEMAS = {kind: _schema_of(kind) for kind in KINDS}


@st.composite
def _inputs(draw: st.DrawFn) -> tuple[type[Settings], bytes]:
    kind = draw(st.sampled_from(KINDS))
    value = draw(_SCHEMAS[kind])
    if isinstance(value, dict) and value and draw(st.integers(0, 9)) == 0:
        key = draw(st.sampled_from(sorted(value)))
        value = {**value, key + draw(st.sampled_from(["s", "_", "x.y", ""])): value[key]}
    text = as_yaml(value)
    how = draw(st.integers(0, 3))
    if how == 3:
        return kind, draw(damaged(st.just(text) | st.text(max_size=60)))
    return kind, text.encode("utf-8", "surrogatepass")


INPUTS = _inputs()

_WHOLE_FILE = (
    "the file is empty",
    "a config is a mapping",
    "not UTF-8 text",
    "is not allowed",
    "nested too deeply",
    "bytes; up to",
)


def hold(given: tuple[type[Settings], bytes], folder: Path) -> str:
    """Read a config: it is one, or one line names the file, and the line or the keys."""
    kind, data = given
    file = folder / "c.yaml"
    file.write_bytes(data)
    try:
        resolve(kind, file)
    except PoscliError as error:
        broken = _broken(str(error), str(file), kind)
        if broken:
            raise BrokenPromiseError(
                f"{broken}: {str(error)[:300]!r}; given {data[:300]!r}"
            ) from None
        return "refused"
    except Exception as error:
        raise BrokenPromiseError(
            f"{type(error).__name__}: {error}; given {data[:300]!r}"
        ) from error
    return "ran"


def _broken(message: str, file: str, kind: type[Settings]) -> str:
    if not message.startswith(f"{file}:"):
        return "the file is not named"
    if len(message) > 4000:
        return f"an error of {len(message)} characters"
    if re.search("Traceback|<class|object at 0x|pydantic", message):
        return "the error shows what is inside"
    rest = message.removeprefix(f"{file}:")
    if re.match(r"\d+(:\d+)?: ", rest) or any(words in rest for words in _WHOLE_FILE):
        return ""
    named = set(re.findall("[a-z_]+", rest)) & kind.model_fields.keys()
    return "" if named else "neither a line nor a key is named"
