"""Eight public models of one layer, forward pass and all, around poscli's attention.

Everything but attention and positions is written out here in plain numpy. The peers compute in
float64 but take softmax and rotary tables in float32: 1e-6 of the largest output is what they can
be held to.
"""

from collections.abc import Callable
from math import erf

import numpy as np
import pytest
from conftest import Golden, goldens
from numpy.testing import assert_allclose

from poscli import Learned, NoPE, Rope, Scheme
from poscli.attention import attention
from poscli.schemes import PRESETS, SCHEMES
from poscli.schemes.t5 import T5

LEFT_OUT: dict[str, str] = {}
ALL_KEYS, CAUSAL = False, True


class Weights:
    """A peer's weights by name; linear layers are y = x W^T + b, with b where there is one."""

    def __init__(self, case: Golden, prefix: str = "") -> None:
        self.case, self.prefix = case, prefix

    def within(self, prefix: str) -> "Weights":
        return Weights(self.case, f"{self.prefix}{prefix}.")

    def get(self, name: str) -> np.ndarray:
        return self.case.inputs[f"{self.prefix}{name}.weight"]

    def bias(self, name: str) -> np.ndarray | float:
        return self.case.inputs.get(f"{self.prefix}{name}.bias", 0.0)

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.get(name).T + self.bias(name)

    def layer_norm(self, name: str, x: np.ndarray, eps: float) -> np.ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps)
        return centred / scale * self.get(name) + self.bias(name)

    def rms_norm(self, name: str, x: np.ndarray, eps: float) -> np.ndarray:
        return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * self.get(name)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1.0 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    return x * (1.0 + np.vectorize(erf)(x / np.sqrt(2.0))) / 2.0


def gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    return x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))) / 2.0


def split(x: np.ndarray, heads: int) -> np.ndarray:
    """(n, d) -> (heads, n, d / heads)"""
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


