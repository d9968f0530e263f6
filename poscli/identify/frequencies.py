"""Which RoPE has these frequencies? Every rule of the schemes, its settings read off the numbers.

The frequencies of a plain ladder shrink by one ratio, which gives the base. A constant divisor is
linear scaling; a ladder that is too steep for a usual base is NTK-aware scaling; pairs kept, then
blended, then divided are YaRN or Llama 3; zeros at the end are proportional; anything else can
only be a list of divisors. Each rule's own scheme then computes what it would have made.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from poscli.arrays import Array
from poscli.identify.evidence import Evidence
from poscli.identify.findings import (
    Finding,
    attempt,
    compare_command,
    cost,
    encode_command,
    known_bases,
    scheme_of,
)
from poscli.identify.fitting import FLOAT32, TURN, digits, roundest
from poscli.phase import as_floats
from poscli.report import Cell
from poscli.schemes import Scheme
from poscli.schemes.rotary import Rotary

_LENGTHS = [2**k for k in range(4, 21)]
_MSCALES = (1.0, 0.707, 0.5)
_BETAS = (64.0, 16.0, 8.0, 4.0, 2.0, 128.0)
_HIGHS = (4.0, 2.0, 3.0, 8.0, 16.0)
_MOST_DIGITS = 6


def from_frequencies(evidence: Evidence) -> list[Finding]:
    """Explain a list of inverse frequencies, (pairs,)."""
    stored = evidence.array
    w = stored.values
    if w.ndim == 1 and w.size > 1 and w[0] == w.min() > 1:
        return _pixel(evidence)
    if w.ndim != 1 or w.size < 2 or (w < 0).any() or not w[0] or (np.diff(w) > 0).any():
        return []
    off = 8 * _work(stored.bits) * w + 2.0**-stored.bits * w + stored.step
    found = []
    for scheme in rope_schemes(w, off, width=2 * len(w)):
        width = 2 * len(w)
        found += attempt(_held, scheme, w, off, width)
    return found


def _pixel(evidence: Evidence) -> list[Finding]:
    """Explain frequencies that grow in even steps of pi."""
    w = evidence.array.values
    top = 2 * float(w[-1]) / np.pi
    scheme = scheme_of("rope-axial-pixel", max_freq=roundest(top * (1 - 1e-6), top * (1 + 1e-6)))
    return [] if not isinstance(scheme, Rotary) else _of_one_axis(evidence, scheme)


def _of_one_axis(evidence: Evidence, scheme: Rotary) -> list[Finding]:
    w = evidence.array.values
    width = 4 * len(w)
    got = as_floats(scheme.frequencies(width))[: len(w)]
    off = 8 * 2.0 ** -min(evidence.array.bits, 24) * w
    command = compare_command(evidence, scheme, None)
    facts: list[tuple[str, Cell]] = [("width", width), ("layout", "the frequencies of one axis")]
    return [
        Finding(scheme, "inverse frequencies", w, got, off, command, facts=facts, elsewhere=got)
    ]


def frequencies_by(evidence: Evidence, scheme: Scheme) -> list[Finding]:
    """Hold one scheme's frequencies against a list of them."""
    w = evidence.array.values
    if not isinstance(scheme, Rotary) or w.ndim != 1:
        return []
    if scheme.axes == 2:
        return _of_one_axis(evidence, scheme)
    off = 8 * _work(evidence.array.bits) * w + 2.0**-evidence.array.bits * w + evidence.array.step
    return attempt(_held, scheme, w, off, 2 * len(w))


def _held(scheme: Rotary, w: Array, off: Array, width: int) -> Finding:
    scheme.check_width(width, 1)
    got = as_floats(scheme.frequencies(width))
    return Finding(
        scheme,
        "inverse frequencies",
        w,
        got,
        off,
        encode_command(scheme, f"--dim {width}", "--show frequencies"),
        facts=[("base", getattr(scheme, "base", None)), ("width", width)],
        elsewhere=got,
    )


