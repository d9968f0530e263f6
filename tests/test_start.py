"""What starting takes: nothing is imported before it is needed, and an interrupt is quiet."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import poscli
from poscli.cli.commands import COMMANDS, Commands, listed

HEAVY = ("numpy", "pydantic", "yaml", "matplotlib", "distributed", "safetensors", "torch")


@pytest.mark.parametrize("code", ["import poscli.cli", "import poscli.__main__", "import poscli"])
def test_nothing_heavy_is_imported_to_start(code: str) -> None:
    code += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert "poscli" in found
    assert not [name for name in HEAVY if name in found]


@pytest.mark.parametrize(("option", "status"), [("--help", 0), ("--version", 0), ("encod", 2)])
def test_help_and_errors_need_no_numpy(option: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('numpy was imported')")
    done = subprocess.run(
        [sys.executable, "-m", "poscli", option],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == status
    assert "numpy was imported" not in done.stderr


@pytest.mark.parametrize("module", ["typer", "numpy", "pydantic"])
def test_an_interrupt_while_modules_load_is_quiet(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)")
    done = subprocess.run(
        [sys.executable, "-m", "poscli", "encode"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_the_list_of_commands_says_what_each_says_itself() -> None:
    made = Commands()
    assert list(made) == list(listed()) == list(COMMANDS)
    for name, command in made.items():
        assert " ".join((command.help or "").split("\n\n")[0].split()) == COMMANDS[name][0]
        assert command.name == name


def test_every_public_name_can_be_had() -> None:
    for name in poscli.__all__:
        assert callable(getattr(poscli, name)) or name == "SCHEMES"
    with pytest.raises(AttributeError, match="no attribute 'rope'"):
        _ = poscli.rope


def test_identify_stays_a_function_whatever_is_imported_first() -> None:
    code = "import poscli.identify.dumps; from poscli import identify; print(identify.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "poscli.api\n"
