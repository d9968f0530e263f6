"""The training of the tiny model against the same model in PyTorch: its gradient and its speed."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from poscli import Alibi, Learned, NoPE, Rope, Scheme, Sinusoidal
from poscli.training.model import Parameters, Size, initial, loss_and_gradient
from poscli.training.optimiser import Adam
from poscli.training.placed import Placed, place

pytestmark = pytest.mark.peers

SCHEMES = [NoPE(), Sinusoidal(), Learned(std=0.7, rows=16), Rope(), Alibi()]
RNG = np.random.default_rng(0)


def turned(x: Any, matrices: Any) -> Any:
    return x if matrices is None else (x.unsqueeze(-2) @ matrices).squeeze(-2)


def loss(size: Size, w: dict[str, Any], at: dict[str, Any], tokens: Any, targets: Any) -> Any:
    """The cross-entropy, written with torch's own functions."""
    import torch

    norm = torch.nn.functional.rms_norm
    (b, n), d = tokens.shape, size.dim
    added = w.get("scheme.rows", at["added"])
    x = w["embedding"][tokens] + added
    for i in range(size.layers):
        y = norm(x, (d,), w[f"{i} attention norm"], 1e-5) @ w[f"{i} queries keys values"]
        q, k, v = y.reshape(b, n, 3, size.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = turned(q, at["queries"]), turned(k, at["keys"])
        scores = q @ k.transpose(2, 3) / (d // size.heads) ** 0.5 + at["bias"]
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)
        x = x + mixed @ w[f"{i} attention out"]
        inner = norm(x, (d,), w[f"{i} mlp norm"], 1e-5) @ w[f"{i} mlp in"] + w[f"{i} mlp bias"]
        x = x + inner.relu() @ w[f"{i} mlp out"]
    last = norm(x[:, -targets.shape[1] :], (d,), w["norm"], 1e-5)
    logits = last @ w["logits"] + w["logits bias"]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def started(
    scheme: Scheme, size: Size, length: int, dtype: str
) -> tuple[Parameters, Placed, dict[str, Any], dict[str, Any]]:
    import torch

    weights = initial(size, scheme.learnable(size.dim, size.heads), RNG, dtype)
    placed = place(scheme, length, size.dim, size.heads, True, dtype)
    w = {name: torch.tensor(v, requires_grad=True) for name, v in weights.views.items()}
    names = ("added", "queries", "keys", "bias")
    at = {n: None if (a := getattr(placed, n)) is None else torch.tensor(a) for n in names}
    return weights, placed, w, at


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.name)
def test_the_gradient_is_that_of_autograd(scheme: Scheme) -> None:
    import torch

    size = Size(16, 32, 4, 2)
    tokens, targets = RNG.integers(16, size=(8, 16)), RNG.integers(16, size=(8, 9))
    weights, placed, w, at = started(scheme, size, 16, "float64")
    now = placed.with_learned(weights.learned())
    value, gradient = loss_and_gradient(size, weights, now, tokens, targets)
    want = loss(size, w, at, torch.tensor(tokens), torch.tensor(targets))
    want.backward()
    assert value == pytest.approx(want.item(), rel=1e-13)
    for name, view in gradient.views.items():
        assert_allclose(view, w[name].grad.numpy(), rtol=0, atol=1e-14, err_msg=name)


def steps_per_second(step: Callable[[], object]) -> float:
    """The best of five rounds of forty steps."""
    rounds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(40):
            step()
        rounds.append(40 / (time.perf_counter() - start))
    return max(rounds)


@pytest.mark.parametrize("scheme", [Alibi(), Rope()], ids=lambda s: s.name)
def test_steps_per_second(scheme: Scheme, capsys: pytest.CaptureFixture[str]) -> None:
    """Print the speed of both; nothing is asserted of seconds, only that both learned alike."""
    import torch

    torch.set_num_threads(1)
    size, length = Size(16, 32, 4, 2), 16
    tokens, targets = RNG.integers(16, size=(32, length)), RNG.integers(16, size=(32, length))
    weights, placed, w, at = started(scheme, size, length, "float32")
    adam = Adam(weights.flat)

    def ours() -> None:
        _, gradient = loss_and_gradient(size, weights, placed, tokens, targets)
        adam.step(weights.flat, gradient.flat, 1e-3)

    peer = torch.optim.Adam(list(w.values()), lr=1e-3, betas=(0.9, 0.99))
    inputs, answers = torch.tensor(tokens), torch.tensor(targets)

    def theirs() -> None:
        peer.zero_grad()
        loss(size, w, at, inputs, answers).backward()
        torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        peer.step()

    mine, other = steps_per_second(ours), steps_per_second(theirs)
    learned, _ = loss_and_gradient(size, weights, placed, tokens, targets)
    assert learned == pytest.approx(loss(size, w, at, inputs, answers).item(), rel=0.05)
    with capsys.disabled():
        print(f"\n{scheme.name}: poscli {mine:.0f}, torch {other:.0f} steps per second, 1 thread")
