"""The command line: one short function per command, and one place for exit statuses.

0: ran, and every check came out as expected. 1: ran, and some check did not. 2: could not run.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from poscli import __version__
from poscli.arrays import PRECISIONS
from poscli.config import parse_list, parse_number, parse_scheme, resolve
from poscli.errors import PoscliError, nearest
from poscli.experiments.compare import CompareConfig, compare
from poscli.experiments.convert import ConvertConfig, convert, parse_convention
from poscli.experiments.encode import EncodeConfig, encode
from poscli.experiments.extrapolate import ExtrapolateConfig, extrapolate
from poscli.experiments.identify import IdentifyConfig, identify
from poscli.experiments.permute_test import PermuteTestConfig, permute_test
from poscli.experiments.schemes import list_schemes, show_scheme
from poscli.experiments.train import TrainConfig, train_and_extrapolate
from poscli.files import write_whole
from poscli.identify.dumps import is_dump
from poscli.models.bench import Bench, open_bench
from poscli.report import Report
from poscli.schema import json_schema
from poscli.schemes import PRESETS, SCHEMES
from poscli.text import visible
from poscli.training.tasks import TASKS


class Group(TyperGroup):
    """The app, with every error turned into one line on standard error and a status."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
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
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = _fail(f"standard output: {error.strerror}")
        except PoscliError as error:
            status = _fail(str(error))
        except typer.TyperException as error:
            status = _fail(error.format_message())
        except KeyboardInterrupt:
            status = 130
        if status == 1 and {"--show-completion", "--install-completion"} & set(sys.argv):
            typer.echo("name the shell instead: _POSCLI_COMPLETE=source_bash poscli", err=True)
        sys.exit(status if isinstance(status, int) else 0)


class Command(TyperCommand):
    """A command that reads -3 as a number, and suggests the option that was meant."""

    ignore_unknown_options = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {
            name: option
            for option in self.get_params(ctx)
            if option.param_type_name == "option"
            for name in option.opts
        }
        value_follows = False
        for arg in args:
            if arg == "--":
                break
            if value_follows:
                value_follows = False
            elif re.match(r"--|-[A-Za-z]", arg):
                name = arg.partition("=")[0]
                if name not in options:
                    raise PoscliError(f"there is no option {name}; {nearest(name, options)}")
                value_follows = "=" not in arg and not getattr(options[name], "is_flag", False)
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="poscli",
    cls=Group,
    help="The bench for positional encodings in transformers.",
    epilog='Example: poscli permute-test "dog bites man"',
    pretty_exceptions_enable=False,
)


