"""Score biases against the values that public libraries returned.

Peers work in float32 unless said. Tables of theirs are looked up, and exact. BLOOM, Falcon and
labml raise a rounded base to the power h for slope h, which multiplies its relative error of 2^-24
by h, up to the number of heads; two more roundings follow.
"""

import numpy as np
import pytest
from conftest import Golden, goldens
from numpy.testing import assert_allclose, assert_array_equal

from poscli.attention import attention
from poscli.schemes import PRESETS, SCHEMES, Scheme, expand
from poscli.schemes.alibi import slopes
from poscli.schemes.deberta import Deberta
from poscli.schemes.shaw import Shaw
from poscli.schemes.t5 import T5
from poscli.schemes.transformer_xl import TransformerXL
from poscli.schemes.window import Window

GROUPS = ("alibi", "relative_bucket", "xl_relative", "bias_scores")
LEFT_OUT: dict[str, str] = {}

UNIT = 2.0**-24
"""Half the distance of neighbouring float32 numbers, relative to their size."""


def preset(name: str, **settings: object) -> Scheme:
    values = expand({"preset": name, **settings})
    return SCHEMES[values["name"]].model_validate(values)


def cases(group: str, *beginnings: str) -> pytest.MarkDecorator:
    chosen = [c for c in goldens(group) if c.id.startswith(beginnings)]
    return pytest.mark.parametrize("case", chosen, ids=lambda c: c.id)


