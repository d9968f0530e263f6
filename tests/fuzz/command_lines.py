"""Every option of every command, read off the app itself, with values of every kind."""

import json
from pathlib import Path
from typing import Any

import array_files
import hostile
import model_files
import promises
from conftest import ROOT
from hypothesis import strategies as st

from poscli.arrays import PRECISIONS
from poscli.schemes import PRESETS, SCHEMES
from poscli.training.tasks import TASKS

FILES = {
    "rows.npy": array_files.NPY[0],
    "turns.npz": array_files.NPZ[0],
    "rows.csv": array_files.CSV[1],
    "rows.safetensors": array_files.TENSORS[1],
    "text.txt": "dog bites man\n日本 [bold] \x1b[31m\n".encode(),
    "empty": b"",
    "config.json": json.dumps(model_files.BASES[26]).encode(),
    "old.csv": b"precious",
    "old.svg": b"precious",
}
_FOLDERS = ["folder", "folder.npy"]
_NEW = [
    "new.csv",
    "new.json",
    "new.npy",
    "new.txt",
    "new.svg",
    "new.png",
    "new.xyz",
    "folder/x.csv",
]
_MISSING = ["no/where.csv", "missing.yaml", "missing.npy", "/dev/null", "/dev/full"]

_settings = [
    *("base=10000", "pairing=half", "pairing=x", "dim=4", "length=3", "seed=1", "scheme=rope"),
    *(
        "scheme.base=1e4",
        "positions=0:4",
        "mask=causal",
        "mask=[[1,0],[1,1]]",
        "embeddings={a: []}",
    ),
    *("schemes=[rope, none]", "projections=identity", "=", "a", "a=", "=b", "a.b.c=1", ".=1"),
    *("embeddings={dog: [1.0e+200], bites: [1.0], man: [0.0]}", "table=rows.npy", "input=rows.npy"),
    *("task=lm", "task={name: order}", "rescalings=[]", "places=[0,1]", "rate=0.1", "batch=1"),
]
_conventions = [
    *("rope/adjacent", "rope/half", "rope/half/clockwise", "rope/x", "rope//", "/", "rope:/half"),
    *("rope:pairing=half,direction=clockwise", "alibi", "xpos", "rope-axial", "rope-mrope/half"),
]
_schemes = [
    *SCHEMES,
    *(f"{name}:" for name in ("rope", "none")),
    *("rope:base=500000", "rope:base=0", "rope:base=-1", "rope:base=1e308", "rope:base=.inf"),
    *("learned:rows=3", "learned:table=rows.npy", "learned:table=[[1,2],[3,4]]", "learned:rows=0"),
    *("rope:preset=llama3", "t5:buckets=1", "rope-yarn:factor=4", "rope-yarn:factor=0", "ropee"),
    *(
        "rope:base=1,base=2",
        "rope:,",
        "rope:a",
        "rope:base=[",
        "window:size=2",
        "alibi:bias_max=1e9",
    ),
]
_numbers = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "8",
    "16",
    "64",
    "-1",
    "-3",
    "1.5",
    "100000",
    "1000000000000",
]
_lists = ["0,1", "1,0", "0,0,1,1,1", "5,1,6", "0:4", "2,3", "1,2,0", "0,99", "-3,-2", "0:100000000"]

