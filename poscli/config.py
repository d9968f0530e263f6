"""From a file, --set and flags to one typed, frozen config; what does not fit is refused.

Order: the file first, then --set, then the other flags; of one key, the later wins. A scheme named
by a flag replaces the file's scheme as a whole, settings included.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from poscli import yaml_core
from poscli.errors import PoscliError, UnknownKeyError, nearest
from poscli.files import LARGEST_TEXT, read_bytes
from poscli.schemes import SCHEMES
from poscli.settings import Settings
from poscli.training.tasks import TASKS

C = TypeVar("C", bound=Settings)

Origins = dict[tuple[str | int, ...], str]


def resolve(
    kind: type[C],
    file: Path | None = None,
    assignments: Sequence[str] = (),
    flags: Mapping[str, tuple[str, Any]] | None = None,
) -> C:
    """Return the config of a command.

    flags maps a dotted config key to the option's name and its value; a value of None was not
    given. Raises PoscliError with one line naming file and line, or option, and key.
    """
    values: dict[str, Any] = {}
    origins: Origins = {}
    if file is not None:
        values, origins = _read_file(file)
    given = {key: pair for key, pair in (flags or {}).items() if pair[1] is not None}
    named = sorted({"scheme", "schemes"} & given.keys())
    for key in named:
        option, value = given.pop(key)
        _put(values, origins, key, value, option)
    settings = [(*_parse_assignment(text), "--set") for text in assignments]
    settings += [(key, value, option) for key, (option, value) in given.items()]
    for key, value, option in settings:
        if option == "--set" and key in named:
            raise PoscliError(f"--set {key} and {origins[(key,)]} both name it; give one")
        if key not in kind.model_fields and "." not in key and "scheme" in kind.model_fields:
            key = f"scheme.{key}"
        if key == "scheme.preset" and "scheme" not in values:
            values["scheme"] = {}
        if key.startswith("scheme.") and "scheme" not in values:
            default = kind.model_fields["scheme"].get_default(call_default_factory=True)
            values["scheme"] = default.name
        _put(values, origins, key, value, f"--set {key}" if option == "--set" else option)
    return build(kind, values, file, origins)


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


def parse_scheme(text: str) -> dict[str, Any]:
    """Read NAME or NAME:key=value,key=value as the mapping a config would hold.

    >>> parse_scheme("rope:base=500000,pairing=half")
    {'name': 'rope', 'base': 500000, 'pairing': 'half'}
    """
    name, _, rest = text.partition(":")
    if name not in SCHEMES:
        raise PoscliError(f"there is no scheme {name!r}; {nearest(name, SCHEMES)}")
    scheme: dict[str, Any] = {"name": name}
    for part in rest.split(",") if rest else []:
        key, value = _parse_assignment(part)
        if key in scheme:
            raise PoscliError(f"{text}: {key!r} is given twice")
        scheme[key] = value
    return scheme


def parse_list(text: str, option: str) -> list[Any]:
    """Read 1,2.5,-3 as a list.

    >>> parse_list("1,2.5,-3", "--vector")
    [1, 2.5, -3]
    """
    return list(_parse_value(f"[{text}]", option))


def _read_file(file: Path) -> tuple[dict[str, Any], Origins]:
    values, lines = yaml_core.read(read_bytes(file, LARGEST_TEXT), str(file))
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
    return yaml_core.read(text.encode("utf-8", "surrogateescape"), key)[0]


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
    errors = error.errors()
    first = errors[0]
    path = tuple(part for part in first["loc"] if not _is_tag(part, first["loc"]))
    cause = first.get("ctx", {}).get("error")
    unknown = (*path, cause.key) if isinstance(cause, UnknownKeyError) else path
    key = ".".join(str(part) for part in path)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    where = _origin(unknown, origins) or file
    parts = [where] if where else []
    if key and not where.startswith("--"):
        parts.append(key)
    return ": ".join([*parts, _message(first) + more])


def _is_tag(part: str | int, loc: tuple[str | int, ...]) -> bool:
    """Whether this step of the path only names the member of a union that was tried."""
    place = loc.index(part)
    return (place > 0 and (part in SCHEMES or part in TASKS)) or (
        isinstance(part, str) and ("[" in part or part in ("Projections", "str", "int", "float"))
    )


def _origin(path: tuple[str | int, ...], origins: Origins) -> str:
    for length in range(len(path), 0, -1):
        if path[:length] in origins:
            return origins[path[:length]]
    return ""


def _message(error: Any) -> str:
    given, kind, context = error["input"], error["type"], error.get("ctx", {})
    if kind == "union_tag_invalid":
        what, known = ("task", TASKS) if error["loc"][0] == "task" else ("scheme", SCHEMES)
        return f"there is no {what} {context['tag']!r}; {nearest(context['tag'], known)}"
    if kind == "union_tag_not_found":
        what, known = ("task", TASKS) if error["loc"][0] == "task" else ("scheme", SCHEMES)
        return f"a {what} needs a name; {nearest('', known)}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return "is missing"
    message = str(error["msg"])
    expected = {
        "int_type": "a whole number",
        "float_type": "a number",
        "bool_type": "true or false",
        "string_type": "text",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "model_attributes_type": "a mapping",
        "dataclass_type": "a mapping",
        "finite_number": "a finite number",
    }.get(kind)
    if expected:
        message = f"expected {expected}"
    elif kind == "literal_error":
        message = f"expected {context['expected']}"
        if isinstance(given, str) and (
            close := get_close_matches(given, context["expected"].replace("'", "").split(), n=1)
        ):
            message += f" (nearest: {close[0]!r})"
    elif kind.startswith(("greater", "less", "too_")):
        message = message[0].lower() + message[1:].replace("Input should be ", "")
        message = message.removeprefix("input should be ")
        message = f"must be {message}"
    else:
        return message
    return f"{message}; got {_kind(given)}"


def _kind(value: Any) -> str:
    """Name a value in an error: short values whole, long ones by their kind."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, int | float):
        return f"{value:.17g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        return f"text {value!r}" if len(value) <= 40 else f"text of {len(value)} characters"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "a mapping"
    return f"a {type(value).__name__}"
