"""One run: a scheme, a seed and a task; trained at one length, examined at many."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli import __version__
from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.schemes.base import Scheme
from poscli.settings import Settings
from poscli.training.model import Parameters, Size, initial, logits, loss_and_gradient
from poscli.training.optimiser import Adam, rate_at
from poscli.training.placed import Placed, place, refuse_untrainable
from poscli.training.tasks import Data, Task
from poscli.training.tasks.base import stream

_MOST_SCORES = 2**21


class Recipe(Settings):
    """How a model is built and trained, whatever its scheme and task."""

    length: int = Field(16, ge=3, le=2**12, description="the trained length, in positions")
    steps: int = Field(400, ge=1, le=10**6, description="training steps")
    batch: int = Field(32, ge=1, le=2**12, description="sequences per step")
    rate: float = Field(6e-3, gt=0, description="the highest learning rate")
    dim: int = Field(32, ge=1, le=2**10, description="width of a token's vector")
    heads: int = Field(4, ge=1, le=2**6, description="attention heads; they divide dim")
    layers: int = Field(2, ge=1, le=2**6, description="blocks of attention and MLP")
    mask: Literal["causal", "none"] = Field("causal", description="causal, or none")

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.dim % self.heads:
            raise PoscliError(f"heads must divide dim; got {self.heads} heads and dim {self.dim}")
        return self


@dataclass(frozen=True)
class Moved:
    """What training did to the rows of one array of a scheme's learned values.

    moved are the rows that changed and least the smallest change among them; gradient is the
    largest one that ever reached any other row.
    """

    rows: int
    moved: list[int]
    least: float
    gradient: float


@dataclass(frozen=True)
class Outcome:
    """What a run found: figures[examined with][length][exam], None where it cannot run."""

    figures: dict[str, dict[str, dict[str, float] | None]]
    loss: float
    learned: dict[str, Moved]

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain values, exactly."""
        learned = {name: vars(moved) for name, moved in self.learned.items()}
        return {"figures": self.figures, "loss": self.loss, "learned": learned}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        """Return what to_json wrote."""
        learned = {name: Moved(**moved) for name, moved in given["learned"].items()}
        return cls(given["figures"], given["loss"], learned)


@dataclass(frozen=True)
class Run:
    """Everything that decides what a run finds.

    scheme is trained with. After training the model is examined with it, and with others in its
    place: those of rescaled are set for each length, those of swapped are taken as they are.
    """

    scheme: Scheme
    seed: int
    task: Task
    recipe: Recipe
    lengths: tuple[int, ...]
    rescaled: tuple[Scheme, ...] = ()
    swapped: tuple[Scheme, ...] = ()

    def label(self) -> str:
        """Return the run's name while it is under way."""
        return f"{self.scheme.label()}, seed {self.seed}"

    def held(self, scheme: Scheme) -> Scheme:
        """Return a scheme as this run begins with it."""
        return scheme.trained_at(self.recipe.length).drawn_with(self.seed)

    def at(self, scheme: Scheme, length: int) -> Scheme:
        """Return a rescaled scheme as it is set for a length past the trained one."""
        return self.held(scheme).stretched(length / self.recipe.length)

    def check(self) -> None:
        """Raise PoscliError where the run cannot even start."""
        task, recipe, scheme = self.task, self.recipe, self.held(self.scheme)
        if task.needs_mask and recipe.mask == "none":
            raise PoscliError(f"{task.name} needs mask causal: without it the answer can be seen")
        for length in (recipe.length, *self.lengths):
            if length < task.shortest:
                raise PoscliError(
                    f"{task.name} needs sequences of {task.shortest} or more; got length {length}"
                )
        if scheme.limit is not None and scheme.limit < recipe.length:
            raise PoscliError(
                f"{scheme.name} cannot be trained at length {recipe.length}: it has "
                f"{scheme.limit} rows, and position {scheme.limit} is the first missing one"
            )
        refuse_untrainable(scheme, recipe.dim, recipe.heads)
        for other in (scheme, *map(self.held, (*self.rescaled, *self.swapped))):
            self.placed(other, recipe.length)

    def placed(self, scheme: Scheme, length: int) -> Placed:
        """Return a scheme at the places of a sequence of this run's model."""
        recipe = self.recipe
        return place(scheme, length, recipe.dim, recipe.heads, recipe.mask == "causal")

    def key(self) -> str:
        """Return the hash of the resolved settings, and of every value read from a file."""
        every = [self.held(s) for s in (self.scheme, *self.rescaled, *self.swapped)]
        digest = sha256(json.dumps(self.resolved(), sort_keys=True).encode())
        for scheme in every:
            for name, values in scheme.learnable(self.recipe.dim, self.recipe.heads).items():
                digest.update(name.encode() + values.tobytes())
        return digest.hexdigest()

    def resolved(self) -> dict[str, Any]:
        """Return the settings after every rule about lengths and seeds has been applied."""
        rescaled = [[self.at(s, n).model_dump() for n in self.lengths] for s in self.rescaled]
        return {
            "poscli": __version__,
            "scheme": self.held(self.scheme).model_dump(),
            "label": self.scheme.label(),
            "seed": self.seed,
            "task": self.task.model_dump(),
            "recipe": self.recipe.model_dump(),
            "lengths": list(self.lengths),
            "rescaled": [[s.label() for s in self.rescaled], rescaled],
            "swapped": [[s.label(), self.held(s).model_dump()] for s in self.swapped],
        }


