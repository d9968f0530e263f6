"""How far pairs of columns turn: the ladder of frequencies, and what a length shows of it."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from poscli.phase import TWO_PI, Frequencies, powers, wavelengths
from poscli.report import Grid
from poscli.schemes.base import trained_cells


def ladder(base: float, width: int) -> Frequencies:
    """Return base ** (-2i / width) for i = 0, 1, ...: one frequency per (started) pair."""
    return powers(base, [Fraction(2 * i, width) for i in range((width + 1) // 2)])


def unfinished_pairs(frequencies: Frequencies, trained: int) -> int:
    """Count the pairs that turn, but never completed a turn within the trained length."""
    waves = wavelengths(frequencies)
    return int(np.sum((waves > trained) & np.isfinite(waves)))


def pairs_at_new_angles(
    frequencies: Frequencies, trained: int, used: Frequencies, length: int
) -> int:
    """Count the pairs that turn farther within a length than training ever showed.

    frequencies are those of training; used are those at the length. A pair that completed a turn
    in training has shown every angle.
    """
    slack = Decimal("1e-40")
    return sum(
        trained * w < TWO_PI and length * u > trained * w * (1 + slack)
        for w, u in zip(frequencies, used, strict=True)
    )


def wavelength_grid(
    frequencies: Frequencies,
    trained: int,
    lengths: Sequence[int],
    used: Frequencies | None = None,
) -> Grid:
    """Show how far each pair has turned at the trained length and at the longest one.

    used are the frequencies at the longest length, where they are not those of training.
    """
    waves = wavelengths(frequencies)
    longest = max(lengths)
    turns = longest / wavelengths(frequencies if used is None else used)
    return Grid(
        f"Turns of each pair: within the trained {trained} positions, and within {longest}",
        ("pair",),
        ("wavelength", f"turns in {trained}", f"turns in {longest}", "full turn seen"),
        [(str(i),) for i in range(len(waves))],
        [
            [w, trained / w, t, "yes" if w <= trained else "no"]
            for w, t in zip(waves.tolist(), turns.tolist(), strict=True)
        ],
    )


def angle_cells(frequencies: Frequencies, trained: int, lengths: Sequence[int]) -> list[str]:
    """Say, per length, how many pairs reach angles that training never showed."""
    unfinished = unfinished_pairs(frequencies, trained)
    text = f"{unfinished} of {len(frequencies)} pairs at new angles"
    return trained_cells(lengths, trained, text)
