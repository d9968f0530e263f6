"""What the README shows is what the program prints."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from conftest import ROOT, run

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```console\n((?:.*\n)*?)```", README)


def without_noise(text: str) -> str:
    """Rounding differs from machine to machine in its last digits: drop what is only rounding."""
    text = re.sub(r"\d(\.\d+)?e-1[3-9]", "0", text)
    text = re.sub(r"(not )?bit-identical", "bits", text)
    return re.sub(r"[ ─]+", " ", text)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0])
def test_output_is_what_is_printed(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.split(r"^\$ poscli ", block, flags=re.MULTILINE)[1:]
    for command, _, output in (text.partition("\n") for text in commands):
        result = run(*shlex.split(command))
        printed = without_noise(result.err + result.out)
        for part in without_noise(output).split("[...]\n"):
            assert part in printed


def test_the_first_screen_shows_what_it_is_and_how_it_runs() -> None:
    screen = "\n".join(README.splitlines()[:50])
    assert "make demo" in screen
    assert "make test" in screen
    assert "$ poscli permute-test" in screen
    assert len(BLOCKS) > 4


def test_python_examples() -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    runner.run(parser.get_doctest(code, {}, "README", "README.md", 0))
    assert runner.summarize().failed == 0
    assert runner.summarize().attempted > 5
