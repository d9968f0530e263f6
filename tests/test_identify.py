"""compare, given files: what they are identified as, verified against, and compared with."""

import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import refused, run, run_json
from numpy.testing import assert_allclose

from poscli.arrays import rounded
from poscli.config import parse_scheme
from poscli.errors import PoscliError
from poscli.identify.dumps import Dump, Stored
from poscli.identify.evidence import Evidence, evidence_of
from poscli.identify.findings import written
from poscli.identify.fitting import digits, roundest, turns_per_step, whole_number
from poscli.identify.reading import conclude, held_by
from poscli.phase import angles, cos_sin, powers
from poscli.schemes import SCHEMES
from poscli.schemes.forms import FORMS, in_form
from poscli.schemes.turns import ladder

Save = Callable[..., str]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Return a function that writes one array, or several by name, and returns the file's name."""

    def write(name: str, array: Any = None, **arrays: Any) -> str:
        path = tmp_path / name
        if array is not None:
            np.save(path, array)
        else:
            np.savez(path, **arrays)
        return str(path)

    return write


def scheme(name: str, **settings: Any) -> Any:
    return SCHEMES[name].model_validate(settings)


def first(file: str, *args: str) -> dict[str, Any]:
    """Return the convention at rank one, with the cells of its row."""
    document = run_json("compare", file, *args)
    grid = document["result"]
    return dict(zip(grid["columns"], grid["cells"][0], strict=True)) | {
        "passed": document["passed"]
    }


def heads(n: int, k: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, n, k))


TABLES: list[tuple[str, dict[str, Any], int]] = [
    ("sinusoidal", {}, 0),
    ("sinusoidal", {"layout": "cos-first", "ladder": "log-timescale"}, 0),
    ("sinusoidal", {"layout": "concatenated", "base": 500.0}, 0),
    ("sinusoidal", {"base": 100000.0}, 37),
    ("sinusoidal", {}, 100000),
    ("scaled-sinusoidal", {}, 0),
    ("scaled-sinusoidal", {"scale": 0.3}, 3),
    ("sincos-2d", {}, 0),
]