def rescaled(scheme: Scheme) -> str:
    """Return the name of a scheme that is set for each length after training."""
    return f"rescaled {scheme.label()}"


def train(run: Run) -> Outcome:
    """Train a model and examine it at every length; PoscliError where training diverged."""
    run.check()
    # What overflows is found below, and said once.
    with np.errstate(all="ignore"):
        return _trained(run)


def _trained(run: Run) -> Outcome:
    recipe, scheme = run.recipe, run.held(run.scheme)
    size = Size(run.task.symbols, recipe.dim, recipe.heads, recipe.layers)
    start = scheme.learnable(recipe.dim, recipe.heads)
    weights = initial(size, start, stream(run.seed, "weights"))
    before = {name: view.copy() for name, view in weights.learned().items()}
    reached = {name: np.zeros_like(view) for name, view in before.items()}
    placed, adam, loss = run.placed(scheme, recipe.length), Adam(weights.flat), 0.0
    data = run.task.batches(stream(run.seed, "data"), recipe.batch, recipe.length)
    for step, drawn in zip(range(recipe.steps), data, strict=False):
        now = placed.with_learned(weights.learned())
        loss, gradient = loss_and_gradient(size, weights, now, drawn.tokens, drawn.targets)
        for name, view in gradient.learned().items():
            np.maximum(reached[name], np.abs(view), out=reached[name])
        adam.step(weights.flat, gradient.flat, rate_at(step, recipe.steps, recipe.rate))
        if not (np.isfinite(loss) and np.isfinite(weights.flat).all()):
            raise _diverged(run, f"the loss is no number after step {step + 1}")
    own = scheme.with_learned(weights.learned()) if start else scheme
    return Outcome(
        _examined(run, size, weights, own),
        loss,
        {
            name: _moved(before[name], after, reached[name])
            for name, after in weights.learned().items()
        },
    )


def _examined(
    run: Run, size: Size, weights: Parameters, own: Scheme
) -> dict[str, dict[str, dict[str, float] | None]]:
    """Examine a trained model with its own scheme, and with the others in its place."""
    used = {run.scheme.label(): dict.fromkeys(run.lengths, own)}
    for scheme in run.rescaled:
        used[rescaled(scheme)] = {
            n: own if n <= run.recipe.length else run.at(scheme, n) for n in run.lengths
        }
    for scheme in run.swapped:
        used[scheme.label()] = dict.fromkeys(run.lengths, run.held(scheme))
    return {
        label: {str(n): _figures(run, size, weights, s, n) for n, s in by_length.items()}
        for label, by_length in used.items()
    }


def _figures(
    run: Run, size: Size, weights: Parameters, scheme: Scheme, length: int
) -> dict[str, float] | None:
    if scheme.limit is not None and scheme.limit < length:
        return None
    placed = run.placed(scheme, length)
    return {
        name: run.task.score(data, _answers(run, size, weights, placed, data))
        for name, data in run.task.exams(length).items()
    }


def _answers(run: Run, size: Size, weights: Parameters, placed: Placed, data: Data) -> Array:
    """Return the logits of a whole exam, a few sequences at a time."""
    scored, length = data.targets.shape[1], data.tokens.shape[1]
    few = max(1, _MOST_SCORES // (size.heads * length * length))
    parts = [data.tokens[i : i + few] for i in range(0, len(data), few)]
    found = np.concatenate([logits(size, weights, placed, part, scored) for part in parts])
    if not np.isfinite(found).all():
        raise _diverged(run, f"its answers at length {length} are no numbers")
    return found


def _diverged(run: Run, how: str) -> PoscliError:
    return PoscliError(
        f"{run.label()}: the training diverged: {how}; lower rate, {run.recipe.rate}"
    )


def _moved(before: Array, after: Array, reached: Array) -> Moved:
    """Compare the rows of an array before and after training."""
    change = np.abs(after - before).reshape(len(before), -1).max(axis=1)
    moved = change > 0
    elsewhere = reached.reshape(len(before), -1)[~moved]
    return Moved(
        rows=len(before),
        moved=np.flatnonzero(moved).tolist(),
        least=float(change[moved].min(initial=np.inf)) if moved.any() else 0.0,
        gradient=float(elsewhere.max(initial=0.0)),
    )
