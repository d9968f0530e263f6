"""Laws that hold for every scheme, whatever its formula."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from poscli import Alibi, Learned, NoPE, Rope, Scheme, Sinusoidal
from poscli.schemes import SCHEMES
from poscli.schemes.additive import Additive
from poscli.schemes.rotary import Rotary
from poscli.schemes.score_bias import ScoreBias

RNG = np.random.default_rng(7)
X = RNG.normal(size=(5, 8))
Q = RNG.normal(size=(2, 5, 8))
POSITIONS = np.array([0, 1, 2, 7, 11])


def test_names_are_the_keys_and_each_scheme_acts_at_one_place() -> None:
    for name, kind in SCHEMES.items():
        assert kind.model_fields["name"].default == name
        assert issubclass(kind, Additive | Rotary | ScoreBias) or kind is NoPE
        assert kind.summary
        assert kind.source


def test_shapes_are_kept(scheme: Scheme) -> None:
    at = scheme.coordinates(POSITIONS)
    assert scheme.add(X, at).shape == X.shape
    assert scheme.rotate(Q, at).shape == Q.shape
    assert scheme.bias(Q, Q[:, :3], at, at[:3]).shape == (2, 5, 3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_dtypes_are_kept(scheme: Scheme, dtype: str) -> None:
    at = scheme.coordinates(POSITIONS)
    x, q = X.astype(dtype), Q.astype(dtype)
    assert scheme.add(x, at).dtype == dtype
    assert scheme.rotate(q, at).dtype == dtype
    assert scheme.bias(q, q, at, at).dtype == dtype


def test_inputs_are_untouched(scheme: Scheme) -> None:
    at = scheme.coordinates(POSITIONS)
    x, q, positions = X.copy(), Q.copy(), at.copy()
    for array in (x, q, positions):
        array.flags.writeable = False
    scheme.add(x, positions)
    scheme.rotate(q, positions)
    scheme.bias(q, q, positions, positions)
    assert_array_equal(x, X)
    assert_array_equal(q, Q)


def test_only_its_own_place_is_touched(scheme: Scheme) -> None:
    at = scheme.coordinates(POSITIONS)
    touched = {
        "token embeddings": not np.array_equal(scheme.add(X, at), X),
        "queries and keys": not np.array_equal(scheme.rotate(Q, at), Q),
        "attention scores": bool(scheme.bias(Q, Q, at, at).any()),
    }
    assert [place for place, yes in touched.items() if yes] == (
        [scheme.place] if scheme.sees_order else []
    )


def test_a_position_is_all_that_counts_not_its_row(scheme: Scheme) -> None:
    at = scheme.coordinates(POSITIONS)
    order = np.array([3, 0, 4, 1, 2])
    assert_array_equal(scheme.add(X[order], at[order]), scheme.add(X, at)[order])
    assert_array_equal(scheme.rotate(Q[:, order], at[order]), scheme.rotate(Q, at)[:, order])
    assert_array_equal(
        scheme.bias(Q[:, order], Q[:, order], at[order], at[order]),
        scheme.bias(Q, Q, at, at)[:, order][:, :, order],
    )


def test_a_row_by_offset_is_the_same_row_bit_for_bit(scheme: Scheme) -> None:
    alone = scheme.encoding(scheme.coordinates(np.arange(5, 8)), 4, 2).values
    longer = scheme.encoding(scheme.coordinates(np.arange(8)), 4, 2).values
    rows = longer[..., 5:8, :]
    if isinstance(scheme, ScoreBias):
        rows = rows[..., 5:8]
    assert_array_equal(alone, rows)


@pytest.mark.parametrize("scheme", [NoPE(), Rope(), Rope(pairing="half"), Alibi()])
@pytest.mark.parametrize("shift", [1, 1000, -17])
def test_relative_schemes_keep_scores_under_a_shift(scheme: Scheme, shift: int) -> None:
    def scores(positions: np.ndarray) -> np.ndarray:
        q, k = scheme.rotate(Q, positions), scheme.rotate(Q[:, ::-1], positions)
        return q @ k.swapaxes(1, 2) + scheme.bias(q, k, positions, positions)

    assert_allclose(scores(POSITIONS + shift), scores(POSITIONS), rtol=0, atol=1e-13)


@pytest.mark.parametrize("pairing", ["adjacent", "half"])
def test_rope_keeps_norms_and_is_the_identity_at_0(pairing: str) -> None:
    rope = Rope.model_validate({"pairing": pairing})
    turned = rope.rotate(Q, POSITIONS)
    assert_allclose(np.linalg.norm(turned, axis=2), np.linalg.norm(Q, axis=2), rtol=1e-14)
    assert_array_equal(rope.rotate(Q, np.zeros(5)), Q)


@pytest.mark.parametrize("width", [2, 4, 8, 64])
def test_the_two_pairings_are_one_map_up_to_a_permutation(width: int) -> None:
    x = RNG.normal(size=(1, 5, width))
    order = np.concatenate([np.arange(0, width, 2), np.arange(1, width, 2)])
    half = Rope(pairing="half").rotate(x[..., order], POSITIONS)
    assert_array_equal(half, Rope(pairing="adjacent").rotate(x, POSITIONS)[..., order])


def test_rope_composes() -> None:
    twice = Rope().rotate(Rope().rotate(Q, POSITIONS), np.full(5, 3))
    assert_allclose(twice, Rope().rotate(Q, POSITIONS + 3), atol=1e-14)


@pytest.mark.parametrize("width", [2, 6, 512])
def test_sinusoidal_rows_have_squared_norm_half_the_width(width: int) -> None:
    rows = Sinusoidal().vectors(np.array([0, 1, 99, 131071]), width)
    assert_allclose((rows**2).sum(axis=1), width / 2, rtol=1e-14)


def test_learned_rows_do_not_depend_on_how_many_are_asked_for() -> None:
    few = Learned(rows=8).vectors(np.array([2]), 4)
    many = Learned(rows=1024).vectors(np.arange(1024), 4)
    assert_array_equal(few[0], many[2])
    assert many.std() == pytest.approx(0.02, rel=0.03)


def test_learned_at_the_size_of_gpt2() -> None:
    table = Learned()
    assert table.parameters(768, 12) == 786_432
    norms = np.linalg.norm(table.vectors(np.arange(1024), 768), axis=1)
    assert norms.mean() == pytest.approx(0.02 * 768**0.5, rel=0.005)
