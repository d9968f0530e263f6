"""Runs that learn. The bounds are those that every seed of a long series of runs kept."""

from functools import cache
from typing import Literal

import numpy as np
import pytest

from poscli import Alibi, Learned, NoPE, PoscliError, Rope, Scheme, Sinusoidal
from poscli.schemes.kerple import KerpleLog, KerplePower
from poscli.schemes.t5 import T5
from poscli.training.run import Outcome, Recipe, Run, train
from poscli.training.tasks import TASKS, Task
from poscli.training.tasks.order import Order

LM = [Rope(), Learned(std=0.7), Sinusoidal(), Alibi(), NoPE()]


@cache
def trained(scheme: Scheme, task: str, lengths: tuple[int, ...], **recipe: object) -> Outcome:
    kind: Task = TASKS[task].model_validate({})
    return train(Run(scheme, 0, kind, Recipe.model_validate(recipe), lengths))


def figures(outcome: Outcome, exam: str) -> list[float]:
    (by_length,) = outcome.figures.values()
    return [found[exam] for found in by_length.values() if found is not None]


def test_without_mask_and_positions_word_order_is_a_coin_toss() -> None:
    outcome = trained(NoPE(), "order", (16, 32, 64), mask="none", layers=1, steps=200)
    assert figures(outcome, "accuracy") == [50.0, 50.0, 50.0]


def test_without_mask_rope_knows_word_order_at_the_trained_length_only() -> None:
    outcome = trained(Rope(), "order", (16, 64), mask="none", layers=1, steps=200)
    at_once, at_four = figures(outcome, "accuracy")
    assert at_once >= 90
    assert at_four <= 45


def test_the_mask_alone_knows_word_order() -> None:
    outcome = trained(NoPE(), "order", (16, 32, 64))
    assert min(figures(outcome, "accuracy")) >= 95


def test_the_language_model_ranks_the_schemes_at_the_trained_length() -> None:
    once = [figures(trained(scheme, "lm", (16, 32, 64)), "excess")[0] for scheme in LM]
    assert once == sorted(once)
    assert once[0] > -0.05


def test_past_the_trained_length_sinusoidal_and_rope_break_and_alibi_stays() -> None:
    found = {
        s.name: figures(trained(s, "lm", (16, 32, 64)), "excess") for s in LM if s.limit is None
    }
    sinusoidal, rope, alibi = found["sinusoidal"], found["rope"], found["alibi"]
    assert sinusoidal[2] - alibi[2] > 0.3
    assert rope[2] - alibi[2] > 0.4
    assert rope[2] - rope[0] > 0.7
    assert sinusoidal[1] - sinusoidal[0] > 0.3
    assert np.ptp(alibi) < 0.25


def test_t5_declines_past_the_trained_length_where_alibi_does_not() -> None:
    t5 = figures(trained(T5(), "lm", (16, 32, 64)), "excess")
    alibi = figures(trained(LM[3], "lm", (16, 32, 64)), "excess")
    assert t5[1] - t5[0] > 0.08
    assert alibi[2] < t5[2]


def test_learned_numbers_keep_their_bounds() -> None:
    outside = {"p": np.array([-1.0, 3.0]), "a": np.array([-1.0, 3.0])}
    held = KerplePower().with_learned(outside)
    assert held.values("p", 4, 2).tolist() == [0.01, 2.0]
    assert held.values("a", 4, 2).tolist() == [0.01, 3.0]
    assert KerpleLog().with_learned(outside).values("p", 4, 2).tolist() == [0.01, 3.0]


def test_a_learned_table_runs_at_its_length_and_not_one_past_it() -> None:
    outcome = trained(Learned(std=0.7), "lm", (16, 17), steps=2)
    (by_length,) = outcome.figures.values()
    assert by_length["16"] is not None
    assert by_length["17"] is None
    assert outcome.learned["rows"].moved == list(range(16))


def test_rows_past_the_trained_length_stay_as_they_were_drawn() -> None:
    moved = trained(Learned(rows=64), "lm", (16,), steps=20).learned["rows"]
    assert (moved.rows, moved.moved, moved.gradient) == (64, list(range(16)), 0.0)
    assert moved.least > 0


class Stretching(Rope):
    """A rope whose positions are divided by a factor."""

    name: Literal["stretching"] = "stretching"  # type: ignore[assignment]
    factor: float = 2.0

    def rotate(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return super().rotate(x, positions / self.factor)


def test_a_rescaling_is_set_for_each_length_and_one_that_was_given_stays() -> None:
    task, recipe = Order(), Recipe(steps=5, mask="none")
    given, free, rope = Stretching(factor=4.0), Stretching(), Rope()
    assert (free.stretched(8).factor, given.stretched(8).factor) == (8, 4)
    run = Run(rope, 0, task, recipe, (16, 32, 64), rescaled=(free, given))
    by_scheme = train(run).figures
    own, one, other = by_scheme.values()
    assert list(by_scheme) == ["rope", "rescaled stretching", "rescaled stretching:factor=4"]
    assert own["16"] == one["16"] == other["16"]
    assert one["64"] == other["64"]
    assert one["32"] != other["32"]


@pytest.mark.parametrize(
    ("scheme", "task", "recipe", "lengths", "want"),
    [
        (NoPE(), "lm", {"mask": "none"}, (16,), "lm needs mask causal"),
        (NoPE(), "order", {}, (2, 16), "order needs sequences of 3 or more; got length 2"),
        (Learned(rows=8), "lm", {}, (16,), "learned cannot be trained at length 16: it has 8 rows"),
        (Rope(), "lm", {"dim": 9, "heads": 3}, (16,), "rope needs an even head width"),
    ],
)
def test_what_cannot_start_is_refused(
    scheme: Scheme, task: str, recipe: dict[str, object], lengths: tuple[int, ...], want: str
) -> None:
    run = Run(scheme, 0, TASKS[task].model_validate({}), Recipe.model_validate(recipe), lengths)
    with pytest.raises(PoscliError, match=want):
        run.check()
