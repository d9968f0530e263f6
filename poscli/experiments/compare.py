"""compare: schemes side by side, on the same tokens and the same model."""

from itertools import combinations
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array, Precision
from poscli.attention import Model, Toy, build_mask, build_model
from poscli.errors import PoscliError
from poscli.experiments.precision import precision_grids
from poscli.positions import refuse_size
from poscli.report import (
    Cell,
    Check,
    Curve,
    Curves,
    Figure,
    Grid,
    Report,
    Section,
    Verdict,
    check,
    largest_difference,
    tolerance,
)
from poscli.schemes import AnyScheme, every_scheme
from poscli.schemes.base import Scheme
from poscli.schemes.nope import NoPE
from poscli.threads import one_blas_thread
from poscli.words import embed, split

_MOST_CURVES = 8


class CompareConfig(Toy):
    """Settings of `poscli compare`."""

    command: Literal["compare"] = "compare"
    schemes: Annotated[list[AnyScheme], Field(min_length=1)] = Field(
        default_factory=every_scheme,
        description="the schemes to hold against each other",
    )
    sentence: str | None = Field(None, description="the tokens; drawn ones where not given")
    length: int | None = Field(
        None, ge=1, le=2**52, description="how many tokens to draw; 16 if not given"
    )
    precision: Precision | None = Field(
        None, description="show what rounding to this format at each stage gets wrong"
    )
    word: str = Field("cat", min_length=1, description="the word that stands at two places")
    places: Annotated[list[Annotated[int, Field(ge=0, lt=4096)]], Field(min_length=2)] = Field(
        default=[0, 99], max_length=2, description="the two places of that word"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.sentence is not None and self.length is not None:
            raise PoscliError("sentence and length both say how many tokens; give one")
        if self.places[0] == self.places[1]:
            raise PoscliError(f"places must be two different places; got {self.places}")
        return self


@one_blas_thread()
def compare(config: CompareConfig) -> Report:
    """Measure each scheme on the model, and the largest difference between each pair."""
    words = None if config.sentence is None else split(config.sentence, "word")
    count = (config.length or 16) if words is None else len(words)
    refuse_size(config.heads * count**2, f"{count:,} tokens")
    tokens = words or [f"token {i}" for i in range(count)]
    x = embed(tokens, config.dim, config.seed, config.embeddings).astype(config.dtype)
    model, mask, positions = build_model(config), build_mask(config, len(x)), np.arange(len(x))
    names = tuple(scheme.label() for scheme in config.schemes)
    columns = [_measures(config, model, scheme, x, positions) for scheme in config.schemes]
    result = Grid(
        "Side by side",
        ("measure",),
        names,
        [(measure,) for measure in columns[0]],
        [[column[measure] for column in columns] for measure in columns[0]],
    )
    outputs = [model.outputs(x, s, positions, mask) for s in config.schemes]
    d = config.dim
    adding = [
        ("adding a position keeps", f"width {d}, so {d}^2 = {d * d:,} weights per projection"),
        ("concatenating one needs", f"width {2 * d}, so {2 * d}^2 = {4 * d * d:,} weights"),
    ]
    return Report(
        title="compare: schemes on the same tokens and the same model",
        settings=config.model_dump(exclude_none=True),
        sections=[
            Section(facts=[("tokens", len(tokens)), *adding], grids=[result]),
            _pairs(names, outputs, _same_columns(config, positions)),
            _same_word(config, model),
            *_precision(config, positions),
        ],
        result=result,
        figures=_scores_by_distance(config, model, positions),
    )


def _scores_by_distance(config: CompareConfig, model: Model, positions: Array) -> list[Figure]:
    """Return, per scheme, the mean score of one word with itself at each distance back.

    No figure holds more curves than can be told apart.
    """
    distances = list(range(len(positions)))
    curves = []
    for scheme in config.schemes:
        scores = _scores_of_one_word(config, model, scheme, positions)[0]
        means = [float(np.mean(np.diagonal(scores, -k))) for k in distances]
        curves.append(Curve(scheme.label(), distances, means))
    title = f"Score of '{config.word}' with itself, first head"
    return [
        Curves(title, "distance back, in positions", "score", curves[i : i + _MOST_CURVES])
        for i in range(0, len(curves), _MOST_CURVES)
    ]


def _scores_of_one_word(
    config: CompareConfig, model: Model, scheme: Scheme, positions: Array
) -> Array:
    """Return the scores (h, n, n) of a sequence that holds one word at every place."""
    word = embed([config.word], config.dim, config.seed, config.embeddings).astype(config.dtype)
    return model.attend(np.repeat(word, len(positions), axis=0), scheme, positions).scores


def _measures(
    config: CompareConfig, model: Model, scheme: Scheme, x: Array, positions: Array
) -> dict[str, Cell]:
    n, width = len(x), scheme.table_width(config.dim, config.heads)
    deviation, allowed = _offset_deviation(config, model, scheme, positions)
    scheme = scheme.for_length(n)
    places = scheme.coordinates(positions)
    table = scheme.encoding(places, width, config.heads)
    rows = np.moveaxis(table.values, -2, 0).reshape(n, -1)
    added = np.linalg.norm(scheme.apply(np.zeros((n, width)), places), axis=1)
    distinct = len(np.unique(rows, axis=0))
    return {
        "place": scheme.place,
        "parameters to learn": scheme.parameters(config.dim, config.heads),
        "limit": "none" if scheme.limit is None else f"{scheme.limit:,} positions",
        "distinct rows": f"{distinct} of {n}",
        "norm added": _range(added),
        "score by offset alone": None if n == 1 else "yes" if deviation <= allowed else "no",
        "largest deviation": None if n == 1 else deviation,
    }


def _offset_deviation(
    config: CompareConfig, model: Model, scheme: Scheme, positions: Array
) -> tuple[float, float]:
    """Put one word at every place: how far do scores at the same offset lie apart?"""
    scores = _scores_of_one_word(config, model, scheme, positions)
    n = len(positions)
    diagonals = [np.diagonal(scores, k, axis1=1, axis2=2) for k in range(1 - n, n)]
    deviation = max(float(np.max(np.ptp(d, axis=1))) for d in diagonals)
    return deviation, tolerance(2 * config.dim, float(np.abs(scores).max()), scores.dtype)


def _same_columns(config: CompareConfig, positions: Array) -> list[tuple[str, str]]:
    """Say of which pairs the tables hold the same columns in another order."""
    tables = []
    if len(positions) == 1:
        return []
    for scheme in config.schemes:
        used = scheme.for_length(len(positions))
        width = used.table_width(config.dim, config.heads)
        table = used.encoding(used.coordinates(positions), width, config.heads).values
        tables.append(table if table.ndim == 2 and used.sees_order else None)
    found = []
    for (i, one), (j, other) in combinations(enumerate(tables), 2):
        if one is None or other is None or one.shape != other.shape or (one == other).all():
            continue
        if sorted(map(tuple, one.T.tolist())) == sorted(map(tuple, other.T.tolist())):
            pair = f"{config.schemes[i].label()} and {config.schemes[j].label()}"
            found.append((pair, "the same table up to column order"))
    return found


def _pairs(names: tuple[str, ...], outputs: list[Array], facts: list[tuple[str, str]]) -> Section:
    cells: list[list[Cell]] = [
        [largest_difference(one, other) for other in outputs] for one in outputs
    ]
    checks = [
        check(
            f"{names[i]} and {names[j]} give different outputs",
            outputs[i],
            outputs[j],
            expected="different",
            tolerance=0.0,
            uninformative="a single token at position 0 cannot tell these schemes apart",
        )
        for i, j in combinations(range(len(names)), 2)
        if len(outputs[0]) == 1 and cells[i][j] == 0.0
    ]
    grid = Grid(
        "Largest difference between the outputs of each pair",
        ("scheme",),
        names,
        [(name,) for name in names],
        cells,
    )
    return Section(facts=facts, grids=[grid] if len(names) > 1 else [], checks=checks)


def _same_word(config: CompareConfig, model: Model) -> Section:
    """One word at two places among others that all differ: are its two outputs equal?

    Not from a scheme that sees a query's own place; none of the others can tell the two apart.
    """
    first, second = sorted(config.places)
    refuse_size(config.heads * (second + 1) ** 2, f"{second + 1:,} tokens")
    tokens = [f"other {i}" for i in range(second + 1)]
    x = embed(tokens, config.dim, config.seed, None)
    x[[first, second]] = embed([config.word], config.dim, config.seed, config.embeddings)
    x, positions = x.astype(config.dtype), np.arange(len(x))
    schemes = [NoPE(), *(s for s in config.schemes if s.sees_order)]
    checks: list[Check] = []
    for scheme in schemes:
        expected = "different" if scheme.sees_own_place else "equal"
        try:
            outputs = model.outputs(x, scheme, positions)
        except PoscliError as error:
            raise PoscliError(f"{error} (places are {first} and {second})") from None
        blind = "the control is not equal" if checks and checks[0].verdict is Verdict.FAIL else ""
        if second == 1:
            blind = "no other word stands beside these two"
        checks.append(
            check(
                f"{scheme.label()}: '{config.word}' at {first} and at {second}, {expected}",
                outputs[first],
                outputs[second],
                expected=expected,
                tolerance=model.tolerance(x, scheme, positions),
                uninformative=blind,
            )
        )
    return Section("The same word at two places, without a mask", checks=checks)


def _precision(config: CompareConfig, positions: Array) -> list[Section]:
    """Show for each scheme made of angles what rounding gets wrong."""
    sections = []
    for scheme in config.schemes if config.precision else ():
        used = scheme.for_length(len(positions))
        width = used.table_width(config.dim, config.heads)
        if used.angle_parts(positions, width) is not None:
            grids = precision_grids(used, positions, width, config.precision or "float64")
            sections.append(Section(scheme.label(), grids=grids))
    if config.precision and not sections:
        raise PoscliError("none of these schemes has angles of one position to round")
    return sections


def _range(values: Array) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g} to {high:.4g}"
