"""poscli schemes."""

from typing import Annotated

import typer

from poscli.cli.options import Force, FormatOption, Layer, ModelFile, Out, bench_of, complete_scheme
from poscli.cli.output import ready_to_write, show
from poscli.errors import PoscliError
from poscli.experiments.schemes import list_schemes, show_scheme


def schemes_command(
    name: Annotated[
        str | None, typer.Argument(help="One scheme.", autocompletion=complete_scheme)
    ] = None,
    model: ModelFile = None,
    layer: Layer = None,
    output: FormatOption = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """List every scheme and preset, show one with its formula, or explain a model's config."""
    ready_to_write(output, out, force=force)
    if model is not None and name is not None:
        raise PoscliError("a scheme's name and --model ask for different reports; give one")
    bench = bench_of(model, layer, None)
    if model is not None:
        return show(bench.explain(), output, out)
    return show(list_schemes() if name is None else show_scheme(name), output, out)
