"""compare, given files: what convention does a dump follow, does it follow this one, are two equal?

Identify ranks the conventions that explain a dump, verify holds it against one scheme, and
compare_dumps holds two dumps against each other.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.identify.columns import same_columns
from poscli.identify.dumps import Dump, Stored, described, read_dump
from poscli.identify.evidence import Evidence, evidence_of
from poscli.identify.findings import Finding
from poscli.identify.masked import same_under_mask
from poscli.identify.reading import Conclusion, conclude, held_by
from poscli.positions import Positions, as_array
from poscli.report import Cell, Check, Grid, Report, Section, Verdict, check
from poscli.schemes import AnyScheme
from poscli.settings import FilePath, Settings
from poscli.text import figure, plain

_SHOWN = 8
_MOST_TIED = 3


class IdentifyConfig(Settings):
    """Settings of `poscli compare` given one dump or two."""

    command: Literal["compare"] = "compare"
    dumps: Annotated[list[FilePath], Field(min_length=1, max_length=2)] = Field(
        description="one file to explain, or two to hold against each other"
    )
    against: AnyScheme | None = Field(None, description="hold the dump against this scheme")
    array: str | None = Field(None, description="the array to take, of a file of several")
    positions: Positions | None = Field(
        None, description="the positions of its rows: 0,5,9 or a range 0:8"
    )

    @classmethod
    def title(cls) -> str:
        return "compare, given a dump,"

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if len(self.dumps) == 2 and self.against is not None:
            raise PoscliError("a scheme is held against one dump; two dumps against each other")
        if len(self.dumps) == 2 and self.positions is not None:
            raise PoscliError("two dumps are compared number by number, so positions have no use")
        return self


def identify(config: IdentifyConfig) -> Report:
    """Answer the question that the files and the scheme make up."""
    dumps = [read_dump(Path(name)) for name in config.dumps]
    if len(dumps) == 2:
        return compare_dumps(config, *(dump.only(config.array) for dump in dumps))
    positions = None if config.positions is None else as_array(config.positions)
    pieces = _pieces(config, dumps[0], positions)
    for piece in pieces:
        _refuse_positions(dumps[0], piece)
    if config.against is not None:
        return _verify(config, dumps[0], pieces)
    conclusions = [conclude(piece) for piece in pieces]
    sections = [_concluded(c) for c in conclusions]
    result = _ranking(conclusions)
    return Report(
        "compare: which convention explains the dump?",
        _resolved(config),
        [Section(facts=_about(dumps[0])), *sections],
        result,
    )


def _pieces(config: IdentifyConfig, dump: Dump, positions: Array | None) -> list[Evidence]:
    """Return what the file is evidence of, or the part of it that the named array belongs to."""
    if config.array is None:
        return evidence_of(dump, positions)
    alone = dump.only(config.array)
    whole = [e for e in evidence_of(dump, positions) if config.array in e.names]
    return whole or evidence_of(alone, positions)


def _resolved(config: IdentifyConfig) -> dict[str, Any]:
    return config.model_dump(exclude_none=True)


def _about(*dumps: Dump) -> list[tuple[str, Cell]]:
    return [(str(dump.path), described(dump)) for dump in dumps]


def _is_of_a_batch(piece: Evidence) -> bool:
    """Whether queries or keys (b, ..., k) have positions (b, n), or (b, n, axes), of their own."""
    at, shape = piece.positions, piece.array.values.shape
    if at is None or piece.kind != "before and after" or at.ndim < 2 or len(shape) < 3:
        return False
    fits = at.shape[0] == shape[0] and at.shape[1] in shape[1:-1]
    return fits and at.shape[2:] in ((), (2,), (3,))


def _refuse_positions(dump: Dump, piece: Evidence) -> None:
    """Raise PoscliError where positions are stated that no axis of the array has room for."""
    at, shape = piece.positions, piece.array.values.shape
    if at is None or _is_of_a_batch(piece):
        return
    if at.ndim > 2 or at.shape[1:] not in ((), (2,), (3,)):
        size = " x ".join(map(str, at.shape))
        raise PoscliError(
            f"{dump.path}: positions are numbers, or rows of 2 or 3 numbers; these are {size}"
        )
    rows = shape[:1] if piece.kind == "cos and sin" else (*shape, int(np.prod(shape[:-1])))
    if len(at) not in rows:
        size = " x ".join(map(str, shape))
        raise PoscliError(f"{dump.path}: {len(at)} positions do not fit an array of {size}")


def _name(piece: Evidence) -> str:
    return " and ".join(filter(None, piece.names))


def _concluded(conclusion: Conclusion) -> Section:
    piece, findings = conclusion.evidence, conclusion.findings
    title = f"{_name(piece)}: " if _name(piece) else ""
    claim = f"{title}a convention explains every number"
    if conclusion.undecided or not findings:
        why = conclusion.undecided
        verdict = Verdict.NOT_INFORMATIVE if why else Verdict.FAIL
        lines = [f"The evidence cannot decide: {why}."] if why else ["Nothing here comes near."]
        checked = Check(claim, "equal", float("nan"), 0.0, False, verdict, why)
        return Section(f"{title}not identified", checks=[checked], lines=lines)
    best = findings[0]
    rivals = conclusion.rivals
    total = piece.array.values.size * (2 if best.kind == "cos and sin" else 1)
    if best.want.size < total:
        claim = (
            f"{title}a convention explains {best.want.size:,} of {total:,} numbers, those looked at"
        )
    lines = [f"{i + 1}. {f.command}" for i, f in enumerate(findings[:_SHOWN])]
    if rivals:
        names = ", ".join(_short(f.label()) for f in rivals[:_MOST_TIED])
        more = f" and {len(rivals) - _MOST_TIED} more" if len(rivals) > _MOST_TIED else ""
        lines.append(
            "The evidence cannot decide between the first and what would differ from it "
            f"elsewhere: {names}{more}."
        )
    if piece.positions is None and best.at is not None and best.at.ndim == 1:
        start = plain(best.at[0].item())
        lines.append(f"No positions are stated; rows were taken to count up from {start}.")
    if not best.explains:
        lines.append("None explains every number within rounding; the nearest comes first.")
    return Section(
        f"{title}{best.kind}",
        grids=[_table(findings[:_SHOWN], piece)],
        checks=[_verdict(claim, best, bool(rivals))],
        lines=lines,
    )


def _verdict(claim: str, best: Finding, tied: bool) -> Check:
    missed, allowed = np.abs(best.want - best.got), np.broadcast_to(best.allowed, best.want.shape)
    # What speaks against it is the number farthest outside, not the largest difference.
    worst = int(np.argmax(missed if best.explains else missed - allowed))
    reason = ""
    verdict = Verdict.PASS if best.explains else Verdict.FAIL
    if best.explains and tied:
        verdict, reason = Verdict.NOT_INFORMATIVE, "several conventions explain it equally"
    difference, tolerance = float(missed.flat[worst]), float(allowed.flat[worst])
    return Check(claim, "equal", difference, tolerance, best.residual == 0.0, verdict, reason)


def _table(findings: Sequence[Finding], piece: Evidence) -> Grid:
    names = ("base", "width", "offset", "layout", "direction", "attention factor")
    return Grid(
        "Conventions, the best first",
        ("rank",),
        ("convention", "explains", "residual", "ulps", *names),
        [(str(i + 1),) for i in range(len(findings))],
        [
            [
                _short(f.label()),
                "yes" if f.explains else "no",
                f.residual,
                _ulps(f, piece),
                *(_cell(dict(f.facts).get(name)) for name in names),
            ]
            for f in findings
        ],
    )


def _ranking(conclusions: Sequence[Conclusion]) -> Grid:
    rows = [
        (_name(c.evidence), i, f, c.evidence)
        for c in conclusions
        for i, f in enumerate(c.findings[:_SHOWN])
    ]
    return Grid(
        "Conventions",
        ("array", "rank"),
        ("kind", "convention", "explains", "residual", "ulps", "command"),
        [(name, str(i + 1)) for name, i, _, _ in rows],
        [
            [f.kind, f.label(), f.explains, f.residual, _ulps(f, e), f.command]
            for _, _, f, e in rows
        ],
    )


def _ulps(found: Finding, piece: Evidence) -> float:
    """Return the largest difference in units of the last place of the number it is at."""
    stored = piece.other if found.kind in ("rotation", "added to the first") else piece.array
    assert stored is not None
    difference = found.want - found.got
    worst = int(np.argmax(np.abs(difference)))
    return float(replace(stored, values=found.want).ulps(difference).flat[worst])


def _short(label: str) -> str:
    return label if len(label) <= 120 else f"{label[:117]}..."


def _cell(value: Any) -> Cell:
    return str(value) if isinstance(value, list) else value


def _verify(config: IdentifyConfig, dump: Dump, pieces: Sequence[Evidence]) -> Report:
    """Hold every piece of evidence against one scheme; name what would fit better."""
    scheme = config.against
    assert scheme is not None
    sections: list[Section] = []
    made: list[Array] = []
    rows: list[list[Cell]] = []
    names: list[tuple[str]] = []
    for piece in pieces:
        held = held_by(piece, scheme)
        if not held:
            raise PoscliError(
                f"{dump.path}: {_name(piece) or 'the array'} is nothing that {scheme.name} makes: "
                f"it has shape {piece.array.values.shape}"
            )
        found, other = held[0], conclude(piece)
        made.append(found.as_stored(found.got))
        difference = np.abs(found.want - found.got)
        worst = np.unravel_index(int(np.argmax(difference)), difference.shape)
        where = ", ".join(str(int(i)) for i in worst)
        facts: list[tuple[str, Cell]] = [
            ("read as", found.kind),
            ("largest difference", found.residual),
            ("in ulps of the dump", _ulps(found, piece)),
            ("at index", where),
            ("the dump holds", float(found.want[worst])),
            ("the scheme makes", float(found.got[worst])),
        ]
        better = next((f for f in other.findings if f.residual < found.residual), None)
        if better is not None and not found.explains:
            words = "fits" if better.explains else "comes nearer"
            facts.append((words, f"{_short(better.label())}, off by {figure(better.residual)}"))
            facts.append(("its command", better.command))
        reason = other.undecided
        checked = _verdict(
            f"{_name(piece) or 'the dump'} is what {scheme.label()} makes", found, False
        )
        if found.explains and reason:
            checked = replace(checked, verdict=Verdict.NOT_INFORMATIVE, reason=reason)
        sections.append(Section(_name(piece), facts=facts, checks=[checked]))
        names.append((_name(piece),))
        rows.append([found.residual, _ulps(found, piece), where, found.explains])
    columns = ("largest difference", "ulps", "at", "holds")
    result = Grid("Held against the scheme", ("array",), columns, names, rows)
    title = f"compare: is the dump what {scheme.label()} makes?"
    about = Section(facts=_about(dump))
    array = made[0] if len(made) == 1 else None
    return Report(title, _resolved(config), [about, *sections], result, array)


def compare_dumps(config: IdentifyConfig, one: Dump, other: Dump) -> Report:
    """Hold two dumps against each other, array by array."""
    shared = [name for name in one.arrays if name in other.arrays]
    if not shared or len(one.arrays) == len(other.arrays) == 1:
        pairs = [("", one.single(), other.single())]
    else:
        pairs = [(name, one.arrays[name], other.arrays[name]) for name in shared]
    sections = [_held_together(*pair) for pair in pairs]
    result = Grid(
        "Array by array",
        ("array",),
        ("answer", "largest difference"),
        [(name,) for name, *_ in pairs],
        [[dict(s.facts)["answer"], s.checks[0].difference] for s in sections],
    )
    left = sorted((set(one.arrays) ^ set(other.arrays)) - {""}) if len(pairs) > 1 or shared else []
    facts = _about(one, other) + ([("in one file only", ", ".join(left))] if left else [])
    title = "compare: are two dumps the same?"
    return Report(title, _resolved(config), [Section(facts=facts), *sections], result)


def _held_together(name: str, one: Stored, other: Stored) -> Section:
    a, b = one.values, other.values
    claim = f"{name or 'the arrays'}: the same"
    if a.shape != b.shape:
        answer = f"different: shapes {a.shape} and {b.shape}"
        checked = Check(claim, "equal", float("inf"), 0.0, False, Verdict.FAIL)
        return Section(name, facts=[("answer", answer)], checks=[checked])
    coarser = min(one, other, key=lambda s: s.format_bits)
    scale = float(np.abs(np.where(np.isfinite(a), a, 0.0)).max())
    slack = 8 * 2.0**-coarser.format_bits * scale + max(one.step, other.step)
    checked = check(claim, a, b, expected="equal", tolerance=slack)
    if checked.identical or checked.verdict is Verdict.PASS:
        alike = "identical" if checked.difference == 0.0 else "equal within rounding"
        checked = replace(checked, identical=checked.difference == 0.0)
        if a.ndim and len(np.unique(a)) == 1:
            reason = "all numbers are equal, so nothing is told apart"
            checked = replace(checked, verdict=Verdict.NOT_INFORMATIVE, reason=reason)
        return Section(name, facts=[("answer", alike), *_where(a, b, coarser)], checks=[checked])
    found = same_columns(a, b, slack) or same_under_mask(a, b, slack)
    if found is not None:
        facts = [("answer", found.answer), *found.facts, *_where(a, b, coarser)]
        same = check(f"{name or 'the arrays'}: {found.answer}", found.one, found.other,
                     expected="equal", tolerance=slack)  # fmt: skip
        return Section(name, facts=facts, checks=[same])
    facts = [("answer", "different"), *_where(a, b, coarser)]
    turned = conclude(Evidence("before and after", one, other)) if a.ndim > 1 else None
    if turned and turned.findings and turned.findings[0].explains:
        best = turned.findings[0]
        facts.append(("the second is the first, turned by", _short(best.label())))
        facts.append(("from position", dict(best.facts)["offset"]))
    return Section(name, facts=facts, checks=[checked])


def _where(a: Array, b: Array, stored: Stored) -> list[tuple[str, Cell]]:
    with np.errstate(invalid="ignore"):
        difference = np.where(a == b, 0.0, np.abs(a - b))
    if not difference.any():
        return []
    worst = np.unravel_index(int(np.argmax(difference)), difference.shape)
    return [
        ("largest difference", float(difference[worst])),
        ("in ulps", float(stored.ulps(difference)[worst])),
        ("at index", ", ".join(str(int(i)) for i in worst)),
        ("numbers that differ", f"{int(np.count_nonzero(difference)):,} of {difference.size:,}"),
    ]
