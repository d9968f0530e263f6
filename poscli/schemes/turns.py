"""How far pairs of columns turn: the ladder of frequencies, and what a length shows of it."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from poscli.phase import Frequencies, powers, wavelengths
from poscli.report import Grid
from poscli.schemes.base import trained_cells


def ladder(base: float, width: int) -> Frequencies:
    """Return base ** (-2i / width) for i = 0, 1, ...: one frequency per (started) pair."""
    return powers(base, [Fraction(2 * i, width) for i in range((width + 1) // 2)])


def unfinished_pairs(frequencies: Frequencies, trained: int) -> int:
    """Count the pairs that turn, but never completed a turn within the trained length."""
    waves = wavelengths(frequencies)
    return int(np.sum((waves > trained) & np.isfinite(waves)))


def wavelength_grid(frequencies: Frequencies, trained: int, lengths: Sequence[int]) -> Grid:
    """Show how far each pair has turned at the trained length and at the longest one."""
    waves = wavelengths(frequencies)
    longest = max(lengths)
    return Grid(
        f"Turns of each pair: within the trained {trained} positions, and within {longest}",
        ("pair",),
        ("wavelength", f"turns in {trained}", f"turns in {longest}", "full turn seen"),
        [(str(i),) for i in range(len(waves))],
        [[w, trained / w, longest / w, "yes" if w <= trained else "no"] for w in waves.tolist()],
    )


def angle_cells(frequencies: Frequencies, trained: int, lengths: Sequence[int]) -> list[str]:
    """Say, per length, how many pairs reach angles that training never showed."""
    unfinished = unfinished_pairs(frequencies, trained)
    text = f"{unfinished} of {len(frequencies)} pairs at new angles"
    return trained_cells(lengths, trained, text)
