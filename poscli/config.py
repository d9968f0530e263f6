"""From a file, --set and flags to one typed, frozen config; what does not fit is refused.

Order: the file first, then what a model's config gives, then --set, then the other flags; of one
key, the later wins. A scheme named by a flag replaces the one before it as a whole, settings
included.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from poscli import yaml_core
from poscli.errors import PoscliError, UnknownKeyError, nearest
from poscli.files import read_bytes
from poscli.schemes import SCHEMES, expand, no_scheme
from poscli.settings import Settings, Typed
from poscli.text import plain
from poscli.training.tasks import TASKS

C = TypeVar("C", bound=Settings)

Origins = dict[tuple[str | int, ...], str]

_MEMBERS = {"Projections", "str", "int", "float"}


def resolve(
    kind: type[C],
    file: Path | None = None,
    assignments: Sequence[str] = (),
    flags: Mapping[str, tuple[str, Any]] | None = None,
    model: Mapping[str, Any] | None = None,
) -> C:
    """Return the config of a command.

    model holds what a model's config gives. flags maps a dotted config key to the option's name
    and its value; a value of None was not given. Raises PoscliError with one line naming file and
    line, or option, and key.
    """
    values: dict[str, Any] = {}
    origins: Origins = {}
    if file is not None:
        values, origins = _read_file(file)
    for key, value in (model or {}).items():
        _put(values, origins, key, value, "--model")
    given = {
        key: (option, Typed(value) if isinstance(value, str) else value)
        for key, (option, value) in (flags or {}).items()
        if value is not None
    }
    named = sorted({"scheme", "schemes"} & given.keys())
    for key in named:
        option, value = given.pop(key)
        _put(values, origins, key, value, option)
    settings = [(*_parse_assignment(text), "--set") for text in assignments]
    settings += [(key, value, option) for key, (option, value) in given.items()]
    for key, value, option in settings:
        if option == "--set" and key in named:
            raise PoscliError(f"--set {key} and {origins[(key,)]} both name it; give one")
        if "scheme" in kind.model_fields:
            key = _scheme_key(kind, key, values)
        _put(values, origins, key, value, f"--set {key}" if option == "--set" else option)
    return build(kind, values, file, origins)


def _scheme_key(kind: type[Settings], key: str, values: dict[str, Any]) -> str:
    """Return a key as it is; or, where the command has none of this name, as its scheme's."""
    field = kind.model_fields["scheme"]
    if not key.startswith("scheme."):
        if key in kind.model_fields or "." in key:
            return key
        scheme = expand(values.get("scheme", field.get_default(call_default_factory=True).name))
        name = scheme.get("name") if isinstance(scheme, dict) else None
        known = SCHEMES[name].model_fields if isinstance(name, str) and name in SCHEMES else {}
        if name in SCHEMES and key not in known:
            hint = nearest(key, [*kind.model_fields, *(k for k in known if k != "name")])
            raise PoscliError(f"--set: neither {kind.title()} nor {name} has {key!r}; {hint}")
        key = f"scheme.{key}"
    if "scheme" not in values:
        preset = key == "scheme.preset"
        values["scheme"] = {} if preset else field.get_default(call_default_factory=True).name
    return key


def build(
    kind: type[C],
    values: Mapping[str, Any],
    file: Path | None = None,
    origins: Origins | None = None,
) -> C:
    """Return the config that a mapping describes; PoscliError names the first wrong value."""
    try:
        return kind.model_validate(values, context={"folder": file.parent if file else ""})
    except ValidationError as error:
        raise PoscliError(_one_line(error, origins or {}, str(file or ""))) from None


_WORDS = {
    "adjacent": "pairing",
    "half": "pairing",
    "adjacent-in-half-out": "pairing",
    "half-per-axis": "pairing",
    "clockwise": "direction",
    "counter-clockwise": "direction",
}


def parse_scheme(text: str) -> dict[str, Any]:
    """Read NAME, NAME/WORD or NAME:key=value,key=value as the mapping a config would hold.

    A word is a value that names its key: how columns pair, or the way they turn.

    >>> parse_scheme("rope:base=500000,pairing=half")
    {'name': 'rope', 'base': 500000, 'pairing': 'half'}
    >>> parse_scheme("rope/half/clockwise")
    {'name': 'rope', 'pairing': 'half', 'direction': 'clockwise'}
    """
    begun, _, rest = text.partition(":")
    name, *words = begun.split("/")
    if name not in SCHEMES:
        raise PoscliError(no_scheme(name))
    scheme: dict[str, Any] = {"name": name}
    for word in words:
        if word not in _WORDS:
            raise PoscliError(f"{text}: {word!r} is no convention; {nearest(word, _WORDS)}")
        scheme[_WORDS[word]] = word
    for part in _split(rest):
        key, value = _parse_assignment(part)
        if key in scheme:
            raise PoscliError(f"{text}: {key!r} is given twice")
        scheme[key] = value
    return scheme


def _split(settings: str) -> list[str]:
    """Cut at the commas outside of brackets."""
    parts, depth = [""], 0
    for character in settings:
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts if settings else []


def parse_number(text: str | None, option: str) -> Any:
    """Read an option's value as a config would: a number where it is one, else its text."""
    return None if text is None else _parse_value(text, option)


