"""The app itself: one place for exit statuses.

0: ran, and every check came out as expected. 1: ran, and some check did not. 2: could not run.
"""

import io
import os
import signal
import sys
from copy import copy
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from poscli import __version__
from poscli.cli.commands import Commands, listed
from poscli.errors import PoscliError
from poscli.text import visible

_LONGEST_LINE = 2000


class Group(TyperGroup):
    """The app, with every error turned into one line on standard error and a status."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()  # type: ignore[assignment]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = copy(self)
        shown.commands = listed()  # type: ignore[assignment]
        super(Group, shown).format_help(ctx, formatter)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, _terminate)
        sys.stdout = _buffered(sys.stdout)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        kwargs["standalone_mode"] = False
        try:
            if sys.stdout is None:
                raise PoscliError("standard output is closed")
            status = super().main(*args, **kwargs)
            sys.stdout.flush()
        except OSError as error:
            status = _fail_by_system(error)
        except MemoryError:
            status = _fail("there is not enough memory for this")
        except PoscliError as error:
            status = _fail(str(error))
        except typer.TyperException as error:
            status = _fail(error.format_message())
        except KeyboardInterrupt:
            status = 130
        if status == 1 and {"--show-completion", "--install-completion"} & set(sys.argv):
            typer.echo("name the shell instead: _POSCLI_COMPLETE=source_bash poscli", err=True)
        sys.exit(status if isinstance(status, int) else 0)


app = typer.Typer(
    name="poscli",
    cls=Group,
    help="The bench for positional encodings in transformers.",
    epilog='Example: poscli permute-test "dog bites man"',
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"poscli {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        raise PoscliError("give a command, such as encode; poscli --help lists them")


def _buffered(stream: Any) -> Any:
    """Return a stream that takes all it is given or fails.

    With PYTHONUNBUFFERED standard output takes what fits, and says so only to who asks.
    """
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors)


def _terminate(number: int, frame: object) -> None:
    """End by SIGTERM as by an error, so that worker processes end too."""
    sys.exit(128 + number)


def _fail_by_system(error: OSError) -> int:
    """Name the file that the system refused; standard output where it names none."""
    if error.filename is not None:
        return _fail(f"{error.filename}: {error.strerror}")
    # What is still in the buffer would fail again when the interpreter ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _fail(f"standard output: {error.strerror}")


def _fail(message: str) -> int:
    line = visible(" ".join(message.split()))
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE // 2]} [...] {line[-_LONGEST_LINE // 2 :]}"
    typer.echo(f"poscli: {line}", err=True)
    return 2
