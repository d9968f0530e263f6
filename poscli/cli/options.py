"""Options that several commands share, and how their values are read."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from poscli.arrays import PRECISIONS
from poscli.cli.output import Format
from poscli.config import parse_list, parse_number, parse_scheme
from poscli.models.bench import Bench, open_bench
from poscli.schemes import SCHEMES
from poscli.text import visible


def complete_from(words: Iterable[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


complete_scheme = complete_from(SCHEMES)
SCHEME_HELP = "NAME, NAME/half, or NAME:key=value,key=value (preset=NAME is a key too)"
Config = Annotated[
    Path | None, typer.Option("--config", help="YAML file of settings.", show_default=False)
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", help="key=value: any setting; repeatable.", show_default=False),
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Default: from --out, else table.")
]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Draw it as well: FILE.png, .svg or .pdf.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Write to this file instead.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Write over a file that exists; try what does not seem to fit."),
]
Dim = Annotated[str | None, typer.Option("--dim", metavar="INT", help="Width of a token's vector.")]
Heads = Annotated[str | None, typer.Option("--heads", metavar="INT", help="Attention heads.")]
Seed = Annotated[
    str | None, typer.Option("--seed", metavar="INT", help="Seed of everything drawn.")
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        help="Show what rounding to this format, stage by stage, gets wrong.",
        autocompletion=complete_from(PRECISIONS),
    ),
]
ModelFile = Annotated[
    Path | None,
    typer.Option("--model", help="A model's config.json, or its folder.", show_default=False),
]
Layer = Annotated[
    str | None,
    typer.Option("--layer", help="Of the model: a layer's number, or a kind of layer."),
]
Causal = Annotated[
    bool, typer.Option("--causal", help="No query sees a later key.", show_default=False)
]


def parse_schemes(texts: Sequence[str] | None) -> list[dict[str, Any]] | None:
    return [parse_scheme(text) for text in texts] if texts else None


def number(option: str, text: str | None) -> tuple[str, Any]:
    """Return an option's name, for errors, and the number it was given."""
    return option, parse_number(text, option)


def listed(option: str, text: str | None) -> tuple[str, Any]:
    """Return an option's name, for errors, and the list it was given."""
    return option, None if text is None else parse_list(text, option)


def bench_of(model: Path | None, layer: str | None, by_hand: Sequence[str | None] | None) -> Bench:
    """Read the model's config, where there is one, and say on standard error what is doubtful."""
    bench = open_bench(model, layer, [text for text in by_hand or () if text])
    for warning in bench.warnings:
        typer.echo(f"poscli: warning: {visible(warning)}", err=True)
    return bench
