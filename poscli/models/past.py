"""Past the trained length: what the config makes of it, and how programs differ there.

Each rule is the one its program is known for, computed from the settings of the config. Sources
are cited with every row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from poscli.errors import PoscliError
from poscli.experiments.extrapolate import LONGEST
from poscli.models.model import Kind
from poscli.phase import as_floats
from poscli.report import Cell, Grid, Report, Section
from poscli.schemes.llama3 import RopeLlama3
from poscli.schemes.longrope import LongRope
from poscli.schemes.ntk import RopeDynamic, RopeLinear
from poscli.schemes.rotary import Rotary
from poscli.schemes.yarn import RopeYarn

_SAME = "same table at every length"


@dataclass(frozen=True)
class Rule:
    """What one program does: the scheme as it uses it at the longest length, and its source."""

    program: str
    scheme: Rotary
    amplitude: float
    rule: str
    source: str


def lengths_up_to(kind: Kind, last: int | None) -> tuple[int, list[int]]:
    """Return the trained length, and the lengths to look at: doublings, crossings and the last."""
    trained, supported = kind.lengths.trained, kind.lengths.supported
    if trained is None:
        raise PoscliError("the config does not say at what length it was trained; give --len")
    if last is None:
        far = max(supported or 0, 4 * trained) if kind.scheme.limit is None else 2 * trained
        last = min(far, LONGEST)
    found = {trained, last}
    length = 2 * trained
    while length < last:
        found.add(length)
        length *= 2
    crossings = [trained + 1] if supported is None else [trained + 1, supported, supported + 1]
    found |= {n for n in crossings if n <= last}
    return trained, sorted(found)


def add_past(report: Report, kind: Kind, lengths: Sequence[int]) -> Report:
    """Return the report of extrapolate with the crossings and the programs put before the rest."""
    grids = [_crossings(kind, lengths)]
    if isinstance(kind.scheme, Rotary):
        grids.append(_programs(kind, max(lengths)))
    section = Section(f"Past the trained length, {kind.name}", _facts(kind), grids)
    head, *rest = report.sections
    return Report(report.title, report.settings, [head, section, *rest], grids[0], report.array)


def _facts(kind: Kind) -> list[tuple[str, Cell]]:
    trained, supported = kind.lengths.trained, kind.lengths.supported
    facts: list[tuple[str, Cell]] = [("trained length", trained), ("supported length", supported)]
    if isinstance(kind.scheme, RopeYarn) and trained and supported:
        again = int(supported * kind.scheme.factor)
        facts.append(
            (
                "vLLM with rope types of vendors, once",
                f"{again}, the factor counted twice (vllm#55116, #56446)",
            )
        )
    return facts


def _crossings(kind: Kind, lengths: Sequence[int]) -> Grid:
    rows: list[list[Cell]] = []
    for length in lengths:
        scheme = kind.scheme.for_length(length)
        row: list[Cell] = [_mark(kind, length)]
        if isinstance(scheme, Rotary):
            frequencies = scheme.frequencies(kind.width)
            turning = [float(w) for w in frequencies if w]
            row += [turning[0], turning[-1], scheme.amplitude]
        rows.append(row)
    rotary = isinstance(kind.scheme, Rotary)
    return Grid(
        "At each length",
        ("length",),
        ("where", *(("fastest pair", "slowest pair", "attention factor") if rotary else ())),
        [(str(length),) for length in lengths],
        rows,
    )


def _mark(kind: Kind, length: int) -> str:
    trained, supported = kind.lengths.trained or 0, kind.lengths.supported
    if kind.scheme.limit is not None and length > kind.scheme.limit:
        return "PAST THE TABLE: cannot run"
    if supported is not None and length > supported:
        return "beyond the supported length"
    if length > trained:
        return "> past the trained length" + (" (the crossing)" if length == trained + 1 else "")
    return "trained"


def _programs(kind: Kind, longest: int) -> Grid:
    scheme = kind.scheme
    assert isinstance(scheme, Rotary)
    used = scheme.for_length(longest)
    rules = [Rule("transformers", used, used.amplitude, _own_rule(scheme), "transformers 5.24.0")]
    if isinstance(scheme, RopeDynamic):
        rules += _dynamic(scheme, kind.width)
    elif isinstance(scheme, LongRope):
        rules += _longrope(scheme, longest)
    elif isinstance(scheme, RopeYarn):
        rules += _yarn(scheme)
    own = as_floats(used.frequencies(kind.width))
    return Grid(
        f"What programs make of it at length {longest}"
        + ("" if len(rules) > 1 else ": no difference is on record"),
        ("program",),
        ("slowest pair", "largest difference", "attention factor", "rule", "source"),
        [(rule.program,) for rule in rules],
        [
            [
                float(as_floats(rule.scheme.frequencies(kind.width))[-1]),
                _difference(as_floats(rule.scheme.frequencies(kind.width)), own),
                rule.amplitude,
                rule.rule,
                rule.source,
            ]
            for rule in rules
        ],
    )


def _own_rule(scheme: Rotary) -> str:
    if isinstance(scheme, RopeDynamic):
        return "base by the longest length seen so far; keys in a cache keep their old turn"
    if isinstance(scheme, LongRope):
        return "list chosen per call by the largest position; Phi models drop the cache there"
    return _SAME


def _dynamic(scheme: RopeDynamic, width: int) -> list[Rule]:
    extended = int(scheme.factor * scheme.original_length)
    once = scheme.model_copy(update={"length": extended})
    r = scheme.rotary_width(width)
    linear = RopeLinear(
        base=scheme.base,
        pairing=scheme.pairing,
        rotary_dim=scheme.rotary_dim,
        partial_rotary_factor=scheme.partial_rotary_factor,
        factor=scheme.factor ** (r / (r - 2)),
    )
    return [
        Rule(
            "vLLM",
            once,
            1.0,
            f"computed once, for length {extended}, and used for short text too",
            "vllm#3488, #5093, #41236",
        ),
        Rule(
            "keras-hub",
            linear,
            1.0,
            "every frequency divided by factor^(r/(r-2)), at every length",
            "keras-hub 0.32.0",
        ),
    ]


def _longrope(scheme: LongRope, longest: int) -> list[Rule]:
    def at(length: int) -> LongRope:
        return scheme.model_copy(update={"length": length})

    long, short = at(scheme.original_length + 1), at(scheme.original_length)
    used = at(longest)
    return [
        Rule(
            "vLLM",
            used,
            used.amplitude,
            f"list chosen at load: long for every request where max_model_len > "
            f"{scheme.original_length}",
            "vllm#27431",
        ),
        Rule(
            "llama.cpp",
            used,
            used.amplitude,
            "list chosen by the context size that is set up",
            "llama.cpp#8995, #24875",
        ),
        Rule(
            "MLX ports", long, long.amplitude, "the long list at every length", "lablup/mlxcel#1358"
        ),
        Rule(
            "transformers 5.24, PhiMoE",
            short,
            used.amplitude,
            "the short list at every length, although the factor switches (read, not run)",
            "modeling_phimoe.py",
        ),
    ]


def _yarn(scheme: RopeYarn) -> list[Rule]:
    shared = {
        "base": scheme.base,
        "pairing": scheme.pairing,
        "rotary_dim": scheme.rotary_dim,
        "partial_rotary_factor": scheme.partial_rotary_factor,
        "factor": scheme.factor,
    }
    paper = RopeLlama3.model_validate(
        {
            **shared,
            "original_length": scheme.original_length,
            "low_freq_factor": scheme.beta_slow,
            "high_freq_factor": scheme.beta_fast,
        }
    )
    plain = RopeYarn.model_validate({**shared, "original_length": scheme.original_length}).amplitude
    linear = RopeLinear.model_validate(shared)
    rules = [
        Rule(
            "the paper",
            paper,
            plain,
            "ramp linear in the rotations of a pair; the authors' code, and every library, has "
            "it linear in its index",
            "arXiv 2309.00071, section 3.2",
        ),
        Rule(
            "llama.cpp, ext_factor 0",
            linear,
            plain,
            "no ramp: every pair divided; the factor is 1 + 0.1 ln(1 / freq_scale)",
            "ggml-cpu/ops.cpp",
        ),
        Rule(
            "torchtitan",
            scheme,
            1.0,
            "cos and sin are not scaled; mscale goes into the softmax",
            "torchtitan, rope",
        ),
    ]
    if scheme.attention_factor is not None:
        rules.append(
            Rule(
                "authors' code, older vLLM and SGLang",
                scheme,
                scheme.attention_factor * plain,
                "where the value is copied into attn_factor, it multiplies instead of replacing",
                "sglang#33558, vllm#46280, mlx-lm#1507",
            )
        )
    if scheme.mscale_all_dim:
        scores = (0.1 * scheme.mscale_all_dim * log(scheme.factor) + 1.0) ** 2
        rules.append(
            Rule(
                "DeepSeek's own code",
                scheme,
                1.0,
                f"cos and sin are not scaled; scores are multiplied by {scores:.9g}, where the "
                f"length set up is above {scheme.original_length}",
                "DeepSeek-V3, model.py",
            )
        )
    return rules


def _difference(one: np.ndarray, own: np.ndarray) -> str:
    relative = np.abs(one - own) / np.where(own == 0, 1.0, own)
    pair = int(relative.argmax())
    return "none" if relative[pair] < 1e-12 else f"{100 * relative[pair]:.3g} % at pair {pair}"
