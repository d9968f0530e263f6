"""permute-test: what attention can and cannot see of the order of its tokens.

Outputs are matched to their tokens by the permutation that moved the tokens. Without positions and
without a mask they must follow them; only beside that control is "different" claimed for a scheme.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, prod
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.attention import MOST_SCORES, Mask, Model, Toy, build_mask, build_model
from poscli.errors import PoscliError
from poscli.files import read_text
from poscli.positions import refuse_size
from poscli.progress import Track, untracked
from poscli.report import (
    Check,
    Grid,
    Heatmap,
    Report,
    Section,
    check,
    differences,
    identical,
    judged,
)
from poscli.schemes import AnyScheme
from poscli.schemes.base import Scheme
from poscli.schemes.nope import NoPE
from poscli.schemes.sinusoidal import Sinusoidal
from poscli.settings import FilePath
from poscli.threads import one_blas_thread
from poscli.words import Unit, embed, split

_MOST_EXHAUSTIVE = 5040
_MOST_SHOWN = 24
_MOST_MAPPED = 512


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
    mask: Mask
    expected: str


@dataclass(frozen=True)
class _Outcome:
    """What attention made of the text and of its re-orderings, beside what following would give.

    text: outputs (n, d) of the text. weights: of its first tokens on each other, first head.
    differences: the largest of each token of each re-ordering, (r, n). means: over the tokens of
    each re-ordering, as they are and as they would be, (2, r, d). identical: whether all bits of
    all outputs agree. shown: outputs (n, d) of the re-ordering that is shown.
    """

    text: Array
    weights: Array
    differences: Array
    means: Array
    identical: bool
    shown: Array
    tolerance: float


@one_blas_thread()
def permute_test(config: PermuteTestConfig, track: Track[Array] = untracked) -> Report:
    """Re-order the text, run attention on both, and hold the outputs against each other."""
    text = config.sentence if config.file is None else read_text(Path(config.file))
    tokens = split(text or "", config.unit)
    refuse_size(config.heads * len(tokens) ** 2, f"{len(tokens):,} tokens")
    x = embed(tokens, config.dim, config.seed, config.embeddings).astype(config.dtype)
    mask, model = build_mask(config, len(tokens)), build_model(config)
    orders, how = _reorderings(config, tokens, x)
    nothing = _uninformative(tokens, len(orders))
    cases = _cases(config, mask, orders)
    shown = _shown(tokens, orders)
    outcomes = [_run(model, case, x, orders, shown, track) for case in cases]
    control = _control_checks(outcomes[0], nothing)
    sections = [Section(facts=[("tokens", len(tokens)), ("re-orderings", how)])]
    for case, outcome in zip(cases, outcomes, strict=True):
        checks = control
        if case is not cases[0]:
            mask_alone = isinstance(case.scheme, NoPE)
            checks = _case_checks(case, outcome, control, nothing, mask_alone)
        grids = []
        if shown is not None:
            grids.append(_entering(tokens, x, orders[shown], case))
            grids.append(_vectors(tokens, orders[shown], outcome))
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
    few = tokens[:_MOST_MAPPED]
    which = "" if few == tokens else f", first {len(few)} tokens"
    title = f"Attention weights, first head{which}. {case.title}"
    return Heatmap(title, "key", "query", few, few, outcome.weights)


def _reorderings(config: PermuteTestConfig, tokens: list[str], x: Array) -> tuple[Array, str]:
    """Return the permutations to test, as old places (r, n), and how they were chosen."""
    n = len(tokens)
    if config.permutation is not None or config.against is not None:
        order = _given(config, tokens)
        return _only_changes(x, np.array([order])), f"the one given: old places {order}"
    count = _count_arrangements(tokens)
    if count <= max(_MOST_EXHAUSTIVE, config.samples):
        refuse_size(2 * count * sum(x.shape), f"{count:,} re-orderings of {n} tokens")
        orders = _only_changes(x, _arrangements(tokens))
        return orders, f"every one that changes the text: {len(orders):,}"
    few = config.samples
    refuse_size(2 * few * sum(x.shape), f"{few:,} re-orderings of {n} tokens")
    cycle = _cycle(tokens)
    orders = _only_changes(x, _sample(tokens, few, config.seed, cycle))
    led = ", a 3-cycle among them" if cycle else ""
    return orders, f"{len(orders):,} drawn with seed {config.seed}{led}"


def _given(config: PermuteTestConfig, tokens: list[str]) -> list[int]:
    if config.permutation is None:
        return _match(tokens, split(config.against or "", config.unit))
    if sorted(config.permutation) != list(range(len(tokens))):
        raise PoscliError(f"permutation must hold each of 0 to {len(tokens) - 1} once")
    return config.permutation


def _numbered(tokens: Sequence[str]) -> Array:
    """Return a number per token, the same for equal ones, (n,)."""
    numbers = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    return np.array([numbers[token] for token in tokens])


def _only_changes(x: Array, orders: Array) -> Array:
    """Drop what leaves every vector where it was."""
    vectors = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray(orders[(vectors[orders] != vectors).any(axis=1)])


def _count_arrangements(tokens: Sequence[str]) -> int:
    return factorial(len(tokens)) // prod(factorial(c) for c in Counter(tokens).values())


def _match(tokens: list[str], other: list[str]) -> list[int]:
    """Return the old place of each token of a re-ordering, first to first among equal ones."""
    missing, extra = Counter(tokens) - Counter(other), Counter(other) - Counter(tokens)
    if missing or extra:
        parts = [
            f"{word} {', '.join(repr(t) for t in sorted(difference))}"
            for word, difference in (("lacks", missing), ("adds", extra))
            if difference
        ]
        raise PoscliError(f"not a re-ordering: the second text {' and '.join(parts)}")
    places = {t: iter([i for i, token in enumerate(tokens) if token == t]) for t in set(tokens)}
    return [next(places[t]) for t in other]


def _arrangements(tokens: Sequence[str]) -> Array:
    """Return one permutation per distinct arrangement, as old places (r, n), the text first.

    Grown place by place: each beginning goes on with the next unused token of every kind, in the
    order of the text. Then every whole arrangement is read backwards through its beginnings.
    """
    kinds = [[i for i, t in enumerate(tokens) if t == kind] for kind in dict.fromkeys(tokens)]
    end = len(tokens)
    places = np.full((len(kinds), max(map(len, kinds)) + 1), end)
    for i, kind in enumerate(kinds):
        places[i, : len(kind)] = kind
    grown, used = [], np.zeros((1, len(kinds)), np.int64)
    for _ in tokens:
        following = places[np.arange(len(kinds)), used]
        by_place = np.argsort(following, axis=1)
        begun, rank = np.nonzero(np.take_along_axis(following, by_place, axis=1) < end)
        taken = by_place[begun, rank]
        grown.append((begun, following[begun, taken]))
        used = used[begun]
        used[np.arange(len(used)), taken] += 1
    orders, row = np.empty((len(used), end), np.int64), np.arange(len(used))
    for place in reversed(range(end)):
        begun, old = grown[place]
        orders[:, place] = old[row]
        row = begun[row]
    return orders


def _cycle(tokens: list[str]) -> list[Array]:
    """Return a 3-cycle of three different tokens, which its own inverse cannot stand in for."""
    distinct = [tokens.index(t) for t in dict.fromkeys(tokens)]
    if len(distinct) < 3:
        return []
    order = np.arange(len(tokens))
    a, b, c = distinct[:3]
    order[[a, b, c]] = [b, c, a]
    return [order]


def _sample(tokens: list[str], count: int, seed: int, first: list[Array]) -> Array:
    """Draw distinct arrangements other than the text, after the ones that come first."""
    rng, words = np.random.default_rng(seed), _numbered(tokens)
    drawn = {words[order].tobytes(): order for order in first}
    while len(drawn) < count:
        order = rng.permutation(len(tokens))
        if (words[order] != words).any():
            drawn.setdefault(words[order].tobytes(), order)
    return np.array(list(drawn.values()))


def _uninformative(tokens: list[str], orders: int) -> str:
    if len(tokens) == 1:
        return "one token has no order"
    if len(set(tokens)) == 1:
        return "all tokens are equal, so no re-ordering changes anything"
    return "" if orders else "the re-ordering leaves every vector where it was"


def _cases(config: PermuteTestConfig, mask: Mask, orders: Array) -> list[_Case]:
    """The control first; then the mask alone, where there is one; then each scheme."""
    cases = [_Case("Control: no positions, no mask", "control", NoPE(), None, "equal")]
    word = "no mask"
    if mask is not None:
        word = "causal mask" if isinstance(mask, str) else "given mask"
        expected = "different" if _moves(mask, orders) else "equal"
        cases.append(_Case(f"No positions, {word}", word, NoPE(), mask, expected))
    for scheme in config.schemes:
        if scheme.sees_order:
            name = scheme.label()
            cases.append(_Case(f"{name}, {word}", name, scheme, mask, "different"))
    return cases


def _moves(mask: Mask, orders: Array) -> bool:
    """Say whether any re-ordering would move the mask, were it to follow its tokens."""
    if not isinstance(mask, np.ndarray):
        return len(orders) > 0
    return any((mask[np.ix_(o, o)] != mask).any() for o in orders)


def _run(
    model: Model, case: _Case, x: Array, orders: Array, shown: int | None, track: Track[Array]
) -> _Outcome:
    positions, few = np.arange(len(x)), slice(0, _MOST_MAPPED)
    text = model.outputs(x, case.scheme, positions, case.mask)
    weights = model.attend(x, case.scheme, positions, case.mask, few).weights[0, :, few]
    different, means, same = np.empty(orders.shape), np.empty((2, len(orders), x.shape[1])), True
    done, of_shown = 0, text
    for some in track(_batches(orders, model.heads, x.shape[1]), case.short):
        outputs = model.outputs(x[some], case.scheme, positions, case.mask)
        followed, batch = text[some], slice(done, done + len(some))
        different[batch] = differences(outputs, followed).max(axis=2)
        means[:, batch] = outputs.mean(axis=1), followed.mean(axis=1)
        same = same and identical(outputs, followed)
        if shown is not None and done <= shown < batch.stop:
            of_shown = outputs[shown - done]
        done = batch.stop
    return _Outcome(
        text,
        weights,
        different,
        means,
        same,
        of_shown,
        model.tolerance(x, case.scheme, positions),
    )


def _batches(orders: Array, heads: int, dim: int) -> list[Array]:
    """Cut re-orderings (r, n) into batches that attention takes side by side."""
    n = orders.shape[1]
    few = max(1, MOST_SCORES // (n * max(heads * n, dim)))
    return [orders[i : i + few] for i in range(0, len(orders), few)]


_FOLLOW = "outputs follow their tokens (order-blind)"
_STAY = "outputs do not follow their tokens (not order-blind)"


def _control_checks(outcome: _Outcome, nothing: str) -> list[Check]:
    follow = _follow_check(outcome, "equal", nothing)
    mean = check(
        "the mean over the tokens does not change",
        *outcome.means,
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
    count = f"seen in {seen} of {len(outcome.differences)} re-orderings"
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
    return judged(
        _FOLLOW if expected == "equal" else _STAY,
        float(outcome.differences.max(initial=0.0)),
        outcome.identical,
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


def _shown(tokens: list[str], orders: Array) -> int | None:
    """Choose the re-ordering to show in full: the text read backwards where it is one of them."""
    words = _numbered(tokens)
    backwards = (words[orders] == words[::-1]).all(axis=1)
    return int(backwards.argmax()) if len(orders) else None


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


def _vectors(tokens: list[str], order: Array, outcome: _Outcome) -> Grid:
    """Each token's output in the text, and below it in the re-ordered text."""
    labels, rows = [], []
    for new in np.argsort(order):
        old = order[new]
        labels += [(tokens[old], f"text, place {old}"), ("", f"re-ordered, place {new}")]
        rows += [outcome.text[old], outcome.shown[new]]
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
    tokens: list[str], orders: Array, cases: list[_Case], outcomes: list[_Outcome]
) -> Grid:
    return Grid(
        "Largest difference per re-ordering",
        ("re-ordering", "old places"),
        tuple(case.short for case in cases),
        [(_written(tokens, o), " ".join(map(str, o.tolist()))) for o in orders],
        np.column_stack([o.differences.max(axis=1) for o in outcomes]) if len(orders) else [],
    )


def _written(tokens: list[str], order: Array) -> str:
    return " ".join(tokens[i] for i in order)
