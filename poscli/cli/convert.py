"""poscli convert."""

from typing import Annotated

import typer

from poscli.cli.options import Assignments, Config, Force, FormatOption, Out, number
from poscli.cli.output import ready_to_write, show
from poscli.config import parse_scheme, resolve
from poscli.experiments.convert import ConvertConfig, convert


def convert_command(
    file: Annotated[
        str | None,
        typer.Argument(help="W_q, W_k, a bias or a norm to convert; else the list of rows."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", help="Its convention: rope/adjacent, or NAME:key=value,key=value."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", help="The one to reach: rope/half, rope/half/clockwise.")
    ] = None,
    dim: Annotated[
        str | None, typer.Option("--dim", metavar="INT", help="Width of a head.")
    ] = None,
    heads: Annotated[
        str | None, typer.Option("--heads", metavar="INT", help="Heads of the queries.")
    ] = None,
    kv_heads: Annotated[
        str | None, typer.Option("--kv-heads", metavar="INT", help="Heads of the keys, if fewer.")
    ] = None,
    rope_dim: Annotated[
        str | None,
        typer.Option("--rope-dim", metavar="INT", help="Only the last columns of a head turn."),
    ] = None,
    axis: Annotated[
        str | None, typer.Option("--axis", metavar="INT", help="Along which heads lie; 0.")
    ] = None,
    array: Annotated[
        str | None, typer.Option("--array", help="The array of a file that holds several.")
    ] = None,
    config: Config = None,
    assignments: Assignments = None,
    output: FormatOption = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Re-order the columns of heads so that another RoPE convention gives the same scores."""
    ready_to_write(output, out, force=force)
    flags = {
        "source": ("--from", None if source is None else parse_scheme(source)),
        "target": ("--to", None if target is None else parse_scheme(target)),
        "dim": number("--dim", dim),
        "heads": number("--heads", heads),
        "kv_heads": number("--kv-heads", kv_heads),
        "rope_dim": number("--rope-dim", rope_dim),
        "axis": number("--axis", axis),
        "array": ("--array", array),
        "input": ("FILE", file),
    }
    return show(convert(resolve(ConvertConfig, config, assignments or (), flags)), output, out)
