"""What explains a piece of evidence: every reader is asked, and its findings are ranked."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from poscli.identify.bias import bias_of, from_bias, from_slopes, slopes_of
from poscli.identify.buckets import buckets_of, from_buckets, from_clipped, from_index
from poscli.identify.cos_sin import (
    angles_of,
    cos_sin_of,
    from_angles,
    from_cos_sin,
    from_one_row,
    one_row_of,
)
from poscli.identify.evidence import Evidence
from poscli.identify.findings import Finding, ranked
from poscli.identify.fitting import MOST_ROWS
from poscli.identify.frequencies import frequencies_by, from_frequencies
from poscli.identify.one_part import from_one_part, one_part_of
from poscli.identify.rotation import from_rotation, from_scales, rotation_of, scales_of
from poscli.identify.table import addition_of, from_addition, from_table, from_table_moved, table_of
from poscli.identify.uncounted import uncounted, usual_ropes
from poscli.identify.undecided import undecided
from poscli.schemes import Scheme

Explain = Callable[[Evidence], list[Finding]]
Hold = Callable[[Evidence, Scheme], list[Finding]]


def from_table_or_one_row(evidence: Evidence) -> list[Finding]:
    """Explain a table as that of a sinusoid, or of a RoPE whose cosines come before its sines."""
    return [*from_table(evidence), *from_one_row(evidence)]


KINDS: dict[str, tuple[Explain, ...]] = {
    "cos and sin": (from_cos_sin,),
    "before and after": (from_rotation, from_addition),
    "1 axis": (from_frequencies, from_slopes, from_buckets, from_index),
    "2 axes": (
        from_table_or_one_row,
        from_one_part,
        from_index,
        from_scales,
        from_angles,
        from_bias,
        from_table_moved,
    ),
    "3 axes": (from_table, from_clipped, from_index, from_angles, from_bias),
    "4 axes": (from_bias,),
}


@dataclass(frozen=True)
class Conclusion:
    """What explains one piece of evidence, best first; or why the evidence cannot decide."""

    evidence: Evidence
    findings: list[Finding]
    undecided: str = ""

    @property
    def rivals(self) -> list[Finding]:
        """Conventions that explain the dump as well as the first, and differ from it elsewhere."""
        if not self.findings or not self.findings[0].explains:
            return []
        best = self.findings[0]
        return [f for f in self.findings[1:] if f.explains and not f.same_as(best)]


def conclude(evidence: Evidence) -> Conclusion:
    """Return what explains the evidence, or why nothing can be concluded from it."""
    reason = undecided(evidence)
    if reason:
        return Conclusion(evidence, [], reason)
    other = evidence.other and replace(evidence.other, as_written=True)
    array = replace(evidence.array, as_written=True)
    as_written = replace(evidence, array=array, other=other)
    if as_written.array.bits > evidence.array.bits:
        # Few bits may be what an implementation worked in, or how the numbers happen to come out.
        found = _concluded(as_written)
        if found.findings and found.findings[0].explains and not found.findings[0].is_invented:
            return found
    return _concluded(evidence)


def _concluded(evidence: Evidence) -> Conclusion:
    findings: list[Finding] = []
    looked_at = sampled(evidence)
    masked = bool(np.isneginf(evidence.array.values).any())
    for explain in (from_bias,) if masked else KINDS[evidence.kind]:
        # Numbers that are no encoding may overflow under a reading that does not fit them.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            findings += explain(looked_at)
        if evidence.kind != "1 axis" and any(f.explains for f in findings):
            break
    explaining = [f for f in findings if f.explains]
    if evidence.kind != "1 axis" and all(f.is_invented for f in explaining) and not masked:
        # Numbers with noise, or of few bits, come near a RoPE that is in use, if to any.
        for scheme in usual_ropes():
            with np.errstate(over="ignore"):
                findings += [f for f in held_by(looked_at, scheme) if not _is_otherwise_paired(f)]
        if not explaining and not any(f.is_near for f in findings) and (why := uncounted(evidence)):
            return Conclusion(evidence, [], why)
    found = ranked(f for f in findings if f.is_near)
    return Conclusion(evidence, found if looked_at is evidence else _held_by_all(evidence, found))


def _is_otherwise_paired(found: Finding) -> bool:
    """Say whether a table was doubled as for another pairing than the scheme's."""
    layout = str(dict(found.facts).get("layout"))
    doubled = {"doubled by concatenation": "half", "doubled by repetition": "adjacent"}.get(layout)
    return doubled is not None and getattr(found.scheme, "pairing", doubled) != doubled


def _held_by_all(evidence: Evidence, findings: list[Finding]) -> list[Finding]:
    """Hold what explains the first rows of a long table against all of them."""
    held: list[Finding] = []
    for found in findings:
        if found.explains and found.at is not None and found.at.ndim == 1:
            at = evidence.positions
            at = found.at[0] + np.arange(len(evidence.array.values)) if at is None else at
            again = held_by(replace(evidence, positions=at), found.scheme)
            held += [replace(f, extra=found.extra) for f in again[:1]]
        if any(f.explains for f in held):
            break
    return ranked(held) or findings


def held_by(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme against the evidence, in every way it can be read; the best comes first."""
    if evidence.kind == "cos and sin":
        found = cos_sin_of(evidence, scheme)
    elif evidence.kind == "before and after":
        found = [*rotation_of(evidence, scheme), *addition_of(evidence, scheme)]
    elif evidence.kind == "1 axis":
        ways: tuple[Hold, ...] = (frequencies_by, slopes_of, buckets_of)
        found = [f for hold in ways for f in hold(evidence, scheme)]
    else:
        ways = (table_of, one_row_of, one_part_of, scales_of, angles_of, bias_of, buckets_of)
        found = [f for hold in ways for f in hold(evidence, scheme)]
    return sorted(found, key=lambda f: f.residual)


def sampled(evidence: Evidence) -> Evidence:
    """Return the first rows of a long table."""
    values = evidence.array.values
    square = values.ndim == 2 and values.shape[0] == values.shape[1]
    if evidence.kind not in ("cos and sin", "2 axes") or len(values) <= MOST_ROWS or square:
        return evidence
    at = None if evidence.positions is None else evidence.positions[:MOST_ROWS]
    other = evidence.other and replace(evidence.other, values=evidence.other.values[:MOST_ROWS])
    array = replace(evidence.array, values=values[:MOST_ROWS])
    return replace(evidence, array=array, other=other, positions=at)
