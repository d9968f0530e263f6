"""Odd terminals, odd text, odd files, and claims that odd numbers must not win."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import Write, refused, run, run_json

from poscli import Verdict, permute_test
from poscli.arrays import rounded


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    command = command.replace("poscli", f"{sys.executable} -m poscli")
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False)


@pytest.mark.parametrize("command", ["poscli encode", "poscli encode --format json"])
def test_standard_output_that_is_full_or_closed_is_one_line(command: str) -> None:
    for sink in (">/dev/full", ">&-"):
        done = shell(f"{command} {sink}")
        assert done.returncode == 2
        assert done.stderr.startswith(b"poscli: standard output")
        assert done.stderr.count(b"\n") == 1


def test_no_command_is_one_line() -> None:
    assert "give a command" in refused()


def test_control_characters_are_shown_not_obeyed() -> None:
    out = run("permute-test", "a\x1b[31mRED b\x07 c").out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert r"a\x1b[31mRED" in out
    assert r"\x1b" in refused("encode", "--scheme", "\x1b[31m")


def test_file_names_on_the_command_line_start_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.yaml").write_text("unit: char\n")
    (tmp_path / "text").write_text("abc")
    assert run("permute-test", "--config", "sub/c.yaml", "--file", "text").status == 0
    assert "sub/text: there is no such file" in refused(
        "permute-test", "--config", str(_write(tmp_path / "sub" / "d.yaml", "file: text\n"))
    )


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["--set", "dim="], "dim: the value is empty; null stands for none"),
        (["--set", "sentence=#1 fan"], "sentence: the value is empty"),
        (["--set", "lenght=4"], "neither encode nor sinusoidal has 'lenght'; nearest: 'length'"),
        (["--scheme", "rope", "--heads", "4"], "--heads has no use for rope"),
        (["---explain"], "there is no option ---explain"),
        (["--5"], "there is no option --5"),
        (["--vector", "1,2", "--scheme", "alibi"], "a vector has no use here"),
        (["--explain", "--dtype", "float16"], "explain writes float64 steps"),
        (
            ["--vector=100000,1", "--scheme=none", "--dtype=float16"],
            "100000 is too large for float16",
        ),
        (["--positions", "1_000"], "positions are numbers"),
        (["--positions", "٣"], "positions are numbers"),
        (["--positions", "nan"], "positions are numbers"),
        (["--len", "300000", "--dim", "1"], "too many for a table; ask for --format csv"),
        (["x", "--set", "embeddings={x: []}"], "needs at least 1; got 0"),
        (["x", "--set", "embeddings={rope: [a]}"], "embeddings.rope.0: expected a number"),
        (
            ["--scheme", "learned:rows=1048576", "--positions", "1048575", "--dim", "4096"],
            "which take 549.7 GB, and 2.1 GB are free",
        ),
    ],
)
def test_encode_refuses(args: list[str], want: str) -> None:
    assert want in refused("encode", *args)


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["--set", "mask=[[1,1],[1,7]]"], "mask.1.1: expected 0 or 1; got 7"),
        (["--set", "projections={queries: [[1]]}"], "projections.keys: is missing"),
        (["--unit", "words"], "(nearest: 'word')"),
        (["--dim", "16384"], "projections of width 16,384"),
    ],
)
def test_permute_test_refuses(args: list[str], want: str) -> None:
    assert want in refused("permute-test", "a b", *args)


def test_a_table_can_be_typed_on_the_command_line() -> None:
    cells = run_json("encode", "--scheme", "learned:table=[[1,2],[3,4]]", "--dim", "2", "--len=2")
    assert cells["result"]["cells"] == [[1, 2], [3, 4]]


def test_words_are_the_labels_of_a_bias() -> None:
    result = run_json("encode", "dog bites", "--scheme", "alibi", "--heads", "1")["result"]
    assert result["labels"] == [["0", "0 dog"], ["0", "1 bites"]]


def header(shape: str) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.zeros((2, 3)))
    return stream.getvalue().replace(b"(2, 3)", shape.encode())


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (header("(-1,3)"), "damaged: its header says the shape is (-1, 3)"),
        (header("(True,3)")[:200], "damaged"),
        (b"\x93NUMPY\x03\x00" + b"\x00" * 80, "is .npy version 3.0; 1.0 and 2.0 are read"),
    ],
)
def test_damaged_headers(write: Write, content: bytes, want: str) -> None:
    assert want in refused("encode", "--input", write(content, "x.npy"))


def test_whole_numbers_that_float64_cannot_keep_are_refused(write: Write) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([[2**53 + 1]]))
    assert "past 2^53" in refused("encode", "--input", write(stream.getvalue(), "x.npy"))


def test_a_loop_of_links_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "cannot be written" in refused("encode", "--out", str(tmp_path / "a"))


def test_long_numbers_are_written_in_full() -> None:
    labels = run_json("encode", "--positions", "1234567.25,0.1")["result"]["labels"]
    assert labels == [["1234567.25"], ["0.1"]]
    names = run_json("compare", "rope:base=1000000", "rope:base=1000001")["result"]["columns"]
    assert names == ["rope:base=1000000", "rope:base=1000001"]
    lines = run("encode", "--positions", "1234567", "--explain", "--dim", "2").out
    assert (
        "angle 1234567 / 1 = 1234567, less whole turns 2.768548; sin(2.768548) = 0.364452" in lines
    )


def test_bfloat16_subnormals_keep_their_spacing() -> None:
    unit = 2.0**-133
    values = np.array([1.086 * unit, 0.5 * unit, 1.5 * unit, -2.6 * unit])
    assert (rounded(values, "bfloat16") / unit).tolist() == [1.0, 0.0, 2.0, -3.0]


WORDS = {"a": [0.5, 1.0], "b": [-0.3, 0.2], "c": [0.1, -0.7]}


def test_rounding_after_large_rows_is_no_sign_of_order() -> None:
    report = permute_test(
        sentence="a b c",
        dim=2,
        embeddings=WORDS,
        projections={
            "queries": [[0.0, 0.0]] * 2,
            "keys": [[0.0, 0.0]] * 2,
            "values": [[1.0, 0.0], [0.0, 1.0]],
        },
        schemes=[{"name": "learned", "table": [[1e8, 1e8]] * 3}],
    )
    assert report.checks[-1].verdict is Verdict.FAIL
    assert report.checks[-1].reason == "no difference beyond rounding"


@pytest.mark.parametrize(
    ("size", "verdict"),
    [
        (1e-20, Verdict.PASS),
        (1e-8, Verdict.PASS),
        (1.0, Verdict.PASS),
        (1e8, Verdict.NOT_INFORMATIVE),
    ],
)
def test_verdicts_are_relative_to_the_size_of_the_numbers(size: float, verdict: Verdict) -> None:
    report = permute_test(
        sentence="a b c",
        dim=2,
        embeddings={word: [size * v for v in vector] for word, vector in WORDS.items()},
        schemes=["none"],
        mask="causal",
    )
    assert report.checks[-1].verdict is verdict


@pytest.mark.parametrize("scale", [1.0, 10.0, 1000.0])
def test_the_control_holds_for_large_values(scale: float) -> None:
    rng = np.random.default_rng(0)
    for seed in range(10):
        q, k, v = (m.tolist() for m in rng.normal(size=(3, 4, 4)) * scale)
        report = permute_test(
            sentence="a b c d",
            seed=seed,
            projections={"queries": q, "keys": k, "values": v},
            schemes=["none"],
        )
        assert report.checks[0].verdict in (Verdict.PASS, Verdict.NOT_INFORMATIVE)


@pytest.mark.parametrize(
    "settings",
    [
        {"embeddings": {word: [1.0, 2.0] for word in "abc"}},
        {"embeddings": {word: [0.0, 0.0] for word in "abc"}},
        {"projections": {name: [[0.0] * 2] * 2 for name in ("queries", "keys", "values")}},
    ],
)
def test_outputs_that_cannot_differ_prove_nothing(settings: dict[str, object]) -> None:
    report = permute_test(sentence="a b c", dim=2, schemes=["none"], **settings)
    assert report.checks[0].verdict is Verdict.NOT_INFORMATIVE
    assert report.passed is False


def test_a_mask_that_hides_everything_proves_nothing() -> None:
    report = permute_test(sentence="a b c", schemes=["none"], mask=[[0, 0, 0]] * 3)
    assert report.checks[-1].verdict is Verdict.NOT_INFORMATIVE


def test_overflow_is_undefined_and_quiet() -> None:
    settings = "embeddings={a: [1.0e+200, 1], b: [-1.0e+200, 2], c: [1, 1]}"
    done = shell(f"poscli permute-test 'a b c' --dim 2 --set '{settings}'")
    assert done.returncode == 1
    assert done.stderr == b""
    assert b"UNDEFINED" in done.stdout


def test_few_arrangements_of_many_tokens_are_all_tried() -> None:
    facts = run_json("permute-test", "a a a a a a a b")["sections"][0]["facts"]
    assert facts["re-orderings"] == "every one that changes the text: 7"


def test_progress_is_told_while_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def track(steps: list[np.ndarray], what: str) -> object:
        for number, step in enumerate(steps):
            seen.append(number)
            yield step

    from poscli.experiments import permute_test as module
    from poscli.experiments.permute_test import PermuteTestConfig
    from poscli.experiments.permute_test import permute_test as experiment

    monkeypatch.setattr(module, "MOST_SCORES", 1)
    experiment(PermuteTestConfig(sentence="a b c"), track)  # type: ignore[arg-type]
    assert seen == [0, 1, 2, 3, 4] * 2


def test_environment_of_a_child_is_not_needed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "poscli", "encode", "--len", "1"],
        capture_output=True,
        check=False,
        env={"PATH": os.defpath},
    )
    assert (done.returncode, done.stderr) == (0, b"")