def parse_list(text: str, option: str) -> list[Any]:
    """Read 1,2.5,-3 as a list.

    >>> parse_list("1,2.5,-3", "--vector")
    [1, 2.5, -3]
    """
    return list(_parse_value(f"[{text}]", option))


def _read_file(file: Path) -> tuple[dict[str, Any], Origins]:
    values, lines = yaml_core.read(read_bytes(file, yaml_core.LARGEST), str(file))
    if values is None:
        raise PoscliError(f"{file}: the file is empty; a config is a mapping of keys to values")
    if not isinstance(values, dict):
        raise PoscliError(f"{file}: a config is a mapping of keys to values, not {_kind(values)}")
    return values, {path: f"{file}:{line}" for path, line in lines.items()}


def _parse_assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise PoscliError(f"{text!r} is no setting; settings read key=value")
    return key.strip(), _parse_value(value, key)


def _parse_value(text: str, key: str) -> Any:
    if not text.strip() or text.lstrip().startswith("#"):
        raise PoscliError(f"{key}: the value is empty; null stands for none")
    return _typed(yaml_core.read(text.encode("utf-8", "surrogatepass"), key)[0])


def _typed(value: Any) -> Any:
    if isinstance(value, str):
        return Typed(value)
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    return value


def _put(values: dict[str, Any], origins: Origins, dotted: str, value: Any, origin: str) -> None:
    *parents, last = dotted.split(".")
    target = values
    for parent in parents:
        inner = target.get(parent, {})
        if isinstance(inner, str):
            inner = {"name": inner}
        if not isinstance(inner, dict):
            raise PoscliError(f"{origin}: {parent} is {_kind(inner)}, so it has no {last!r}")
        target[parent] = dict(inner)
        target = target[parent]
    target[last] = value
    path = (*parents, last)
    for known in [p for p in origins if p[: len(path)] == path]:
        del origins[known]
    origins[path] = origin


def _one_line(error: ValidationError, origins: Origins, file: str) -> str:
    """Describe the first error; of the members of a union, the one that came furthest."""
    errors = error.errors()
    same = [e for e in errors if e["loc"][:1] == errors[0]["loc"][:1]]
    first = max(same, key=lambda e: len(e["loc"]))
    path = _keys(first["loc"])
    cause = first.get("ctx", {}).get("error")
    unknown = (*path, cause.key) if isinstance(cause, UnknownKeyError) else path
    key = ".".join(str(part) for part in path)
    where, named = _origin(unknown, origins)
    parts = [where or file] if where or file else []
    if key and not (where.startswith("--") and named >= len(path)):
        parts.append(key)
    return ": ".join([*parts, _message(first)])


def _keys(loc: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Drop the steps that only name the member of a union that was tried."""
    keys: list[str | int] = []
    for part in loc:
        tried = isinstance(part, str) and ("[" in part or part in _MEMBERS)
        after_scheme = keys[-1:] == ["scheme"] or keys[-2:-1] == ["schemes"]
        after_task = keys[-1:] == ["task"] and part in TASKS
        if not tried and not (after_scheme and part in SCHEMES) and not after_task:
            keys.append(part)
    return tuple(keys)


def _origin(path: tuple[str | int, ...], origins: Origins) -> tuple[str, int]:
    """Return where the nearest part of the path was given, and how many steps of it that names."""
    for length in range(len(path), 0, -1):
        if path[:length] in origins:
            return origins[path[:length]], length
    return "", 0


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "string_unicode": "text that the terminal's encoding can hold",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
}
_LENGTHS = {
    "too_short": "at least {min_length}",
    "too_long": "at most {max_length}",
    "string_too_short": "at least {min_length}",
}


def _message(error: Any) -> str:
    given, kind, context = error["input"], error["type"], error.get("ctx", {})
    what, known = ("task", TASKS) if error["loc"][:1] == ("task",) else ("scheme", SCHEMES)
    if kind == "union_tag_invalid" and context["tag"] != "None":
        tag = str(context["tag"])[:40]
        return f"there is no {what} {tag!r}; {nearest(tag, known)}"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return f"a {what} needs a name; {nearest('', known)}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return "is missing"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}; got {_kind(given)}"
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        close = get_close_matches(str(given), choices, n=1)
        hint = f" (nearest: {close[0]!r})" if close else ""
        return f"expected {context['expected']}{hint}; got {_kind(given)}"
    if kind in _BOUNDS:
        bounds = {name: plain(bound) for name, bound in context.items()}
        return f"must be {_BOUNDS[kind].format(**bounds)}; got {_kind(given)}"
    if kind in _LENGTHS:
        return f"needs {_LENGTHS[kind].format(**context)}; got {len(given)}"
    return f"{error['msg']}; got {_kind(given)}"


def _kind(value: Any) -> str:
    """Name a value in an error: short values whole, long ones by their kind."""
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, int | float):
        if isinstance(value, int) and len(str(abs(value))) > 40:
            return f"a number of {len(str(abs(value)))} digits"
        return f"{value:.3e}" if abs(value) >= 1e40 else str(value)
    if isinstance(value, str):
        return f"text {str(value)!r}" if len(value) <= 40 else f"text of {len(value)} characters"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return "a mapping" if isinstance(value, dict) else f"a {type(value).__name__}"
