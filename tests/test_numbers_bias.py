"""Score biases: small numbers with their origin, and laws that some of them keep.

Numbers in float64, held to the digits shown: from the formulas of the papers that each scheme's
file names, the distances and settings as written.
"""

from pathlib import Path

import numpy as np
import pytest
from conftest import run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli.schemes import SCHEMES, Scheme
from poscli.schemes.alibi import Alibi, FalconAlibi, slopes
from poscli.schemes.cope import Cope
from poscli.schemes.deberta import Deberta
from poscli.schemes.fire import Fire
from poscli.schemes.kerple import KerpleLog, KerplePower
from poscli.schemes.sandwich import Sandwich
from poscli.schemes.shaw import Shaw
from poscli.schemes.t5 import T5
from poscli.schemes.trained import Trained
from poscli.schemes.transformer_xl import TransformerXL
from poscli.schemes.window import Window

ATOL = 5.1e-9
RNG = np.random.default_rng(11)
Q, K = RNG.normal(size=(2, 4, 12, 6))
POSITIONS = np.arange(12)


def over(scheme: Scheme, distances: list[int], heads: int = 1, width: int = 4) -> np.ndarray:
    """Return the bias of one query on keys so far before it, (h, m)."""
    query, keys = np.array([1000]), 1000 - np.array(distances)
    ones = np.ones((heads, len(keys), width))
    return scheme.bias(ones[:, :1], ones, query, keys)[:, 0]


def test_falcon_slopes_are_rounded_and_divided() -> None:
    assert slopes(128)[0] == pytest.approx(0.95760328, abs=ATOL)
    got = FalconAlibi().bias(
        np.ones((128, 1, 64)), np.ones((128, 2, 64)), np.array([1]), np.arange(2)
    )
    assert got[0, 0, 1] * 8 == 0.95703125
    assert got[0, 0, 1] == pytest.approx(0.11962891, abs=ATOL)


def test_the_forms_of_alibi() -> None:
    def row(form: str) -> list[float]:
        scheme = Alibi.model_validate({"form": form})
        ones = np.ones((1, 4, 1))
        return list(scheme.bias(ones, ones, np.arange(4), np.arange(4))[0, 1] * 256)

    assert row("symmetric") == [-1, 0, -1, -2]
    assert row("causal") == [-1, 0, 1, 2]
    assert row("key-only") == [0, 1, 2, 3]
    assert row("last-key") == [-3, -2, -1, 0]


@pytest.mark.parametrize(
    ("scheme", "want"),
    [
        (KerpleLog(p=[1.0], a=[1.0]), [0, -0.69314718, -1.09861229, -1.60943791, -2.19722458]),
        (KerpleLog(p=[0.5], a=[2.0]), [0, -0.54930614, -0.80471896, -1.09861229, -1.41660667]),
        (KerplePower(a=[1.0], p=[0.5]), [0, -1, -1.41421356, -2, -2.82842712]),
    ],
)
def test_kerple(scheme: Scheme, want: list[float]) -> None:
    assert_allclose(over(scheme, [0, 1, 2, 4, 8])[0], want, rtol=0, atol=ATOL)


def test_alibi_is_kerple_of_power_1() -> None:
    kerple = KerplePower(p=[1.0] * 6, a=slopes(6).tolist())
    assert_array_equal(over(kerple, [0, 1, 7, -3], heads=6), over(Alibi(), [0, 1, 7, -3], heads=6))


def test_fire_inputs() -> None:
    def x(query: int, key: int) -> float:
        return float(Fire().inputs(np.array([query]), np.array([key]))[0, 0])

    for at, want in (
        ((10, 0), 0.17525475),
        ((10, 9), 0.02409815),
        ((511, 0), 0.99951492),
        ((1000, 0), 0.99999978),
        ((1000, 500), 0.85194412),
    ):
        assert x(*at) == pytest.approx(want, abs=ATOL)
    assert x(512, 0) == pytest.approx(x(511, 0), abs=1e-3)
    assert x(0, 0) == 0


def test_fire_network_in_loops() -> None:
    w1, b1, w2, b2 = [2.0, -1.0], [0.5, 0.25], [[1.0, 3.0], [-2.0, 4.0]], [0.1, 0.2]
    fire = Fire(hidden=2, hidden_weights=w1, hidden_biases=b1, weights=w2, biases=b2)
    got = over(fire, [7], heads=2)[:, 0]
    x = float(fire.inputs(np.array([1000]), np.array([993]))[0, 0])
    hidden = [max(0.0, w * x + b) for w, b in zip(w1, b1, strict=True)]
    want = [
        b + sum(w * h for w, h in zip(row, hidden, strict=True))
        for row, b in zip(w2, b2, strict=True)
    ]
    assert_allclose(got, want, rtol=1e-15)


