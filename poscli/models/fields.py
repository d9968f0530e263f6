"""The keys of one object of a config: what was taken from it, and where each value came from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from poscli.errors import PoscliError
from poscli.models.reading import shown


@dataclass(frozen=True)
class Origin:
    """One resolved value: what it is for, and the key, rule or default that it came from."""

    name: str
    value: Any
    origin: str


@dataclass
class Findings:
    """What a reading turns up besides the schemes, in the order it was found."""

    trail: list[Origin] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def record(self, name: str, value: Any, origin: str) -> None:
        entry = Origin(name, value, origin)
        if entry not in self.trail:
            self.trail.append(entry)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True)
class Fields:
    """An object of the file. path is what leads to it, as in "text_config."; empty for the top.
    subject is the layer type that its values are read for, where layer types differ.

    A key whose value is null counts as one that was not given. Every getter marks the key it read
    as used, and raises PoscliError with file and key where the value is of the wrong kind.
    """

    file: str
    path: str
    content: dict[str, Any]
    found: Findings
    subject: str = ""

    def error(self, key: str, text: str) -> PoscliError:
        return PoscliError(f"{self.file}: {self.path}{key}: {text}")

    def has(self, key: str) -> bool:
        return self.content.get(key) is not None

    def first(self, keys: Iterable[str]) -> str | None:
        """Return the first of the keys that is given, or None."""
        return next((key for key in keys if self.has(key)), None)

    def use(self, key: str) -> Any:
        """Return the value of a key as it is, marked as used."""
        if key in self.content:
            self.found.used.add(self.path + key)
        return self.content.get(key)

    def inner(self, key: str) -> "Fields":
        """Return the object under a key."""
        value = self.use(key)
        if not isinstance(value, dict):
            raise self.error(key, f"expected an object; got {shown(value)}")
        return Fields(self.file, f"{self.path}{key}.", value, self.found, self.subject)

    def whole(self, key: str, least: int = 1, most: int = 2**31) -> int:
        """Return a whole number; 8192.0 is one too."""
        value = _whole(self.use(key))
        if value is None:
            raise self.error(key, f"expected a whole number; got {shown(self.content[key])}")
        if not least <= value <= most:
            bound = f"{least} or more" if value < least else f"{most:,} or less"
            raise self.error(key, f"must be {bound}; got {value}")
        return value

    def number(self, key: str) -> float:
        value = self.use(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"expected a number; got {shown(value)}")
        return float(value)

    def truth(self, key: str) -> bool:
        value = self.use(key)
        if not isinstance(value, bool):
            raise self.error(key, f"expected true or false; got {shown(value)}")
        return value

    def text(self, key: str) -> str:
        value = self.use(key)
        if not isinstance(value, str):
            raise self.error(key, f"expected text; got {shown(value)}")
        return value

    def numbers(self, key: str) -> list[float]:
        value = self.use(key)
        if not isinstance(value, list):
            raise self.error(key, f"expected a list of numbers; got {shown(value)}")
        for i, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, int | float):
                raise self.error(f"{key}[{i}]", f"expected a number; got {shown(item)}")
        return [float(item) for item in value]

    def wholes(self, key: str) -> list[int]:
        numbers = self.numbers(key)
        for i, number in enumerate(numbers):
            if number % 1:
                raise self.error(f"{key}[{i}]", f"expected a whole number; got {shown(number)}")
        return [int(number) for number in numbers]

    def texts(self, key: str, length: int | None, per: str) -> list[str]:
        """Return a list of names, one per layer."""
        value = self._list(key, length, per)
        for i, item in enumerate(value):
            if not isinstance(item, str):
                raise self.error(f"{key}[{i}]", f"expected text; got {shown(item)}")
        return value

    def flags(self, key: str, length: int | None, per: str) -> list[int]:
        """Return a list of 0 and 1, one per layer."""
        value = self._list(key, length, per)
        for i, item in enumerate(value):
            if item not in (0, 1):
                raise self.error(f"{key}[{i}]", f"expected 0 or 1; got {shown(item)}")
        return [int(item) for item in value]

    def _list(self, key: str, length: int | None, per: str) -> list[Any]:
        value = self.use(key)
        if not isinstance(value, list):
            raise self.error(key, f"expected a list; got {shown(value)}")
        if length is not None and len(value) != length:
            raise self.error(
                key, f"needs one entry per layer, {length} as {per} says; got {len(value)}"
            )
        return value

    def record(self, name: str, value: Any, key: str) -> None:
        """Remember that a value came from a key of this object."""
        self.trace(name, value, f"{self.path}{key}")

    def trace(self, name: str, value: Any, origin: str) -> None:
        """Remember where a value came from."""
        name = f"{name}, {self.subject}" if self.subject else name
        self.found.record(name, value, origin)

    def unused(self) -> Sequence[str]:
        """Return the path of every key, here and inside, that nothing read."""
        names = []
        for key, value in self.content.items():
            path = self.path + key
            if path not in self.found.used:
                names.append(path)
            elif isinstance(value, dict):
                names += Fields(self.file, f"{path}.", value, self.found).unused()
        return names


def _whole(value: Any) -> int | None:
    """Return a whole number, also one that is written 8192.0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
        return None
    return int(value)
