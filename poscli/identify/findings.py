"""What may explain a dump: a scheme, what it makes of the same positions, and the difference."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from shlex import quote
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.evidence import Evidence
from poscli.identify.fitting import digits
from poscli.report import Cell
from poscli.schemes import PRESETS, SCHEMES, Scheme
from poscli.text import plain

Positions = Array

_FREE = {
    "name",
    "pairing",
    "layout",
    "form",
    "origin",
    "zero_padding",
    "columns",
    "first",
    "length",
}
"""Settings that the data shows directly, so that none is more usual than another."""
_UNUSUAL = {
    "rope-linear": 1,
    "rope-ntk": 2,
    "rope-dynamic": 2,
    "rope-yarn": 1,
    "rope-ntk-fixed": 3,
    "rope-ntk-mixed": 4,
    "rope-proportional": 1,
    "rope-longrope": 3,
    "scaled-sinusoidal": 1,
    "alibi-falcon": 2,
}
_LEAST_LENGTH = 16
_NEAR = 0.3


@dataclass(frozen=True)
class Finding:
    """A scheme held against a dump.

    want are the dump's numbers and got the scheme's, of one shape; allowed says how far rounding
    may take each. elsewhere are the scheme's numbers at other positions, read as the dump was:
    two findings that agree there too are the same convention. command reproduces got. at are the
    positions it was held at, and as_stored brings got to the shape that the dump has.
    """

    scheme: Scheme
    kind: str
    want: Array
    got: Array
    allowed: Array
    command: str
    facts: Sequence[tuple[str, Cell]] = ()
    elsewhere: Array | None = field(default=None, repr=False)
    extra: float = 0.0
    at: Array | None = field(default=None, repr=False)
    as_stored: Callable[[Array], Array] = field(default=np.asarray, repr=False)

    def __post_init__(self) -> None:
        if self.want.shape != self.got.shape or not self.want.size:
            raise PoscliError(
                f"{self.scheme.name} makes shape {self.got.shape}; the dump has {self.want.shape}"
            )

    @cached_property
    def residual(self) -> float:
        """The largest absolute difference."""
        return float(np.max(np.abs(self.want - self.got)))

    @cached_property
    def explains(self) -> bool:
        """Whether rounding alone can make the difference.

        Where rounding could make any number of any other, nothing is explained.
        """
        return self.is_near and bool(np.all(np.abs(self.want - self.got) <= self.allowed))

    @cached_property
    def is_near(self) -> bool:
        """Whether the difference is small beside the numbers themselves."""
        scale = float(np.max(np.abs(self.want))) or 1.0
        with np.errstate(over="ignore"):
            size, missed = (np.mean((x / scale) ** 2) for x in (self.want, self.want - self.got))
        return bool(missed <= _NEAR**2 * size)

    @property
    def is_invented(self) -> bool:
        """Whether the scheme has a number of its own for every pair, so that it fits anything."""
        return self.scheme.name == "rope-longrope"

    @cached_property
    def cost(self) -> float:
        """How much has to be said to name the scheme: of equals, the simplest comes first."""
        return cost(self.scheme) + self.extra

    def label(self) -> str:
        """Return the scheme as text that a command takes."""
        return written(self.scheme)

    def same_as(self, other: "Finding") -> bool:
        """Say whether two findings are one convention under two names."""
        if self.elsewhere is None or other.elsewhere is None:
            return self.label() == other.label()
        slack = 1e-5 + 4 * max(float(np.max(f.allowed)) for f in (self, other))
        return self.elsewhere.shape == other.elsewhere.shape and bool(
            np.allclose(self.elsewhere, other.elsewhere, rtol=0, atol=slack)
        )


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, best first: those that explain, the simplest first; then by residual."""
    found = [f for f in findings if np.isfinite(f.residual)]
    # A table can hold anything: where a formula explains the numbers, it says nothing.
    if any(f.explains and not _is_looked_up(f.scheme) for f in found):
        found = [f for f in found if not _is_looked_up(f.scheme)]
    tables = [_numbers(f.scheme) for f in found if f.explains]
    if any(tables):
        # Of tables that fit, those with more numbers to choose say no more.
        found = [f for f in found if not f.explains or _numbers(f.scheme) <= min(tables)]
    found.sort(key=lambda f: (not f.explains, f.cost if f.explains else 0.0, f.residual, f.cost))
    distinct: dict[str, Finding] = {}
    for f in found:
        distinct.setdefault(f.command, f)
    return list(distinct.values())


def _numbers(scheme: Scheme) -> int:
    """Return how many numbers the table of a scheme holds."""
    return int(np.size(getattr(scheme, "table", None) or []))