def rope_schemes(
    w: Array,
    off: Array,
    *,
    width: int,
    amplitude: float | None = None,
    amplitude_off: float = 0.0,
    longest: int | None = None,
    conventions: dict[str, Any] | None = None,
) -> list[Rotary]:
    """Return the schemes whose frequencies are w, within off, for a head of this width.

    conventions are settings that hold for all: pairing, direction, rotary_dim. amplitude, what cos
    and sin are multiplied by, and longest, the length of the sequence, count where they are known.
    The list is empty where no rule gives w.
    """
    settings = conventions or {}
    rotary = {k: v for k, v in settings.items() if k != "rotary_dim"}
    scaled = amplitude is not None and abs(amplitude - 1) > max(amplitude_off, 1e-6)
    found: list[Rotary] = []

    def keep(name: str, **values: Any) -> bool:
        own = rotary if name == "rope-proportional" else settings
        scheme = scheme_of(name, **own, **values)
        if isinstance(scheme, Rotary) and _fits(scheme, width, w, off):
            found.append(scheme)
            return True
        return False

    turning = int(np.count_nonzero(w))
    if not scaled:
        for name, values in _whole_ladder(w, off, turning, longest):
            keep(name, **values)
        if turning < len(w) or not found:
            for values in _proportional(w, off, turning):
                keep("rope-proportional", **values)
    if turning == len(w):
        plain = [s for s in found if s.name == "rope"]
        if not plain or scaled:
            _by_parts(w, off, amplitude, amplitude_off, scaled, keep)
        if not found:
            for values in _divisors(w, off, amplitude, amplitude_off, scaled):
                keep("rope-longrope", **values)
    return sorted(found, key=cost)