class Format(StrEnum):
    """How a result is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    NPY = "npy"


def _complete_from(words: Iterable[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


_complete_scheme = _complete_from(SCHEMES)
_SCHEME_HELP = "NAME, or NAME:key=value,key=value (preset=NAME is a key too)"
_Config = Annotated[
    Path | None, typer.Option("--config", help="YAML file of settings.", show_default=False)
]
_Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="key=value: any setting; repeatable.", show_default=False),
]
_FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Default: from --out, else table.")
]
_Plot = Annotated[
    Path | None, typer.Option("--plot", help="Draw it as well: FILE.png, .svg or .pdf.")
]
_Out = Annotated[Path | None, typer.Option("--out", help="Write to this file instead.")]
_Scheme = Annotated[
    str | None, typer.Option("--scheme", help=_SCHEME_HELP, autocompletion=_complete_scheme)
]
_Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help="What a library or model does, as in whisper; see poscli schemes.",
        autocompletion=_complete_from(PRESETS),
    ),
]
_SchemeList = Annotated[
    list[str] | None, typer.Argument(help=_SCHEME_HELP, autocompletion=_complete_scheme)
]
_SchemeOptions = Annotated[
    list[str] | None,
    typer.Option("--scheme", help=f"{_SCHEME_HELP}; repeatable.", autocompletion=_complete_scheme),
]
_Dim = Annotated[
    str | None, typer.Option("--dim", metavar="INT", help="Width of a token's vector.")
]
_Heads = Annotated[str | None, typer.Option("--heads", metavar="INT", help="Attention heads.")]
_Seed = Annotated[
    str | None, typer.Option("--seed", metavar="INT", help="Seed of everything drawn.")
]
_Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        help="Show what rounding to this format, stage by stage, gets wrong.",
        autocompletion=_complete_from(PRECISIONS),
    ),
]
_ModelFile = Annotated[
    Path | None,
    typer.Option("--model", help="A model's config.json, or its folder.", show_default=False),
]
_Layer = Annotated[
    str | None,
    typer.Option("--layer", help="Of the model: a layer's number, or a kind of layer."),
]
_Causal = Annotated[
    bool, typer.Option("--causal", help="No query sees a later key.", show_default=False)
]


@app.command("encode", cls=Command, epilog="Example: poscli encode --scheme sinusoidal --len 8")
def encode_command(
    sentence: Annotated[str | None, typer.Argument(help="Words to encode as well.")] = None,
    scheme: _Scheme = None,
    preset: _Preset = None,
    model: _ModelFile = None,
    layer: _Layer = None,
    length: Annotated[
        str | None, typer.Option("--len", "--length", metavar="INT", help="How many positions.")
    ] = None,
    dim: _Dim = None,
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
    heads: _Heads = None,
    mask: Annotated[
        str | None, typer.Option("--mask", help="0,0,1,1,1: where padding stands (0).")
    ] = None,
    ids: Annotated[str | None, typer.Option("--ids", help="Or token ids, as in 5,1,6.")] = None,
    pad: Annotated[
        str | None, typer.Option("--pad", metavar="INT", help="The id that is padding.")
    ] = None,
    precision: _Precision = None,
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
            autocompletion=_complete_from(PRECISIONS),
        ),
    ] = None,
    seed: _Seed = None,
    explain: Annotated[bool, typer.Option("--explain", help="Write every step out.")] = False,
    config: _Config = None,
    assignments: _Set = None,
    plot: _Plot = None,
    output: _FormatOption = None,
    out: _Out = None,
) -> int:
    """Print the numbers of one scheme, and what it makes of a sentence or of data."""
    _ready_to_draw(plot)
    flags = {
        "sentence": ("SENTENCE", sentence),
        "scheme": ("--scheme", parse_scheme(scheme) if scheme is not None else None),
        "length": ("--len", parse_number(length, "--len")),
        "dim": ("--dim", parse_number(dim, "--dim")),
        "scheme.preset": ("--preset", preset),
        "scheme.base": ("--base", parse_number(base, "--base")),
        "offset": ("--offset", parse_number(offset, "--offset")),
        "positions": ("--positions", positions),
        "heads": ("--heads", parse_number(heads, "--heads")),
        "grid": ("--grid", _parse_list(grid, "--grid")),
        "mask": ("--mask", _parse_list(mask, "--mask")),
        "ids": ("--ids", _parse_list(ids, "--ids")),
        "pad": ("--pad", parse_number(pad, "--pad")),
        "precision": ("--precision", precision),
        "vector": ("--vector", _parse_list(vector, "--vector")),
        "input": ("--input", data),
        "dtype": ("--dtype", dtype),
        "seed": ("--seed", parse_number(seed, "--seed")),
        "explain": ("--explain", explain or None),
    }
    bench = _bench(model, layer, [scheme, f"preset {preset}" if preset else None])
    settings = resolve(EncodeConfig, config, assignments or (), flags, bench.one())
    return _show(bench.introduce(encode(settings)), output, out, plot)


@app.command("compare", cls=Command, epilog="Example: poscli compare sinusoidal rope alibi")
def compare_command(
    schemes: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{_SCHEME_HELP}; or a dump (npy, npz, csv, safetensors) to explain, or two.",
            autocompletion=_complete_scheme,
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme", help="Hold a dump against this one.", autocompletion=_complete_scheme
        ),
    ] = None,
    array: Annotated[
        str | None, typer.Option("--array", help="The array of a dump that holds several.")
    ] = None,
    positions: Annotated[
        str | None, typer.Option("--positions", help="Those of a dump's rows: 0,5,9 or 0:8.")
    ] = None,
    model: _ModelFile = None,
    layer: _Layer = None,
    sentence: Annotated[
        str | None, typer.Option("--sentence", help="The tokens to compare on.")
    ] = None,
    length: Annotated[
        str | None,
        typer.Option("--len", "--length", metavar="INT", help="Or: how many drawn tokens."),
    ] = None,
    dim: _Dim = None,
    heads: _Heads = None,
    causal: _Causal = False,
    word: Annotated[
        str | None, typer.Option("--word", help="The word that stands at two places.")
    ] = None,
    places: Annotated[str | None, typer.Option("--places", help="Its places, as in 0,99.")] = None,
    precision: _Precision = None,
    seed: _Seed = None,
    config: _Config = None,
    assignments: _Set = None,
    plot: _Plot = None,
    output: _FormatOption = None,
    out: _Out = None,
) -> int:
    """Hold schemes side by side, on the same tokens; or say what a dumped array is.

    Without a name: all schemes. Given a dump, the conventions that explain it; with --scheme too,
    whether it follows that one; given two dumps, whether they are the same.
    """
    _ready_to_draw(plot)
    dumps = [argument for argument in schemes or () if _is_dump(argument)]
    flags = {
        "sentence": ("--sentence", sentence),
        "length": ("--len", parse_number(length, "--len")),
        "dim": ("--dim", parse_number(dim, "--dim")),
        "heads": ("--heads", parse_number(heads, "--heads")),
        "mask": ("--causal", "causal" if causal else None),
        "word": ("--word", word),
        "precision": ("--precision", precision),
        "places": ("--places", _parse_list(places, "--places")),
        "seed": ("--seed", parse_number(seed, "--seed")),
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
        settings = resolve(IdentifyConfig, config, assignments or (), flags)
        return _show(identify(settings), output, out)
    for option, value in (("--scheme", scheme), ("--array", array), ("--positions", positions)):
        if value is not None:
            raise PoscliError(f"{option} belongs to a dump; give a file to compare")
    bench = _bench(model, layer, schemes)
    flags["schemes"] = ("SCHEME", bench.beside(_parse_schemes(schemes)))
    compared = resolve(CompareConfig, config, assignments or (), flags, bench.several())
    return _show(bench.introduce(compare(compared)), output, out, plot)


@app.command("permute-test", cls=Command, epilog='Example: poscli permute-test "dog bites man"')
def permute_test_command(
    sentence: Annotated[str | None, typer.Argument(help="The text to re-order.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="One re-ordering, written out.")
    ] = None,
    permutation: Annotated[
        str | None, typer.Option("--permutation", help="One re-ordering: old places, as in 1,2,0.")
    ] = None,
    scheme: _SchemeOptions = None,
    model: _ModelFile = None,
    layer: _Layer = None,
    file: Annotated[str | None, typer.Option("--file", help="Read the text from a file.")] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            help="A token is a word, a char or a line.",
            autocompletion=_complete_from(["word", "char", "line"]),
        ),
    ] = None,
    dim: _Dim = None,
    heads: _Heads = None,
    causal: _Causal = False,
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype",
            help="float64 or float32.",
            autocompletion=_complete_from(["float64", "float32"]),
        ),
    ] = None,
    samples: Annotated[
        str | None,
        typer.Option("--samples", metavar="INT", help="Re-orderings drawn above 7 tokens."),
    ] = None,
    seed: _Seed = None,
    config: _Config = None,
    assignments: _Set = None,
    plot: _Plot = None,
    output: _FormatOption = None,
    out: _Out = None,
) -> int:
    """Prove in numbers what attention sees of the order of its tokens."""
    _ready_to_draw(plot)
    bench = _bench(model, layer, scheme)
    flags = {
        "sentence": ("SENTENCE", sentence),
        "against": ("--against", against),
        "permutation": ("--permutation", _parse_list(permutation, "--permutation")),
        "schemes": ("--scheme", bench.beside(_parse_schemes(scheme))),
        "file": ("--file", file),
        "unit": ("--unit", unit),
        "dim": ("--dim", parse_number(dim, "--dim")),
        "heads": ("--heads", parse_number(heads, "--heads")),
        "mask": ("--causal", "causal" if causal else None),
        "dtype": ("--dtype", dtype),
        "samples": ("--samples", parse_number(samples, "--samples")),
        "seed": ("--seed", parse_number(seed, "--seed")),
    }
    from poscli.render.progress import tracked

    settings = resolve(PermuteTestConfig, config, assignments or (), flags, bench.several())
    return _show(bench.introduce(permute_test(settings, tracked)), output, out, plot)


@app.command("extrapolate", cls=Command, epilog="Example: poscli extrapolate --len 16 rope alibi")
def extrapolate_command(
    schemes: _SchemeList = None,
    model: _ModelFile = None,
    layer: _Layer = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="INT", help="Of the model: the longest length.")
    ] = None,
    length: Annotated[
        str | None, typer.Option("--len", "--length", metavar="INT", help="The trained length.")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option("--lengths", help="Lengths to try; 1x to 16x if not given.")
    ] = None,
    dim: _Dim = None,
    heads: _Heads = None,
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
    plot: _Plot = None,
    config: _Config = None,
    assignments: _Set = None,
    output: _FormatOption = None,
    out: _Out = None,
) -> int:
    """Say what each scheme meets past the trained length, or train and measure it."""
    bench = _bench(model, layer, schemes)
    flags = {
        "schemes": ("SCHEME", bench.beside(_parse_schemes(schemes))),
        "length": ("--len", parse_number(length, "--len")),
        "lengths": ("--lengths", _parse_list(lengths, "--lengths")),
        "dim": ("--dim", parse_number(dim, "--dim")),
        "heads": ("--heads", parse_number(heads, "--heads")),
        "task": ("--task", task),
        "seeds": ("--seeds", parse_number(seeds, "--seeds")),
        "steps": ("--steps", parse_number(steps, "--steps")),
        "layers": ("--layers", parse_number(layers, "--layers")),
        "mask": ("--mask", mask),
        "swap": ("--swap", swap or None),
        "published": ("--published", published or None),
        "workers": ("--workers", parse_number(workers, "--workers")),
        "cluster": ("--cluster", cluster),
        "cache": ("--cache", None if cache is None else str(cache.absolute())),
    }
    if train:
        from poscli.render.progress import watched

        if model is not None:
            raise PoscliError("--train trains a model of its own; --model has no use with it")
        settings = resolve(TrainConfig, config, assignments or (), flags)
        _ready_to_draw(plot)
        return _show(train_and_extrapolate(settings, watched), output, out, plot)
    if plot is not None:
        raise PoscliError("--plot draws what --train measures; give --train as well")
    given = bench.lengths(parse_number(to, "--to"), flags["length"][1], flags["lengths"][1])
    inspected = resolve(ExtrapolateConfig, config, assignments or (), flags, given)
    return _show(bench.past(inspected, extrapolate(inspected)), output, out)


@app.command(
    "convert",
    cls=Command,
    epilog="Example: poscli convert --from rope/adjacent --to rope/half --dim 8",
)
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
    config: _Config = None,
    assignments: _Set = None,
    output: _FormatOption = None,
    out: _Out = None,
) -> int:
    """Re-order the columns of heads so that another RoPE convention gives the same scores."""
    flags = {
        "source": ("--from", None if source is None else parse_convention(source)),
        "target": ("--to", None if target is None else parse_convention(target)),
        "dim": ("--dim", parse_number(dim, "--dim")),
        "heads": ("--heads", parse_number(heads, "--heads")),
        "kv_heads": ("--kv-heads", parse_number(kv_heads, "--kv-heads")),
        "rope_dim": ("--rope-dim", parse_number(rope_dim, "--rope-dim")),
        "axis": ("--axis", parse_number(axis, "--axis")),
        "array": ("--array", array),
        "input": ("FILE", file),
    }
    return _show(convert(resolve(ConvertConfig, config, assignments or (), flags)), output, out)


@app.command("schemes", cls=Command, epilog="Example: poscli schemes rope")
def schemes_command(
    name: Annotated[
        str | None, typer.Argument(help="One scheme.", autocompletion=_complete_scheme)
    ] = None,
    model: _ModelFile = None,
    layer: _Layer = None,
    output: _FormatOption = None,
    out: _Out = None,
) -> int:
    """List every scheme and preset, show one with its formula, or explain a model's config."""
    if model is not None and name is not None:
        raise PoscliError("a scheme's name and --model ask for different reports; give one")
    bench = _bench(model, layer, None)
    if model is not None:
        return _show(bench.explain(), output, out)
    return _show(list_schemes() if name is None else show_scheme(name), output, out)


