"""poscli extrapolate: what lies past the trained length, inspected or trained."""

from pathlib import Path
from typing import Annotated

import typer

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
    bench_of,
    complete_scheme,
    listed,
    number,
    parse_schemes,
)
from poscli.cli.output import ready_to_write, show
from poscli.config import parse_number, resolve
from poscli.errors import PoscliError
from poscli.experiments.extrapolate import ExtrapolateConfig, extrapolate
from poscli.experiments.train import TrainConfig, train_and_extrapolate
from poscli.training.tasks import TASKS


def extrapolate_command(
    schemes: Annotated[
        list[str] | None, typer.Argument(help=SCHEME_HELP, autocompletion=complete_scheme)
    ] = None,
    model: ModelFile = None,
    layer: Layer = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="INT", help="Of the model: the longest length.")
    ] = None,
    length: Annotated[
        str | None, typer.Option("--len", "--length", metavar="INT", help="The trained length.")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option("--lengths", help="Lengths to try; 1x to 16x if not given.")
    ] = None,
    dim: Dim = None,
    heads: Heads = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train a tiny model per scheme and measure it.")
    ] = False,
    task: Annotated[
        str | None, typer.Option("--task", help=f"What to learn: {', '.join(TASKS)}.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="INT", help="Runs per scheme.")
    ] = None,
    steps: Annotated[
        str | None, typer.Option("--steps", metavar="INT", help="Training steps.")
    ] = None,
    layers: Annotated[
        str | None, typer.Option("--layers", metavar="INT", help="Blocks of the model.")
    ] = None,
    mask: Annotated[str | None, typer.Option("--mask", help="causal or none.")] = None,
    swap: Annotated[
        bool, typer.Option("--swap", help="Examine each model with every other scheme too.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Show figures from papers beside these.")
    ] = False,
    workers: Annotated[
        str | None,
        typer.Option("--workers", metavar="INT", help="Processes; as many as cores if not given."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Address of a Dask scheduler to run on.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option("--cache", help="Folder that keeps finished runs.")
    ] = None,
    plot: Plot = None,
    config: Config = None,
    assignments: Assignments = None,
    output: FormatOption = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Say what each scheme meets past the trained length, or train and measure it."""
    ready_to_write(output, out, plot, force=force)
    bench = bench_of(model, layer, schemes)
    flags = {
        "schemes": ("SCHEME", bench.beside(parse_schemes(schemes))),
        "length": number("--len", length),
        "lengths": listed("--lengths", lengths),
        "dim": number("--dim", dim),
        "heads": number("--heads", heads),
        "task": ("--task", task),
        "seeds": number("--seeds", seeds),
        "steps": number("--steps", steps),
        "layers": number("--layers", layers),
        "mask": ("--mask", mask),
        "swap": ("--swap", swap or None),
        "published": ("--published", published or None),
        "workers": number("--workers", workers),
        "cluster": ("--cluster", cluster),
        "cache": ("--cache", None if cache is None else str(cache.absolute())),
    }
    if train:
        from poscli.render.progress import watched

        if model is not None:
            raise PoscliError("--train trains a model of its own; --model has no use with it")
        if to is not None:
            raise PoscliError("--to says how far a --model is looked at; --train takes --lengths")
        settings = resolve(TrainConfig, config, assignments or (), flags)
        return show(train_and_extrapolate(settings, watched), output, out, plot)
    if plot is not None:
        raise PoscliError("--plot draws what --train measures; give --train as well")
    given = bench.lengths(parse_number(to, "--to"), flags["length"][1], flags["lengths"][1])
    inspected = resolve(ExtrapolateConfig, config, assignments or (), flags, given)
    return show(bench.past(inspected, extrapolate(inspected)), output, out)
