"""The commands, each imported only when it is asked for: listing them needs none of their code."""

import gc
from collections.abc import Iterator, Mapping
from importlib import import_module

import typer
from typer.core import TyperCommand
from typer.main import get_command

from poscli.cli.command import Command

COMMANDS = {
    "encode": (
        "Print the numbers of one scheme, and what it makes of a sentence or of data.",
        "poscli encode --scheme sinusoidal --len 8",
    ),
    "compare": (
        "Hold schemes side by side, on the same tokens; or say what a dumped array is.",
        "poscli compare sinusoidal rope alibi",
    ),
    "permute-test": (
        "Prove in numbers what attention sees of the order of its tokens.",
        'poscli permute-test "dog bites man"',
    ),
    "extrapolate": (
        "Say what each scheme meets past the trained length, or train and measure it.",
        "poscli extrapolate --len 16 rope alibi",
    ),
    "convert": (
        "Re-order the columns of heads so that another RoPE convention gives the same scores.",
        "poscli convert --from rope/adjacent --to rope/half --dim 8",
    ),
    "schemes": (
        "List every scheme and preset, show one with its formula, or explain a model's config.",
        "poscli schemes rope",
    ),
    "schema": (
        "Print the JSON schema of the configs, so that an editor completes them.",
        "poscli schema > configs/schema.json",
    ),
}
"""Name of a command -> the first lines of its help, and an example."""


class Commands(Mapping[str, TyperCommand]):
    """Every command by name, as its file makes it."""

    def __init__(self) -> None:
        self._made: dict[str, TyperCommand] = {}

    def __getitem__(self, name: str) -> TyperCommand:
        if name not in self._made:
            self._made[name] = _make(name, COMMANDS[name][1])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def listed() -> dict[str, TyperCommand]:
    """Return the commands as a list of them shows them: by name and summary."""
    return {name: TyperCommand(name, help=summary) for name, (summary, _) in COMMANDS.items()}


def _make(name: str, example: str) -> TyperCommand:
    file = name.replace("-", "_")
    function = getattr(import_module(f"poscli.cli.{file}"), f"{file}_command")
    gc.freeze()
    gc.enable()
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=Command, epilog=f"Example: {example}")(function)
    made = get_command(alone)
    assert isinstance(made, TyperCommand)
    return made
