"""Print one table of what was measured beside its goals: every subject, or those named."""

import sys
from importlib import import_module
from pathlib import Path

from measure import Goal

HERE = Path(__file__).parent
SUBJECTS = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("__main__", "measure"))
WIDTHS = (52, 10, 44, 14, 14, 3)


def row(*cells: str) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def amount(value: float, unit: str) -> str:
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"
    return f"{value:.3g} {unit}"


def times(ratio: float) -> str:
    """Write a ratio so that it reads at a glance: 0.25 as 4x less, 1.5 as 1.5x."""
    return f"{1 / ratio:.3g}x less" if ratio < 1 else f"{ratio:.3g}x"


def cells(goal: Goal) -> tuple[str, ...]:
    return (
        goal.work,
        amount(goal.poscli, goal.unit),
        f"{goal.against}, {amount(goal.other, goal.unit)}",
        times(goal.ratio),
        "-" if goal.most is None else times(goal.most),
        "-" if goal.most is None else "yes" if goal.met else "NO",
    )


def main(named: list[str]) -> None:
    if unknown := set(named) - set(SUBJECTS):
        sys.exit(f"no such subject: {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    print(row("work", "poscli", "compared with", "ratio", "goal", "met"))
    for subject in named or SUBJECTS:
        for goal in import_module(subject).goals():
            print(row(*cells(goal)), flush=True)


main(sys.argv[1:])
