"""Attention without an array of all scores, beside torch; permute-test, beside a loop."""

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from measure import Goal, least_seconds, peak_of_call, peak_of_command, python

from poscli import Model, NoPE, Rope, Scheme, Sinusoidal
from poscli.arrays import Array

_LENGTH, _WIDTH = 8192, 64


def goals() -> Iterator[Goal]:
    yield from _one_head()
    yield from _every_permutation()
    yield _a_long_text()


def _model(width: int, dtype: str) -> Model:
    rng = np.random.default_rng(0)
    queries, keys, values = rng.normal(0, width**-0.5, (3, width, width)).astype(dtype)
    return Model(queries, keys, values, 1)


def _one_head() -> Iterator[Goal]:
    torch.set_num_threads(1)
    model, positions = _model(_WIDTH, "float32"), np.arange(_LENGTH)
    x = np.random.default_rng(1).normal(size=(_LENGTH, _WIDTH)).astype(np.float32)
    given = torch.from_numpy(x)
    matrices = [torch.from_numpy(m) for m in (model.queries, model.keys, model.values)]

    def ours() -> Array:
        return model.outputs(x, NoPE(), positions, "causal")

    def theirs() -> torch.Tensor:
        q, k, v = ((given @ m)[None, None] for m in matrices)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)[0, 0]

    np.testing.assert_allclose(ours(), theirs().numpy(), rtol=0, atol=1e-5)
    mine, peer = least_seconds(ours, theirs)
    work = f"causal attention, {_LENGTH} x {_WIDTH}, float32"
    yield Goal(work, mine, "torch scaled_dot_product_attention, one thread", peer, 1.5)
    yield Goal(f"{work}: memory", peak_of_call(ours), "the limit", 64.0, 1, "MiB")


def _every_permutation() -> Iterator[Goal]:
    """Outputs of each of the 5,040 orders of 7 tokens, as permute-test asks for them."""
    orders, positions = np.array(list(permutations(range(7)))), np.arange(7)
    x, model = np.random.default_rng(1).normal(size=(7, 4)), _model(4, "float64")

    def batched(scheme: Scheme) -> Array:
        return model.outputs(x[orders], scheme, positions)

    def loop(scheme: Scheme) -> Array:
        return np.array([model.attend(x[o], scheme, positions).outputs for o in orders])

    for scheme in (NoPE(), Sinusoidal(), Rope()):
        np.testing.assert_allclose(batched(scheme), loop(scheme), rtol=0, atol=1e-14)
        mine, other = least_seconds(
            lambda scheme=scheme: batched(scheme), lambda scheme=scheme: loop(scheme), rounds=3
        )
        work = f"attention, {len(orders)} orders of 7 tokens, {scheme.name}"
        yield Goal(work, mine, "a loop over the orders", other, 1 / 20)


def _a_long_text() -> Goal:
    with TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        text.write_text(" ".join(f"w{i}" for i in range(4096)))
        command = ("permute-test", "--file", str(text), "--samples", "8", "--format", "csv")
        peak = peak_of_command(python("-m", "poscli", *command))
    return Goal("permute-test, 4096 words: memory", peak, "the limit", 500.0, 1, "MiB")
