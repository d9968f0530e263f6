"""What counts as a proof about order."""

import tracemalloc
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from conftest import refused, run, run_json

from poscli import Model, Sinusoidal, permute_test
from poscli.attention import Toy, build_model
from poscli.experiments import permute_test as module
from poscli.words import embed

WORDS = "a b c d e f g h i j k l"


def checks(document: Any) -> list[tuple[str, str]]:
    return [(s["title"], c["verdict"]) for s in document["sections"] for c in s["checks"]]


def test_every_distinct_arrangement_but_the_text_itself() -> None:
    labels = run_json("permute-test", "a b a c")["result"]["labels"]
    want = set(permutations("abac")) - {tuple("abac")}
    assert {tuple(label[0].split()) for label in labels} == want
    assert len(labels) == len(want)


@pytest.mark.parametrize(
    "args",
    [
        ["dog"],
        ["same same same"],
        ["dog bites man", "--permutation", "0,1,2"],
        ["dog bites man", "--against", "dog bites man"],
        ["a b a", "--permutation", "2,1,0"],
    ],
)
def test_what_proves_nothing_says_so(args: list[str]) -> None:
    result = run("permute-test", *args)
    assert result.status == 1
    assert "PASS" not in result.out
    assert "NOT INFORMATIVE" in result.out


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (
            ["she sees him", "--against", "he sees her"],
            "not a re-ordering: the second text lacks 'him', 'she' and adds 'he', 'her'",
        ),
        (
            ["a a b", "--against", "a b b"],
            "not a re-ordering: the second text lacks 'a' and adds 'b'",
        ),
        (["a b", "--against", "a b c"], "not a re-ordering: the second text adds 'c'"),
        (["a b c", "--permutation", "1,2,2"], "permutation must hold each of 0 to 2 once"),
        (["a b c", "--permutation", "0,1"], "permutation must hold each of 0 to 2 once"),
        (["a b", "--against", "b a", "--permutation", "1,0"], "give one"),
        (["a b", "--file", "x"], "give a sentence, or a file"),
        ([], "give a sentence, or a file"),
        (["a b", "--heads", "3"], "heads must divide dim"),
        (["a b", "--set", "mask=[[1,0],[0]]"], "mask must be 2 x 2"),
        (["a b", "--unit", "sentence"], "expected 'word', 'char' or 'line'"),
    ],
)
def test_what_cannot_run_is_refused(args: list[str], want: str) -> None:
    assert want in refused("permute-test", *args)


def test_repeated_words_are_matched_first_to_first() -> None:
    document = run_json("permute-test", "the dog the man", "--against", "man the dog the")
    assert document["result"]["labels"] == [["man the dog the", "3 0 1 2"]]
    assert document["passed"] is True


def test_a_sample_is_seeded_distinct_and_led_by_a_3_cycle() -> None:
    one = run_json("permute-test", WORDS, "--samples", "50")["result"]["labels"]
    assert one == run_json("permute-test", WORDS, "--samples", "50")["result"]["labels"]
    assert one[0][1] == "1 2 0 3 4 5 6 7 8 9 10 11"
    assert len({label[0] for label in one}) == len(one) == 50


def test_matching_by_the_inverse_would_be_caught() -> None:
    """Outputs of x[order] follow x's outputs [order]; a 3-cycle tells order from its inverse."""
    report = permute_test(sentence="a b c", permutation=[1, 2, 0])
    assert report.checks[0].difference < 1e-14
    outputs = next(g for g in report.sections[1].grids if g.title.startswith("Outputs"))
    cells = np.array(outputs.rows())
    inverse = cells[::2][[2, 0, 1]]
    assert np.abs(cells[1::2] - inverse).max() > 0.01


def test_a_mask_is_named_as_the_reason() -> None:
    document = run_json("permute-test", "a b c", "--scheme", "none", "--causal")
    masked = document["sections"][2]
    assert masked["title"] == "No positions, causal mask"
    assert masked["checks"][0]["verdict"] == "pass"
    assert masked["checks"][0]["expected"] == "different"
    assert masked["checks"][0]["reason"].startswith("the mask is the reason")


def test_under_a_mask_the_scheme_gets_no_credit() -> None:
    document = run_json("permute-test", "a b c", "--causal")
    reason = document["sections"][3]["checks"][0]["reason"]
    assert reason.startswith("the mask alone does this already")
    assert checks(document) == [
        ("Control: no positions, no mask", "pass"),
        ("Control: no positions, no mask", "pass"),
        ("No positions, causal mask", "pass"),
        ("sinusoidal, causal mask", "pass"),
    ]


