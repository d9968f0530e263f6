"""A tiny transformer with its gradient written by hand.

Token embedding, pre-norm blocks of attention and a two-fold MLP with ReLU, a last norm and the
logits: RMS norm from Zhang & Sennrich 2019, attention from Vaswani et al. 2017. A position enters
through the arrays of a Placed alone. Shapes: b sequences of n tokens, d width, h heads, k head
width, v symbols; most arrays are (b * n, d), one row per token.
"""

from dataclasses import dataclass

import numpy as np

from poscli.arrays import Array
from poscli.training.placed import Placed

_EPSILON = 1e-5
_EMBEDDING_SCALE = 0.7
_LEARNED = "scheme."


@dataclass(frozen=True)
class Size:
    """The size of a model: symbols, width, heads and blocks."""

    symbols: int
    dim: int
    heads: int
    layers: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every parameter of the model itself, by name."""
        v, d = self.symbols, self.dim
        block = {
            "attention norm": (d,),
            "queries keys values": (d, 3 * d),
            "attention out": (d, d),
            "mlp norm": (d,),
            "mlp in": (d, 2 * d),
            "mlp bias": (2 * d,),
            "mlp out": (2 * d, d),
        }
        blocks = {f"{i} {name}": shape for i in range(self.layers) for name, shape in block.items()}
        last = {"norm": (d,), "logits": (d, v), "logits bias": (v,)}
        return {"embedding": (v, d), **blocks, **last}


class Parameters:
    """Every number that is learned, in one flat array, with a named view of each part."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], dtype: str) -> None:
        self.flat = np.zeros(sum(int(np.prod(shape)) for shape in shapes.values()), dtype)
        self.views: dict[str, Array] = {}
        start = 0
        for name, shape in shapes.items():
            stop = start + int(np.prod(shape))
            self.views[name] = self.flat[start:stop].reshape(shape)
            start = stop

    def like(self) -> "Parameters":
        """Return zeros of the same names and shapes."""
        shapes = {name: view.shape for name, view in self.views.items()}
        return Parameters(shapes, str(self.flat.dtype))

    def learned(self) -> dict[str, Array]:
        """Return the views that belong to the scheme, under its own names."""
        return {
            name.removeprefix(_LEARNED): view
            for name, view in self.views.items()
            if name.startswith(_LEARNED)
        }


def initial(
    size: Size, learnable: dict[str, Array], rng: np.random.Generator, dtype: str = "float32"
) -> Parameters:
    """Draw the parameters: weights by their inputs, what is added back smaller, norms at 1."""
    shapes = size.shapes() | {_LEARNED + name: v.shape for name, v in learnable.items()}
    parameters = Parameters(shapes, dtype)
    for name, view in parameters.views.items():
        if name.startswith(_LEARNED):
            view[...] = learnable[name.removeprefix(_LEARNED)]
        elif name.endswith("norm"):
            view[...] = 1
        elif name == "embedding":
            view[...] = rng.normal(0, _EMBEDDING_SCALE, view.shape)
        elif not name.endswith("bias"):
            share = 2 * size.layers if name.endswith("out") else 1
            view[...] = rng.normal(0, (view.shape[0] * share) ** -0.5, view.shape)
    return parameters


def logits(size: Size, weights: Parameters, placed: Placed, tokens: Array, scored: int) -> Array:
    """Tokens (b, n) -> logits (b, scored, v) at the last scored places."""
    return _Pass(size, weights, placed, tokens, scored).logits()


def loss_and_gradient(
    size: Size, weights: Parameters, placed: Placed, tokens: Array, targets: Array
) -> tuple[float, Parameters]:
    """Tokens (b, n) and targets (b, s) for the last s places -> cross-entropy and its gradient."""
    forward = _Pass(size, weights, placed, tokens, targets.shape[1])
    answers = forward.logits()
    shifted = answers - answers.max(axis=-1, keepdims=True)
    probabilities = np.exp(shifted)
    total = probabilities.sum(axis=-1, keepdims=True)
    probabilities /= total
    at = (*np.indices(targets.shape), targets)
    loss = float(np.mean(np.log(total[..., 0]) - shifted[at]))
    probabilities[at] -= 1
    probabilities /= targets.size
    return loss, forward.backward(probabilities)


