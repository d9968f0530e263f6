"""Turning queries by RoPE, beside transformers, the usual NumPy and a copy of the same bytes."""

from collections.abc import Iterator

import numpy as np
import torch
from measure import Goal, least_seconds
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from poscli.arrays import Array
from poscli.schemes.rope import Rope

_SHAPE = _HEADS, _LENGTH, _WIDTH = 32, 4096, 128


def usual(x: Array, cos: Array, sin: Array) -> Array:
    """x cos + rotate_half(x) sin, as most NumPy code writes it."""
    half = x.shape[-1] // 2
    return x * cos + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sin


def goals() -> Iterator[Goal]:
    torch.set_num_threads(1)
    x = np.random.default_rng(0).normal(size=_SHAPE).astype(np.float32)
    half, adjacent, out = Rope(pairing="half"), Rope(pairing="adjacent"), np.zeros_like(x)
    cos, sin = (part.astype(np.float32) for part in half.cos_sin(np.arange(_LENGTH), _WIDTH))
    wide = [np.concatenate([part, part], axis=1) for part in (cos, sin)]
    q, (c, s) = torch.from_numpy(x)[None], (torch.from_numpy(part)[None] for part in wide)
    few = q[:, :0]
    theirs = apply_rotary_pos_emb(q, few, c, s)[0][0].numpy()
    np.testing.assert_allclose(half.turn(x, cos, sin), theirs, rtol=0, atol=1e-5)
    mine, other, in_place, peer, numpy, copy = least_seconds(
        lambda: half.turn(x, cos, sin, out),
        lambda: adjacent.turn(x, cos, sin, out),
        lambda: half.turn(out, cos, sin, out),
        lambda: apply_rotary_pos_emb(q, few, c, s),
        lambda: usual(x, *wide),
        lambda: np.copyto(out, x),
    )
    work = "RoPE on {} x {} x {}, float32".format(*_SHAPE)
    yield Goal(f"{work}, half", mine, "apply_rotary_pos_emb, one thread", peer, 1 / 10)
    yield Goal(f"{work}, adjacent", other, "apply_rotary_pos_emb, one thread", peer, 1 / 10)
    yield Goal(f"{work}, half", mine, "usual NumPy", numpy, None)
    yield Goal(f"{work}, half", mine, "a copy of the same bytes", copy, 4)
    yield Goal(f"{work}, adjacent", other, "a copy of the same bytes", copy, 4)
    yield Goal(f"{work}, half, in place", in_place, "a copy of the same bytes", copy, 4)
