"""When does a dump not tell conventions apart? Position 0 alone, one row, equal rows, one pair."""

import numpy as np

from poscli.arrays import Array
from poscli.identify.evidence import Evidence


def undecided(evidence: Evidence) -> str:
    """Say why the evidence cannot tell conventions apart; empty where it may."""
    if evidence.kind == "before and after":
        return _undecided_turn(evidence)
    values = evidence.array.values
    if evidence.kind == "1 axis":
        if values.size > 1 and np.ptp(values) == 0:
            return "all numbers are equal"
        alone = values.size == 1 and not 0 < values[0] < 0.5
        return "a single frequency is 1 whatever the base" if alone else ""
    if np.ptp(np.where(np.isfinite(values), values, 0.0)) == 0:
        return "all numbers are equal"
    if evidence.kind == "cos and sin":
        return _undecided_rows(evidence)
    # Rows in even steps are a bias of the key alone, and may well be equal.
    if evidence.kind == "2 axes" and np.isfinite(values).all() and not _is_even(values[0]):
        return _undecided_rows(evidence)
    if evidence.kind == "2 axes" and values.shape[1] <= 2 < values.shape[0]:
        return "a single pair turns by 1 per position whatever the base and the layout"
    return ""


def _is_even(row: Array) -> bool:
    steps = np.diff(row)
    return row.size > 1 and bool(np.ptp(steps) <= 1e-6 * np.abs(steps).max())


def _undecided_turn(evidence: Evidence) -> str:
    assert evidence.other is not None
    values, at = evidence.array.values, evidence.positions
    shapes = values.shape, evidence.other.values.shape
    if len(set(shapes)) > 1:
        return f"the two have shapes {shapes[0]} and {shapes[1]}, so neither is the other turned"
    if np.array_equal(values, evidence.other.values) or (at is not None and not np.any(at)):
        return "nothing was turned, as at position 0, where no convention turns anything"
    if values.ndim < 2 or max(values.shape[:-1]) < 2:
        return "a single position cannot tell a convention"
    return "a single column is no pair" if values.shape[-1] < 2 else ""


def _undecided_rows(evidence: Evidence) -> str:
    values, at = evidence.array.values, evidence.positions
    if at is not None and not np.any(at):
        return "every row is at position 0, where all conventions agree"
    if len(values) < 2:
        return "a single position cannot tell a convention"
    if not np.ptp(values, axis=0).any():
        return "all rows are equal, so no row tells its position"
    halves = values.shape[1] == 2 and np.array_equal(values[:, 0], values[:, 1])
    if values.shape[1] == 1 or (evidence.kind == "cos and sin" and halves):
        return "a single pair turns by 1 per position whatever the base"
    return ""