def bias(scheme: Scheme, heads: int, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the bias at these positions, for queries and keys of ones of width 1."""
    return scheme.bias(
        np.ones((heads, len(queries), 1)), np.ones((heads, len(keys), 1)), queries, keys
    )


ALIBI = {
    "bloom": "bloom",
    "mpt": "mpt",
    "keras": "keras-hub-alibi",
    "falcon": "falcon-rw",
    "xt": "x-transformers-alibi",
}


@cases("alibi", *(f"{peer}-" for peer in ALIBI))
def test_alibi(case: Golden) -> None:
    """Falcon's values in bfloat16 hide its float32 error, and agree bit for bit."""
    p, peer = case.params, case.id.partition("-")[0]
    given = {"bias_max": float(p["alibi_bias_max"])} if "alibi_bias_max" in p else {}
    scheme = preset(ALIBI[peer], **given)
    if peer == "xt":
        keys = np.array(p.get("key_positions", range(p.get("k_length", 0))))
        queries = np.array(p.get("query_positions", keys[-p.get("q_length", 1) :]))
    else:
        keys = np.arange(p["key_length"])
        queries = keys[-1:]
    got = bias(scheme, p["heads"], queries, keys)
    want = case.arrays["bias"].reshape(got.shape)
    rtol = 0 if peer == "falcon" else UNIT * (2 + p["heads"])
    assert_allclose(got, want, rtol=rtol, atol=0)


@cases("alibi", "labml-slopes", "xt-alibi-h")
def test_alibi_slopes(case: Golden) -> None:
    heads = case.params["heads"]
    assert_allclose(slopes(heads), case.arrays["slopes"], rtol=UNIT * (2 + heads), atol=0)


@cases("alibi", "labml-alibi")
def test_alibi_counted_from_1(case: Golden) -> None:
    """The key-only form, positions from 1; what the peer holds where its mask hides is no bias."""
    n, heads = case.params["length"], case.params["heads"]
    positions = np.arange(1, n + 1)
    got = bias(preset("bloom"), heads, positions, positions)
    seen = np.tril(np.ones((n, n), bool))
    want = case.arrays["bias"].transpose(2, 0, 1)
    assert_allclose(got[:, seen], want[:, seen], rtol=UNIT * (2 + heads), atol=0)


def t5(case: Golden) -> T5:
    p = case.params
    given = {"table": case.inputs["weight"].astype(float).tolist()} if "heads" in p else {}
    return T5(
        bidirectional=p["bidirectional"],
        buckets=p["num_buckets"],
        max_distance=p["max_distance"],
        scale=p.get("scale", 1.0),
        **given,
    )


@cases("relative_bucket", "t5-bucket", "xt-bucket", "mpnet-bucket")
def test_t5_buckets(case: Golden) -> None:
    got = t5(case).bucket(case.inputs["relative_position"])
    assert_array_equal(got, case.arrays["bucket"])


@cases("relative_bucket", "t5-bias", "xt-bias")
def test_t5_bias(case: Golden) -> None:
    """The peers' tables are float32, and so is their product with the scale."""
    p = case.params
    first = p.get("query_offset", p["k_length"] - p["q_length"])
    queries, keys = np.arange(first, first + p["q_length"]), np.arange(p["k_length"])
    got = bias(t5(case), p["heads"], queries, keys)
    assert_allclose(got, case.arrays["bias"].reshape(got.shape), rtol=UNIT, atol=0)


@cases("relative_bucket", "deberta-logbucket")
def test_deberta_buckets(case: Golden) -> None:
    p = case.params
    scheme = Deberta(buckets=p["bucket_size"], max_distance=p["max_position"])
    got = scheme.bucket(case.inputs["relative_position"])
    assert_array_equal(got, case.arrays["bucket"])


@cases("relative_bucket", "deberta-relpos")
def test_deberta_offsets(case: Golden) -> None:
    queries, keys = np.arange(case.params["q_length"]), np.arange(case.params["k_length"])
    assert_array_equal(Deberta().offsets(queries, keys), case.arrays["relative"][0])


@cases("relative_bucket", "beit-index", "swin-index")
def test_window_index(case: Golden) -> None:
    """BEiT's first row and column are those of its class token, which has no place."""
    rows, columns = case.params["window"]
    window = Window(rows=rows, columns=columns)
    at = window.coordinates(np.arange(rows * columns))
    class_token = int(case.params["cls_token"])
    want = case.arrays["index"].reshape(len(at) + class_token, -1)[class_token:, class_token:]
    assert_array_equal(window.index(window.offsets(at, at)), want)


@cases("relative_bucket", "swin-index")
def test_window_bias(case: Golden) -> None:
    rows, columns = case.params["window"]
    table = case.inputs["weight"].astype(float).tolist()
    window = Window(rows=rows, columns=columns, table=table)
    at = window.coordinates(np.arange(rows * columns))
    assert_array_equal(bias(window, case.params["heads"], at, at), case.arrays["bias"][0])


@cases("relative_bucket", "speecht5-shaw")
def test_shaw_vectors(case: Golden) -> None:
    """The peer's rows run the other way: query minus key, from -max to max - 1."""
    n, width, most = (case.params[name] for name in ("length", "dim", "max_length"))
    shaw = Shaw(left=most - 1, right=most, table=case.inputs["weight"][::-1].astype(float).tolist())
    at = np.arange(n)
    for channel, unit_vector in enumerate(np.eye(width)):
        queries = np.tile(unit_vector, (1, n, 1))
        got = shaw.bias(queries, queries, at, at)[0] * np.sqrt(width)
        assert_allclose(got, case.arrays["table"][..., channel], rtol=1e-15, atol=0)


@cases("xl_relative", "")
def test_transformer_xl_sinusoid(case: Golden) -> None:
    """The peers' float32 angles, at most 7, are wrong by a few units of 2^-24 of their size.

    wav2vec2-conformer interleaves sine and cosine, a permutation that its projection undoes.
    """
    p, want = case.params, case.arrays["table"].reshape(-1, case.params["dim"])
    if "qlen" in p:
        last = -p["qlen"] if p["attn_type"] == "bi" else -1
        offsets = np.arange(p["klen"], last, -1)
    else:
        offsets = np.arange(p["length"] - 1, -p["length"], -1)
    got = TransformerXL().sinusoid(offsets, p["dim"])
    if p["layout"] == "interleaved":
        got = got.reshape(len(got), 2, -1).swapaxes(1, 2).reshape(got.shape)
    assert_allclose(got, want, rtol=0, atol=UNIT * (4 + 6 * np.abs(offsets).max()))


def weights(scheme: Scheme, case: Golden, causal: bool = False) -> np.ndarray:
    """Return attention's weights (h, n, m) for the queries and keys that the peer projected."""
    q, k = (case.inputs[name] for name in "qk")
    n, heads = len(q), case.params["heads"]
    q, k = (x.reshape(n, heads, -1).swapaxes(0, 1) for x in (q, k))
    at = np.arange(n)
    mask = np.tril(np.ones((n, n), bool)) if causal else None
    return attention(q, k, k, scheme.bias(q, k, at, at), mask).weights


@cases("bias_scores", "deberta")
def test_deberta_attention(case: Golden) -> None:
    """A float64 layer that takes its divisor in float32."""
    p = case.params
    scheme = Deberta(
        buckets=p["position_buckets"] if p["position_buckets"] > 0 else None,
        max_distance=p["max_relative_positions"],
        position_keys=case.inputs["position_keys"].tolist(),
        position_queries=case.inputs["position_queries"].tolist(),
    )
    assert_allclose(weights(scheme, case), case.arrays["weights"], rtol=0, atol=1e-6)


@cases("bias_scores", "xlnet")
def test_xlnet_attention(case: Golden) -> None:
    """A float64 layer that takes its frequencies in float32."""
    scheme = TransformerXL(
        clamp=case.params["clamp_len"] if case.params["clamp_len"] > 0 else None,
        u=case.inputs["u"].tolist(),
        v=case.inputs["v"].tolist(),
        projection=case.inputs["r"].T.tolist(),
    )
    got = weights(scheme, case, causal=case.params["attn_type"] == "uni")
    assert_allclose(got, case.arrays["weights"], rtol=0, atol=1e-6)


@cases("bias_scores", "wav2vec2-bert")
def test_wav2vec2_bert_attention(case: Golden) -> None:
    p = case.params
    scheme = Shaw(left=p["left"], right=p["right"], table=case.inputs["table"].tolist())
    assert_allclose(weights(scheme, case), case.arrays["weights"], rtol=0, atol=1e-14)


@cases("bias_scores", "falcon")
def test_falcon_past_256(case: Golden) -> None:
    """bfloat16 holds whole numbers to 256; key positions past that are rounded before slopes."""
    got = bias(preset("falcon-rw"), case.params["heads"], np.array([599]), np.arange(250, 600))
    assert_array_equal(got[:, 0], case.arrays["bias"])


def test_every_case_is_tested_or_left_out_with_a_reason() -> None:
    tested = {
        case.id
        for test in list(globals().values())
        for mark in getattr(test, "pytestmark", [])
        if mark.name == "parametrize"
        for case in mark.args[1]
    }
    assert {c.id for group in GROUPS for c in goldens(group)} == tested | set(LEFT_OUT)
    assert not tested & set(LEFT_OUT)


def test_presets_name_schemes_and_settings() -> None:
    for values in PRESETS.values():
        assert SCHEMES[values["name"]].model_validate(values)
