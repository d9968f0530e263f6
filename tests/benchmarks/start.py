"""How long a command takes to start, beside the least that Typer and NumPy need."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import Goal, command, least_seconds, python

_HELLO = """
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def hello(name: Annotated[str, typer.Option("--name", help="Whom to greet.")] = "world") -> None:
    print(f"hello {name}")


app()
"""
_POSCLI = "from poscli.__main__ import main; main()"


def goals() -> Iterator[Goal]:
    with TemporaryDirectory() as folder:
        hello = Path(folder) / "hello.py"
        hello.write_text(_HELLO)
        hello_help, hello_run, numpy, our_help, encode = least_seconds(
            command(*python(str(hello), "--help")),
            command(*python(str(hello))),
            command(*python("-c", "import numpy")),
            command(*python("-c", _POSCLI, "--help")),
            command(*python("-c", _POSCLI, "encode", "--len", "8")),
            rounds=10,
        )
    yield Goal("poscli --help", our_help, "a hello-world Typer command's", hello_help, 1.2)
    both = hello_run + numpy
    yield Goal("poscli encode --len 8", encode, "hello-world + import numpy", both, 1.15)
