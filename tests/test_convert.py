"""convert: re-ordered heads give the scores they gave before, and nothing else is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import refused, run, run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli.config import parse_scheme
from poscli.experiments.convert import head_order
from poscli.schemes import SCHEMES

PAIRINGS = ("adjacent", "half", "adjacent-in-half-out")
DIRECTIONS = ("counter-clockwise", "clockwise")


def scheme(text: str) -> Any:
    settings = parse_scheme(text)
    return SCHEMES[settings.pop("name")].model_validate(settings)


@pytest.mark.parametrize("one", [f"rope/{p}/{d}" for p in PAIRINGS for d in DIRECTIONS])
@pytest.mark.parametrize("other", [f"rope/{p}/{d}" for p in PAIRINGS for d in DIRECTIONS])
def test_scores_are_kept(one: str, other: str) -> None:
    source, target = scheme(one), scheme(other)
    order = head_order(source, target, 8)
    q, k = np.random.default_rng(0).normal(size=(2, 1, 5, 8))
    at = np.array([0, 1, 2, 50, 1000])
    want = source.rotate(q, at)[0] @ source.rotate(k, at)[0].T
    got = target.rotate(q[..., order], at)[0] @ target.rotate(k[..., order], at)[0].T
    assert_allclose(got, want, rtol=0, atol=1e-12)
    back = head_order(target, source, 8)
    assert_array_equal(order[back], np.arange(8))


def test_a_list_of_rows_per_head() -> None:
    document = run_json(
        "convert", "--from", "rope/adjacent", "--to", "rope/half", "--dim", "4", "--heads", "2"
    )
    assert document["result"]["cells"] == [[0], [2], [1], [3], [4], [6], [5], [7]]


def test_fewer_keys_than_queries() -> None:
    args = ["--from", "rope/adjacent", "--to", "rope/half", "--dim", "4", "--heads", "4"]
    grids = run_json("convert", *args, "--kv-heads", "2")["sections"][0]["grids"]
    assert [len(grid["cells"]) for grid in grids] == [16, 8, 4]
    assert "kv_heads must divide heads" in refused("convert", *args, "--kv-heads", "3")


def test_a_part_of_the_head_and_the_last_columns() -> None:
    args = ["--from", "rope:rotary_dim=4", "--to", "rope:rotary_dim=4,pairing=half", "--dim", "8"]
    part = [c[0] for c in run_json("convert", *args)["result"]["cells"]]
    assert part == [0, 2, 1, 3, 4, 5, 6, 7]
    args = ["--from", "rope/adjacent", "--to", "rope/half", "--dim", "8", "--rope-dim", "4"]
    last = [c[0] for c in run_json("convert", *args)["result"]["cells"]]
    assert last == [0, 1, 2, 3, 4, 6, 5, 7]


def converted(tmp_path: Path, array: np.ndarray, *args: str) -> np.ndarray:
    np.save(tmp_path / "w.npy", array)
    out = tmp_path / "out.npy"
    result = run(
        "convert", str(tmp_path / "w.npy"), "--from", "rope/adjacent", "--to", "rope/half",
        *args, "--out", str(out), "--force",
    )  # fmt: skip
    assert (result.status, result.err) == (0, f"wrote {out}\n")
    return np.asarray(np.load(out))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_weights_biases_and_norms(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(size=(24, 5)).astype(dtype)
    sizes = ["--dim", "8", "--heads", "3", "--kv-heads", "1"]
    order = np.array([0, 2, 4, 6, 1, 3, 5, 7])
    whole = np.concatenate([order, order + 8, order + 16])
    got = converted(tmp_path, w, *sizes)
    assert got.dtype == dtype
    assert_array_equal(got, w[whole])
    assert_array_equal(converted(tmp_path, w.T, *sizes, "--axis", "1"), w.T[:, whole])
    assert_array_equal(converted(tmp_path, w[:, 0], *sizes), w[whole, 0])
    assert_array_equal(converted(tmp_path, w[:8], *sizes), w[:8][order])


def test_scores_of_a_layer_are_kept(tmp_path: Path) -> None:
    """Two heads of queries share a key; x goes through the converted weights."""
    rng = np.random.default_rng(2)
    x, w_q, w_k = rng.normal(size=(6, 10)), rng.normal(size=(16, 10)), rng.normal(size=(8, 10))
    sizes = ["--dim", "8", "--heads", "2", "--kv-heads", "1"]
    new_q, new_k = (converted(tmp_path, w, *sizes) for w in (w_q, w_k))
    at = np.arange(6)

    def scores(kind: str, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        queries = (x @ q.T).reshape(6, 2, 8).swapaxes(0, 1)
        keys = (x @ k.T).reshape(6, 1, 8).swapaxes(0, 1)
        turned = scheme(kind).rotate(queries, at), scheme(kind).rotate(keys, at)
        return np.asarray(turned[0] @ turned[1].swapaxes(1, 2))

    want = scores("rope/adjacent", w_q, w_k)
    assert_allclose(scores("rope/half", new_q, new_k), want, rtol=0, atol=1e-12)
    assert np.abs(scores("rope/half", w_q, w_k) - want).max() > 0.1


@pytest.mark.parametrize(
    ("source", "target", "why"),
    [
        ("rope", "rope:base=500000", "their pairs turn by other angles"),
        ("rope", "rope:rotary_dim=4", "4 pairs turn in one, 2 in the other"),
        ("rope", "rope-mrope", "one has 1 axes, one 3"),
        ("rope", "rope-yarn:factor=1,attention_factor=2", "multiply cos and sin by other"),
        ("rope", "alibi", "alibi turns no pairs"),
        ("rope/diagonal", "rope", "'diagonal' is no convention"),
        ("rope", "none", "none turns no pairs"),
    ],
)
def test_where_no_order_exists_it_is_said(
    tmp_path: Path, source: str, target: str, why: str
) -> None:
    out = tmp_path / "out.npy"
    message = refused("convert", "--from", source, "--to", target, "--dim", "8", "--out", str(out))
    assert why in message
    assert not out.exists()


def test_the_same_pairs_need_no_move() -> None:
    args = ["--from", "rope/adjacent", "--to", "rope/adjacent-in-half-out", "--dim", "8"]
    out = run("convert", *args).out
    assert "columns of a head that move: 0" in out
    assert "nothing has to move" in out


def test_sizes_that_do_not_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.ones((10, 3)))
    file = str(tmp_path / "w.npy")
    args = ["--from", "rope/adjacent", "--to", "rope/half", "--dim", "8"]
    message = refused("convert", file, *args, "--heads", "2")
    assert message == (
        f"{file}: axis 0 has 10 numbers; with heads of width 8 it would have 8 for one head, "
        "or a norm shared by all, 16 for queries or keys"
    )
    assert "there is no axis 2" in refused("convert", file, *args, "--axis", "2")
    assert "got width 9" in refused("convert", "--from", "rope", "--to", "rope", "--dim", "9")
    assert "choose from a file" in refused("convert", *args, "--axis", "1")
    assert "rope_dim 16 is more than the head width" in refused(
        "convert", *args, "--rope-dim", "16"
    )
    assert "source: is missing" in refused("convert", "--to", "rope", "--dim", "8")


def test_a_failed_proof_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the order on purpose: the scores give it away."""
    monkeypatch.setattr(
        "poscli.experiments.convert.head_order", lambda *_: np.arange(8)[::-1].copy()
    )
    out = tmp_path / "out.npy"
    args = ["--from", "rope/adjacent", "--to", "rope/half", "--dim", "8", "--out", str(out)]
    assert "scores would differ by" in refused("convert", *args)
    assert not out.exists()
