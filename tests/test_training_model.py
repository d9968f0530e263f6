"""The tiny transformer: its gradient, and what a second way of computing it says."""

from typing import ClassVar, Literal, Self

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pydantic import PrivateAttr

from poscli import Alibi, Learned, NoPE, PoscliError, Rope, Scheme, Sinusoidal
from poscli.arrays import Array
from poscli.attention import attention
from poscli.schemes.fire import Fire
from poscli.schemes.kerple import KerpleLog, KerplePower
from poscli.schemes.score_bias import ScoreBias
from poscli.schemes.t5 import T5
from poscli.schemes.xpos import XPos
from poscli.training.model import Parameters, Size, initial, logits, loss_and_gradient
from poscli.training.optimiser import Adam
from poscli.training.placed import Placed, place, refuse_untrainable

SIZE = Size(symbols=7, dim=8, heads=2, layers=2)
RNG = np.random.default_rng(3)
TOKENS = RNG.integers(7, size=(2, 5))
TARGETS = RNG.integers(7, size=(2, 3))


class ByDistance(ScoreBias):
    """A bias with something to learn: one number per head and distance."""

    name: Literal["by-distance"] = "by-distance"
    summary: ClassVar[str] = "for the tests"
    source: ClassVar[str] = "none"
    _table: Array = PrivateAttr(default_factory=lambda: np.zeros((2, 5)))

    def parameters(self, width: int, heads: int) -> int:
        return 5 * heads

    def bias(self, queries: Array, keys: Array, at: Array, to: Array) -> Array:
        return self._table[:, self._distance(at, to)].astype(queries.dtype)

    def learnable(self, dim: int, heads: int) -> dict[str, Array]:
        return {"table": np.linspace(-1, 1, 5 * heads).reshape(heads, 5)}

    def with_learned(self, values: dict[str, Array]) -> Self:
        held = self.model_copy()
        held._table = values["table"]
        return held

    def bias_gradient(self, gradient: Array, at: Array, to: Array) -> dict[str, Array]:
        table = np.zeros((len(gradient), 5))
        for distance in range(5):
            table[:, distance] = gradient[:, self._distance(at, to) == distance].sum(axis=1)
        return {"table": table}

    def _distance(self, at: Array, to: Array) -> Array:
        return np.abs(np.subtract.outer(at, to)).astype(np.int64)


class OfContent(ScoreBias):
    """A bias that reads the queries, which the arrays of a Placed cannot hold."""

    name: Literal["of-content"] = "of-content"
    summary: ClassVar[str] = "for the tests"
    source: ClassVar[str] = "none"

    def bias(self, queries: Array, keys: Array, at: Array, to: Array) -> Array:
        return queries.sum(axis=2)[..., None] * np.ones(len(to))


def started(scheme: Scheme, causal: bool = True) -> tuple[Parameters, Placed]:
    learnable = scheme.learnable(SIZE.dim, SIZE.heads)
    weights = initial(SIZE, learnable, np.random.default_rng(5), "float64")
    for name, view in weights.views.items():
        if name.endswith(("bias", "norm")):
            view += np.random.default_rng(6).normal(0, 0.1, view.shape)
    return weights, place(scheme, 5, SIZE.dim, SIZE.heads, causal, "float64")


def refused(scheme: Scheme) -> str:
    """Why a scheme cannot be trained; empty where it can."""
    try:
        refuse_untrainable(scheme, SIZE.dim, SIZE.heads)
        started(scheme)
    except PoscliError as refusal:
        return str(refusal)
    return ""


def differences(weights: Parameters, placed: Placed, step: float = 1e-5) -> Array:
    """The gradient by central differences, one parameter after the other."""
    found = np.empty_like(weights.flat)
    for i, value in enumerate(weights.flat.copy()):
        sides = []
        for moved in (value + step, value - step):
            weights.flat[i] = moved
            now = placed.with_learned(weights.learned())
            shifted = logits(SIZE, weights, now, TOKENS, 3)
            logs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
            sides.append(-np.take_along_axis(logs, TARGETS[..., None], axis=-1).mean())
        weights.flat[i] = value
        found[i] = (sides[0] - sides[1]) / (2 * step)
    return found


def check_gradient(scheme: Scheme, causal: bool) -> None:
    weights, placed = started(scheme, causal)
    now = placed.with_learned(weights.learned())
    _, gradient = loss_and_gradient(SIZE, weights, now, TOKENS, TARGETS)
    want = differences(weights, placed)
    assert_allclose(gradient.flat, want, rtol=0, atol=1e-6 * np.abs(want).max())
    for name, view in gradient.views.items():
        assert np.abs(view).max() > 0, name


