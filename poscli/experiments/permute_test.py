"""permute-test: what attention can and cannot see of the order of its tokens.

Outputs are matched to their tokens by the permutation that moved the tokens. Without positions and
without a mask they must follow them; only beside that control is "different" claimed for a scheme.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial, prod
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.attention import Model, Toy, build_mask, build_model
from poscli.errors import PoscliError
from poscli.files import read_text
from poscli.positions import refuse_size
from poscli.progress import Track, untracked
from poscli.report import Check, Grid, Heatmap, Report, Section, check
from poscli.schemes import AnyScheme
from poscli.schemes.base import Scheme
from poscli.schemes.nope import NoPE
from poscli.schemes.sinusoidal import Sinusoidal
from poscli.settings import FilePath
from poscli.words import Unit, embed, split

_MOST_EXHAUSTIVE = 5040
_MOST_SHOWN = 24


class PermuteTestConfig(Toy):
    """Settings of `poscli permute-test`."""

    command: Literal["permute-test"] = "permute-test"
    sentence: str | None = Field(None, description="the text to re-order")
    file: FilePath | None = Field(None, description="a UTF-8 file that holds the text instead")
    unit: Unit = Field("word", description="what a token is: a word, a character or a line")
    against: str | None = Field(None, description="one re-ordering of the text, written out")
    permutation: list[int] | None = Field(
        None, description="one re-ordering by number: the old place of each new token, from 0"
    )
    schemes: Annotated[list[AnyScheme], Field(min_length=1)] = Field(
        default_factory=lambda: list[Scheme]([Sinusoidal()]),
        description="schemes to test beside the control",
    )
    samples: int = Field(
        200, ge=1, le=10**6, description="re-orderings drawn where there are more than 5040"
    )

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if (self.sentence is None) == (self.file is None):
            raise PoscliError("give a sentence, or a file that holds the text, and not both")
        if self.against is not None and self.permutation is not None:
            raise PoscliError("against and permutation both say how to re-order; give one")
        return self


@dataclass(frozen=True)
class _Case:
    """One way to run attention, and whether its outputs are expected to follow their tokens."""

    title: str
    short: str
    scheme: Scheme
    mask: Array | None
    expected: str


@dataclass(frozen=True)
class _Outcome:
    """Of the text: outputs (n, d) and attention weights (h, n, n). Per re-ordering: its outputs,
    and what following would give, (r, n, d)."""

    text: Array
    weights: Array
    outputs: Array
    followed: Array
    tolerance: float

    @property
    def differences(self) -> Array:
        """The largest difference of each token of each re-ordering, (r, n)."""
        return np.asarray(np.abs(self.outputs - self.followed).max(axis=2, initial=0.0))


def permute_test(config: PermuteTestConfig, track: Track[Array] = untracked) -> Report:
    """Re-order the text, run attention on both, and hold the outputs against each other."""
    text = config.sentence if config.file is None else read_text(Path(config.file))
    tokens = split(text or "", config.unit)
    refuse_size(config.heads * len(tokens) ** 2, f"{len(tokens):,} tokens")
    x = embed(tokens, config.dim, config.seed, config.embeddings).astype(config.dtype)
    mask, model = build_mask(config, len(tokens)), build_model(config)
    orders, how = _reorderings(config, tokens, x)
    nothing = _uninformative(tokens, orders)
    cases = _cases(config, mask, orders)
    outcomes = [_run(model, case, x, orders, track) for case in cases]
    control = _control_checks(outcomes[0], nothing)
    shown = _shown(tokens, orders)
    sections = [Section(facts=[("tokens", len(tokens)), ("re-orderings", how)])]
    for case, outcome in zip(cases, outcomes, strict=True):
        checks = control
        if case is not cases[0]:
            mask_alone = isinstance(case.scheme, NoPE)
            checks = _case_checks(case, outcome, control, nothing, mask_alone)
        grids = []
        if shown is not None:
            grids.append(_entering(tokens, x, orders[shown], case))
            grids.append(_vectors(tokens, orders[shown], outcome, shown))
        sections.append(Section(case.title, grids=grids, checks=checks))
    result = _per_reordering(tokens, orders, cases, outcomes)
    grids = [] if shown is None else [_per_token(tokens, orders[shown], cases, outcomes, shown)]
    if 1 < len(orders) <= _MOST_SHOWN:
        grids.append(result)
    return Report(
        title="permute-test: does attention see the order of its tokens?",
        settings=config.model_dump(exclude_none=True),
        sections=[*sections, Section("Differences", grids=grids)],
        result=result,
        figures=[_map(tokens, c, o) for c, o in zip(cases, outcomes, strict=True)],
    )


def _map(tokens: list[str], case: _Case, outcome: _Outcome) -> Heatmap:
    """Return the attention weights of the first head on the text as it is."""
    title = f"Attention weights, first head. {case.title}"
    return Heatmap(title, "key", "query", tokens, tokens, outcome.weights[0])


def _reorderings(config: PermuteTestConfig, tokens: list[str], x: Array) -> tuple[list[Array], str]:
    """Return the permutations to test, as old places, and how they were chosen."""
    n = len(tokens)
    if config.permutation is not None:
        if sorted(config.permutation) != list(range(n)):
            raise PoscliError(f"permutation must hold each of 0 to {n - 1} once")
        order = np.array(config.permutation)
        return _only_changes(x, [order]), f"the one given: old places {order.tolist()}"
    if config.against is not None:
        order = _match(tokens, split(config.against, config.unit))
        return _only_changes(x, [order]), f"the one given: old places {order.tolist()}"
    if _count_arrangements(tokens) <= _MOST_EXHAUSTIVE:
        orders = _only_changes(x, [np.array(o) for o in _arrangements(tokens)])
        return orders, f"every one that changes the text: {len(orders):,}"
    refuse_size(2 * config.samples * x.size, f"{config.samples:,} re-orderings of {n} tokens")
    cycle = _cycle(tokens)
    orders = _only_changes(x, _sample(config, tokens, cycle))
    led = ", a 3-cycle among them" if cycle else ""
    return orders, f"{len(orders):,} drawn with seed {config.seed}{led}"


def _only_changes(x: Array, orders: list[Array]) -> list[Array]:
    """Drop what leaves every vector where it was."""
    return [o for o in orders if (x[o] != x).any()]


def _count_arrangements(tokens: Sequence[str]) -> int:
    return factorial(len(tokens)) // prod(factorial(c) for c in Counter(tokens).values())


def _match(tokens: list[str], other: list[str]) -> Array:
    """Return the old place of each token of a re-ordering, first to first among equal ones."""
    missing, extra = Counter(tokens) - Counter(other), Counter(other) - Counter(tokens)
    if missing or extra:
        parts = [
            f"{word} {', '.join(repr(t) for t in sorted(difference))}"
            for word, difference in (("lacks", missing), ("adds", extra))
            if difference
        ]
        raise PoscliError(f"not a re-ordering: the second text {' and '.join(parts)}")
    places: dict[str, Iterator[int]] = {
        t: iter([i for i, token in enumerate(tokens) if token == t]) for t in set(tokens)
    }
    return np.array([next(places[t]) for t in other])


def _arrangements(tokens: Sequence[str]) -> Iterator[list[int]]:
    """Yield one permutation per distinct arrangement of the tokens, the text itself first."""

    def extend(taken: list[int]) -> Iterator[list[int]]:
        if len(taken) == len(tokens):
            yield taken
        seen = set()
        for i, token in enumerate(tokens):
            if i not in taken and token not in seen:
                seen.add(token)
                yield from extend([*taken, i])

    yield from extend([])


def _cycle(tokens: list[str]) -> list[Array]:
    """Return a 3-cycle of three different tokens, which its own inverse cannot stand in for."""
    distinct = [tokens.index(t) for t in dict.fromkeys(tokens)]
    if len(distinct) < 3:
        return []
    order = np.arange(len(tokens))
    a, b, c = distinct[:3]
    order[[a, b, c]] = [b, c, a]
    return [order]


def _sample(config: PermuteTestConfig, tokens: list[str], first: list[Array]) -> list[Array]:
    """Draw distinct arrangements other than the text, after the ones that come first."""
    rng = np.random.default_rng(config.seed)
    drawn = {tuple(tokens[i] for i in order): order for order in first}
    while len(drawn) < config.samples:
        order = rng.permutation(len(tokens))
        arrangement = tuple(tokens[i] for i in order)
        if arrangement != tuple(tokens):
            drawn.setdefault(arrangement, order)
    return list(drawn.values())


def _uninformative(tokens: list[str], orders: list[Array]) -> str:
    if len(tokens) == 1:
        return "one token has no order"
    if len(set(tokens)) == 1:
        return "all tokens are equal, so no re-ordering changes anything"
    return "" if orders else "the re-ordering leaves every vector where it was"


def _cases(config: PermuteTestConfig, mask: Array | None, orders: list[Array]) -> list[_Case]:
    """The control first; then the mask alone, where there is one; then each scheme."""
    cases = [_Case("Control: no positions, no mask", "control", NoPE(), None, "equal")]
    word = "no mask"
    if mask is not None:
        word = "causal mask" if config.mask == "causal" else "given mask"
        moved = any((mask[np.ix_(o, o)] != mask).any() for o in orders)
        expected = "different" if moved else "equal"
        cases.append(_Case(f"No positions, {word}", word, NoPE(), mask, expected))
    for scheme in config.schemes:
        if scheme.sees_order:
            name = scheme.label()
            cases.append(_Case(f"{name}, {word}", name, scheme, mask, "different"))
    return cases


def _run(model: Model, case: _Case, x: Array, orders: list[Array], track: Track[Array]) -> _Outcome:
    positions = np.arange(len(x))
    attention = model.attend(x, case.scheme, positions, case.mask)
    text = attention.outputs
    outputs = np.empty((len(orders), *text.shape), x.dtype)
    followed = np.empty_like(outputs)
    for r, order in enumerate(track(orders, case.short)):
        outputs[r] = model.attend(x[order], case.scheme, positions, case.mask).outputs
        followed[r] = text[order]
    return _Outcome(
        text, attention.weights, outputs, followed, model.tolerance(x, case.scheme, positions)
    )


_FOLLOW = "outputs follow their tokens (order-blind)"
_STAY = "outputs do not follow their tokens (not order-blind)"


def _control_checks(outcome: _Outcome, nothing: str) -> list[Check]:
    follow = _follow_check(outcome, "equal", nothing)
    mean = check(
        "the mean over the tokens does not change",
        outcome.outputs.mean(axis=1),
        outcome.followed.mean(axis=1),
        expected="equal",
        tolerance=outcome.tolerance,
        uninformative=nothing or _all_alike(outcome),
    )
    return [follow, mean]


def _case_checks(
    case: _Case, outcome: _Outcome, control: list[Check], nothing: str, mask_alone: bool
) -> list[Check]:
    if not nothing and not control[0].difference <= control[0].tolerance:
        nothing = "the control does not come out equal, so a difference here proves nothing"
    seen = int(np.sum(outcome.differences.max(axis=1, initial=0.0) > outcome.tolerance))
    count = f"seen in {seen} of {len(outcome.outputs)} re-orderings"
    if seen == 0:
        reason = "no difference beyond rounding"
    elif mask_alone:
        reason = f"the mask is the reason: it alone knows the order, {count}"
    elif case.mask is not None:
        reason = f"the mask alone does this already; without it the scheme can be judged; {count}"
    else:
        reason = f"the positions are the reason: {count}"
    return [_follow_check(outcome, case.expected, nothing, reason)]


def _follow_check(outcome: _Outcome, expected: str, nothing: str, reason: str = "") -> Check:
    if expected == "equal":
        nothing = nothing or _all_alike(outcome)
    elif not nothing and outcome.tolerance >= np.abs(outcome.text).max():
        nothing = "rounding may be as large as the outputs, so no difference can be told"
    return check(
        _FOLLOW if expected == "equal" else _STAY,
        outcome.outputs,
        outcome.followed,
        expected=expected,
        tolerance=outcome.tolerance,
        uninformative=nothing,
        reason=reason,
    )


def _all_alike(outcome: _Outcome) -> str:
    """Say so where the outputs of all tokens are one vector: then any order follows any other."""
    if np.ptp(outcome.text, axis=0).max() <= outcome.tolerance:
        return "all tokens have the same output within rounding, so none can be seen to follow"
    return ""


def _shown(tokens: list[str], orders: list[Array]) -> int | None:
    """Choose the re-ordering to show in full: the text read backwards where it is one of them."""
    for r, order in enumerate(orders):
        if [tokens[i] for i in order] == tokens[::-1]:
            return r
    return 0 if orders else None


def _entering(tokens: list[str], x: Array, order: Array, case: _Case) -> Grid:
    """What enters attention at each place, in the text and in the re-ordered text."""
    positions = np.arange(len(x))
    scheme = case.scheme.for_length(len(x))
    at = scheme.coordinates(positions)
    text, moved = (scheme.add(rows, at) for rows in (x, x[order]))
    labels, rows = [], []
    for place, old in enumerate(order.tolist()):
        agrees = "agrees" if (text[place] == moved[place]).all() else "differs"
        labels += [
            (str(place), f"text: {tokens[place]}"),
            (agrees, f"re-ordered: {tokens[old]}"),
        ]
        rows += [text[place], moved[place]]
    return Grid(
        f"X, what enters attention, in the text and in: {_written(tokens, order)}",
        ("place", "token"),
        _dims(x),
        labels,
        np.array(rows),
    )


def _dims(x: Array) -> tuple[str, ...]:
    return tuple(f"dim {j}" if j == 0 else str(j) for j in range(x.shape[1]))


def _vectors(tokens: list[str], order: Array, outcome: _Outcome, shown: int) -> Grid:
    """Each token's output in the text, and below it in the re-ordered text."""
    labels, rows = [], []
    for new in np.argsort(order):
        old = order[new]
        labels += [(tokens[old], f"text, place {old}"), ("", f"re-ordered, place {new}")]
        rows += [outcome.text[old], outcome.outputs[shown, new]]
    return Grid(
        f"Outputs in the text and in: {_written(tokens, order)}",
        ("token", "in"),
        _dims(outcome.text),
        labels,
        np.array(rows),
    )


def _per_token(
    tokens: list[str], order: Array, cases: list[_Case], outcomes: list[_Outcome], shown: int
) -> Grid:
    columns = [o.differences[shown][np.argsort(order)] for o in outcomes]
    return Grid(
        f"Largest difference per token, in: {_written(tokens, order)}",
        ("token",),
        tuple(case.short for case in cases),
        [(token,) for token in tokens],
        np.column_stack(columns),
    )


def _per_reordering(
    tokens: list[str], orders: list[Array], cases: list[_Case], outcomes: list[_Outcome]
) -> Grid:
    return Grid(
        "Largest difference per re-ordering",
        ("re-ordering", "old places"),
        tuple(case.short for case in cases),
        [(_written(tokens, o), " ".join(map(str, o))) for o in orders],
        np.column_stack([o.differences.max(axis=1) for o in outcomes]) if orders else [],
    )


def _written(tokens: list[str], order: Array) -> str:
    return " ".join(tokens[i] for i in order)
