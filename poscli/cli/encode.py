"""poscli encode."""

from typing import Annotated

import typer

from poscli.arrays import PRECISIONS
from poscli.cli.options import (
    SCHEME_HELP,
    Assignments,
    Config,
    Dim,
    Force,
    FormatOption,
    Heads,
    Layer,
    ModelFile,
    Out,
    Plot,
    Precision,
    Seed,
    bench_of,
    complete_from,
    complete_scheme,
    listed,
    number,
)
from poscli.cli.output import ready_to_write, show
from poscli.config import parse_scheme, resolve
from poscli.errors import PoscliError
from poscli.experiments.encode import EncodeConfig, encode
from poscli.schemes import PRESETS
from poscli.schemes.forms import FORMS


def encode_command(
    sentence: Annotated[str | None, typer.Argument(help="Words to encode as well.")] = None,
    scheme: Annotated[
        str | None, typer.Option("--scheme", help=SCHEME_HELP, autocompletion=complete_scheme)
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="What a library or model does, as in whisper; see poscli schemes.",
            autocompletion=complete_from(PRESETS),
        ),
    ] = None,
    model: ModelFile = None,
    layer: Layer = None,
    length: Annotated[
        str | None, typer.Option("--len", "--length", metavar="INT", help="How many positions.")
    ] = None,
    dim: Dim = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="NUMBER", help="The scheme's base.")
    ] = None,
    offset: Annotated[
        str | None, typer.Option("--offset", metavar="INT", help="The first position.")
    ] = None,
    positions: Annotated[
        str | None, typer.Option("--positions", help="0,5,9 or 0:8 (8 not included).")
    ] = None,
    grid: Annotated[
        str | None, typer.Option("--grid", help="Rows and columns, as in 3,4, for several axes.")
    ] = None,
    heads: Heads = None,
    mask: Annotated[
        str | None, typer.Option("--mask", help="0,0,1,1,1: where padding stands (0).")
    ] = None,
    ids: Annotated[str | None, typer.Option("--ids", help="Or token ids, as in 5,1,6.")] = None,
    pad: Annotated[
        str | None, typer.Option("--pad", metavar="INT", help="The id that is padding.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--show",
            help=f"A RoPE's numbers as one of {', '.join(FORMS)}.",
            autocompletion=complete_from(FORMS),
        ),
    ] = None,
    precision: Precision = None,
    vector: Annotated[
        str | None, typer.Option("--vector", help="Data: 1,2,3,4 put at every position.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--input", help="Data (not positions): a .npy file of vectors (n, dim)."),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype",
            help=f"One of {', '.join(PRECISIONS)}.",
            autocompletion=complete_from(PRECISIONS),
        ),
    ] = None,
    seed: Seed = None,
    explain: Annotated[bool, typer.Option("--explain", help="Write every step out.")] = False,
    config: Config = None,
    assignments: Assignments = None,
    plot: Plot = None,
    output: FormatOption = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Print the numbers of one scheme, and what it makes of a sentence or of data."""
    ready_to_write(output, out, plot, force=force)
    flags = {
        "sentence": ("SENTENCE", sentence),
        "scheme": ("--scheme", parse_scheme(scheme) if scheme is not None else None),
        "length": number("--len", length),
        "dim": number("--dim", dim),
        "scheme.preset": ("--preset", preset),
        "scheme.base": number("--base", base),
        "offset": number("--offset", offset),
        "positions": ("--positions", positions),
        "heads": number("--heads", heads),
        "grid": listed("--grid", grid),
        "mask": listed("--mask", mask),
        "ids": listed("--ids", ids),
        "pad": number("--pad", pad),
        "show": ("--show", form),
        "precision": ("--precision", precision),
        "vector": listed("--vector", vector),
        "input": ("--input", data),
        "dtype": ("--dtype", dtype),
        "seed": number("--seed", seed),
        "explain": ("--explain", explain or None),
    }
    bench = bench_of(model, layer, [scheme, f"preset {preset}" if preset else None])
    settings = resolve(EncodeConfig, config, assignments or (), flags, bench.one())
    if heads is not None and settings.scheme.applied:
        raise PoscliError(
            f"--heads has no use for {settings.scheme.name}: --dim is the width of what it acts on"
        )
    return show(bench.introduce(encode(settings)), output, out, plot)