def test_sandwich() -> None:
    got = over(Sandwich(), [0, 1, 10], heads=8)[0]
    assert_allclose(got, [0, -1.44661851, -19.34090607], rtol=0, atol=ATOL)
    got = over(Sandwich(first=0), [0, 1, 10], heads=8)[0]
    assert_allclose(got, [0, -1.90631619, -21.17997710], rtol=0, atol=ATOL)
    assert Sandwich(width=4).curve(np.array([1]))[0] + 2 == pytest.approx(1.9999499954, abs=ATOL)
    from_0 = Sandwich(width=4, first=0).curve(np.array([1]))[0] + 2
    assert from_0 == pytest.approx(1.54025231, abs=ATOL)
    by_head = over(Sandwich(), [10], heads=16)[:, 0] * np.arange(1, 17) / 2
    assert_allclose(by_head, Sandwich().curve(np.array([10]))[0], rtol=1e-15)


def test_sandwich_from_0_is_the_product_of_sinusoidal_rows() -> None:
    from poscli import Sinusoidal

    near, far = Sinusoidal().vectors(np.array([3, 20]), 128)
    curve = Sandwich(first=0).curve(np.array([17]))[0]
    assert curve + 64 == pytest.approx(near @ far, abs=1e-13)


def test_transformer_xl_row_of_offset_3() -> None:
    want = [0.14112001, 0.02999550, -0.98999250, 0.99955003]
    assert_allclose(TransformerXL().sinusoid(np.array([3]), 4)[0], want, rtol=0, atol=ATOL)


def test_transformer_xl_clamps_at_its_limit_and_past_it() -> None:
    near, at, past, behind = TransformerXL(clamp=3).sinusoid(np.array([2, 3, 4, -9]), 8)
    assert_array_equal(at, past)
    assert_array_equal(behind[:4], -at[:4])
    assert np.abs(near - at).max() > 0.1
    assert_array_equal(at, TransformerXL().sinusoid(np.array([3]), 8)[0])


def test_shaw_clips_at_its_limits_and_past_them() -> None:
    assert_array_equal(
        Shaw(left=64, right=8).row(np.array([-65, -64, -63, 0, 7, 8, 9])), [0, 0, 1, 64, 71, 72, 72]
    )


def test_deberta_buckets_at_their_edges() -> None:
    got = Deberta().bucket(np.array([0, 127, 128, 129, 200, 511, 512, -200]))
    assert_array_equal(got, [0, 127, 128, 129, 169, 255, 256, -169])
    assert_array_equal(Deberta(buckets=None).bucket(np.array([-700, 3])), [-700, 3])


def cope_in_loops(scheme: Cope, q: np.ndarray, k: np.ndarray, at: np.ndarray) -> np.ndarray:
    heads, n, width = q.shape
    e = scheme.values("table", width, heads)
    bias = np.zeros((heads, n, n))
    for h in range(heads):
        for i in range(n):
            gates = [1 / (1 + np.exp(-(q[h, i] @ k[h, t]) / np.sqrt(width))) for t in range(n)]
            for j in range(n):
                p = sum(gates[t] for t in range(n) if at[j] <= at[t] <= at[i])
                p = min(p, scheme.rows - 1)
                low = int(p)
                high = min(low + 1, scheme.rows - 1)
                bias[h, i, j] = (1 - p + low) * (q[h, i] @ e[low]) + (p - low) * (q[h, i] @ e[high])
    return bias


@pytest.mark.parametrize("rows", [2, 3, 64])
@pytest.mark.parametrize("order", [POSITIONS, POSITIONS[::-1], np.array([4, 4, 9, 0, 9, 1] * 2)])
def test_cope_equals_the_loops(rows: int, order: np.ndarray) -> None:
    scheme = Cope(rows=rows)
    want = cope_in_loops(scheme, Q, K, order)
    assert_allclose(scheme.bias(Q, K, order, order), want, rtol=0, atol=1e-14)


