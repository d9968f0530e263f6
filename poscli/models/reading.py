"""Reading JSON from strangers: bounded, strict, and never run."""

import json
from pathlib import Path
from typing import Any

from poscli.errors import PoscliError
from poscli.files import read_bytes

LARGEST = 2**22
DEEPEST = 32


def read_config(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the name and the content of a config.json; a folder stands for the one inside it.

    Raises PoscliError, naming the file and where there is one the key, for what is no JSON object,
    a repeated key, NaN and numbers too large, and a file too large or nested too deep.
    """
    if "\0" not in str(path) and path.is_dir():
        path = path / "config.json"
    data = read_bytes(path, LARGEST)
    if not data.strip():
        raise PoscliError(f"{path}: the file is empty; a model's config is a JSON object")
    try:
        content = json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
        depth = _depth(content)
    except UnicodeDecodeError as error:
        raise PoscliError(f"{path}: not UTF-8 text: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}: column {error.colno}"
        raise PoscliError(f"{where}: not JSON: {error.msg[:1].lower()}{error.msg[1:]}") from None
    except PoscliError as error:
        raise PoscliError(f"{path}: {error}") from None
    except RecursionError:
        raise _too_deep(path) from None
    if not isinstance(content, dict):
        raise PoscliError(f"{path}: a model's config is a JSON object, not {shown(content)}")
    if depth > DEEPEST:
        raise _too_deep(path)
    return str(path), content


def shown(value: Any) -> str:
    """Write a value for an error message, as JSON has it; a long one by its kind and size.

    >>> shown("1e6"), shown(None), shown([1] * 99)
    ('"1e6"', 'null', 'a list of 99')
    """
    if isinstance(value, list) and len(value) > 8:
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise PoscliError(f"{shown(key)} is given twice")
        content[key] = value
    return content


def _no_constant(text: str) -> Any:
    raise PoscliError(f"{text} is no number that JSON knows")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise PoscliError(f"{text[:40]} is too large for a number")
    return value


def _whole(text: str) -> int:
    if len(text) > 18:
        raise PoscliError(f"a number of {len(text)} digits is too large")
    return int(text)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _too_deep(path: Path) -> PoscliError:
    return PoscliError(f"{path}: nested too deep; up to {DEEPEST} levels are read")
