"""Faults from practice, each with its right answer and its id."""

import json
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from conftest import Write, cells, npy_file, refused, run, run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli import Model, NoPE, Verdict, permute_test
from poscli.attention import softmax

ATOL = 5.1e-11


def test_b01_an_odd_width() -> None:
    table = cells("--dim", "5", "--len", "3")
    assert table.shape == (3, 5)
    assert_array_equal(table[0], [0, 1, 0, 1, 0])
    want = [0.8414709848, 0.5403023059, 0.0251162229, 0.9996845379, 0.0006309573]
    assert_allclose(table[1], want, rtol=0, atol=ATOL)


def test_b05_a_formula_has_no_hidden_limit() -> None:
    want = [0.9513058511, 0.3082485649, 0.4816828785, -0.8763455966]
    want += [0.7784673725, 0.6276850723, -0.0891037099, -0.9960223536]
    assert_allclose(cells("--dim", "8", "--positions", "9514"), [want], rtol=0, atol=ATOL)


def test_b07_data_is_not_positions(write: Write) -> None:
    table = cells("--input", npy_file(write, np.full((4, 6), 0.5)))
    assert table.shape == (4, 6)
    assert_array_equal(table[0], [0.5, 1.5, 0.5, 1.5, 0.5, 1.5])
    assert "not positions" in " ".join(run("encode", "--help").out.replace("│", "").split())


def test_b11_past_the_end_of_a_learned_table() -> None:
    message = refused("encode", "--scheme", "learned:rows=8", "--len", "9")
    assert message == "learned has 8 rows, 0 to 7; position 8, the 9th, is not one of them"
    message = refused("extrapolate", "learned:rows=8", "--len", "9")
    assert all(word in message for word in ("length 9", "8 rows", "position 8"))


def test_b12_the_offset_is_applied() -> None:
    want = [-0.9589242747, 0.2836621855, 0.0499791693, 0.9987502604]
    part = cells("--offset", "5", "--len", "3")
    assert_allclose(part[0], want, rtol=0, atol=ATOL)
    assert_array_equal(part, cells("--len", "8")[5:])


def turned(*args: str) -> Any:
    return cells("--scheme", *args)[0]


def test_b15_two_pairings() -> None:
    for pairing, want in (
        ("adjacent", [-1.1426396637, 1.9220755965, 2.9598506679, 4.0297995017]),
        ("half", [-1.9841106486, 1.9599006675, 2.4623779024, 4.0197996683]),
    ):
        got = turned(f"rope:pairing={pairing}", "--positions", "1", "--vector", "1,2,3,4")
        assert_allclose(got, want, rtol=0, atol=ATOL)
        assert np.linalg.norm(got) == pytest.approx(5.4772255751, abs=ATOL)


def test_b18_position_0_proves_nothing() -> None:
    one = run("compare", "rope:pairing=half", "rope", "--len", "1")
    assert one.status == 1
    assert "NOT INFORMATIVE" in one.out
    assert "position 0 cannot tell these schemes apart" in one.out
    two = run_json("compare", "rope:pairing=half", "rope", "--len", "2", "--dim", "8")
    assert two["sections"][1]["grids"][0]["cells"][0][1] > 1e-3


@pytest.mark.parametrize("width", ["9", "1", "3"])
def test_b19_odd_and_tiny_widths(width: str) -> None:
    message = refused("encode", "--scheme", "rope", "--dim", width)
    assert message.endswith(f"got width {width}")
    got = turned("rope", "--positions", "1", "--vector", "1,0")
    assert_allclose(got, [0.5403023059, 0.8414709848], rtol=0, atol=ATOL)


def test_b23_the_sense_of_rotation() -> None:
    got = turned("rope", "--positions", "-1", "--vector", "1,0")
    assert_allclose(got, [0.5403023059, -0.8414709848], rtol=0, atol=ATOL)
    document = run_json("encode", "--scheme", "rope", "--positions", "1", "--dim", "8")
    angles = document["sections"][0]["grids"][0]["cells"][0]
    assert_allclose(angles, [1, 0.1, 0.01, 0.001], rtol=1e-15)


def test_b25_rounded_tables_keep_their_positions_apart() -> None:
    table = cells("--dtype", "bfloat16", "--positions", "256,257,258,259")
    assert len(np.unique(table, axis=0)) == 4


def test_b28_a_position_beyond_the_dtype() -> None:
    want = np.array([-0.82347402, 0.56735398, 0.54397052, -0.83910433]).astype(np.float16)
    got = cells("--dtype", "float16", "--positions", "70000")[0]
    assert_array_equal(got.astype(np.float16), want)


def test_b58_and_b60_alibi_slopes() -> None:
    def first_column(heads: int) -> list[float]:
        bias = cells("--scheme", "alibi", "--heads", str(heads), "--len", "2")
        return [-b for b in bias.reshape(heads, 2, 2)[:, 1, 0]]

    assert first_column(8) == [2.0**-i for i in range(1, 9)]
    extra = [0.7071067812, 0.3535533906, 0.1767766953, 0.0883883476]
    assert_allclose(first_column(12), first_column(8) + extra, rtol=0, atol=ATOL)


