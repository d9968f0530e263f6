"""extrapolate --train: train a tiny model per scheme, and measure it past the trained length."""

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.errors import PoscliError
from poscli.positions import refuse_size
from poscli.progress import Watch, unwatched
from poscli.report import Cell, Check, Curve, Grid, LengthCurves, Report, Section, check
from poscli.schemes import SCHEMES, AnyScheme
from poscli.schemes.base import Scheme
from poscli.settings import FilePath
from poscli.training.grid import cluster, processes, run_all
from poscli.training.published import PUBLISHED
from poscli.training.run import Outcome, Recipe, Run, rescaled
from poscli.training.tasks import AnyTask
from poscli.training.tasks.base import Task
from poscli.training.tasks.lm import LanguageModel

_MULTIPLES = (1, 2, 4, 8, 16)
_TRAINED = ("none", "sinusoidal", "learned", "rope", "alibi", "t5")
_RESCALED = ("rope-linear", "rope-ntk", "rope-dynamic", "rope-yarn", "rope-llama3")
_AS_LARGE_AS_TOKENS = 0.7
_SETTINGS = {"learned": {"std": _AS_LARGE_AS_TOKENS}, "rope-dynamic": {"factor": 2.0}}
_CANNOT = "cannot run"
_HOW_IT_RUNS = {"workers", "cluster", "cache", "published", "command"}


def _known(names: Sequence[str]) -> list[Scheme]:
    return [SCHEMES[n].model_validate(_SETTINGS.get(n, {})) for n in names if n in SCHEMES]


class TrainConfig(Recipe):
    """Settings of `poscli extrapolate --train`."""

    command: Literal["extrapolate --train"] = "extrapolate --train"
    schemes: Annotated[list[AnyScheme], Field(min_length=1)] = Field(
        default_factory=lambda: _known(_TRAINED), description="the schemes to train with"
    )
    task: AnyTask = Field(default_factory=LanguageModel, description="what to learn")
    seeds: int = Field(3, ge=1, le=1000, description="runs per scheme, with seeds 0, 1, ...")
    lengths: Annotated[list[Annotated[int, Field(ge=3, le=2**14)]], Field(min_length=1)] | None = (
        Field(None, description="the lengths to examine; 1, 2, 4, 8 and 16 times the trained one")
    )
    rescalings: list[AnyScheme] = Field(
        default_factory=lambda: _known(_RESCALED),
        description="put in place of rope after training, their factor set for each length",
    )
    swap: bool = Field(False, description="examine each model with every other scheme as well")
    published: bool = Field(False, description="show figures from papers beside these")
    workers: int | None = Field(
        None, ge=1, le=1024, description="processes to run on; as many as cores if not given"
    )
    cluster: str | None = Field(None, description="address of a Dask scheduler to run on instead")
    cache: FilePath | None = Field(None, description="folder that keeps finished runs")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for key in ("schemes", "rescalings"):
            labels = [scheme.label() for scheme in getattr(self, key)]
            twice = sorted({label for label in labels if labels.count(label) > 1})
            if twice:
                raise PoscliError(f"{key} holds {twice[0]} twice")
        if self.cluster is not None and self.workers is not None:
            raise PoscliError("cluster and workers both say where to run; give one")
        refuse_size(self.heads * max(self.measured) ** 2, f"lengths up to {max(self.measured):,}")
        return self

    @property
    def measured(self) -> list[int]:
        """The lengths to examine, shortest first."""
        return sorted(set(self.lengths or [m * self.length for m in _MULTIPLES]))

    def rescalings_of(self, trained: Scheme) -> list[Scheme]:
        """Return what takes the place of a trained rope: with its base, pairing and direction."""
        if trained.name != "rope":
            return []
        return [
            scheme.model_copy(
                update={
                    key: getattr(trained, key)
                    for key in trained.model_fields_set - {"name"} - scheme.model_fields_set
                    if key in type(scheme).model_fields
                }
            )
            for scheme in self.rescalings
        ]

    def runs(self) -> list[Run]:
        """Return every run, scheme by scheme and seed by seed."""
        recipe = Recipe(**{key: getattr(self, key) for key in Recipe.model_fields})
        return [
            Run(
                scheme,
                seed,
                self.task,
                recipe,
                tuple(self.measured),
                tuple(self.rescalings_of(scheme)),
                tuple(s for s in self.schemes if s is not scheme) if self.swap else (),
            )
            for scheme in self.schemes
            for seed in range(self.seeds)
        ]

    def executor(self, jobs: int) -> AbstractContextManager[Executor]:
        """Return where the runs are trained."""
        if self.cluster is not None:
            return cluster(self.cluster)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return processes(min(self.workers or cores or 1, jobs))