@app.command("schema", cls=Command, epilog="Example: poscli schema > configs/schema.json")
def schema_command() -> None:
    """Print the JSON schema of the configs, so that an editor completes them."""
    typer.echo(json.dumps(json_schema(), indent=1))


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


def _bench(model: Path | None, layer: str | None, by_hand: Sequence[str | None] | None) -> Bench:
    """Read the model's config, where there is one, and say on standard error what is doubtful."""
    bench = open_bench(model, layer, [text for text in by_hand or () if text])
    for warning in bench.warnings:
        typer.echo(f"poscli: warning: {visible(warning)}", err=True)
    return bench


def _is_dump(argument: str) -> bool:
    """Whether an argument is a file; learned:table=rows.npy is a scheme that names one."""
    return is_dump(argument) and argument.partition(":")[0] not in SCHEMES


def _parse_schemes(texts: Sequence[str] | None) -> list[dict[str, Any]] | None:
    return [parse_scheme(text) for text in texts] if texts else None


def _parse_list(text: str | None, option: str) -> list[Any] | None:
    return None if text is None else parse_list(text, option)


def _ready_to_draw(plot: Path | None) -> None:
    """Refuse a figure that cannot be drawn before the work that it would show."""
    if plot is not None:
        from poscli.render.figures import check_drawable

        check_drawable(plot)


