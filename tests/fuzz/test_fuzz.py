"""A short, seeded share of the random tests; make fuzz runs the long one."""

import resource
from collections.abc import Iterator
from pathlib import Path

import command_lines
import config_files
import pytest
from hypothesis import strategies as st
from promises import BrokenPromiseError, hold
from subjects import SUBJECTS, Subject, Tally, attempt

_MEMORY = 6 * 2**30


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """Let what takes more memory than a toy needs fail, instead of the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_random_input_breaks_a_promise(name: str, tmp_path: Path) -> None:
    subject, tally = SUBJECTS[name], Tally()
    subject.prepare(tmp_path)
    attempt(subject, tally, subject.short, 0, tmp_path)
    assert not tally.broken, "\n".join(tally.broken.values())
    assert tally.tried >= subject.short
    assert tally.counts["ran"] > 0
    assert tally.counts["refused"] > 0


def test_every_command_and_option_is_driven() -> None:
    import promises

    assert set(command_lines.PARAMETERS) == set(promises.COMMAND.commands)
    unknown = set(command_lines.LIKELY) - {
        name
        for parameters in command_lines.PARAMETERS.values()
        for parameter in parameters
        for name in [parameter.name, *parameter.opts]
    }
    assert not unknown


def test_random_configs_cover_every_command() -> None:
    commands = {kind.model_fields["command"].default for kind in config_files.KINDS}
    shipped = {"encode", "compare", "permute-test", "extrapolate", "extrapolate --train", "convert"}
    assert commands == shipped


def test_a_broken_promise_is_seen(tmp_path: Path) -> None:
    """Without this, a harness that sees nothing would look like a program without faults."""

    def breaks(value: int, folder: Path) -> str:
        if value % 2:
            raise BrokenPromiseError("odd; given it")
        return "ran"

    tally = Tally()
    attempt(Subject(st.integers(0, 9), breaks, 0, 0), tally, 40, 0, tmp_path)
    assert tally.broken == {"odd": "odd; given it"}
    assert tally.counts["broken"] == 5


@pytest.mark.parametrize(
    ("code", "want"),
    [
        ("raise ZeroDivisionError('x')", "ZeroDivisionError: x"),
        ("import warnings; warnings.warn('careful')", "UserWarning: careful"),
        ("import sys; sys.exit(3)", "status 3"),
        ("import time; time.sleep(30)", ""),
        ("import sys; print('x', file=sys.stderr)", "standard error holds 'x'"),
        ("print('x'); raise PoscliError('no')", "standard output is not empty"),
        ("import pathlib; pathlib.Path('new').touch(); raise PoscliError('no')", "files changed"),
        ("import pathlib; pathlib.Path('.poscli-x').touch()", "temporary file was left"),
        ("print('\\x1b[1m')", "an escape code"),
        ('print(\'{"sections": [], "x": NaN}\')', "bare NaN"),
        ("raise PoscliError('x' * 9)", ""),
        ("raise PoscliError('np.float64(3)')", "shows what is inside"),
    ],
)
def test_each_promise_is_watched(
    code: str, want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import promises

    from poscli.errors import PoscliError

    def encode(context: object) -> int:
        exec(code, {"PoscliError": PoscliError})
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(promises, "SECONDS", 0.2 if "sleep" in code else 60.0)
    monkeypatch.setattr(promises.COMMAND.commands["encode"], "invoke", encode)
    if want:
        with pytest.raises(BrokenPromiseError, match=want):
            hold(["encode"], tmp_path)
    else:
        hold(["encode"], tmp_path)
    assert list(tmp_path.iterdir()) == []