def train_and_extrapolate(config: TrainConfig, watch: Watch = unwatched) -> Report:
    """Train every scheme with every seed, and report how each fares at every length."""
    runs = config.runs()
    for run in runs:
        run.check()
    with config.executor(len(runs)) as executor:
        cache = None if config.cache is None else Path(config.cache)
        outcomes = run_all(runs, executor, cache, watch)
    found = _Found(config, outcomes)
    sections = [
        Section(grids=found.by_length(), lines=_reading(config)),
        Section(facts=found.new(), grids=[_references(config.task)]),
        *([Section(grids=[found.swapped()])] if config.swap else []),
        *found.learned(),
    ]
    if config.published:
        sections.append(
            Section(
                "Published figures, second-hand: check them against the paper before citing",
                grids=[table.grid() for table in PUBLISHED],
            )
        )
    return Report(
        title="extrapolate --train: trained short, examined long",
        settings=_settings(config),
        sections=sections,
        result=found.result(),
        figures=found.figures(),
    )


def _settings(config: TrainConfig) -> dict[str, Any]:
    """Return the settings as the runs hold them; what differs between runs is left out."""
    settings = config.model_dump(exclude_none=True, exclude=_HOW_IT_RUNS)
    for key, varying in (("schemes", {"seed"}), ("rescalings", {"seed", "factor"})):
        settings[key] = [
            scheme.trained_at(config.length).model_dump(
                exclude_none=True, exclude=varying - scheme.model_fields_set
            )
            for scheme in getattr(config, key)
        ]
    return settings


class _Found:
    """The outcomes of all runs, by scheme and by what the model was examined with."""

    def __init__(self, config: TrainConfig, outcomes: list[Outcome]) -> None:
        self.config, self.task = config, config.task
        self.exams = list(config.task.exams(config.measured[0]))
        n = config.seeds
        self.by_scheme = {
            scheme.label(): outcomes[i * n : (i + 1) * n] for i, scheme in enumerate(config.schemes)
        }
        self.rows = [
            (trained.label(), used)
            for trained in config.schemes
            for used in [
                trained.label(),
                *map(rescaled, config.rescalings_of(trained)),
            ]
        ]

    def values(self, trained: str, used: str, length: int, exam: str) -> list[float] | None:
        """Return one figure per seed, or None where that cannot run."""
        found = [outcome.figures[used][str(length)] for outcome in self.by_scheme[trained]]
        return None if any(f is None for f in found) else [f[exam] for f in found if f is not None]

    def by_length(self) -> list[Grid]:
        """Return the table of schemes by length, one per exam."""
        task, n = self.task, self.config.seeds
        spread = f"mean ± standard deviation of {n} seeds" if n > 1 else "one seed: no spread"
        return [
            Grid(
                f"{_name(task, exam)}, {task.unit}: {spread}; trained at {self.config.length}",
                ("scheme",),
                tuple(self.times(length) for length in self.config.measured),
                [(_row(*row),) for row in self.rows],
                [
                    [self._text(self.values(*row, length, exam)) for length in self.config.measured]
                    for row in self.rows
                ],
            )
            for exam in self.exams
        ]

    def times(self, length: int) -> str:
        """Name a length and how often it holds the trained one."""
        return f"{length} ({length / self.config.length:g}x)"

    def result(self) -> Grid:
        """Return every figure in a row of its own, for data."""
        labels, cells = [], []
        for row in self.rows:
            for length in self.config.measured:
                for exam in self.exams:
                    values = self.values(*row, length, exam)
                    labels.append((*row, exam, str(length), f"{length / self.config.length:g}x"))
                    cells.append(_numbers(values, self.config.seeds))
        return Grid(
            self.task.figure,
            ("trained with", "examined with", "exam", "length", "times"),
            ("can run", "mean", "standard deviation", "seeds"),
            labels,
            cells,
        )

    def swapped(self) -> Grid:
        """Return the figure of each model with each scheme, at the shortest length."""
        names, shortest, exam = list(self.by_scheme), self.config.measured[0], self.exams[0]
        return Grid(
            f"Examined with another scheme: {_name(self.task, exam)}, {self.task.unit}, at length "
            f"{shortest}; trained at {self.config.length}",
            ("trained with",),
            tuple(f"with {name}" if i == 0 else name for i, name in enumerate(names)),
            [(name,) for name in names],
            [
                [self._text(self.values(one, other, shortest, exam)) for other in names]
                for one in names
            ],
        )

    def new(self) -> list[tuple[str, Cell]]:
        """Say what each scheme itself has not met in training."""
        config, facts = self.config, list[tuple[str, Cell]]()
        for scheme in config.schemes:
            held = scheme.trained_at(config.length)
            beyond = held.beyond(config.length, config.measured, config.dim, config.heads)
            facts += [(f"{scheme.label()}: {name}", value) for name, value in beyond.facts]
        return facts

    def learned(self) -> list[Section]:
        """Show which learned rows moved, for every scheme that has some."""
        sections = []
        for label, outcomes in self.by_scheme.items():
            for name in outcomes[0].learned:
                every = [outcome.learned[name] for outcome in outcomes]
                moved = sorted({row for one in every for row in one.moved})
                still = [row for row in range(every[0].rows) if row not in set(moved)]
                sections.append(
                    Section(
                        f"{label}: what training did to its {name}",
                        facts=[("moved", _ranges(moved)), ("not moved", _ranges(still))],
                        checks=_moved_checks(
                            name,
                            [one.least for one in every],
                            [one.gradient for one in every],
                            bool(still),
                        ),
                    )
                )
        return sections

    def figures(self) -> list[LengthCurves]:
        """Return one figure per exam."""
        return [
            LengthCurves(
                f"{self.task.summary}, trained at {self.config.length}",
                "length",
                f"{_name(self.task, exam)}, {self.task.unit}",
                [curve for row in self.rows if (curve := self._curve(row, exam)).x],
                self.task.references(),
                marked=self.config.length,
                mark="trained length",
            )
            for exam in self.exams
        ]

    def _text(self, values: Sequence[float] | None) -> str:
        if values is None:
            return _CANNOT
        decimals = self.task.decimals
        mean = f"{np.mean(values):.{decimals}f}"
        return f"{mean} ± {_deviation(values):.{decimals}f}" if len(values) > 1 else mean

    def _curve(self, row: tuple[str, str], exam: str) -> Curve:
        found = [(n, self.values(*row, n, exam)) for n in self.config.measured]
        runs = [(n, values) for n, values in found if values is not None]
        return Curve(
            _row(*row),
            [n for n, _ in runs],
            [float(np.mean(values)) for _, values in runs],
            [_deviation(values) for _, values in runs],
        )


