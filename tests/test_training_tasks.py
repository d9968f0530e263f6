"""The tasks: what is asked, how it is scored, and what is known of it without any model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from poscli import NoPE
from poscli.training.model import Size, initial, logits
from poscli.training.placed import place
from poscli.training.tasks import TASKS, Task
from poscli.training.tasks.base import stream
from poscli.training.tasks.lm import LanguageModel, stationary
from poscli.training.tasks.order import Order
from poscli.training.tasks.recall import Recall


@pytest.fixture(params=list(TASKS))
def task(request: pytest.FixtureRequest) -> Task:
    return TASKS[request.param].model_validate({})


def test_what_a_task_draws_fits_its_model(task: Task) -> None:
    assert task.name in TASKS
    for length in (task.shortest, 16):
        for data in (task.sample(stream(0, "x"), 40, length), *task.exams(length).values()):
            assert data.tokens.shape == (len(data), length)
            assert data.targets.shape[1] <= length
            assert data.tokens.min() >= 0
            assert data.tokens.max() < task.symbols
            assert data.targets.max() < task.symbols


def test_exams_are_the_same_each_time_and_the_right_answers_score_best(task: Task) -> None:
    for name, exam in task.exams(16).items():
        assert_array_equal(exam.tokens, task.exams(16)[name].tokens)
        right = 50.0 * np.eye(task.symbols)[exam.targets]
        score = task.score(exam, right)
        assert score == 100 if task.unit == "%" else score < 0


def test_two_purposes_never_draw_the_same_numbers() -> None:
    one, other = stream(0, "weights").random(4), stream(0, "data").random(4)
    assert not np.intersect1d(one, other).size
    assert not np.intersect1d(one, np.random.default_rng(0).random(4)).size


def test_order_asks_for_the_earlier_noun_and_mirrors_every_sentence() -> None:
    exam = Order().exams(16)["accuracy"]
    assert len(exam) == 256
    assert len(Order().exams(128)["accuracy"]) == 128
    for tokens, (target,) in zip(exam.tokens, exam.targets, strict=True):
        nouns = tokens[tokens < 8]
        assert len(set(nouns)) == 2
        assert target == nouns[0]
        assert tokens[-1] == 16
    one, twin = exam.tokens[::2], exam.tokens[1::2]
    assert_array_equal((one != twin).sum(axis=1), 2)
    assert_array_equal(np.sort(one), np.sort(twin))


def test_recall_asks_for_a_key_that_occurs_once_near_or_far() -> None:
    for name, places in (("near", range(12, 15)), ("far", range(3))):
        exam = Recall().exams(16)[name]
        found = set()
        for tokens, (target,) in zip(exam.tokens, exam.targets, strict=True):
            key = tokens[-1] - 64
            (place,) = np.flatnonzero(tokens[:-1] // 8 == key)
            assert tokens[place] % 8 == target
            found.add(int(place))
        assert found == set(places)


def test_the_language_model_knows_its_floor() -> None:
    task = LanguageModel()
    given = task.probabilities()
    assert_allclose(given.sum(axis=-1), 1, rtol=1e-14)
    three = stationary(given)
    assert_allclose(np.einsum("abc,abcd->bcd", three, given), three, rtol=0, atol=1e-12)
    exam = task.exams(16)["excess"]
    assert exam.targets.shape == (128, 8)
    assert_array_equal(exam.targets[:, :-1], exam.tokens[:, -7:])
    symbols = np.concatenate([exam.tokens, exam.targets[:, -1:]], axis=1)
    third, second, last = (symbols[:, i : i + 8] for i in (6, 7, 8))
    assert task.score(exam, np.log(given[third, second, last])) == pytest.approx(0, abs=1e-12)
    assert task.score(exam, 3 + np.log(given[third, second, last])) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_source_gives_away_by_how_much_is_known(seed: int) -> None:
    values = [value for _, value in LanguageModel(seed=seed).references()]
    assert values[0] == 0
    assert values == sorted(values)
    assert 1.4 < np.log(16) - values[-1] < 1.9
    assert 0.55 < values[2] < 0.85


def test_symbols_come_as_often_as_the_source_says() -> None:
    task = LanguageModel()
    data = task.sample(stream(1, "x"), 20_000, 8)
    share = np.bincount(data.targets[:, -1], minlength=16) / 20_000
    given = task.probabilities()
    want = (stationary(given)[..., None] * given).sum(axis=(0, 1, 2))
    assert_allclose(share, want, rtol=0, atol=6 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("layers", [1, 2])
def test_an_order_blind_model_is_right_for_one_of_two_twins_even_untrained(layers: int) -> None:
    exam = Order().exams(16)["accuracy"]
    size = Size(Order.symbols, 32, 4, layers)
    weights = initial(size, {}, stream(0, "weights"))
    got = logits(size, weights, place(NoPE(), 16, 32, 4, causal=False), exam.tokens, 1)[:, 0]
    assert_allclose(got[::2], got[1::2], rtol=0, atol=1e-5)
    nouns = np.concatenate([exam.targets.reshape(-1, 2), exam.targets.reshape(-1, 2)], axis=0)
    chosen = np.take_along_axis(np.concatenate([got[::2], got[1::2]]), nouns, axis=1).argmax(axis=1)
    right = np.repeat([0, 1], len(got) // 2)
    assert np.mean(chosen == right) == 0.5
    assert Order().score(exam, got[:, None]) <= 50