def test_cope_gates() -> None:
    cope, gates = Cope(), np.array([[[0.5, 0.25, 0.75]]])
    assert cope.counted(gates, np.array([2]), np.arange(3)).tolist() == [[[1.5, 1.0, 0.75]]]
    assert cope.counted(gates, np.array([0]), np.arange(3)).tolist() == [[[0.5, 0, 0]]]
    moved = cope.counted(gates[..., [2, 0, 1]], np.array([2]), np.array([2, 0, 1]))
    assert moved.tolist() == [[[0.75, 1.5, 1.0]]]


def test_large_scores_open_gates_without_overflow() -> None:
    huge = np.full((1, 3, 2), 1e3)
    with np.errstate(all="raise"):
        assert np.isfinite(Cope().bias(huge, -huge, np.arange(3), np.arange(3))).all()


def test_the_last_key_is_the_one_at_the_largest_position() -> None:
    scheme, order = Alibi(form="last-key"), np.array([3, 0, 4, 1, 2])
    ones = np.ones((2, 5, 1))
    assert_array_equal(scheme.bias(ones, ones, order, order)[0, 0] / 0.0625, order - 4)


RELATIVE = [
    "alibi",
    "alibi:form=causal",
    "t5",
    "t5:bidirectional=false",
    "kerple-log",
    "kerple-power",
    "sandwich",
    "transformer-xl",
    "transformer-xl:clamp=3",
    "shaw",
    "deberta",
    "deberta:buckets=null",
]
NOT_RELATIVE = [
    "alibi:form=key-only",
    "alibi:form=last-key",
    "alibi-falcon",
    "fire:threshold=4",
    "window",
]


@pytest.mark.parametrize("scheme", RELATIVE)
def test_scores_by_offset_alone(scheme: str) -> None:
    assert by_offset_alone(scheme) == "yes"


@pytest.mark.parametrize("scheme", NOT_RELATIVE)
def test_scores_by_more_than_the_offset(scheme: str) -> None:
    assert by_offset_alone(scheme) == "no"


def by_offset_alone(scheme: str) -> str:
    cells = run_json("compare", scheme, "--dim", "8", "--heads", "2")["result"]
    row = cells["labels"].index(["score by offset alone"])
    return str(cells["cells"][row][0])


@pytest.mark.parametrize("form", ["causal", "key-only", "last-key", "symmetric"])
def test_one_word_at_two_places_without_a_mask(form: str) -> None:
    """Only the symmetric form tells a query its own place: the others need the causal mask."""
    report = run_json("compare", f"alibi:form={form}")
    (verdict,) = report["sections"][-1]["checks"][1:]
    assert verdict["expected"] == ("different" if form == "symmetric" else "equal")
    assert verdict["verdict"] == "pass"


def test_cope_depends_on_the_tokens_between() -> None:
    """With one word everywhere all gates are equal, and only then does the offset alone decide."""
    assert by_offset_alone("cope") == "yes"
    bias = Cope().bias(Q, K, POSITIONS, POSITIONS)
    same_query_and_key = K.copy()
    same_query_and_key[:, 5] += 1.0
    moved = Cope().bias(Q, same_query_and_key, POSITIONS, POSITIONS)
    assert np.abs(moved - bias)[:, 8, 2].min() > 0
    assert_array_equal(moved[:, :5], bias[:, :5])


def built(text: str) -> Scheme:
    name, _, rest = text.partition(":")
    plain = {"true": True, "false": False, "null": None}
    settings = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        settings[key] = plain[value] if value in plain else int(value) if value.isdigit() else value
    return SCHEMES[name].model_validate(settings)


@pytest.mark.parametrize("scheme", [*RELATIVE, "alibi:form=last-key", "cope"])
@pytest.mark.parametrize("shift", [1, 1000, -17])
def test_a_shift_of_all_positions_changes_nothing(scheme: str, shift: int) -> None:
    one = built(scheme).bias(Q, K, POSITIONS, POSITIONS)
    assert_array_equal(built(scheme).bias(Q, K, POSITIONS + shift, POSITIONS + shift), one)


@pytest.mark.parametrize("scheme", ["alibi:form=key-only", "alibi-falcon"])
def test_a_shift_moves_the_key_only_forms_by_one_number_per_head(scheme: str) -> None:
    one, moved = (built(scheme).bias(Q, K, p, p) for p in (POSITIONS, POSITIONS + 64))
    assert np.abs(moved - one).min() > 0
    assert_allclose(np.ptp(moved - one, axis=(1, 2)), 0, atol=1e-2)


TRAINED = [name for name, kind in SCHEMES.items() if issubclass(kind, Trained)]


