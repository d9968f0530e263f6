"""What a config resolves to: a scheme per kind of layer, and all that the reading turned up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from poscli.errors import PoscliError
from poscli.models.fields import Findings
from poscli.schemes import Scheme
from poscli.schemes.additive import Additive

WIDEST = 2048


@dataclass(frozen=True)
class Lengths:
    """The length trained at and the one supported, None where the file does not say; and why."""

    trained: int | None
    supported: int | None
    why: str = ""


@dataclass(frozen=True)
class Kind:
    """The layers that share a scheme.

    layers are their numbers, None where the file does not tell; types are their layer types in
    the file. width is the one the scheme works at: a head's, a slice's, or the model's.
    """

    name: str
    scheme: Scheme
    width: int
    heads: int
    lengths: Lengths
    layers: tuple[int, ...] | None = None
    types: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """Return the scheme as a config would state it."""
        return {"name": self.scheme.name, **self.scheme.model_dump(exclude_unset=True)}

    def toy(self) -> dict[str, int]:
        """Return dim and heads of a model of one layer that the scheme works in as it does here.

        Where the width is a head's, one head stands for all that are alike; where heads differ,
        and all of them would make the model too wide, each is narrower.
        """
        if isinstance(self.scheme, Additive):
            return {"dim": self.width, "heads": self.heads if self.width % self.heads == 0 else 1}
        if not self.scheme.sees_order:
            return {"dim": 32, "heads": 1}
        if self.scheme.applied:
            return {"dim": self.width, "heads": 1}
        width = min(self.width, max(2, WIDEST // self.heads))
        return {"dim": self.heads * width, "heads": self.heads}


@dataclass(frozen=True)
class Model:
    """A config, resolved. kinds begins with the one that stands for the model where none is named.

    count is the number of layers, None where the file does not say.
    """

    file: str
    model_type: str
    kinds: Sequence[Kind]
    found: Findings
    unused: Sequence[str]
    count: int | None = None

    def kind(self, asked: str | None) -> Kind:
        """Return the kind of layer that a number or a name asks for; the first if nothing is."""
        if asked is None:
            return self.kinds[0]
        if asked.isascii() and asked.isdigit():
            return self._of_layer(int(asked))
        for kind in self.kinds:
            if asked == kind.name or asked in kind.types:
                return kind
        names = [name for kind in self.kinds for name in dict.fromkeys((kind.name, *kind.types))]
        raise PoscliError(
            f"{self.file}: there is no kind of layer {asked!r}; there is: {', '.join(names)}"
        )

    def _of_layer(self, number: int) -> Kind:
        if self.count is not None and number >= self.count:
            raise PoscliError(
                f"{self.file}: there is no layer {number}; the layers are 0 to {self.count - 1}"
            )
        for kind in self.kinds:
            if kind.layers is None and len(self.kinds) == 1:
                return kind
            if kind.layers is not None and number in kind.layers:
                return kind
        raise PoscliError(
            f"{self.file}: layer {number} has no scheme that the file tells of; name a kind of "
            f"layer: {', '.join(kind.name for kind in self.kinds)}"
        )


def spans(numbers: Sequence[int]) -> str:
    """Write layer numbers as ranges.

    >>> spans([0, 1, 2, 4, 6, 7])
    '0-2, 4, 6-7'
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