LIKELY: dict[str, list[str]] = {
    "sentence": [r"a $\frac{$ \x01", "dog bites man", "a b", "a", "a a", "-3", "日本 a"],
    "schemes": [*_schemes, "rows.npy", "turns.npz", "rows.csv", "rows.safetensors", "text.txt"],
    "name": _schemes,
    "file": ["rows.npy", "text.txt", "rows.safetensors", "turns.npz", "missing.npy", "folder"],
    "--scheme": _schemes,
    "--preset": [*PRESETS, "x"],
    "--format": ["table", "json", "json", "csv", "npy", "xml"],
    "--set": _settings,
    "--dtype": [*PRECISIONS, "float8"],
    "--precision": [*PRECISIONS, "float8"],
    "--from": _conventions,
    "--to": [*_conventions, *_numbers],
    "--task": [*TASKS, "x"],
    "--mask": ["causal", "none", *_lists],
    "--unit": ["word", "char", "line", "words"],
    "--input": ["rows.npy", "text.txt", "folder.npy", "missing.npy"],
    "--file": ["text.txt", "rows.npy", "empty", "folder", "missing"],
    "--model": ["config.json", ".", "folder", "text.txt", "rows.npy"],
    "--layer": ["0", "1", "99", "full_attention"],
    "--array": ["cos", "w", "", "x"],
    "--config": [f"{path.stem}.yaml" for path in (ROOT / "configs").glob("*.yaml")],
    "--cluster": ["", "x", "[bold]", "tcp://127.0.0.1:1"],
    "--workers": ["1", "0", "-1", "x"],
    "--cache": ["cache", "old.csv", "rows.npy/x"],
    "--word": ["cat", "", "[b]", "日本"],
}
"""What reaches further into the program, by option; whatever is not here gets the kinds below."""

_names = st.sampled_from([*FILES, *_FOLDERS, *_NEW, *_MISSING])
_any_text = (
    hostile.texts
    | st.sampled_from(_numbers)
    | st.sampled_from(_lists)
    | hostile.numbers.map(str)
    | _names
    | st.sampled_from(_schemes)
)
PARAMETERS: dict[str, list[Any]] = {
    name: command.params for name, command in promises.COMMAND.commands.items()
}
"""The arguments and options of every command, as the app declares them."""

_TINY = [
    *("--steps", "1", "--seeds", "1", "--workers", "1", "--len", "4", "--lengths", "4"),
    *("--dim", "4", "--heads", "1", "--layers", "1"),
]


def _value(name: str, wild: bool) -> st.SearchStrategy[str]:
    if wild:
        return st.one_of(st.sampled_from(LIKELY.get(name, _numbers)), _names, _any_text).map(
            _in_the_folder
        )
    files = [*_NEW, "old.csv", "old.svg"] if name in ("--out", "--plot") else []
    return st.sampled_from(LIKELY.get(name, files or [*_numbers[1:7], *_lists[:4]]))


def _in_the_folder(text: str) -> str:
    """Keep a name from leading out of the folder that the test runs in."""
    return text if text.startswith("/dev/") else text.lstrip("/").replace("../", "")


@st.composite
def _inputs(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(sorted(PARAMETERS)))
    parameters = PARAMETERS[command]
    args, wild = [command], draw(st.booleans())
    for argument in (p for p in parameters if p.param_type_name == "argument"):
        for _ in range(draw(st.integers(0, 3 if argument.nargs < 0 else 1))):
            args.append(draw(_value(argument.name, wild)))
    options = [p for p in parameters if p.param_type_name == "option"]
    for option in (
        draw(st.lists(st.sampled_from(options), max_size=4 if wild else 3)) if options else ()
    ):
        name = draw(st.sampled_from(option.opts))
        if option.is_flag:
            args.append(name)
        elif draw(st.integers(0, 3)) == 0:
            args.append(f"{name}={draw(_value(option.opts[0], wild))}")
        else:
            args += [name, draw(_value(option.opts[0], wild))]
    match draw(st.integers(0, 60)):
        case 0:
            args.append(draw(hostile.texts))
        case 1:
            args.insert(
                draw(st.integers(0, len(args))), draw(st.sampled_from(["--", "-x", "--y=1"]))
            )
        case 2:
            args.pop(draw(st.integers(0, len(args) - 1)))
    if "--train" in args:
        # Training starts processes: seldom, and as little of it as can be.
        if draw(st.integers(0, 30)):
            args.remove("--train")
        else:
            args[1:1] = [*_TINY, "none"]
    return args


INPUTS = _inputs()


def prepare(folder: Path) -> None:
    """Write the files that options name."""
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    for name in _FOLDERS:
        (folder / name).mkdir()
    for path in (ROOT / "configs").glob("*.yaml"):
        (folder / path.name).write_bytes(path.read_bytes())


def hold(args: list[str], folder: Path) -> str:
    """Run the command."""
    return promises.hold(args, folder)