def _name(task: Task, exam: str) -> str:
    return task.figure if len(task.exams(task.shortest)) == 1 else f"{task.figure}, {exam}"


def _row(trained: str, used: str) -> str:
    return trained if trained == used else f"{trained}, {used}"


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _numbers(values: Sequence[float] | None, seeds: int) -> list[Cell]:
    if values is None:
        return ["no", None, None, seeds]
    spread = _deviation(values) if seeds > 1 else None
    return ["yes", float(np.mean(values)), spread, seeds]


def _references(task: Task) -> Grid:
    return Grid(
        f"What an answer without a model gets: {task.figure}, {task.unit}",
        ("knows",),
        ("figure",),
        [(name,) for name, _ in task.references()],
        [[value] for _, value in task.references()],
    )


def _reading(config: TrainConfig) -> list[str]:
    rescaling = config.rescalings and any(scheme.name == "rope" for scheme in config.schemes)
    factor = (
        f"A rescaling without a factor of its own takes length / {config.length} as its factor."
    )
    return [
        "Schemes that are broken at a length are not ranked there: their spread is too large.",
        *config.task.reading,
        *([factor] if rescaling else []),
    ]


def _ranges(rows: Sequence[int]) -> str:
    """Write whole numbers as ranges.

    >>> _ranges([0, 1, 2, 7]), _ranges([])
    ('0 to 2, 7', 'none')
    """
    parts: list[list[int]] = []
    for row in rows:
        if parts and row == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], row]
        else:
            parts.append([row])
    return ", ".join(" to ".join(map(str, part)) for part in parts) or "none"


def _moved_checks(
    name: str, least: Sequence[float], gradient: Sequence[float], still: bool
) -> list[Check]:
    zeros = np.zeros(len(least))
    moved = check(
        f"training moved {name}",
        np.array(least),
        zeros,
        expected="different",
        tolerance=0.0,
    )
    unmoved = check(
        f"the gradient of the {name} that did not move is exactly 0 at every step",
        np.array(gradient),
        zeros,
        expected="equal",
        tolerance=0.0,
    )
    return [moved, unmoved] if still else [moved]
