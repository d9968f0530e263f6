"""poscli compare: schemes side by side, or what a dump is."""

from typing import Annotated

import typer

from poscli.cli.options import (
    SCHEME_HELP,
    Assignments,
    Causal,
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
    complete_scheme,
    listed,
    number,
    parse_schemes,
)
from poscli.cli.output import ready_to_write, show
from poscli.config import parse_scheme, resolve
from poscli.errors import PoscliError
from poscli.experiments.compare import CompareConfig, compare
from poscli.experiments.identify import IdentifyConfig, identify
from poscli.identify.dumps import is_dump
from poscli.schemes import SCHEMES


def compare_command(
    schemes: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{SCHEME_HELP}; or a dump (npy, npz, csv, safetensors) to explain, or two.",
            autocompletion=complete_scheme,
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme", help="Hold a dump against this one.", autocompletion=complete_scheme
        ),
    ] = None,
    array: Annotated[
        str | None, typer.Option("--array", help="The array of a dump that holds several.")
    ] = None,
    positions: Annotated[
        str | None, typer.Option("--positions", help="Those of a dump's rows: 0,5,9 or 0:8.")
    ] = None,
    model: ModelFile = None,
    layer: Layer = None,
    sentence: Annotated[
        str | None, typer.Option("--sentence", help="The tokens to compare on.")
    ] = None,
    length: Annotated[
        str | None,
        typer.Option("--len", "--length", metavar="INT", help="Or: how many drawn tokens."),
    ] = None,
    dim: Dim = None,
    heads: Heads = None,
    causal: Causal = False,
    word: Annotated[
        str | None, typer.Option("--word", help="The word that stands at two places.")
    ] = None,
    places: Annotated[str | None, typer.Option("--places", help="Its places, as in 0,99.")] = None,
    precision: Precision = None,
    seed: Seed = None,
    config: Config = None,
    assignments: Assignments = None,
    plot: Plot = None,
    output: FormatOption = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Hold schemes side by side, on the same tokens; or say what a dumped array is.

    Without a name: all schemes. Given a dump, the conventions that explain it; with --scheme too,
    whether it follows that one; given two dumps, whether they are the same.
    """
    ready_to_write(output, out, plot, force=force)
    dumps = [argument for argument in schemes or () if _is_dump(argument)]
    flags = {
        "sentence": ("--sentence", sentence),
        "length": number("--len", length),
        "dim": number("--dim", dim),
        "heads": number("--heads", heads),
        "mask": ("--causal", "causal" if causal else None),
        "word": ("--word", word),
        "precision": ("--precision", precision),
        "places": listed("--places", places),
        "seed": number("--seed", seed),
    }
    if dumps:
        if len(dumps) < len(schemes or ()):
            other = next(a for a in schemes or () if a not in dumps)
            raise PoscliError(
                f"{dumps[0]} is a file and {other} is none; give files alone, or schemes alone, or "
                f"a file and --scheme {other}"
            )
        flags |= {
            "dumps": ("FILE", dumps),
            "against": ("--scheme", parse_scheme(scheme) if scheme is not None else None),
            "array": ("--array", array),
            "positions": ("--positions", positions),
        }
        if model is not None:
            raise PoscliError("--model gives schemes, and a dump is held against --scheme")
        if plot is not None:
            raise PoscliError("--plot draws schemes side by side, and a dump gives no figure")
        settings = resolve(IdentifyConfig, config, assignments or (), flags)
        return show(identify(settings), output, out)
    for option, value in (("--scheme", scheme), ("--array", array), ("--positions", positions)):
        if value is not None:
            raise PoscliError(f"{option} belongs to a dump; give a file to compare")
    bench = bench_of(model, layer, schemes)
    flags["schemes"] = ("SCHEME", bench.beside(parse_schemes(schemes)))
    compared = resolve(CompareConfig, config, assignments or (), flags, bench.several())
    return show(bench.introduce(compare(compared)), output, out, plot)


def _is_dump(argument: str) -> bool:
    """Whether an argument is a file; learned:table=rows.npy is a scheme that names one."""
    return is_dump(argument) and argument.partition(":")[0] not in SCHEMES