def _show(report: Report, output: Format | None, out: Path | None, plot: Path | None = None) -> int:
    """Write the report where it was asked for; return the exit status of its checks."""
    from poscli.render.data import to_csv, to_json, to_npy
    from poscli.render.table import render, to_text

    if output is None:
        suffix = "" if out is None else out.suffix.removeprefix(".").lower()
        output = Format(suffix) if suffix in set(Format) else Format.TABLE
    writers = {
        Format.JSON: to_json,
        Format.CSV: to_csv,
        Format.NPY: to_npy,
        Format.TABLE: to_text,
    }
    if out is not None:
        write_whole(out, writers[output](report))
        typer.echo(f"wrote {out}", err=True)
    elif output is Format.TABLE:
        render(report, sys.stdout)
    elif output is Format.NPY and sys.stdout.isatty():
        raise PoscliError("npy is not for a terminal; give --out FILE, or pipe it")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(writers[output](report))
        sys.stdout.buffer.flush()
    if plot is not None:
        from poscli.render.figures import draw

        write_whole(plot, draw(report.figures, plot.suffix))
        typer.echo(f"wrote {plot}", err=True)
    return 0 if report.passed else 1


def _fail(message: str) -> int:
    typer.echo(f"poscli: {visible(' '.join(message.split()))}", err=True)
    return 2