def test_the_gradient_of_every_parameter_with_every_scheme(scheme: Scheme) -> None:
    scheme = scheme.trained_at(5)
    refusal = refused(scheme)
    if refusal:
        assert refusal.startswith(f"{scheme.name} cannot be trained here: ")
    else:
        check_gradient(scheme, causal=True)


@pytest.mark.parametrize("causal", [True, False])
def test_the_gradient_of_a_learned_bias(causal: bool) -> None:
    check_gradient(ByDistance(), causal)


@pytest.mark.parametrize("scheme", [Rope(pairing="half"), Learned(std=0.7, rows=5), Alibi()])
def test_the_gradient_without_a_mask(scheme: Scheme) -> None:
    check_gradient(scheme, causal=False)


@pytest.mark.parametrize(
    "kind", [NoPE, Sinusoidal, Learned, Rope, XPos, Alibi, T5, KerpleLog, KerplePower, Fire]
)
def test_these_can_be_trained(kind: type[Scheme]) -> None:
    assert refused(kind.model_validate({}).trained_at(5)) == ""


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(PoscliError, match="of-content cannot be trained here: how it biases sc"):
        started(OfContent())

    class Silent(ByDistance):
        def learnable(self, dim: int, heads: int) -> dict[str, Array]:
            return {}

    with pytest.raises(PoscliError, match="by-distance cannot be trained here: it has 10 values"):
        refuse_untrainable(Silent(), 8, 2)


@pytest.mark.parametrize("causal", [True, False])
def test_the_model_is_what_its_layers_say_one_sequence_at_a_time(
    scheme: Scheme, causal: bool
) -> None:
    scheme = scheme.trained_at(5)
    if refused(scheme):
        return
    weights, placed = started(scheme, causal)
    got = logits(SIZE, weights, placed.with_learned(weights.learned()), TOKENS, 5)
    for tokens, want in zip(TOKENS, got, strict=True):
        assert_allclose(by_hand(scheme, weights, tokens, causal), want, rtol=0, atol=1e-12)


def by_hand(scheme: Scheme, weights: Parameters, tokens: Array, causal: bool) -> Array:
    """The same model, from the hooks themselves and the toy attention."""
    w, n = weights.views, len(tokens)
    scheme = scheme.for_length(n)
    positions = scheme.coordinates(np.arange(n))

    def norm(x: Array, name: str) -> Array:
        return w[name] * x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5)

    x = scheme.add(w["embedding"][tokens], positions)
    for i in range(SIZE.layers):
        qkv = norm(x, f"{i} attention norm") @ w[f"{i} queries keys values"]
        q, k, v = (part.reshape(n, SIZE.heads, -1).swapaxes(0, 1) for part in np.split(qkv, 3, 1))
        q, k = scheme.rotate(q, positions), scheme.rotate_keys(k, positions)
        bias = scheme.bias(q, k, positions, positions)
        mask = np.tri(n, dtype=bool) if causal else None
        x = x + attention(q, k, v, bias, mask).outputs @ w[f"{i} attention out"]
        inner = norm(x, f"{i} mlp norm") @ w[f"{i} mlp in"] + w[f"{i} mlp bias"]
        x = x + np.maximum(inner, 0) @ w[f"{i} mlp out"]
    return norm(x, "norm") @ w["logits"] + w["logits bias"]


def test_a_batch_of_5_tokens_moves_rows_0_to_4_of_1024_and_no_other() -> None:
    scheme = Learned()
    start = scheme.learnable(8, 2)
    weights = initial(SIZE, start, np.random.default_rng(0))
    placed, adam = place(scheme, 5, 8, 2, causal=True), Adam(weights.flat)
    for _ in range(3):
        now = placed.with_learned(weights.learned())
        _, gradient = loss_and_gradient(SIZE, weights, now, TOKENS, TARGETS)
        rows = gradient.learned()["rows"]
        assert rows.shape == (1024, 8)
        assert (np.abs(rows[:5]).max(axis=1) > 0).all()
        assert not rows[5:].any()
        adam.step(weights.flat, gradient.flat, 0.01)
    after, before = weights.learned()["rows"], start["rows"].astype("float32")
    assert (after[:5] != before[:5]).any(axis=1).all()
    assert_array_equal(after[5:], before[5:])


def test_parameters_are_views_of_one_array() -> None:
    weights, _ = started(NoPE())
    assert weights.flat.size == sum(view.size for view in weights.views.values())
    weights.views["logits bias"][...] = 9
    assert (weights.flat[-7:] == 9).all()
    assert Size(16, 32, 4, 2).shapes()["embedding"] == (16, 32)
    assert initial(Size(16, 32, 4, 2), {}, np.random.default_rng(0)).flat.size == 17_712
