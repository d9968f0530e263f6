"""What does not fit is refused with its size, and what exists is kept; --force does it anyway."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, Write, npy_file, refused, run

from poscli import Sinusoidal, room
from poscli.errors import PoscliError
from poscli.files import write_whole

MEMORY = "poscli.room.memory_available"


@pytest.mark.parametrize(
    "args",
    [
        ["encode", "--len", "1000"],
        ["encode", "--positions", "0:1000"],
        ["encode", "--scheme", "alibi", "--len", "32"],
        ["compare", "none", "rope", "--len", "32"],
        ["permute-test", "a b c d e f g h i", "--samples", "1000"],
        ["extrapolate", "alibi", "--len", "1000"],
        ["extrapolate", "--train", "--len", "64", "--lengths", "64"],
    ],
)
def test_what_does_not_fit_in_memory_is_refused_with_its_size(
    args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MEMORY, lambda: 99_999)
    line = refused(*args)
    assert "which take" in line
    assert "and 99,999 bytes are free; --force tries it all the same" in line


def test_force_tries_it_and_only_for_that_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MEMORY, lambda: 99_999)
    args = ["encode", "--len", "1000", "--format", "csv"]
    assert run(*args, "--force").status == 0
    assert "--force" in refused(*args)


def test_memory_that_runs_out_all_the_same_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused("encode", "--len", str(2**50), "--force").startswith("there is not enough")


@pytest.mark.parametrize(
    ("name", "needed"), [("x.npy", "64 bytes"), ("x.csv", "32 bytes"), ("x.json", "32 bytes")]
)
def test_a_disk_without_room_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, needed: str
) -> None:
    out = tmp_path / name
    monkeypatch.setattr("poscli.room.disk_available", lambda path: 10)
    line = refused("encode", "--len", "2", "--out", str(out))
    assert line.startswith(f"{out}: 8 numbers take {needed}, and 10 bytes are free; --force")
    assert list(tmp_path.iterdir()) == []
    assert run("encode", "--len", "2", "--out", str(out), "--force").status == 0


WRITERS = [
    ["encode", "--len", "2"],
    ["compare", "none", "rope", "--len", "2"],
    ["compare", "{npy}"],
    ["permute-test", "a b"],
    ["extrapolate", "rope"],
    ["extrapolate", "rope", "--train", "--len", "4", "--lengths", "4", "--steps", "1"],
    ["convert", "--from", "rope", "--to", "rope/half", "--dim", "4"],
    ["schemes"],
    ["schemes", "--model", "{model}"],
]


@pytest.mark.parametrize("args", WRITERS, ids=lambda args: " ".join(args[:3]))
def test_a_file_that_exists_is_kept_unless_forced(args: list[str], write: Write) -> None:
    files = {
        "{npy}": npy_file(write, Sinusoidal().vectors(np.arange(4), 4)),
        "{model}": write(
            json.dumps({"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_positions": 16}),
            "config.json",
        ),
    }
    args = [files.get(arg, arg) for arg in args]
    out = write("precious", "out.csv")
    assert refused(*args, "--out", out) == f"{out}: exists; --force writes over it"
    assert Path(out).read_text() == "precious"
    if "--train" not in args:
        assert run(*args, "--out", out, "--force").status in (0, 1)
        assert Path(out).read_text() != "precious"


def test_a_figure_that_exists_is_kept_unless_forced(write: Write) -> None:
    plot = write("precious", "plot.svg")
    assert refused("encode", "--plot", plot) == f"{plot}: exists; --force writes over it"
    assert Path(plot).read_text() == "precious"
    assert run("encode", "--plot", plot, "--force").status == 0


def test_a_link_to_a_file_is_a_file_that_exists(write: Write, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(write("precious", "target.csv"))
    assert "exists; --force" in refused("encode", "--out", str(link))
    assert run("encode", "--out", "/dev/null", "--format", "csv").status == 0


def test_two_results_do_not_share_a_file(tmp_path: Path) -> None:
    name = str(tmp_path / "x.svg")
    args = ["encode", "--format", "json", "--out", name, "--plot", f"{tmp_path}/./x.svg"]
    assert "--out and --plot name the same file" in refused(*args)
    assert list(tmp_path.iterdir()) == []


def test_the_targets_of_the_makefile_can_be_run_twice() -> None:
    for line in (ROOT / "Makefile").read_text().replace("\\\n", " ").splitlines():
        if "poscli" in line and ("--plot" in line or "--out" in line):
            assert "--force" in line


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the machine itself."""
    monkeypatch.undo()


@pytest.mark.usefixtures("machine")
def test_the_memory_of_this_machine_is_some_and_not_all() -> None:
    resource = pytest.importorskip("resource")
    free = room.memory_available()
    assert 2**20 < free < 2**50
    before = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + 2**24, before[1]))
    try:
        assert room.memory_available() <= 2**24
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_room_is_a_matter_of_two_numbers() -> None:
    room.refuse_unfit(8, 8, "it")
    with pytest.raises(PoscliError, match=r"^it take 9 bytes, and 8 bytes are free; --force"):
        room.refuse_unfit(9, 8, "it")
    with room.forced(True):
        room.refuse_unfit(9, 8, "it")
        with room.forced(False), pytest.raises(PoscliError, match="it take"):
            room.refuse_unfit(9, 8, "it")
    with pytest.raises(PoscliError, match="it take"):
        room.refuse_unfit(9, 8, "it")


def test_a_forced_write_needs_no_free_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poscli.files.disk_available", lambda path: 0)
    with room.forced(True):
        write_whole(tmp_path / "x", b"abc")
    assert (tmp_path / "x").read_bytes() == b"abc"