def attend(scheme: Scheme, q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """Queries (h, n, k), keys and values of as many heads or fewer -> outputs (n, h k)."""
    n, at = q.shape[1], np.arange(q.shape[1])
    k, v = (x.repeat(len(q) // len(x), axis=0) for x in (k, v))
    q, k = scheme.rotate(q, at), scheme.rotate_keys(k, at)
    mask = np.tril(np.ones((n, n), bool)) if causal else None
    return attention(q, k, v, scheme.bias(q, k, at, at), mask).outputs


class FirstColumns(Rope):
    """Rope that turns the first columns only, as models with a partial rotary width do."""

    columns: int

    def rotate(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        turned = super().rotate(x[..., : self.columns], positions)
        return np.concatenate([turned, x[..., self.columns :]], axis=-1)


def llama(case: Golden) -> np.ndarray:
    """Llama, and Qwen2, whose projections of queries, keys and values have biases."""
    c, w = case.params["config"], Weights(case)
    layer, eps = w.within("layers.0"), c["rms_norm_eps"]
    attn, mlp = layer.within("self_attn"), layer.within("mlp")
    x = w.get("embed_tokens")[case.inputs["input_ids"][0]]
    y = layer.rms_norm("input_layernorm", x, eps)
    q = split(attn.linear("q_proj", y), c["num_attention_heads"])
    k, v = (split(attn.linear(f"{name}_proj", y), c["num_key_value_heads"]) for name in "kv")
    rope = Rope(pairing="half", base=c["rope_parameters"]["rope_theta"])
    x = x + attn.linear("o_proj", attend(rope, q, k, v, CAUSAL))
    y = layer.rms_norm("post_attention_layernorm", x, eps)
    gated = silu(mlp.linear("gate_proj", y)) * mlp.linear("up_proj", y)
    return w.rms_norm("norm", x + mlp.linear("down_proj", gated), eps)


def gpt_neox(case: Golden) -> np.ndarray:
    """Attention and MLP side by side on the same input; q, k, v lie head by head."""
    c, w = case.params["config"], Weights(case)
    layer, eps = w.within("layers.0"), c["layer_norm_eps"]
    x = w.get("embed_in")[case.inputs["input_ids"][0]]
    y = layer.layer_norm("input_layernorm", x, eps)
    joined = split(layer.linear("attention.query_key_value", y), c["num_attention_heads"])
    q, k, v = np.split(joined, 3, axis=2)
    rotary = c["rope_parameters"]
    rope = FirstColumns(
        pairing="half",
        base=rotary["rope_theta"],
        columns=int(q.shape[2] * rotary["partial_rotary_factor"]),
    )
    attended = layer.linear("attention.dense", attend(rope, q, k, v, CAUSAL))
    z = layer.layer_norm("post_attention_layernorm", x, eps)
    z = layer.linear("mlp.dense_4h_to_h", gelu(layer.linear("mlp.dense_h_to_4h", z)))
    return w.layer_norm("final_layer_norm", x + attended + z, eps)


def gpt_j(case: Golden) -> np.ndarray:
    """One norm before attention and MLP, which lie side by side."""
    c, w = case.params["config"], Weights(case)
    layer, eps = w.within("h.0"), c["layer_norm_epsilon"]
    x = w.get("wte")[case.inputs["input_ids"][0]]
    y = layer.layer_norm("ln_1", x, eps)
    q, k, v = (split(layer.linear(f"attn.{name}_proj", y), c["n_head"]) for name in "qkv")
    rope = FirstColumns(pairing="adjacent", columns=c["rotary_dim"])
    attended = layer.linear("attn.out_proj", attend(rope, q, k, v, CAUSAL))
    z = layer.linear("mlp.fc_out", gelu_by_tanh(layer.linear("mlp.fc_in", y)))
    return w.layer_norm("ln_f", x + attended + z, eps)


def mpt(case: Golden) -> np.ndarray:
    """No biases; q, k, v lie one after the other; ALiBi in the form of the preset."""
    c, w = case.params["config"], Weights(case)
    layer, eps = w.within("blocks.0"), c["layer_norm_epsilon"]
    x = w.get("wte")[case.inputs["input_ids"][0]]
    y = layer.layer_norm("norm_1", x, eps)
    joined = np.split(layer.linear("attn.Wqkv", y), 3, axis=1)
    q, k, v = (split(part, c["n_heads"]) for part in joined)
    alibi = SCHEMES["alibi"].model_validate(PRESETS["mpt"])
    x = x + layer.linear("attn.out_proj", attend(alibi, q, k, v, CAUSAL))
    y = layer.layer_norm("norm_2", x, eps)
    x = x + layer.linear("ffn.down_proj", gelu(layer.linear("ffn.up_proj", y)))
    return w.layer_norm("norm_f", x, eps)


def opt(case: Golden) -> np.ndarray:
    """Position 0 takes row 2 of the learned table; norms come first."""
    c, w = case.params["config"], Weights(case).within("decoder")
    layer, eps = w.within("layers.0"), 1e-5
    attn = layer.within("self_attn")
    x = w.get("embed_tokens")[case.inputs["input_ids"][0]]
    rows = Learned(table=w.get("embed_positions").tolist())
    x = rows.add(x, np.arange(len(x)) + 2)
    y = layer.layer_norm("self_attn_layer_norm", x, eps)
    q, k, v = (split(attn.linear(f"{n}_proj", y), c["num_attention_heads"]) for n in "qkv")
    x = x + attn.linear("out_proj", attend(NoPE(), q, k, v, CAUSAL))
    y = layer.layer_norm("final_layer_norm", x, eps)
    x = x + layer.linear("fc2", relu(layer.linear("fc1", y)))
    return w.layer_norm("final_layer_norm", x, eps)


def bert(case: Golden) -> np.ndarray:
    """A learned table and a segment vector; norms come last; every token sees all."""
    c, w = case.params["config"], Weights(case)
    layer, words, eps = w.within("encoder.layer.0"), w.within("embeddings"), c["layer_norm_eps"]
    x = words.get("word_embeddings")[case.inputs["input_ids"][0]]
    rows = Learned(table=words.get("position_embeddings").tolist())
    x = rows.add(x, np.arange(len(x))) + words.get("token_type_embeddings")[0]
    x = words.layer_norm("LayerNorm", x, eps)
    q, k, v = (
        split(layer.linear(f"attention.self.{name}", x), c["num_attention_heads"])
        for name in ("query", "key", "value")
    )
    attended = layer.linear("attention.output.dense", attend(NoPE(), q, k, v, ALL_KEYS))
    x = layer.layer_norm("attention.output.LayerNorm", x + attended, eps)
    y = layer.linear("output.dense", gelu(layer.linear("intermediate.dense", x)))
    return layer.layer_norm("output.LayerNorm", x + y, eps)


def t5_encoder(case: Golden) -> np.ndarray:
    """T5 does not divide q.k by sqrt(k), so its queries are multiplied by it beforehand."""
    c, w = case.params["config"], Weights(case)
    first, second = (w.within(f"encoder.block.0.layer.{i}") for i in (0, 1))
    attn, eps = first.within("SelfAttention"), c["layer_norm_epsilon"]
    x = w.get("shared")[case.inputs["input_ids"][0]]
    y = first.rms_norm("layer_norm", x, eps)
    q, k, v = (split(attn.linear(name, y), c["num_heads"]) for name in "qkv")
    scheme = T5(
        buckets=c["relative_attention_num_buckets"],
        max_distance=c["relative_attention_max_distance"],
        table=attn.get("relative_attention_bias").tolist(),
    )
    x = x + attn.linear("o", attend(scheme, q * np.sqrt(c["d_kv"]), k, v, ALL_KEYS))
    y = second.rms_norm("layer_norm", x, eps)
    x = x + second.linear("DenseReluDense.wo", relu(second.linear("DenseReluDense.wi", y)))
    return w.rms_norm("encoder.final_layer_norm", x, eps)


MODELS: dict[str, Callable[[Golden], np.ndarray]] = {
    "tiny-llama": llama,
    "tiny-qwen2": llama,
    "tiny-gptneox": gpt_neox,
    "tiny-gptj": gpt_j,
    "tiny-mpt": mpt,
    "tiny-opt": opt,
    "tiny-bert": bert,
    "tiny-t5-encoder": t5_encoder,
}


@pytest.mark.parametrize("case", goldens("tiny_models"), ids=lambda c: c.id)
def test_last_hidden_state(case: Golden) -> None:
    want = case.arrays["last_hidden_state"][0]
    assert_allclose(MODELS[case.id](case), want, rtol=0, atol=1e-6 * np.abs(want).max())


def test_every_case_is_tested_or_left_out_with_a_reason() -> None:
    assert {c.id for c in goldens("tiny_models")} == set(MODELS) | set(LEFT_OUT)