def _is_looked_up(scheme: Scheme) -> bool:
    return getattr(scheme, "table", None) is not None


def attempt(make: Callable[..., Finding | None], *arguments: Any) -> list[Finding]:
    """Return the finding, or nothing where the scheme has no such settings or positions."""
    try:
        found = make(*arguments)
    except (PoscliError, ArithmeticError):
        return []
    return [] if found is None else [found]


def first_that_explain(
    guesses: Iterable[Sequence[Scheme]], hold: Callable[[Any], list[Finding]]
) -> list[Finding]:
    """Hold one group of guesses after the other, up to the first that explains the dump."""
    found: list[Finding] = []
    for schemes in guesses:
        group = [f for scheme in schemes for f in hold(scheme)]
        found += group
        if any(f.explains for f in group):
            break
    return found


def scheme_of(name: str, **settings: Any) -> Scheme | None:
    """Return a scheme, or None where it takes no such settings."""
    try:
        return SCHEMES[name].model_validate(settings)
    except ValueError:
        return None


def cost(scheme: Scheme) -> float:
    """Return about how many digits and words its settings take, beyond its defaults."""
    known = known_bases(scheme.name.partition("-")[0])
    total = float(_UNUSUAL.get(scheme.name, 0))
    for key, value in scheme.model_dump(exclude_defaults=True, exclude_none=True).items():
        if key not in _FREE:
            total += _cost_of(key, value, known)
    return total


def known_bases(family: str) -> list[float]:
    """Return the bases that the presets of a family of schemes use, the default first."""
    bases = [10000.0]
    for preset in PRESETS.values():
        name, base = str(preset["name"]), float(preset.get("base", 10000.0))
        if name.startswith(family) and not name.startswith("rope-axial") and base not in bases:
            bases.append(base)
    return bases


def written(scheme: Scheme) -> str:
    """Return name:key=value,key=value with every value in full, as a command takes it.

    >>> written(SCHEMES["rope"].model_validate({"pairing": "half", "base": 500000.0}))
    'rope:base=500000,pairing=half'
    """
    given = scheme.model_dump(exclude_defaults=True, exclude={"name"}, exclude_none=True)
    parts = [f"{key}={_text(value)}" for key, value in given.items()]
    return f"{scheme.name}:{','.join(parts)}" if parts else scheme.name


def positions_option(positions: Array) -> str:
    """Return the options that state positions: a length and an offset where they are in a row."""
    if positions.ndim == 2:
        rows = ",".join("[" + ",".join(map(plain, row)) + "]" for row in positions.tolist())
        return f"--set 'positions=[{rows}]'"
    first = float(positions[0])
    if first % 1 == 0 and np.array_equal(positions, first + np.arange(len(positions))):
        offset = f" --offset {plain(first)}" if first else ""
        return f"--len {len(positions)}{offset}"
    return f"--positions {','.join(map(plain, positions.tolist()))}"


def encode_command(scheme: Scheme, *options: str) -> str:
    """Return the command that prints a scheme's numbers."""
    return " ".join(["poscli encode --scheme", quote(written(scheme)), *options])


def compare_command(evidence: Evidence, scheme: Scheme, at: Array | None) -> str:
    """Return the command that holds a scheme against the dump, and writes what it makes of it."""
    name = evidence.names[-1] if evidence.names else ""
    where = []
    if at is not None and not evidence.has_positions:
        where.append(_counted(at) or positions_option(at))
    label = quote(written(scheme))
    return " ".join(
        [
            f"poscli compare {quote(evidence.source)}",
            *([f"--array {quote(name)}"] if name else []),
            f"--scheme {label}",
            *where,
            "--out again.npy",
        ]
    )


def _counted(positions: Array) -> str:
    """Return the option of a range of positions, or nothing where they do not count up."""
    first = positions.flat[0]
    if positions.ndim > 1 or not np.array_equal(positions, first + np.arange(len(positions))):
        return ""
    return f"--positions={plain(first)}:{plain(first + len(positions))}"


def _cost_of(key: str, value: Any, known: list[float]) -> float:
    if isinstance(value, bool | str):
        return 1.0
    if isinstance(value, list):
        return sum(_cost_of("", item, known) for item in value)
    if key == "base" and value in known:
        return 1.0
    if key.endswith("length") and value >= _LEAST_LENGTH and value & (value - 1) == 0:
        return 1.0
    return 1.0 + digits(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ",".join(_text(item) for item in value) + "]"
    return plain(value) if isinstance(value, int | float) else str(value)
