"""Are two arrays the same up to the order of their columns? Which layouts differ by that order?"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from poscli.arrays import Array
from poscli.report import Cell
from poscli.schemes.rope import Rope
from poscli.schemes.sinusoidal import Sinusoidal

_LAYOUTS = ("interleaved", "concatenated", "cos-first")
_PAIRINGS = ("adjacent", "half")
_SHOWN = 64
_MOST_SEARCHED = 512
_SORTED_BY = 64


@dataclass(frozen=True)
class Likeness:
    """In what sense two arrays are the same, and the two after what differs was undone."""

    answer: str
    facts: list[tuple[str, Cell]]
    one: Array
    other: Array


def same_columns(one: Array, other: Array, slack: float) -> Likeness | None:
    """Return the order in which columns of one, (..., d), make up other; None where there is none.

    Known orders are tried first, since columns that are equal leave the choice open.
    """
    if one.ndim < 2 or one.size == one.shape[-1]:
        return None
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return None
    a, b = one.reshape(-1, one.shape[-1]), other.reshape(-1, one.shape[-1])
    for words, order in known_orders(a.shape[1]):
        if np.abs(a[:, order] - b).max() <= slack:
            return _likeness(words, order, one, other)
    matched = order_of_columns(a, b, slack)
    return None if matched is None else _likeness("", matched, one, other)


def known_orders(width: int) -> list[tuple[str, Array]]:
    """Return the orders by which layouts differ, and their names: from the first to the second."""
    found = []
    for one, other in product(_LAYOUTS, _LAYOUTS):
        if one != other:
            first, second = (
                np.concatenate(Sinusoidal(layout=layout).columns(width))  # type: ignore[arg-type]
                for layout in (one, other)
            )
            found.append((f"sinusoidal layout {one} and {other}", _order(first, second)))
    if width % 2 == 0:
        for kind, other in (_PAIRINGS, _PAIRINGS[::-1]):
            first, second = (
                np.concatenate(Rope(pairing=pairing).pairs(width))  # type: ignore[arg-type]
                for pairing in (kind, other)
            )
            found.append((f"rope pairing {kind} and {other}", _order(first, second)))
    return found


def _order(first: Array, second: Array) -> Array:
    """Return the order that brings columns numbered by first to where second has them."""
    order = np.empty_like(first)
    order[second] = first
    return order


def order_of_columns(a: Array, b: Array, slack: float) -> Array | None:
    """Return the order of the columns of a (n, d) that makes b, within slack; None if none does.

    Both are sorted alike and compared; where rounding upsets that, columns are searched one by one.
    """
    unit = max(4 * slack, 1e-300)
    first, second = (np.lexsort(np.round(part[:_SORTED_BY] / unit)[::-1]) for part in (a, b))
    order = _order(first, second)
    if np.abs(a[:, order] - b).max() <= slack:
        return order
    if a.shape[1] > _MOST_SEARCHED:
        return None
    free, order = list(range(a.shape[1])), np.empty(a.shape[1], np.int64)
    for j in range(a.shape[1]):
        near = [i for i in free if np.abs(a[:, i] - b[:, j]).max() <= slack]
        if not near:
            return None
        order[j] = near[0]
        free.remove(near[0])
    return order


def _likeness(words: str, order: Array, one: Array, other: Array) -> Likeness:
    shown = ", ".join(map(str, order[:_SHOWN].tolist())) + (", ..." if len(order) > _SHOWN else "")
    facts: list[tuple[str, Cell]] = [("columns of the first, in the order of the second", shown)]
    if words:
        facts.append(("as from and to", words))
    return Likeness("same up to column order", facts, one[..., order], other)