def test_b63_the_two_sided_form() -> None:
    bias = cells("--scheme", "alibi", "--heads", "8", "--len", "3")[:3]
    assert_array_equal(bias, [[0, -0.5, -1], [-0.5, 0, -0.5], [-1, -0.5, 0]])
    assert_allclose(softmax(bias)[1], [0.2740686191, 0.4518627619, 0.2740686191], rtol=0, atol=ATOL)


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("float32", 1e-8, 2e-6), ("float64", 1e-17, 5e-15)]
)
def test_b74_equal_within_rounding_and_far_from_different(
    dtype: str, low: float, high: float
) -> None:
    text = " ".join(f"w{i}" for i in range(64))
    for seed in range(5):
        report = permute_test(sentence=text, dim=32, dtype=dtype, seed=seed, samples=20)
        control, _, with_positions = report.checks
        assert control.verdict is with_positions.verdict is Verdict.PASS
        assert low < control.difference < high
        assert with_positions.difference > 0.1
        assert control.tolerance < with_positions.difference / 50


def test_b75_sentences_that_are_no_re_orderings() -> None:
    assert "not a re-ordering" in refused(
        "permute-test", "she sees him", "--against", "he sees her"
    )
    assert (
        run("permute-test", "red sits above blue", "--against", "blue sits above red").status == 0
    )


def test_b77_the_causal_mask_knows_the_order() -> None:
    report = permute_test(
        sentence="a b c",
        embeddings={"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]},
        dim=2,
        projections="identity",
        permutation=[1, 2, 0],
        mask="causal",
        schemes=["none"],
    )
    control, _, masked = report.checks
    assert control.difference <= control.tolerance
    assert masked.difference == pytest.approx(0.5988879073, abs=ATOL)
    assert "mask is the reason" in masked.reason
    outputs = report.sections[2].grids[1].rows()[::2]
    want = [[1, 0], [0.3302384507, 0.6697615493], [0.7517449217, 0.7517449217]]
    assert_allclose(np.array(outputs, float), want, rtol=0, atol=ATOL)


def test_b79_a_setting_without_meaning_is_refused() -> None:
    assert "none has no setting 'pairing'" in refused("compare", "none:pairing=half")


def test_b81_a_row_with_every_key_masked() -> None:
    eye = np.eye(2)
    mask = np.array([[True, False], [False, False]])
    outputs = Model(eye, eye, eye, 1).attend(eye, NoPE(), np.arange(2), mask).outputs
    assert_array_equal(outputs, [[1, 0], [0, 0]])
    assert "nan" not in run("permute-test", "a b", "--set", "mask=[[1,0],[0,0]]").out.lower()


def test_b89_errors_are_one_line_without_a_traceback() -> None:
    for args in (["--input", "no.npy"], ["--scheme", "sin"], ["--config", "no.yaml"]):
        done = subprocess.run(
            [sys.executable, "-m", "poscli", "encode", *args], capture_output=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.count(b"\n") == 1


def test_b92_minus_infinity_in_json() -> None:
    out = run("permute-test", "a b", "--causal", "--scheme", "alibi", "--format", "json").out
    json.loads(out, parse_constant=lambda c: pytest.fail(f"bare {c}"))


def test_b94_wide_characters_line_up() -> None:
    from rich.cells import cell_len

    rows = [r for r in run("permute-test", "日本 a").out.splitlines() if r.startswith(("│", "┌"))]
    tables, widths = [], set()
    for row in rows:
        if row.startswith("┌"):
            tables.append(cell_len(row))
        else:
            widths.add((tables[-1], cell_len(row)))
    assert widths
    assert all(table == row for table, row in widths)


@pytest.mark.parametrize("text", ["1e4", "1.0e4", "1E4", "1.0e+4", "10000.0"])
def test_b97_short_numbers_are_numbers(write: Write, text: str) -> None:
    config = write(f"scheme:\n  name: rope\n  base: {text}\n")
    assert run_json("encode", "--config", config)["settings"]["scheme"]["base"] == 10000.0


def test_b102_colons_are_ranges(write: Write) -> None:
    for text, count in (("1:30", 29), ("0:8", 8)):
        labels = run_json("encode", "--config", write(f"positions: {text}\n"))["result"]["labels"]
        assert len(labels) == count


def test_b108_memory_order_is_read_from_the_header(write: Write) -> None:
    data = np.arange(6.0).reshape(2, 3)
    c = run("encode", "--input", npy_file(write, data), "--format", "csv").out
    f = run("encode", "--input", npy_file(write, np.asfortranarray(data)), "--format", "csv").out
    assert c == f


def test_interrupted_without_a_traceback() -> None:
    command = [sys.executable, "-m", "poscli", "encode", "--len", "5000000", "--dim", "256"]
    with subprocess.Popen(
        [*command, "--format", "csv"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in err
