"""How a number is written in a table, where every digit shown is meant."""

from collections.abc import Iterable
from math import isfinite

from poscli.report import Cell

DECIMALS = 6
_NOISE = 1e-12


def common_decimals(values: Iterable[Cell]) -> int:
    """Return how many decimals, up to DECIMALS, the numbers of one grid need.

    >>> common_decimals([1.1, 2.25, 3]), common_decimals([1 / 3])
    (2, 6)
    """
    needed = 0
    for value in values:
        if isinstance(value, float) and isfinite(value):
            needed = max(needed, len(f"{value:.{DECIMALS}f}".rstrip("0").partition(".")[2]))
            if needed == DECIMALS:
                break
    return needed


def written(value: Cell, decimals: int = DECIMALS) -> str:
    """Write one cell. A number too small or too large for the decimals is written as 1.2e-09.

    >>> written(0.5, 2), written(1.2e-9), written(0.0, 1), written(None), written(True)
    ('0.50', '1.2e-09', '0.0', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, str):
        return value
    if not isfinite(value):
        return {"inf": "inf", "-inf": "-inf"}.get(str(value), "nan")
    size = abs(value)
    if size and (size < 0.5 * 10.0**-decimals or size < 1e-4 or size >= 1e9):
        digits = f"{value:.{1 if size < _NOISE else DECIMALS - 1}e}"
        mantissa, exponent = digits.split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"
    return f"{value:.{decimals}f}"
