"""Figures from papers, to stand beside measured ones: data, each with its source.

They were taken from transcriptions of the papers, not from the papers themselves.
"""

from dataclasses import dataclass

from poscli.report import Cell, Grid

_MEMORY = "out of memory"


@dataclass(frozen=True)
class Published:
    """A table of a paper: what its figures are, and one row of them per label."""

    source: str
    what: str
    index: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    def grid(self) -> Grid:
        """Return the table for showing."""
        return Grid(
            f"{self.source}: {self.what}",
            (self.index,),
            self.columns,
            [(label,) for label, _ in self.rows],
            [cells for _, cells in self.rows],
        )


PUBLISHED = (
    Published(
        "Press 2022 (arXiv 2108.12409), table 2",
        "validation perplexity, WikiText-103, trained at 512, one seed",
        "length",
        ("sinusoidal", "rope", "t5", "alibi"),
        (
            ("512 (1x)", (20.05, 20.07, 19.65, 19.73)),
            ("612 (1.2x)", (20.59, 19.81, 19.27, 19.38)),
            ("1012 (2x)", (43.54, 21.37, 18.79, 18.73)),
            ("1512 (3x)", (76.23, 25.99, 18.91, 18.52)),
            ("2512 (5x)", (132.41, 31.58, 20.41, 18.41)),
            ("4512 (9x)", (209.37, 39.15, 25.91, 18.41)),
            ("8512 (17x)", (305.65, 54.98, 43.08, 18.34)),
            ("15512 (30x)", (406.01, 79.25, _MEMORY, 18.31)),
        ),
    ),
    Published(
        "Press 2022 (arXiv 2108.12409), table 3",
        "the same, trained at 1024",
        "length",
        ("sinusoidal", "rope", "t5", "alibi"),
        (
            ("1024 (1x)", (19.34, 19.33, 18.80, 18.66)),
            ("2024 (2x)", (51.09, 31.17, 18.34, 18.05)),
            ("4024 (4x)", (144.00, 44.30, 19.44, 17.95)),
            ("8024 (8x)", (284.88, 64.91, 25.79, 17.96)),
            ("16024 (16x)", (453.32, 106.99, _MEMORY, 17.98)),
        ),
    ),
    Published(
        "Kazemnejad 2023 (arXiv 2305.19466)",
        "mean reciprocal rank past the trained length, ten algorithmic tasks, three seeds",
        "figure",
        ("none", "t5", "alibi", "rope", "sinusoidal"),
        (("rank", (0.69, 0.55, 0.50, 0.33, 0.22)),),
    ),
    Published(
        "Haviv 2022 (Findings of EMNLP)",
        "perplexity at the trained length",
        "model",
        ("none", "learned", "sinusoidal", "alibi"),
        (
            ("causal, WikiText-103, 247 M", (20.97, 20.42, 20.16, 19.71)),
            ("causal, Pile, 1.3 B", (13.10, 13.05, 12.93, 12.51)),
            ("no mask, masked language model", (147.18, 4.06, None, None)),
        ),
    ),
    Published(
        "Gelberg 2025 (arXiv 2512.12167)",
        "needles found at twice the trained length without fine-tuning, 494 M, %",
        "needle task",
        ("rope", "linear", "ntk", "yarn", "alibi", "none"),
        (
            ("first", (0.0, 0.0, 21.0, 18.0, 5.0, 9.0)),
            ("second", (0.0, 0.0, 19.0, 0.5, 0.0, 36.0)),
            ("third", (0.0, 0.0, 17.0, 15.0, 1.0, 21.0)),
        ),
    ),
)