class _Pass:
    """One way through the model, keeping what the way back needs."""

    def __init__(
        self, size: Size, weights: Parameters, placed: Placed, tokens: Array, scored: int
    ) -> None:
        self.size, self.weights, self.placed = size, weights, placed
        self.tokens, self.scored = tokens, scored
        w = weights.views
        embedded = w["embedding"][tokens]
        x = (embedded * placed.gain + placed.added).reshape(-1, size.dim)
        self.blocks = []
        for i in range(size.layers):
            attention = _Attention(i, self, x)
            mlp = _Mlp(i, w, attention.out)
            self.blocks.append((attention, mlp))
            x = mlp.out
        last = x.reshape(*tokens.shape, size.dim)[:, -scored:]
        self.norm = _Norm(last.reshape(-1, size.dim), w["norm"])

    def logits(self) -> Array:
        """Return the logits at the scored places, (b, scored, v)."""
        w = self.weights.views
        flat = self.norm.out @ w["logits"] + w["logits bias"]
        return np.reshape(flat, (len(self.tokens), self.scored, self.size.symbols))

    def backward(self, gradient: Array) -> Parameters:
        """Gradient (b, scored, v) of the logits -> gradient of every parameter."""
        w, found = self.weights.views, self.weights.like()
        g = found.views
        d = self.size.dim
        flat = gradient.reshape(-1, self.size.symbols)
        g["logits"][...] = self.norm.out.T @ flat
        g["logits bias"][...] = flat.sum(axis=0)
        whole = np.zeros((*self.tokens.shape, d), flat.dtype)
        back = self.norm.backward(flat @ w["logits"].T, g["norm"])
        whole[:, -self.scored :] = back.reshape(-1, self.scored, d)
        dx, bias = whole.reshape(-1, d), np.zeros_like(self.placed.bias)
        for attention, mlp in reversed(self.blocks):
            dx = attention.backward(mlp.backward(dx, g), g, bias)
        dx = dx.reshape(*self.tokens.shape, d)
        for name, value in self.placed.gradient(dx.sum(axis=0), bias).items():
            g[_LEARNED + name][...] = value
        one_hot = np.eye(self.size.symbols, dtype=dx.dtype)[self.tokens.reshape(-1)]
        g["embedding"][...] = one_hot.T @ (dx * self.placed.gain).reshape(-1, d)
        return found


class _Norm:
    """gain * x / rms(x), row by row."""

    def __init__(self, x: Array, gain: Array) -> None:
        self.gain = gain
        self.rms = np.sqrt(np.einsum("ij,ij->i", x, x) / x.shape[1] + _EPSILON)[:, None]
        self.unit = x / self.rms
        self.out = self.unit * gain

    def backward(self, gradient: Array, gain_gradient: Array) -> Array:
        gain_gradient[...] = np.einsum("ij,ij->j", gradient, self.unit)
        u = gradient * self.gain
        along = np.einsum("ij,ij->i", u, self.unit)[:, None] / self.unit.shape[1]
        return np.asarray((u - self.unit * along) / self.rms)