@pytest.mark.parametrize("name", TRAINED)
def test_trained_numbers_are_drawn_from_the_seed_and_counted(name: str) -> None:
    scheme, again, other = (SCHEMES[name].model_validate({"seed": s}) for s in (3, 3, 4))
    at = scheme.coordinates(POSITIONS)
    one = scheme.bias(Q, K, at, at)
    assert_array_equal(one, again.bias(Q, K, at, at))
    assert np.abs(one - other.bias(Q, K, at, at)).max() > 0
    assert isinstance(scheme, Trained)
    drawn = [scheme.values(field, 6, 4).size for field in scheme.shapes(6, 4)]
    c_and_threshold = 2 if name == "fire" else 0
    assert scheme.parameters(24, 4) == sum(drawn) + c_and_threshold


def test_two_fields_are_not_drawn_alike() -> None:
    scheme = TransformerXL()
    assert np.abs(scheme.values("u", 6, 4) - scheme.values("v", 6, 4)).min() > 0


def test_kerple_is_drawn_as_its_authors_do() -> None:
    p, a = (KerplePower().values(name, 1, 10_000) for name in "pa")
    assert (p.min(), a.min()) == (0.01, 0.01)
    assert (p.max(), a.max()) == (pytest.approx(2, abs=1e-3), pytest.approx(1, abs=1e-3))


@pytest.mark.parametrize("name", TRAINED)
def test_trained_numbers_can_be_put_in_as_a_list_or_a_file(name: str, tmp_path: Path) -> None:
    drawn = SCHEMES[name].model_validate({})
    assert isinstance(drawn, Trained)
    fields = {field: drawn.values(field, 6, 4) for field in drawn.shapes(6, 4)}
    listed = SCHEMES[name].model_validate({f: v.tolist() for f, v in fields.items()})
    for field, values in fields.items():
        np.save(tmp_path / f"{field}.npy", values)
    files = SCHEMES[name].model_validate({f: str(tmp_path / f"{f}.npy") for f in fields})
    at = drawn.coordinates(POSITIONS)
    for given in (listed, files):
        assert_array_equal(given.bias(Q, K, at, at), drawn.bias(Q, K, at, at))
        assert "seed" not in given.model_dump()
    assert set(fields).isdisjoint(drawn.model_dump())


@pytest.mark.parametrize(
    "name", [n for n, kind in SCHEMES.items() if kind.place == "attention scores"]
)
@pytest.mark.parametrize("heads", [1, 3, 12])
def test_every_bias_is_finite_for_any_heads_at_position_0_and_far_away(
    name: str, heads: int
) -> None:
    scheme = SCHEMES[name].model_validate({})
    index = [0, 1, 195] if scheme.limit else [0, 1, 131071, 2**40]
    at = scheme.coordinates(np.array(index))
    q = RNG.normal(size=(heads, len(at), 2))
    for dtype in ("float64", "float32"):
        bias = scheme.bias(q.astype(dtype), q.astype(dtype), at, at)
        assert bias.shape == (heads, len(at), len(at))
        assert np.isfinite(bias).all()
        assert np.isfinite(
            scheme.bias(q[:, :1].astype(dtype), q[:, :1].astype(dtype), at[:1], at[:1])
        ).all()


def test_t5_at_its_edges() -> None:
    assert_array_equal(
        T5(buckets=4, max_distance=2).bucket(np.array([0, -1, -2, -9, 1, 2])), [0, 1, 1, 1, 3, 3]
    )
    one_sided = T5(buckets=2, max_distance=2, bidirectional=False)
    assert_array_equal(one_sided.bucket(np.array([5, 0, -1, -2])), [0, 0, 1, 1])


def test_a_window_in_loops() -> None:
    window = Window(rows=2, columns=3)
    at = window.coordinates(np.arange(6))
    assert at.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    table = window.values("table", 1, 1)[:, 0]
    bias = window.bias(np.ones((1, 6, 1)), np.ones((1, 6, 1)), at, at)[0]
    for i, (r1, c1) in enumerate(at):
        for j, (r2, c2) in enumerate(at):
            assert bias[i, j] == table[(r1 - r2 + 1) * 5 + c1 - c2 + 2]


def test_fire_divides_each_row_by_its_own_query() -> None:
    queries, keys = np.array([10, 600, 1000]), np.array([0, 9, 500])
    alone = [[Fire().inputs(q[None], k[None])[0, 0] for k in keys] for q in queries]
    assert_array_equal(Fire().inputs(queries, keys), alone)
