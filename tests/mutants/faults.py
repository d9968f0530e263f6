"""Faults to break the code with, one at a time: what is written, and what is put in its place.

Each is a slip that somebody has made or could: a sign, an index, an exponent, a layout, an end that
is off by one, a check that passes too easily. The text that is replaced stands once in its file.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """A change to one file of poscli/. harmless says why no test can see it; empty for most."""

    file: str
    old: str
    new: str
    harmless: str = ""


FAULTS = (
    # The ladder, and tables of sines.
    Fault("schemes/turns.py", "Fraction(2 * i, width)", "Fraction(2 * i + 1, width)"),
    Fault("schemes/turns.py", "Fraction(2 * i, width)", "Fraction(i, width)"),
    Fault("schemes/turns.py", "range((width + 1) // 2)", "range(width // 2)"),
    Fault(
        "schemes/turns.py",
        "waves > trained",
        "waves >= trained",
        harmless="a wavelength is 2 pi times a power of the base, and never a whole number",
    ),
    Fault("schemes/turns.py", "trained * w < TWO_PI", "trained * w <= 2 * TWO_PI"),
    Fault("schemes/sines.py", "max(pairs - 1, 1)", "max(pairs, 1)"),
    Fault("schemes/sines.py", "return positions + self.origin", "return positions - self.origin"),
    Fault(
        "schemes/sines.py",
        "np.arange(0, inner, 2), np.arange(1, inner, 2)",
        "np.arange(1, inner, 2), np.arange(0, inner, 2)",
    ),
    Fault("schemes/sines.py", "cosines, sines = np.split", "sines, cosines = np.split"),
    Fault("schemes/sines.py", "[(inner + 1) // 2])", "[inner // 2])"),
    Fault("schemes/sines.py", '"zero-column": -(width % 2)', '"zero-column": width % 2'),
    Fault("schemes/sines.py", "_PADDING = -1", "_PADDING = 0"),
    Fault(
        "schemes/sines.py",
        "s * cos + c * sin, c * cos - s * sin",
        "s * cos - c * sin, c * cos + s * sin",
    ),
    # Rotary: pairs, direction, amplitude.
    Fault(
        "schemes/rope.py",
        'if self.pairing == "half" else (2 * i, 2 * i + 1)',
        'if self.pairing != "half" else (2 * i, 2 * i + 1)',
    ),
    Fault(
        "schemes/rope.py",
        'if self.pairing == "adjacent" else (i, i + len(i))',
        'if self.pairing != "half" else (i, i + len(i))',
    ),
    Fault(
        "schemes/rope.py",
        '-positions if self.direction == "clockwise"',
        'positions if self.direction == "clockwise"',
    ),
    Fault(
        "schemes/rope.py",
        "return int(width * self.partial_rotary_factor)",
        "return round(width * self.partial_rotary_factor)",
    ),
    Fault(
        "schemes/rope.py",
        "return ladder(self.base, self.rotary_width(width))",
        "return ladder(self.base, width)",
    ),
    Fault(
        "schemes/rotary.py",
        "return self.amplitude * cos, self.amplitude * sin",
        "return self.amplitude * cos, sin",
    ),
    Fault(
        "schemes/rotary.py",
        "return self.amplitude * cos, self.amplitude * sin",
        "return self.amplitude**2 * cos, self.amplitude**2 * sin",
    ),
    Fault("schemes/rotary.py", "return dim // heads", "return dim"),
    Fault(
        "schemes/xpos.py",
        "self.rotary_width(width)\n        zeta = (np.arange(0, r, 2) / r",
        "self.rotary_width(width)\n        zeta = (np.arange(0, r, 2) / (r - 2)",
    ),
    Fault("schemes/xpos.py", "positions - self.centre", "positions + self.centre"),
    Fault("schemes/xpos.py", "inverse = 1 / self.scales", "inverse = self.scales"),
    Fault("schemes/xpos.py", "(length + 1) // 2", "length // 2"),
    # Scalings of RoPE.
    Fault(
        "schemes/scaling.py",
        "share + (1 - share) / Decimal(self.factor)",
        "(1 - share) + share / Decimal(self.factor)",
    ),
    Fault("schemes/ntk.py", "[1 / Decimal(self.factor)]", "[Decimal(self.factor)]"),
    Fault("schemes/ntk.py", "Fraction(2 * i, rotary - 2)", "Fraction(2 * i, rotary)"),
    Fault("schemes/ntk.py", "Fraction(2 * (i + 1), rotary)", "Fraction(2 * i, rotary)"),
    Fault("schemes/ntk.py", "(Decimal(i + 1) / pairs)", "(Decimal(i) / pairs)"),
    Fault("schemes/ntk.py", "self.original_length + 1", "self.original_length"),
    Fault(
        "schemes/ntk.py",
        "max(self.length or 0, self.original_length)",
        "(self.length or self.original_length)",
    ),
    Fault(
        "schemes/yarn.py",
        "low.to_integral_value(ROUND_FLOOR)",
        "low.to_integral_value(ROUND_CEILING)",
    ),
    Fault("schemes/yarn.py", "Decimal(rotary - 1)", "Decimal(rotary // 2 - 1)"),
    Fault(
        "schemes/yarn.py",
        "0.1 * mscale * log(self.factor) + 1.0",
        "0.1 * mscale * log(self.factor)",
    ),
    Fault(
        "schemes/yarn.py", "(self.beta_fast, self.beta_slow))", "(self.beta_slow, self.beta_fast))"
    ),
    Fault("schemes/yarn.py", "/ (2 * Decimal(self.base).ln())", "/ Decimal(self.base).ln()"),
    Fault(
        "schemes/yarn.py",
        "self._magnitude(self.mscale) / self._magnitude(self.mscale_all_dim)",
        "self._magnitude(self.mscale_all_dim) / self._magnitude(self.mscale)",
    ),
    Fault("schemes/llama3.py", "(t - low) / (high - low)", "(high - t) / (high - low)"),
    Fault("schemes/llama3.py", "self.original_length * w / TWO_PI", "self.original_length * w"),
    Fault(
        "schemes/longrope.py",
        "(self.length or 0) > self.original_length",
        "(self.length or 0) >= self.original_length",
    ),
    Fault(
        "schemes/longrope.py",
        "sqrt(1 + log(self.factor) / log(self.original_length))",
        "sqrt(log(self.factor) / log(self.original_length))",
    ),
    Fault(
        "schemes/longrope.py",
        "self.long_mscale if self._is_long() else self.short_mscale",
        "self.short_mscale if self._is_long() else self.long_mscale",
    ),
    Fault(
        "schemes/proportional.py",
        "[Decimal(0)] * (width // 2 - turning)",
        "[Decimal(1)] * (width // 2 - turning)",
    ),
    Fault("schemes/proportional.py", "w / Decimal(self.factor)", "w * Decimal(self.factor)"),
    # Several axes.
    Fault(
        "schemes/mrope.py",
        "i < 3 * np.array(sections)[i % 3]",
        "i <= 3 * np.array(sections)[i % 3]",
        harmless="only pairs whose number 3 divides can differ, and those turn by the time anyway",
    ),
    Fault(
        "schemes/mrope.py", "np.repeat(np.arange(3), sections)", "np.repeat([0, 2, 1], sections)"
    ),
    Fault(
        "schemes/axial.py",
        '[0, 1] if self.first == "row" else [1, 0]',
        '[1, 0] if self.first == "row" else [0, 1]',
    ),
    Fault("schemes/axial.py", "dealt[0::2], dealt[1::2]", "dealt[1::2], dealt[0::2]"),
    Fault("schemes/axial.py", "(2 * positions + 1) / np.array", "(2 * positions) / np.array"),
    Fault(
        "schemes/axial.py",
        "np.maximum([self.rows - 1, self.columns - 1], 1)",
        "np.maximum([self.rows, self.columns], 1)",
    ),
    Fault("schemes/grid.py", "values = values[:, ::-1]", "values = values[:, ::1]"),
    Fault(
        "schemes/grid.py",
        "pairs = -(-width // (2 * self.axes))",
        "pairs = width // (2 * self.axes)",
    ),
    Fault(
        "schemes/detr.py",
        '1.0 if self.pixel == "end" else 0.5',
        '0.5 if self.pixel == "end" else 1.0',
    ),
    Fault(
        "schemes/detr.py",
        "np.concatenate([columns[column], rows[row]], axis=1)",
        "np.concatenate([rows[row], columns[column]], axis=1)",
    ),
    # Biases.
    Fault("schemes/alibi.py", "2 ** (heads.bit_length() - 1)", "2 ** heads.bit_length()"),
    Fault("schemes/alibi.py", "[::2][: heads - power]", "[1::2][: heads - power]"),
    Fault("schemes/alibi.py", "np.arange(1, heads + 1) / heads)", "np.arange(heads) / heads)"),
    Fault("schemes/alibi.py", "return -np.abs(offsets)", "return np.abs(offsets)"),
    Fault("schemes/alibi.py", "            return -offsets\n", "            return offsets\n"),
    Fault(
        "schemes/alibi.py",
        '0 if self.form == "key-only" else key_positions.max()',
        'key_positions.max() if self.form == "key-only" else 0',
    ),
    Fault("schemes/t5.py", "after = (distances > 0)", "after = (distances < 0)"),
    Fault(
        "schemes/t5.py",
        "self.buckets // 2 if self.bidirectional",
        "self.buckets if self.bidirectional",
    ),
    Fault(
        "schemes/t5.py",
        "np.where(far < exact, far,",
        "np.where(far <= exact, far,",
        harmless="the distance at the edge is its own bucket by either rule",
    ),
    Fault(
        "schemes/t5.py", "np.minimum(exact + steps, side - 1)", "np.minimum(exact + steps, side)"
    ),
    Fault("schemes/t5.py", "np.maximum(-distances, 0)", "np.maximum(distances, 0)"),
    Fault("schemes/deberta.py", "bucket + self._span, 0", "bucket + self._span - 1, 0"),
    Fault("schemes/deberta.py", "whole / np.sqrt(3 * width)", "whole / np.sqrt(width)"),
    Fault(
        "schemes/shaw.py",
        "np.clip(distances, -self.left, self.right) + self.left",
        "np.clip(distances, -self.right, self.left) + self.left",
    ),
    Fault("schemes/window.py", "(2 * self.columns - 1) + right", "(2 * self.columns) + right"),
    Fault(
        "schemes/kerple.py",
        "np.asarray(p * np.log1p(a * distance))",
        "np.asarray(a * np.log1p(p * distance))",
    ),
    Fault("schemes/kerple.py", "np.asarray(a * distance**p)", "np.asarray(p * distance**a)"),
    Fault(
        "schemes/fire.py",
        "np.log1p(self.c * distance) / scale[:, None]",
        "np.log1p(self.c * distance) / scale[None]",
    ),
    Fault(
        "schemes/fire.py",
        "np.maximum(query_positions, self.threshold)",
        "np.minimum(query_positions, self.threshold)",
    ),
    Fault(
        "schemes/sandwich.py",
        "8.0 * np.arange(1, heads + 1) / heads",
        "np.arange(1, heads + 1) / heads",
    ),
    Fault("schemes/sandwich.py", "(cos - 1.0).sum(axis=1)", "cos.sum(axis=1)"),
    Fault(
        "schemes/transformer_xl.py",
        "np.concatenate([sin, cos], axis=1)",
        "np.concatenate([cos, sin], axis=1)",
    ),
    # Angles, and the forms of a turn.
    Fault("split.py", "by_cos[0] -= by_sin[1]", "by_cos[0] += by_sin[1]"),
    Fault("split.py", "rest += _times(a.fine, b.coarse + b.fine)", "rest += a.fine * 0"),
    Fault("fixed.py", "(cos * sin) >> (BITS - 1)", "(cos * sin) >> BITS"),
    Fault("phase.py", "behind = p < 0", "behind = p > 0"),
    Fault("phase.py", "_LAST_DIGIT = 2**_DIGIT_BITS - 1", "_LAST_DIGIT = 2**_DIGIT_BITS - 2"),
    Fault("schemes/forms.py", "side_by_side(sin, cos)]", "side_by_side(cos, sin)]"),
    Fault(
        "schemes/forms.py",
        "np.argsort(np.concatenate([first, second]))",
        "np.concatenate([first, second])",
    ),
    # Where tokens stand, and rounding.
    Fault("padding.py", "np.cumsum(real, axis=-1) - 1 + start", "np.cumsum(real, axis=-1) + start"),
    Fault(
        "arrays.py",
        "np.maximum(exponent, _SMALLEST_EXPONENT) - 8",
        "np.maximum(exponent, _SMALLEST_EXPONENT) - 9",
    ),
    Fault("arrays.py", "_SMALLEST_EXPONENT = -125", "_SMALLEST_EXPONENT = -126"),
    # Attention.
    Fault("attention.py", "np.sqrt(q.shape[-1]).astype", "np.sqrt(q.shape[-2]).astype"),
    Fault("attention.py", "scores += bias", "scores -= bias"),
    Fault("attention.py", "where=~mask", "where=mask"),
    Fault("attention.py", "scheme.rotate_keys(k, positions)", "scheme.rotate(k, positions)"),
    Fault(
        "attention.py",
        "np.where(total == 0, 1, total)",
        "np.where(total == 0, 2, total)",
        harmless="weights of a row that sees nothing are 0 before they are divided",
    ),
    Fault("attention.py", "np.where(np.isneginf(top), 0.0, top)", "top"),
    # Checks.
    Fault(
        "report.py", '(difference <= tolerance) == (expected == "equal")', "difference <= tolerance"
    ),
    Fault(
        "report.py",
        '(difference <= tolerance) == (expected == "equal")',
        '(difference >= tolerance) == (expected == "equal")',
    ),
    Fault(
        "report.py",
        "return float(terms * np.finfo(dtype).eps * scale)",
        "return float(terms * np.finfo(dtype).eps * scale) * 1e6",
    ),
    Fault(
        "report.py",
        "all(c.verdict is Verdict.PASS for c in self.checks)",
        "all(c.verdict is not Verdict.FAIL for c in self.checks)",
    ),
)