def _whole_ladder(
    w: Array, off: Array, turning: int, longest: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield rules under which frequencies shrink by one ratio."""
    if turning < len(w):
        return
    r, known = 2 * len(w), known_bases("rope")
    low, high = _sharpest(w, off, len(w) - 1)
    first_low, first_high = w[0] - 2 * off[0], w[0] + 2 * off[0]
    base = roundest(low, high, known)
    if first_low <= 1 <= first_high:
        yield "rope", {"base": base}
        for b in known:
            grown_low, grown_high = ((x / b) ** ((r - 2) / r) for x in (low, high))
            if r > 2 and grown_low > 1:
                factor = roundest(grown_low, grown_high)
                if digits(factor) <= _MOST_DIGITS:
                    yield "rope-ntk", {"base": b, "factor": factor}
                yield from _dynamic(b, grown_low, grown_high, longest)
    else:
        yield "rope-linear", {"base": base, "factor": roundest(1 / first_high, 1 / first_low)}
        factor_low, factor_high = first_high ** (-r / 2), first_low ** (-r / 2)
        factor = roundest(factor_low, factor_high)
        yield "rope-ntk-fixed", {"factor": factor, "base": roundest(low / factor, high / factor)}
    for b in known:
        yield from _mixed(w, off, b)


def _dynamic(
    base: float, low: float, high: float, longest: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    for original in _LENGTHS:
        if longest is not None and longest > original:
            per = original / (longest - original)
            factor = roundest((low - 1) * per, (high - 1) * per)
            if factor >= 1 and digits(factor) <= 3:
                yield (
                    "rope-dynamic",
                    {
                        "base": base,
                        "factor": factor,
                        "original_length": original,
                        "length": longest,
                    },
                )


def _mixed(w: Array, off: Array, base: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """The last pair is divided by the factor; the middle one tells the curve."""
    pairs = len(w)
    plain = base ** (-np.arange(pairs) / pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        slowed = np.log(plain / w)
    if pairs < 3 or not (slowed > 0).all():
        return
    relative = 2 * off / w
    spread = np.exp(slowed[-1] - relative[-1]), np.exp(slowed[-1] + relative[-1])
    factor = roundest(*spread)
    if factor <= 1:
        return
    middle = pairs // 2 - 1
    share = np.log((middle + 1) / pairs)
    with np.errstate(invalid="ignore"):
        ends = [
            float(np.log((slowed[middle] + sign * relative[middle]) / np.log(factor)) / share)
            for sign in (1, -1)
        ]
    if np.isfinite(ends).all() and min(ends) > 0:
        curve = roundest(min(ends), max(ends))
        yield "rope-ntk-mixed", {"base": base, "factor": factor, "mixed_b": curve}


def _proportional(w: Array, off: Array, turning: int) -> Iterator[dict[str, Any]]:
    if turning < 2 or (w[turning:] != 0).any():
        return
    share = roundest(turning / len(w) - 1e-9, turning / len(w) + 1e-9, [0.25, 0.5, 0.75])
    low, high = _sharpest(w, off, turning - 1)
    factor = roundest(1 / (w[0] + 2 * off[0]), 1 / (w[0] - 2 * off[0]), [1.0])
    yield {
        "base": roundest(low, high, known_bases("rope")),
        "partial_rotary_factor": share,
        "factor": factor,
    }


def _by_parts(
    w: Array, off: Array, amplitude: float | None, amplitude_off: float, scaled: bool, keep: Any
) -> None:
    """Try the rules that keep fast pairs and divide slow ones."""
    last, known = len(w) - 1, known_bases("rope")
    bases = {
        roundest(*_base(w, off, *ends), known)
        for ends in ((0, 1), (last - 1, last))
        if 0 <= ends[0] < ends[1] <= last
    }
    if scaled:
        bases.add(roundest(*_sharpest(w, off, last), known))
    for base in sorted(bases):
        if not base > 1:
            continue
        plain = base ** (-np.arange(len(w)) / len(w))
        kept = int(np.argmin(np.append(np.abs(w - plain) <= 2 * off, False))) - 1
        for factor in _factors(plain[last], w[last], off[last], amplitude, amplitude_off):
            values = {"base": base, "factor": factor}
            if factor > 1 and not _blends(w, off, plain, factor):
                continue
            for magnitude in _yarn_magnitudes(factor, amplitude, amplitude_off):
                _yarn(keep, {**values, **magnitude}, plain, kept)
            if not scaled and factor > 1:
                _llama3(keep, values, plain, kept)


def _blends(w: Array, off: Array, plain: Array, factor: float) -> bool:
    """Say whether each pair keeps a share of its frequency that falls from 1 to 0 along a line.

    The line runs along the index of the pair (YaRN) or along its frequency (Llama 3).
    """
    share = (w / plain - 1 / factor) / (1 - 1 / factor)
    slack = 4 * off / plain / (1 - 1 / factor) + 1e-6
    if ((share < -slack) | (share > 1 + slack)).any() or (np.diff(share) > slack[1:]).any():
        return False
    inner = (share > slack) & (share < 1 - slack)
    if inner.sum() < 3:
        return True
    for along in (np.arange(len(w)) / len(w), plain):
        line = np.polyval(np.polyfit(along[inner], share[inner], 1), along[inner])
        if (np.abs(line - share[inner]) <= slack[inner] + 1e-3).all():
            return True
    return False


def _factors(
    plain: float, last: float, off: float, amplitude: float | None, amplitude_off: float
) -> list[float]:
    """Return the factor that the slowest pair was divided by, or that YaRN's magnitude names."""
    found = []
    if last > 2 * off:
        found.append(roundest(plain / (last + 2 * off), plain / (last - 2 * off), [1.0]))
    if amplitude is not None and amplitude > 1:
        slack = max(amplitude_off, 1e-6)
        ends = [float(np.exp(min(10 * (amplitude + s - 1), 50.0))) for s in (-slack, slack)]
        found.append(roundest(ends[0], ends[1]))
    return [factor for factor in dict.fromkeys(found) if factor >= 1]


def _yarn(keep: Any, values: dict[str, Any], plain: Array, kept: int) -> None:
    """Try usual lengths, then other rotations: of a length and both, only ratios count."""
    for beta in (32.0, *_BETAS):
        lengths = [4096] if values["factor"] == 1 else _lengths(beta, plain, kept)
        fits = [
            keep("rope-yarn", **values, original_length=n, truncate=t, beta_fast=beta)
            for t, n in product((True, False), lengths)
        ]
        if any(fits):
            return


def _llama3(keep: Any, values: dict[str, Any], plain: Array, kept: int) -> None:
    for high in _HIGHS:
        for n in _lengths(high, plain, kept):
            if keep("rope-llama3", **values, original_length=n, high_freq_factor=high):
                return


def _lengths(turns: float, plain: Array, kept: int) -> list[int]:
    """Return the usual lengths within which the last pair that is kept turns about so often."""
    low = 0.0 if kept < 1 else turns * TURN / plain[kept - 1] / 2
    high = 2 * turns * TURN / plain[min(kept + 2, len(plain) - 1)]
    return [n for n in _LENGTHS if low <= n <= high]


def _yarn_magnitudes(
    factor: float, amplitude: float | None, off: float
) -> Iterator[dict[str, Any]]:
    """Yield the settings under which YaRN multiplies cos and sin by so much; the first that fit."""
    if amplitude is None:
        yield {}
        return
    slack = max(off, 1e-6)
    for one, other in [(None, None), *product(_MSCALES, _MSCALES)]:
        given = {} if one is None else {"mscale": one, "mscale_all_dim": other}
        scheme = scheme_of("rope-yarn", factor=factor, **given)
        if isinstance(scheme, Rotary) and abs(scheme.amplitude - amplitude) <= slack:
            if one is not None and one == other:
                break
            yield given
            return
    yield {"attention_factor": roundest(amplitude - slack, amplitude + slack, [1.0])}


def _divisors(
    w: Array, off: Array, amplitude: float | None, amplitude_off: float, scaled: bool
) -> Iterator[dict[str, Any]]:
    """Any frequencies are a ladder with a divisor per pair; the usual base, roundest divisors."""
    magnitude = {}
    if amplitude is not None:
        slack = max(amplitude_off, 1e-6)
        magnitude = {"attention_factor": roundest(amplitude - slack, amplitude + slack, [1.0])}
    # Each divisor has to hold at every row, so it may have to use a part of its range only.
    for base, part in product(known_bases("rope"), (2.0, 1.0, 0.5, 0.25)):
        ratios = base ** (-np.arange(len(w)) / len(w)) / w
        divisors = [
            roundest(d * (1 - e), d * (1 + e))
            for d, e in zip(ratios.tolist(), (part * off / w).tolist(), strict=True)
        ]
        if max(map(digits, divisors)) <= _MOST_DIGITS and min(divisors) > 0:
            yield {"base": base, "short_factor": divisors, "length": 1, **magnitude}


def _sharpest(w: Array, off: Array, last: int) -> tuple[float, float]:
    """Return the narrowest range of bases that the first pair and any other leave open."""
    ranges = [_base(w, off, 0, i) for i in range(1, last + 1)]
    usable = [(low, high) for low, high in ranges if 0 < low <= high < np.inf]
    return min(usable, key=lambda ends: ends[1] / ends[0], default=(10000.0, 10000.0))


def _base(w: Array, off: Array, start: int, stop: int) -> tuple[float, float]:
    """Return the range of bases that the ratio of two frequencies leaves open."""
    if stop <= start or w[start] <= 0 or w[stop] <= 0:
        return 10000.0, 10000.0
    exponent = len(w) / (stop - start)
    slack = (2 * off[start] / w[start] + 2 * off[stop] / w[stop]) * exponent
    with np.errstate(over="ignore"):
        base = float((w[start] / w[stop]) ** exponent)
    return base * (1 - slack), base * (1 + slack)


def _fits(scheme: Rotary, width: int, w: Array, off: Array) -> bool:
    try:
        scheme.check_width(width, 1)
        got = as_floats(scheme.frequencies(width))
    except (ValueError, ArithmeticError):
        return False
    return got.shape == w.shape and bool(np.all(np.abs(got - w) <= 2 * off))


def _work(bits: int) -> float:
    return float(2.0**-53) if bits > 24 else FLOAT32
