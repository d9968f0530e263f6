"""poscli permute-test."""

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
    Seed,
    bench_of,
    complete_from,
    complete_scheme,
    listed,
    number,
    parse_schemes,
)
from poscli.cli.output import ready_to_write, show
from poscli.config import resolve
from poscli.experiments.permute_test import PermuteTestConfig, permute_test


def permute_test_command(
    sentence: Annotated[str | None, typer.Argument(help="The text to re-order.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="One re-ordering, written out.")
    ] = None,
    permutation: Annotated[
        str | None, typer.Option("--permutation", help="One re-ordering: old places, as in 1,2,0.")
    ] = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            "--scheme", help=f"{SCHEME_HELP}; repeatable.", autocompletion=complete_scheme
        ),
    ] = None,
    model: ModelFile = None,
    layer: Layer = None,
    file: Annotated[str | None, typer.Option("--file", help="Read the text from a file.")] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            help="A token is a word, a char or a line.",
            autocompletion=complete_from(["word", "char", "line"]),
        ),
    ] = None,
    dim: Dim = None,
    heads: Heads = None,
    causal: Causal = False,
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype",
            help="float64 or float32.",
            autocompletion=complete_from(["float64", "float32"]),
        ),
    ] = None,
    samples: Annotated[
        str | None,
        typer.Option("--samples", metavar="INT", help="Re-orderings drawn above 7 tokens."),
    ] = None,
    seed: Seed = None,
    config: Config = None,
    assignments: Assignments = None,
    plot: Plot = None,
    output: FormatOption = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Prove in numbers what attention sees of the order of its tokens."""
    ready_to_write(output, out, plot, force=force)
    bench = bench_of(model, layer, scheme)
    flags = {
        "sentence": ("SENTENCE", sentence),
        "against": ("--against", against),
        "permutation": listed("--permutation", permutation),
        "schemes": ("--scheme", bench.beside(parse_schemes(scheme))),
        "file": ("--file", file),
        "unit": ("--unit", unit),
        "dim": number("--dim", dim),
        "heads": number("--heads", heads),
        "mask": ("--causal", "causal" if causal else None),
        "dtype": ("--dtype", dtype),
        "samples": number("--samples", samples),
        "seed": number("--seed", seed),
    }
    from poscli.render.progress import tracked

    settings = resolve(PermuteTestConfig, config, assignments or (), flags, bench.several())
    return show(bench.introduce(permute_test(settings, tracked)), output, out, plot)