class _Mlp:
    """x + relu(norm(x) W1 + b1) W2."""

    def __init__(self, layer: int, weights: dict[str, Array], x: Array) -> None:
        self.layer, self.w = layer, weights
        self.norm = _Norm(x, weights[f"{layer} mlp norm"])
        inner = self.norm.out @ weights[f"{layer} mlp in"] + weights[f"{layer} mlp bias"]
        self.inner = np.maximum(inner, 0)
        self.out = x + self.inner @ weights[f"{layer} mlp out"]

    def backward(self, gradient: Array, g: dict[str, Array]) -> Array:
        i = self.layer
        g[f"{i} mlp out"][...] = self.inner.T @ gradient
        inner = (gradient @ self.w[f"{i} mlp out"].T) * (self.inner > 0)
        g[f"{i} mlp in"][...] = self.norm.out.T @ inner
        g[f"{i} mlp bias"][...] = inner.sum(axis=0)
        back = self.norm.backward(inner @ self.w[f"{i} mlp in"].T, g[f"{i} mlp norm"])
        return np.asarray(gradient + back)


class _Attention:
    """x + softmax(q k / sqrt(k) + bias) v W, with q and k turned."""

    def __init__(self, layer: int, whole: _Pass, x: Array) -> None:
        self.layer, self.w, self.placed = layer, whole.weights.views, whole.placed
        (b, n), h = whole.tokens.shape, whole.size.heads
        self.split = (b, n, 3, h, whole.size.dim // h)
        self.norm = _Norm(x, self.w[f"{layer} attention norm"])
        qkv = (self.norm.out @ self.w[f"{layer} queries keys values"]).reshape(self.split)
        q, k, self.v = qkv.transpose(2, 0, 3, 1, 4)
        self.q, self.k = turned(q, self.placed.queries), turned(k, self.placed.keys)
        self.scale = self.split[-1] ** -0.5
        scores = self.q @ self.k.swapaxes(2, 3)
        scores *= self.scale
        scores += self.placed.bias
        scores -= scores.max(axis=-1, keepdims=True)
        self.a = np.exp(scores, out=scores)
        self.a /= self.a.sum(axis=-1, keepdims=True)
        self.mixed = (self.a @ self.v).swapaxes(1, 2).reshape(x.shape)
        self.out = x + self.mixed @ self.w[f"{layer} attention out"]

    def backward(self, gradient: Array, g: dict[str, Array], bias: Array) -> Array:
        i, (b, n, _, h, width) = self.layer, self.split
        g[f"{i} attention out"][...] = self.mixed.T @ gradient
        mixed = (gradient @ self.w[f"{i} attention out"].T).reshape(b, n, h, width).swapaxes(1, 2)
        ds = mixed @ self.v.swapaxes(2, 3)
        ds -= np.einsum("bhij,bhij->bhi", ds, self.a)[..., None]
        ds *= self.a
        bias += ds.sum(axis=0)
        ds *= self.scale
        qkv = np.empty(self.split, gradient.dtype)
        back = qkv.transpose(2, 0, 3, 1, 4)
        back[0] = turned(ds @ self.k, _transposed(self.placed.queries))
        back[1] = turned(ds.swapaxes(2, 3) @ self.q, _transposed(self.placed.keys))
        back[2] = self.a.swapaxes(2, 3) @ mixed
        flat = qkv.reshape(len(gradient), -1)
        g[f"{i} queries keys values"][...] = self.norm.out.T @ flat
        inner = flat @ self.w[f"{i} queries keys values"].T
        return np.asarray(gradient + self.norm.backward(inner, g[f"{i} attention norm"]))


def turned(x: Array, matrices: Array | None) -> Array:
    """Vectors (b, h, n, k), matrices (h, n, k, k) or (n, k, k) -> each vector times its matrix."""
    if matrices is None:
        return x
    b, h, n, k = x.shape
    if matrices.ndim == 3:
        rows = x.transpose(2, 0, 1, 3).reshape(n, b * h, k) @ matrices
        return rows.reshape(n, b, h, k).transpose(1, 2, 0, 3)
    return (x.transpose(1, 2, 0, 3) @ matrices).transpose(2, 0, 1, 3)


def _transposed(matrices: Array | None) -> Array | None:
    return None if matrices is None else matrices.swapaxes(-1, -2)