def test_a_mask_that_is_the_same_for_every_order_is_no_reason() -> None:
    document = run_json("permute-test", "a b", "--scheme", "none", "--set", "mask=[[1,1],[1,1]]")
    check = document["sections"][2]["checks"][0]
    assert (check["expected"], check["verdict"]) == ("equal", "pass")


def test_alibi_without_a_mask_does_not_see_a_reversal() -> None:
    result = run("permute-test", "dog bites man", "--against", "man bites dog", "--scheme", "alibi")
    assert result.status == 1
    assert "FAIL  outputs do not follow their tokens" in result.out
    assert "no difference beyond rounding" in result.out


@pytest.mark.parametrize(
    ("unit", "text", "count"), [("char", "abc", 3), ("line", "one two\nthree\n\nfour", 3)]
)
def test_units(tmp_path: Any, unit: str, text: str, count: int) -> None:
    file = tmp_path / "text"
    file.write_text(text)
    document = run_json("permute-test", "--file", str(file), "--unit", unit)
    assert document["sections"][0]["facts"]["tokens"] == count


def test_a_word_has_one_vector_whatever_stands_around_it() -> None:
    def vector(sentence: str) -> Any:
        rows = run_json("encode", sentence, "--scheme", "none")["result"]
        return rows["cells"][[label[1] for label in rows["labels"]].index("cat")]

    assert vector("cat") == vector("the cat sat")
    assert (
        vector("cat")
        != run_json("encode", "cat", "--scheme=none", "--seed=1")["result"]["cells"][0]
    )


def one_by_one(words: str, toy: Toy, scheme: Any) -> dict[str, float]:
    """The largest difference of every re-ordering, each attended to alone."""
    tokens, model = words.split(), build_model(toy)
    x, at = embed(tokens, toy.dim, toy.seed, None), np.arange(len(words.split()))
    text = model.attend(x, scheme, at).outputs
    found = {}
    for order in map(list, permutations(range(len(tokens)))):
        moved = model.attend(x[order], scheme, at).outputs
        found[" ".join(map(str, order))] = float(np.abs(moved - text[order]).max())
    return found


@pytest.mark.parametrize("few", [1, 7 * 7 * 500, 2**19])
def test_batches_measure_what_each_reordering_alone_does(
    monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(module, "MOST_SCORES", few)
    words = "a b c d e" if few == 1 else "a b c d e f g"
    grid = permute_test(sentence=words, schemes=["sinusoidal"], heads=2).result
    want = one_by_one(words, Toy(heads=2), Sinusoidal())
    assert len(grid.labels) == len(want) - 1
    for (_, places), (control, scheme) in zip(grid.labels, grid.rows(), strict=True):
        assert control == pytest.approx(0, abs=1e-14)
        assert scheme == pytest.approx(want[places], abs=1e-14)


def test_one_reordering_among_many_that_is_not_a_number_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = Model.outputs

    def spoiled(self: Model, x: np.ndarray, *rest: Any) -> np.ndarray:
        found = outputs(self, x, *rest)
        if x.ndim == 3:
            found[-1, 0, 0] = np.nan
        return found

    monkeypatch.setattr(Model, "outputs", spoiled)
    report = permute_test(sentence="a b c d", schemes=["sinusoidal"])
    assert {c.verdict for c in report.checks} == {"undefined"}


def test_few_arrangements_of_a_long_text_are_all_found() -> None:
    orders = module._arrangements(["a"] * 1100 + ["b"])
    assert orders.shape == (1101, 1101)
    assert {int(np.flatnonzero(o == 1100)[0]) for o in orders} == set(range(1101))
    assert (np.sort(orders, axis=1) == np.arange(1101)).all()


def test_no_more_is_drawn_than_there_is() -> None:
    facts = run_json("permute-test", "a a a b c d e f", "--samples", "9999")["sections"][0]["facts"]
    assert facts["re-orderings"] == "every one that changes the text: 6,719"


def test_a_long_text_never_holds_a_score_for_every_pair_of_words() -> None:
    length = 2048
    text = " ".join(f"w{i}" for i in range(length))
    settings = {"samples": 3, "mask": "causal", "schemes": ["alibi", "rope"]}
    permute_test(sentence="a b c", **settings)
    tracemalloc.start()
    report = permute_test(sentence=text, **settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * length**2 * 8
    assert [str(c.verdict) for c in report.checks] == ["pass"] * 5
    assert report.figures[0].values.shape == (512, 512)
    assert "first 512 tokens" in report.figures[0].title