@pytest.mark.parametrize(("name", "settings", "offset"), TABLES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tables(save: Save, name: str, settings: dict[str, Any], offset: int, dtype: Any) -> None:
    want = scheme(name, **settings)
    table = want.vectors(want.coordinates(np.arange(offset, offset + 24)), 16).astype(dtype)
    found = first(save("a.npy", table))
    assert found["convention"] == want.label().replace("True", "true")
    assert found["passed"] is True
    assert ("--offset" in found["command"]) == (offset > 0)


ROTARY: list[tuple[str, dict[str, Any]]] = [
    ("rope", {}),
    ("rope", {"pairing": "half", "base": 500000.0}),
    ("rope", {"pairing": "half", "direction": "clockwise"}),
    ("rope", {"pairing": "adjacent-in-half-out"}),
    ("rope", {"pairing": "half", "rotary_dim": 8}),
    ("rope-linear", {"factor": 8.0, "base": 1000000.0}),
    ("rope-ntk", {"factor": 8.0}),
    ("rope-ntk-fixed", {"factor": 8.0}),
    ("rope-ntk-mixed", {"factor": 8.0}),
    ("rope-yarn", {"pairing": "half", "base": 1000000.0}),
    ("rope-llama3", {"base": 500000.0, "factor": 8.0, "original_length": 8192}),
    ("rope-proportional", {"pairing": "half", "base": 1000000.0}),
    ("xpos", {"centre": 4}),
]


@pytest.mark.parametrize(("name", "settings"), ROTARY)
@pytest.mark.parametrize("start", [0, 50])
def test_queries_before_and_after(
    save: Save, name: str, settings: dict[str, Any], start: int
) -> None:
    want, q = scheme(name, **settings), heads(32, 32)
    after = want.rotate(q, np.arange(start, start + 32))
    found = first(save("a.npz", q=q, q_out=after))
    assert found["convention"] == want.label()
    assert found["passed"] is True
    assert f"--positions={start}:{start + 32}" in found["command"]


@pytest.mark.parametrize(("name", "settings"), ROTARY[:1] + ROTARY[5:12])
def test_tables_of_cos_and_sin(save: Save, name: str, settings: dict[str, Any]) -> None:
    want = scheme(name, **settings)
    cos, sin = want.cos_sin(np.arange(64), 32)
    doubled = [np.repeat(t, 2, axis=1) for t in (cos, sin)]
    if settings.get("pairing") == "half":
        doubled = [np.tile(t, 2) for t in (cos, sin)]
    assert first(save("a.npz", cos=doubled[0], sin=doubled[1]))["convention"] == want.label()


def test_the_last_columns_of_a_head(save: Save) -> None:
    """As where a head has a slice of its own that turns (MLA)."""
    q = heads(16, 24)
    after = q.copy()
    after[..., 16:] = scheme("rope").rotate(q[..., 16:], np.arange(16))
    document = run_json("compare", save("a.npz", q=q, q_out=after))
    cells = document["sections"][1]["grids"][0]["cells"][0]
    assert cells[0] == "rope"
    assert "adjacent, columns 16 to 23 of 24 turn" in cells


def test_proportional_is_no_partial_rotation(save: Save) -> None:
    q = heads(16, 16)
    after = scheme("rope-proportional", pairing="half").rotate(q, np.arange(16))
    assert first(save("a.npz", q=q, q_out=after))["convention"] == "rope-proportional:pairing=half"


BIASES: list[tuple[str, dict[str, Any]]] = [
    ("alibi", {}),
    ("alibi", {"form": "causal"}),
    ("alibi", {"form": "key-only", "bias_max": 4.0}),
    ("alibi", {"form": "last-key"}),
    ("kerple-log", {"p": [0.5, 1.0, 0.25], "a": [2.0, 0.1, 1.0]}),
    ("kerple-power", {"p": [0.5, 1.5, 0.25], "a": [2.0, 0.1, 1.0]}),
    ("sandwich", {}),
]


@pytest.mark.parametrize(("name", "settings"), BIASES)
def test_biases(save: Save, name: str, settings: dict[str, Any]) -> None:
    want = scheme(name, **settings)
    bias = want.encoding(np.arange(12), 4, 3).values
    found = first(save("a.npy", bias))
    assert found["convention"].split(",table")[0] == written(want)
    assert found["residual"] < 1e-6


def test_steps_of_t5(save: Save) -> None:
    want = scheme("t5", buckets=16, max_distance=64)
    bias = want.encoding(np.arange(80), 4, 2).values
    assert first(save("a.npy", bias))["convention"].startswith(
        "t5:buckets=16,max_distance=64,table="
    )


def test_a_mask_is_left_out(save: Save) -> None:
    bias = scheme("alibi", form="causal").encoding(np.arange(6), 4, 2).values
    hidden = np.where(np.tril(np.ones((6, 6), bool)), bias, -np.inf)
    found = first(save("a.npy", hidden))
    assert found["convention"] in ("alibi", "alibi:form=causal")
    assert found["residual"] == 0


def columns(*tables: np.ndarray) -> np.ndarray:
    return np.stack([np.tile(t, 2) for t in tables])


def stacked(cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    return np.stack([cos, sin], axis=-1)


def matrices(cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    return np.stack([stacked(cos, -sin), stacked(sin, cos)], axis=-2)


def slice_turned(q: np.ndarray) -> np.ndarray:
    after = q.copy()
    after[..., 12:] = scheme("rope").rotate(q[..., 12:], np.arange(3, 3 + q.shape[1]))
    return after


Q = heads(9, 16).astype(np.float32)
AT = np.arange(4, 13)
HALF = scheme("rope-yarn", pairing="half")
REPRODUCED: dict[str, tuple[dict[str, Any], str]] = {
    "a table": ({"": scheme("sinusoidal", layout="concatenated").vectors(AT, 12)}, ""),
    "doubled columns": ({"": columns(*HALF.cos_sin(AT, 12))}, ""),
    "cos and sin in one row": ({"": np.concatenate(HALF.cos_sin(AT, 12), axis=1)}, ""),
    "side by side": ({"": stacked(*HALF.cos_sin(AT, 12))}, ""),
    "matrices": ({"": matrices(*HALF.cos_sin(AT, 12))[None, None]}, ""),
    "cos alone": ({"": columns(*HALF.cos_sin(np.arange(64), 12))[0]}, ""),
    "angles": ({"": np.outer(np.arange(9), 10000 ** (-np.arange(4) / 4))}, ""),
    "frequencies": ({"": 500000 ** (-np.arange(4) / 4)}, ""),
    "queries": ({"q": Q, "q_out": scheme("rope", pairing="half").rotate(Q, AT)}, "q_out"),
    "a part of each head": (
        {"q": Q, "q_out": scheme("rope", rotary_dim=8).rotate(Q, AT)},
        "q_out",
    ),
    "the last columns of each head": ({"q": Q, "q_out": slice_turned(Q)}, "q_out"),
    "positions along the first axis": (
        {"q": Q.swapaxes(0, 1), "q_out": scheme("rope").rotate(Q, AT).swapaxes(0, 1)},
        "q_out",
    ),
    "heads side by side": (
        {
            "q": Q.swapaxes(0, 1).reshape(9, 32),
            "q_out": scheme("rope").rotate(Q, AT).swapaxes(0, 1).reshape(9, 32),
        },
        "q_out",
    ),
    "keys of xpos": ({"k": Q, "k_out": scheme("xpos", centre=4).rotate_keys(Q, AT)}, "k_out"),
    "something added": ({"x": Q, "out": scheme("sinusoidal").add(Q, np.arange(9))}, "out"),
    "slopes": ({"": scheme("alibi").encoding(np.arange(3), 4, 6).values[:, 1, 0] * -1}, ""),
    "one row of biases": (
        {"": scheme("alibi", form="last-key").encoding(np.arange(8), 4, 4).values[:, -1:]},
        "",
    ),
    "heads last": (
        {"": scheme("alibi").encoding(np.arange(8), 4, 3).values.transpose(1, 2, 0)},
        "",
    ),
    "five queries of nine": ({"": scheme("alibi").encoding(np.arange(9), 4, 3).values[:, 4:]}, ""),
    "a mask": (
        {"": np.where(np.tri(8), scheme("alibi").encoding(np.arange(8), 4, 3).values, -np.inf)},
        "",
    ),
    "buckets": (
        {"bucket": scheme("t5").bucket(np.arange(-300, 300)), "positions": np.arange(-300, 300)},
        "bucket",
    ),
    "the index of a window": (
        {
            "": (lambda w: w.index(w.offsets(*[w.coordinates(np.arange(12))] * 2)))(
                scheme("window", rows=3, columns=4)
            )
        },
        "",
    ),
}


@pytest.mark.parametrize("kind", REPRODUCED)
def test_the_first_command_makes_the_dump_again(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Run as it is printed, save for --out where it only prints."""
    arrays, name = REPRODUCED[kind]
    file = save("a.npy", arrays[""]) if "" in arrays else save("a.npz", **arrays)
    command = shlex.split(first(file)["command"])[1:]
    monkeypatch.chdir(tmp_path)
    run(*command, *([] if "--out" in command else ["--out", "again.npy"]))
    again = np.load("again.npy")
    if kind == "matrices":
        again = again[None, None]
    assert_allclose(again, arrays[name], rtol=0, atol=2e-6)
    assert np.ptp(arrays[name][np.isfinite(arrays[name])]) > 0.1


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_a_turn_hold_the_same_numbers(form: str) -> None:
    made = scheme("rope-yarn", pairing="half")
    cos, sin = made.cos_sin(np.arange(3, 7), 8)
    angle = angles(np.arange(3, 7), made.frequencies(8))
    want = {
        "columns": columns(cos, sin),
        "cache": np.concatenate([cos, sin], axis=1),
        "stacked": stacked(cos, sin),
        "matrices": matrices(cos, sin),
        "angles": angle,
        "angle-columns": np.tile(angle, 2),
        "frequencies": angle[0] / 3,
    }[form]
    got = in_form(form, made, np.arange(3, 7), 8).values  # type: ignore[arg-type]
    assert_allclose(got, want, rtol=1e-15)
    printed = run_json("encode", "--scheme", "rope-yarn:pairing=half", "--dim", "8", "--len", "4",
                       "--offset", "3", "--show", form)["result"]["cells"]  # fmt: skip
    assert np.array_equal(np.ravel(printed), got.ravel())


def test_neighbours_are_doubled_by_repetition() -> None:
    got = in_form("columns", scheme("rope"), np.arange(3), 8).values
    assert np.array_equal(got[..., ::2], got[..., 1::2])
    assert np.array_equal(got[..., ::2], np.stack(scheme("rope").cos_sin(np.arange(3), 8)))


def test_a_form_belongs_to_a_turn() -> None:
    assert "sinusoidal has none" in refused("encode", "--show", "angles")
    assert "explain does not fit" in refused("encode", "--scheme", "rope", "--show", "angles",
                                             "--explain")  # fmt: skip


PADDED = np.array([0, 0, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3])


@pytest.mark.parametrize("label", ["rope:pairing=half", "rope:base=500000,pairing=half"])
def test_rows_that_do_not_count_up_are_read_but_not_concluded_from(save: Save, label: str) -> None:
    q = heads(len(PADDED), 32)
    after = scheme(**parse_scheme(label)).rotate(q, PADDED)
    result = run("compare", save("a.npz", q=q, q_out=after))
    said = " ".join(result.out.split())
    assert result.status == 1
    assert f"turned as {label} does at positions 0, 0, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3." in said
    assert "State them" in said
    found = first(save("a.npz", q=q, q_out=after, position_ids=PADDED))
    assert (found["convention"], found["passed"]) == (label, True)


def test_a_batch_with_positions_of_its_own(save: Save) -> None:
    at = np.array([[0, 0, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])
    q = np.random.default_rng(0).normal(size=(2, 3, 6, 16))
    after = np.stack([scheme("rope").rotate(x, p) for x, p in zip(q, at, strict=True)])
    said = " ".join(run("compare", save("a.npz", q=q, q_out=after)).out.split())
    assert "as rope does at positions 0, 0, 0, 1, 2, 3; then 0, 1, 2, 3, 4, 5." in said
    assert "State them, as position_ids (b, n) in the file" in said
    found = first(save("a.npz", q=q, q_out=after, position_ids=at))
    assert (found["convention"], found["passed"]) == ("rope", True)


def test_positions_of_three_axes_as_programs_keep_them(save: Save) -> None:
    made = scheme("rope-mrope", sections=[2, 3, 3], pairing="half")
    at = np.stack([np.arange(12), np.arange(12) // 3, np.arange(12) % 3], axis=1)
    q = heads(12, 16)
    for ids in (at.T[:, None], at.T, at):
        found = first(save("a.npz", q=q, q_out=made.rotate(q, at), position_ids=ids))
        assert (found["convention"], found["passed"]) == (made.label(), True)


def in_format(values: np.ndarray, precision: str) -> Stored:
    return Stored("", rounded(values, precision).astype(np.float64), precision)


def as_libraries_turn(label: str, q: np.ndarray, at: np.ndarray, precision: str) -> np.ndarray:
    """Turn halves as libraries do: cos, sin, both products and their sum rounded to the format."""

    def narrow(values: np.ndarray) -> np.ndarray:
        return rounded(values, precision).astype(np.float64)

    made = scheme(**parse_scheme(label))
    w = np.array([float(w) for w in made.frequencies(q.shape[-1])], np.float32)
    angle = np.outer(at.astype(np.float32), w)
    cos, sin = (
        narrow(made.amplitude * np.tile(f(angle.astype(np.float32)), 2)) for f in (np.cos, np.sin)
    )
    one, other = np.split(q, 2, axis=-1)
    return narrow(narrow(q * cos) + narrow(np.concatenate([-other, one], axis=-1) * sin))


MODELS = [
    "rope:pairing=half",
    "rope:base=500000,pairing=half",
    "rope-linear:pairing=half",
    "rope-yarn:base=1000000,pairing=half,original_length=32768",
    "rope-llama3:base=500000,pairing=half,factor=8,original_length=8192",
]


@pytest.mark.parametrize("label", MODELS)
@pytest.mark.parametrize(
    ("precision", "length"), [("float16", 64), ("bfloat16", 64), ("bfloat16", 8)]
)
@pytest.mark.parametrize("first", [0, 1000])
def test_queries_as_libraries_turn_them_in_few_bits(
    label: str, precision: str, length: int, first: int
) -> None:
    """Few rows may not tell a scaling from none; what comes first has to turn as the dump does."""
    q = rounded(np.random.default_rng(4).normal(size=(4, length, 64)), precision).astype(np.float64)
    at = np.arange(first, first + length)
    before, after = (
        in_format(x, precision) for x in (q, as_libraries_turn(label, q, at, precision))
    )
    best = conclude(Evidence("before and after", before, after, positions=at)).findings[0]
    assert best.explains
    if length == 64 and first == 0:
        assert best.label() == label


@pytest.mark.parametrize("label", MODELS)
@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_tables_in_few_bits_are_no_list_of_divisors(label: str, precision: str) -> None:
    cos, sin = scheme(**parse_scheme(label)).cos_sin(np.arange(64), 64)
    one, other = (in_format(np.tile(t, 2), precision) for t in (cos, sin))
    best = conclude(Evidence("cos and sin", one, other)).findings[0]
    assert best.explains
    assert best.label() == label


def test_queries_from_a_cache_far_along(save: Save) -> None:
    q, at = heads(12, 64).astype(np.float32), np.arange(1000, 1012)
    after = as_libraries_turn(MODELS[0], q, at, "float32").astype(np.float32)
    document = run_json("compare", save("a.npz", q=q, q_out=after))
    assert document["result"]["cells"][0][1] == MODELS[0]
    assert document["passed"]
    said = " ".join(run("compare", save("a.npz", q=q, q_out=after)).out.split())
    assert "No positions are stated; rows were taken to count up from 1000." in said


def test_a_divisor_per_pair_is_read_off_queries(save: Save) -> None:
    made = scheme("rope-longrope", pairing="half", length=1, factor=32.0,
                  short_factor=[1 + i / 50 for i in range(32)])  # fmt: skip
    q = np.random.default_rng(0).normal(size=(4, 64, 64)).astype(np.float32)
    after = made.rotate(q.astype(np.float64), np.arange(64)).astype(np.float32)
    found = first(save("a.npz", q=q, q_out=after))
    assert found["convention"].startswith(
        "rope-longrope:pairing=half,length=1,short_factor=[1,1.02,"
    )
    assert found["passed"]


@pytest.mark.parametrize("values", [np.ones(16), np.full(4, 0.5)])
def test_equal_frequencies_tell_nothing(save: Save, values: np.ndarray) -> None:
    assert "all numbers are equal" in run("compare", save("a.npy", values)).out


def test_numbers_that_happen_to_be_round_are_not_taken_for_few_bits(save: Save) -> None:
    found = first(save("a.npy", 0.5 ** np.arange(16)))
    assert (found["convention"], found["residual"], found["passed"]) == (
        "rope:base=65536",
        0.0,
        True,
    )


def test_the_number_that_speaks_against_a_scheme_is_shown(save: Save) -> None:
    table = scheme("sinusoidal").vectors(np.arange(40), 16)
    table[3, 14] += 1e-9
    check = run_json("compare", save("a.npy", table), "--scheme", "sinusoidal")["sections"][1][
        "checks"
    ][0]
    assert check["verdict"] == "fail"
    assert check["difference"] > check["tolerance"]


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_table_of_more_numbers_is_no_rival(save: Save, bidirectional: bool) -> None:
    bias = scheme("t5", bidirectional=bidirectional).encoding(np.arange(200), 4, 4).values
    found = first(save("a.npy", bias.astype(np.float32)))
    assert found["convention"].startswith(
        "t5:table=" if bidirectional else "t5:bidirectional=false"
    )
    assert found["passed"]


def test_a_scheme_is_named_by_words_too(save: Save) -> None:
    q = heads(9, 16)
    file = save("a.npz", q=q, q_out=scheme("rope", pairing="half").rotate(q, np.arange(9)))
    assert run("compare", file, "--scheme", "rope/half").status == 0
    assert run("compare", file, "--scheme", "rope/half/clockwise").status == 1
    assert "'quarter' is no convention" in refused("compare", file, "--scheme", "rope/quarter")


def test_turns_that_no_rope_makes_ask_for_positions(save: Save) -> None:
    q, turn = heads(8, 8), np.random.default_rng(3).uniform(-3, 3, size=(8, 4))
    after = scheme("rope").turn(q, np.cos(turn), np.sin(turn))
    said = " ".join(run("compare", save("a.npz", q=q, q_out=after)).out.split())
    assert "by angles of its own, and no first position explains them all; state the" in said


@pytest.mark.parametrize("keys", [("cos", "sin"), ("angles",)])
def test_a_partial_rope_is_held_against_as_many_pairs_as_it_turns(
    save: Save, keys: tuple[str, ...]
) -> None:
    part = scheme("rope", rotary_dim=8)
    made = {"cos": part.cos_sin(np.arange(9), 8)[0], "sin": part.cos_sin(np.arange(9), 8)[1],
            "angles": angles(np.arange(9), part.frequencies(8))}  # fmt: skip
    file = save("a.npz", **{key: made[key] for key in keys})
    assert run("compare", file, "--scheme", "rope:rotary_dim=8").status == 0
    assert run("compare", file, "--scheme", "rope:rotary_dim=4").status != 0


def test_two_arrays_of_two_shapes_are_no_before_and_after(save: Save) -> None:
    said = run("compare", save("a.npz", q=np.ones((4, 8)), q_out=np.float64(3)))
    assert said.status == 1
    assert "the two have shapes (4, 8) and ()" in said.out


@pytest.mark.parametrize("label", ["rope:pairing=half", "rope:base=500000,pairing=half"])
def test_noise_on_cos_and_sin_names_the_nearest_and_passes_nothing(save: Save, label: str) -> None:
    noise = np.random.default_rng(2).normal(size=(2, 32, 32)) * 1e-3
    cos, sin = noise + scheme(**parse_scheme(label)).cos_sin(np.arange(32), 64)
    found = first(save("a.npz", cos=np.tile(cos, 2), sin=np.tile(sin, 2)))
    assert (found["convention"], found["explains"], found["passed"]) == (label, False, False)


def test_a_table_with_its_axes_exchanged(save: Save) -> None:
    table = scheme("sinusoidal").vectors(np.arange(5, 45), 16)
    document = run_json("compare", save("a.npy", table.T))
    assert document["result"]["cells"][0][:2] == [
        "position table, rows and columns exchanged",
        "sinusoidal",
    ]
    assert document["passed"]


def test_a_table_with_its_columns_in_another_order(save: Save) -> None:
    table = scheme("sinusoidal").vectors(np.arange(40), 16)
    order = np.random.default_rng(0).permutation(16)
    document = run_json("compare", save("a.npy", table[:, order]))
    assert document["result"]["cells"][0][:2] == [
        "position table, its columns re-ordered",
        "sinusoidal",
    ]
    assert document["passed"]


@pytest.mark.parametrize("shape", [(40, 16), (3, 12, 12), (12, 12)])
def test_nothing_is_named_that_is_far_off(save: Save, shape: tuple[int, ...]) -> None:
    result = run("compare", save("a.npy", np.random.default_rng(5).normal(size=shape)))
    assert result.status == 1
    assert "Nothing here comes near." in result.out


def test_numbers_so_far_out_that_rounding_could_make_any_explain_nothing(save: Save) -> None:
    q = heads(12, 8).astype(np.float32)
    file = save("a.npz", q=q, q_out=heads(12, 8, seed=1).astype(np.float32))
    assert (
        run("compare", file, "--scheme", "rope", "--positions", "2000000000:2000000012").status == 1
    )


UNDECIDED: list[tuple[np.ndarray, str]] = [
    (np.array([[0.0, 1.0, 0.0, 1.0]]), "a single position cannot tell a convention"),
    (np.tile([0.0, 1.0, 0.5, 1.0], (3, 1)), "all rows are equal"),
    (np.zeros((3, 4)), "all numbers are equal"),
    (np.sin(np.arange(9.0))[:, None], "whatever the base"),
    (np.array([1.0]), "a single frequency is 1"),
]


@pytest.mark.parametrize(("array", "why"), UNDECIDED)
def test_what_cannot_decide_is_said_not_guessed(save: Save, array: np.ndarray, why: str) -> None:
    result = run("compare", save("a.npy", array))
    assert result.status == 1
    assert "NOT INFORMATIVE" in result.out
    assert why in " ".join(result.out.split())
    assert "poscli encode" not in result.out


def test_one_row_of_biases_leaves_the_form_open(save: Save) -> None:
    row = scheme("alibi").encoding(np.arange(8), 4, 4).values[:, -1:]
    result = run("compare", save("a.npy", row))
    assert result.status == 1
    assert "alibi:form=last-key" in result.out
    assert "cannot decide between the first and" in " ".join(result.out.split())


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["single", "cos and sin", "before and after"])
def test_numbers_of_any_kind_and_shape_end_in_an_answer(seed: int, kind: str) -> None:
    """No shape and no size of numbers ends in anything but a conclusion, or a refusal."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 8, size=rng.integers(1, 5)))
    values = [
        rng.normal(size=shape),
        rng.integers(-3, 9, size=shape).astype(float),
        np.full(shape, 1e300),
        rng.normal(size=shape) * 1e-310,
        np.cumsum(np.ones(shape), axis=-1),
        np.sin(np.cumsum(np.ones(shape), axis=0)),
    ][seed % 6]
    arrays = {"a": Stored("a", values, "float64")}
    if kind != "single":
        names = ("cos", "sin") if kind == "cos and sin" else ("q", "q_out")
        arrays = {
            n: Stored(n, v, "float32") for n, v in zip(names, (values, values[::-1]), strict=True)
        }
    for piece in evidence_of(Dump(Path("a.npz"), arrays)):
        conclusion = conclude(piece)
        assert conclusion.undecided or all(np.isfinite(f.residual) for f in conclusion.findings)
        for name in ("sinusoidal", "rope", "rope-ntk", "rope-axial", "alibi", "t5"):
            with suppress(PoscliError):
                held_by(piece, scheme(name))


def test_noise_is_nothing_known(save: Save) -> None:
    noise = np.random.default_rng(1).normal(size=(12, 8))
    result = run("compare", save("a.npy", noise))
    assert result.status == 1
    assert "FAIL" in result.out


def test_verified_against_a_scheme(save: Save) -> None:
    table = scheme("sinusoidal").vectors(np.arange(20), 8)
    file = save("a.npy", table.astype(np.float32))
    assert run("compare", file, "--scheme", "sinusoidal").status == 0
    result = run("compare", file, "--scheme", "sinusoidal:layout=concatenated")
    assert result.status == 1
    assert "fits: sinusoidal, off by" in result.out
    assert "poscli encode --scheme sinusoidal --len 20 --dim 8" in result.out


def test_verification_says_where_and_by_how_much(save: Save) -> None:
    table = scheme("sinusoidal").vectors(np.arange(20), 8)
    table[7, 2] += 2.0**-30
    result = run("compare", save("a.npy", table), "--scheme", "sinusoidal")
    assert result.status == 1
    assert "at index: 7, 2" in result.out
    assert "in ulps of the dump: 8388608" in result.out


def test_position_0_verifies_nothing(save: Save) -> None:
    q = heads(1, 8)
    result = run("compare", save("a.npz", q=q, q_out=q), "--scheme", "rope")
    assert result.status == 1
    assert "NOT INFORMATIVE" in result.out


def test_what_a_scheme_cannot_make_is_refused(save: Save) -> None:
    file = save("a.npy", np.zeros((2, 3, 4, 5)) + np.arange(5.0))
    message = refused("compare", file, "--scheme", "rope")
    assert message == f"{file}: the array is nothing that rope makes: it has shape (2, 3, 4, 5)"


def answer(*files: str) -> str:
    document = run_json("compare", *files)
    return str(document["result"]["cells"][0][0])


def test_two_dumps(save: Save) -> None:
    table = scheme("sinusoidal").vectors(np.arange(6), 8)
    a, b = save("a.npy", table), save("b.npy", table.astype(np.float32))
    assert answer(a, a) == "identical"
    assert answer(a, b) == "equal within rounding"
    assert answer(a, save("c.npy", table + 0.5)) == "different"
    assert answer(a, save("d.npy", table[:5])).startswith("different: shapes")
    assert run("compare", a, save("c.npy", table + 0.5)).status == 1


def test_columns_in_another_order(save: Save) -> None:
    table = np.random.default_rng(0).normal(size=(5, 6))
    order = [3, 0, 5, 1, 4, 2]
    result = run("compare", save("a.npy", table), save("b.npy", table[:, order]))
    assert result.status == 0
    assert "answer: same up to column order" in result.out
    assert "in the order of the second: 3, 0, 5, 1, 4, 2" in result.out
    assert answer(save("a.npy", table), save("b.npy", table[::-1, order])) == "different"


def test_biases_that_a_causal_mask_makes_equal(save: Save) -> None:
    at = np.arange(7)
    forms = {
        form: save(f"{form}.npy", scheme("alibi", form=form).encoding(at, 4, 4).values)
        for form in ("symmetric", "causal", "key-only", "last-key")
    }
    for form in ("causal", "key-only", "last-key"):
        assert answer(forms["symmetric"], forms[form]) == "same under a causal mask after softmax"
    steeper = scheme("alibi", bias_max=4.0).encoding(at, 4, 4).values
    assert answer(forms["symmetric"], save("s.npy", steeper)) == "different"


def test_two_dumps_of_which_one_is_the_other_turned(save: Save) -> None:
    q = heads(9, 8)
    after = scheme("rope", pairing="half").rotate(q, np.arange(9))
    result = run("compare", save("a.npy", q), save("b.npy", after))
    assert result.status == 1
    assert "the second is the first, turned by: rope:pairing=half" in result.out


def test_files_and_schemes_are_not_mixed(save: Save) -> None:
    file = save("a.npy", np.ones((2, 2)))
    message = refused("compare", file, "rope")
    assert message == (
        f"{file} is a file and rope is none; give files alone, or schemes alone, or a file and "
        "--scheme rope"
    )
    assert "no such file" in refused("compare", "missing.npz")
    assert "--scheme belongs to a dump" in refused("compare", "rope", "--scheme", "alibi")
    assert "has no setting 'length'" in refused("compare", file, "--len", "3")
    assert "at most 2" in refused("compare", file, file, file)
    assert "against one dump" in refused("compare", file, file, "--scheme", "rope")
    assert "3 positions do not fit an array of 2 x 2" in refused(
        "compare", file, "--positions", "0,5,6"
    )


def test_stated_positions_need_not_follow_each_other(save: Save) -> None:
    at = [0, 1, 5, 30, 31]
    table = scheme("sinusoidal").vectors(np.array(at), 8)
    found = first(save("a.npy", table), "--positions", "0,1,5,30,31")
    assert found["convention"] == "sinusoidal"
    assert "--positions 0,1,5,30,31" in found["command"]


def test_frequencies_of_far_apart_rows() -> None:
    numbers = np.array([0, 1, 17, 4095, 131071])
    w = ladder(10000.0, 16)
    cos, sin = cos_sin(numbers, w)
    found, off = turns_per_step(np.arctan2(sin, cos), numbers, 53)
    assert np.abs(found / [float(x) for x in w] - 1).max() < 1e-11
    assert whole_number(np.arctan2(sin, cos)[3], found, off) == 4095


def test_the_roundest_number() -> None:
    assert roundest(9999.0, 10001.0) == 10000.0
    assert roundest(0.33, 0.34, [1 / 3]) == 1 / 3
    assert digits(500000.0) == 1
    assert powers(2.0, []) == ()


def test_every_row_of_a_very_long_table_is_held(save: Save) -> None:
    table = scheme("sinusoidal").vectors(np.arange(3, 20003), 4)
    found = conclude(Evidence("2 axes", Stored("", table, "float64"))).findings[0]
    assert found.explains
    assert found.want.shape == table.shape
    assert "--len 20000 --offset 3" in found.command
    table[19000, 2] += 0.25
    assert run("compare", save("a.npy", table)).status == 1


@pytest.mark.parametrize("width", [64, 128])
def test_heads_side_by_side_as_a_projection_leaves_them(save: Save, width: int) -> None:
    q = np.random.default_rng(0).normal(size=(2, 3, 12, width))
    after = scheme("rope", pairing="half").rotate(q, np.arange(12))
    flat = [x.swapaxes(1, 2).reshape(2, 12, 3 * width) for x in (q, after)]
    document = run_json("compare", save("a.npz", q=flat[0], q_out=flat[1]))
    assert document["result"]["cells"][0][1] == "rope:pairing=half"
    assert f"half, heads of {width} side by side" in str(document["sections"][1]["grids"])
    assert document["passed"]


def test_every_head_and_row_of_queries_is_held(save: Save) -> None:
    q = np.random.default_rng(0).normal(size=(12, 20000, 4)).astype(np.float32)
    after = scheme("rope").rotate(q, np.arange(20000))
    assert run("compare", save("a.npz", q=q, q_out=after)).status == 0
    after[11, 19000, 1] += 0.25
    assert run("compare", save("a.npz", q=q, q_out=after)).status == 1


@pytest.mark.parametrize("row", [700, 1999])
def test_one_wrong_row_of_a_long_table_is_not_explained(save: Save, row: int) -> None:
    cos, sin = scheme("rope").cos_sin(np.arange(2048), 64)
    cos[row, 3] += 0.5
    assert run("compare", save("a.npz", cos=cos, sin=sin)).status == 1
    table = scheme("sinusoidal").vectors(np.arange(2048), 64)
    table[row, 3] += 0.5
    assert run("compare", save("a.npy", table)).status == 1


def test_the_first_position_of_a_long_table_is_found(save: Save) -> None:
    cos, sin = scheme("rope").cos_sin(np.arange(7, 4103), 128)
    said = run("compare", save("a.npz", cos=cos.astype("f4"), sin=sin.astype("f4")))
    assert said.status == 0
    assert "1. poscli encode --scheme rope --len 4096 --offset 7 --dim 128" in said.out


ALONE = [
    ("rope:base=500000,pairing=half", 16, 64),
    ("rope:pairing=half", 5, 64),
    ("rope:base=1000000,pairing=half", 300, 128),
    ("rope-yarn:pairing=half", 512, 128),
    ("rope-linear:pairing=half", 512, 64),
]


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(("label", "length", "width"), ALONE)
def test_a_cos_or_a_sin_alone_is_identified(
    save: Save, part: int, label: str, length: int, width: int
) -> None:
    made = scheme(**parse_scheme(label))
    half = made.cos_sin(np.arange(length), width)[part].astype(np.float32)
    path = save("a.npy", np.concatenate([half, half], axis=1))
    said = run("compare", path)
    assert said.status == 0
    assert f"{('cos', 'sin')[part]} alone" in said.out
    command = f"1. poscli compare {path} --scheme {label} --positions=0:{length} --out again.npy"
    assert command in said.out
    assert run("compare", path, "--scheme", label).status == 0
    assert run("compare", path, "--scheme", "rope:base=777,pairing=half").status == 1


def test_a_formula_that_explains_leaves_no_room_for_a_table_that_could_hold_anything(
    save: Save,
) -> None:
    at = np.arange(8)
    bias = scheme("alibi").bias(np.ones((8, 8, 1)), np.ones((8, 8, 1)), at, at)
    said = run("compare", save("a.npy", bias))
    assert said.status == 0
    assert "window" not in said.out


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
def test_of_numbers_with_noise_the_convention_beneath_is_named_as_the_nearest(
    save: Save, noise: float
) -> None:
    q = heads(16, 64)
    turned = scheme("rope", pairing="half", base=500000.0).rotate(q, np.arange(16))
    turned = turned + noise * np.random.default_rng(1).standard_normal(q.shape)
    file = save("a.npz", q=q, q_rot=turned)
    found = first(file)
    assert found["convention"] == "rope:base=500000,pairing=half"
    assert not found["explains"]
    assert not found["passed"]
    said = run("compare", file, "--scheme", "rope:pairing=adjacent").out
    assert "comes nearer: rope:base=500000,pairing=half" in said
