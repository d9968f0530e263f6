"""Inputs that random tests found to break a promise, each by name."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import Write, npy_file, refused, run, run_json

from poscli import Sinusoidal
from poscli.errors import PoscliError
from poscli.identify.dumps import read_dump


def test_a_file_name_that_the_system_refuses_is_named() -> None:
    name = "x" * 300
    assert refused("schemes", "--model", name) == f"{name}: File name too long"


def test_an_error_stays_short_whatever_it_repeats() -> None:
    line = refused("encode", "--" + "x" * 5000)
    assert len(line) < 2100
    assert " [...] " in line


@pytest.mark.parametrize("text", ["a\ud827b", "\udcff", "[\ud800]"])
def test_half_a_surrogate_is_no_text(text: str) -> None:
    assert refused("compare", "--places", text).startswith("--places: not UTF-8 text")


def archive(content: bytes) -> bytearray:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", content)
    return bytearray(stream.getvalue())


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_an_archive_that_lost_bytes_is_damaged(write: Write) -> None:
    data = archive(npy(np.eye(4)))
    del data[60:69]
    assert "truncated or damaged archive" in refused("compare", write(bytes(data), "x.npz"))


def test_a_member_larger_than_it_announces_is_not_unpacked(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = archive(npy(np.zeros((2**12, 2**10))))
    directory = data.index(b"PK\x01\x02")
    for start in (22, directory + 24):
        data[start : start + 4] = (128).to_bytes(4, "little")
    largest, read = 0, zipfile.ZipExtFile._read1  # type: ignore[attr-defined]

    def watched(self: object, n: int) -> bytes:
        nonlocal largest
        largest = max(largest, n)
        return read(self, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "_read1", watched)
    with pytest.raises(PoscliError, match="truncated or damaged"):
        read_dump(Path(write(bytes(data), "x.npz")))
    assert 0 < largest <= 129


def test_a_signalling_nan_is_refused_without_a_warning(write: Write) -> None:
    table = np.frombuffer(b"\xb5\x9d\x94\x7f" * 4, np.float32).reshape(2, 2)
    name = write(npy(table), "x.npy")
    assert "holds NaN or infinity" in refused("compare", name)
    assert "holds NaN or infinity" in refused("encode", "--input", name)


@pytest.mark.parametrize("name", ["positions", "query_positions", "key_positions"])
@pytest.mark.parametrize("last", [-np.inf, 1e300, -(2.0**53)])
def test_positions_that_are_none_are_refused(tmp_path: Path, name: str, last: float) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, x=np.eye(2), **{name: np.array([0.0, last])})
    assert refused("compare", str(path)).endswith(f"{name}: positions lie between -2^53 and 2^53")


def test_one_position_without_an_axis_is_one_position(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, q=np.float64(1), q_rot=np.float64(2), positions=np.float64(3))
    assert run("compare", str(path)).status in (1, 2)
    np.savez(path, x=np.eye(4), positions=np.float64(3))
    assert "1 positions do not fit an array of 4 x 4" in refused("compare", str(path))


def test_a_single_pair_that_turns_has_no_second_frequency(write: Write) -> None:
    table = Sinusoidal().vectors(np.arange(4), 4)
    noisy = table.copy()
    noisy[3, 3] += 2.0**-32
    one, other = write(npy(noisy), "one.npy"), write(npy(table), "other.npy")
    assert run("compare", one, other).status == 1


def test_numbers_below_the_smallest_normal_do_not_warn(write: Write) -> None:
    table = np.zeros((4, 4))
    table[0, 1], table[1] = 5e-324, 1e300
    result = run("compare", npy_file(write, table), "--positions", "0:4")
    assert (result.status, result.err) == (1, "")


def test_a_character_that_the_font_lacks_is_drawn_without_a_word(tmp_path: Path) -> None:
    plot = tmp_path / "x.svg"
    result = run("permute-test", "日本 a b", "--plot", str(plot))
    assert (result.status, result.err) == (0, f"wrote {plot}\n")


def test_a_figure_shows_text_as_it_is(tmp_path: Path) -> None:
    from xml.dom.minidom import parse

    plot = tmp_path / "x.svg"
    result = run("permute-test", "$\\frac{$ $x$ a\x01b c$", "--plot", str(plot))
    assert (result.status, result.err) == (0, f"wrote {plot}\n")
    shown = "".join(node.firstChild.data for node in parse(str(plot)).getElementsByTagName("text"))
    for word in (r"$\frac{$", "$x$", r"a\x01b", "c$"):
        assert word in shown


def test_numbers_too_far_apart_to_draw_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    names = [f"--plot={tmp_path}/x.svg", f"--out={tmp_path}/x.csv"]
    args = ["encode", "--scheme", "learned:table=[[1e308,-1e308]]", "--len", "1", "--dim", "2"]
    assert "too far apart" in refused(*args, *names)
    assert list(tmp_path.iterdir()) == []


def test_a_preset_that_is_none_is_named_shortly(write: Write) -> None:
    config = write("scheme: {name: rope, preset: {a: '" + "x" * 5000 + "'}}\n")
    line = refused("encode", "--config", config)
    assert line.startswith(f"{config}:1: ")
    assert "there is no preset" in line
    assert "x" * 50 not in line


@pytest.mark.parametrize("key", ["length", "embeddings", "sentence", "grid"])
def test_a_whole_number_past_every_float_is_named_by_its_digits(write: Write, key: str) -> None:
    value = "1" + "0" * 350
    line = refused(
        "encode", "--config", write(f"{key}: {f'[2, {value}]' if key == 'grid' else value}\n")
    )
    assert "a number of 351 digits" in line


def test_positions_that_are_none_are_repeated_shortly(write: Write) -> None:
    line = refused("encode", "--config", write("positions: " + "x" * 5000 + "\n"))
    assert "got 'xxxx" in line
    assert len(line) < 300


def test_a_padding_id_past_the_rows_of_a_family_leaves_no_room_for_a_text() -> None:
    grids = run_json("encode", "--ids", "5,128001", "--pad", "128001")["sections"][0]["grids"]
    rows, limits = grids[:2]
    by_family = dict(zip(rows["columns"], rows["cells"][0], strict=True))
    assert by_family["bert"] == 0
    assert by_family["roberta"] is None
    assert dict(zip(limits["columns"], limits["cells"][0], strict=True))["roberta"] == 0
    assert "128001" in run("encode", "--ids", "5,128001", "--pad", "128001").out


@pytest.mark.parametrize("number", [-np.inf, -1.7e308])
def test_weights_that_make_no_scores_are_not_converted(
    write: Write, tmp_path: Path, number: float
) -> None:
    weights = np.full((4, 4), number)
    weights[1:] = -weights[1:] if np.isfinite(number) else 1.0
    file = write(npy(weights), "w.npy")
    args = ["--from", "rope/adjacent", "--to", "rope/half", "--dim", "4"]
    line = refused("convert", file, *args, "--out", str(tmp_path / "out.npy"))
    assert "infinity" in line or "nothing was written" in line
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("shape", [(4, 1), (4, 4), (4, 1, 2)])
def test_positions_of_other_than_one_two_or_three_axes_are_refused(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "x.npz"
    table = Sinusoidal().vectors(np.arange(4), 4)
    for arrays in ({"x": table}, {"cos": table, "sin": table}):
        np.savez(path, positions=np.ones(shape), **arrays)
        assert "positions are numbers, or rows of 2 or 3" in refused("compare", str(path))


def test_positions_of_several_axes_fit_the_rows_or_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    table = Sinusoidal().vectors(np.arange(4), 4)
    for axes in (2, 3):
        np.savez(path, x=table, positions=np.arange(4 * axes).reshape(4, axes))
        assert run("compare", str(path)).status == 1
    np.savez(path, cos=table[:, ::2], sin=table[:, 1::2], positions=np.arange(2))
    assert "2 positions do not fit an array of 4 x 2" in refused("compare", str(path))


def test_the_name_of_a_written_file_is_shown_not_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("schemes", "--out", "a\x1b[1m\x1d").err == "wrote a\\x1b[1m\\x1d\n"


def test_a_config_whose_lengths_are_too_long_names_them(write: Write) -> None:
    config = write("lengths: [16, 16384]\n")
    assert "lengths up to 16,384 make" in refused("extrapolate", "--train", "--config", config)


@pytest.mark.parametrize("scheme", [[], ["--scheme", "rope"], ["--scheme", "xpos"]])
def test_positions_of_the_columns_are_not_those_of_the_rows(
    write: Write, scheme: list[str]
) -> None:
    name = write("0,-1,-1,0\n0,-1,0,0\n", "x.csv")
    assert run("compare", name, "--positions", "0:4", *scheme).status in (1, 2)


@pytest.mark.parametrize("name", ["a\rb", "a\x1db", "a\x1b[1mb"])
def test_a_written_file_is_named_on_one_line(tmp_path: Path, name: str) -> None:
    result = run("schemes", "--out", str(tmp_path / name))
    assert result.status == 0
    assert len(result.err.splitlines()) == 1
    assert "\x1b" not in result.err
    assert (tmp_path / name).is_file()


def test_a_name_too_long_for_a_file_is_shown_by_its_ends(write: Write) -> None:
    content = "scheme: {name: kerple-power, a: " + "x" * 5000 + "}\n"
    line = refused("encode", "--config", write(content))
    assert "x..." in line
    assert line.endswith("File name too long")
    assert len(line) < 1300


@pytest.mark.parametrize("scheme", ["x" * 5000, "{name: {a: " + "x" * 5000 + "}}"])
def test_a_scheme_that_is_none_is_named_shortly(write: Write, scheme: str) -> None:
    line = refused("encode", "--config", write(f"scheme: {scheme}\n"))
    assert "there is no scheme" in line
    assert "x" * 50 not in line
