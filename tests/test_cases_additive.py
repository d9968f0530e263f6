"""Faults from practice with schemes that add to the embeddings, each with its answer and its id."""

import numpy as np
import pytest
from conftest import Write, cells, npy_file, refused, run, run_json
from numpy.testing import assert_allclose, assert_array_equal

from poscli.padding import attention_mask, pads_counted, pads_skipped

ATOL = 5.1e-11


def test_b03_alternating_or_block_order() -> None:
    alternating = cells("--dim", "6", "--len", "4")
    block = cells("--scheme", "sinusoidal:layout=concatenated", "--dim", "6", "--len", "4")
    want = [0.8414709848, 0.0463992235, 0.0021544330, 0.5403023059, 0.9989229760, 0.9999976792]
    assert_allclose(block[1], want, rtol=0, atol=ATOL)
    assert np.abs(block - alternating).max() > 0.1
    assert_array_equal(block, alternating[:, [0, 2, 4, 1, 3, 5]])
    assert_allclose(block @ block.T, alternating @ alternating.T, rtol=0, atol=1e-15)


def test_b09_padding_inside_the_sequence() -> None:
    ids = np.array([[5, 1, 6, 7, 1], [1, 1, 6, 7, 9]])
    mask = attention_mask(ids, 1)
    assert_array_equal(pads_skipped(mask) + 2, [[2, 1, 3, 4, 1], [1, 1, 2, 3, 4]])
    assert_array_equal(pads_counted(mask) + 2, [[2, 3, 4, 5, 6]] * 2)


def test_b69_channels_that_do_not_divide(write: Write) -> None:
    message = refused("encode", "--scheme", "sincos-2d", "--dim", "6")
    assert message == (
        "sincos-2d needs a width that 4 divides, a sine and a cosine for each of 2 axes; "
        "got width 6"
    )
    ten = npy_file(write, np.zeros((3, 10)))
    message = refused("encode", "--scheme", "sincos-2d", "--dim", "5", "--input", ten)
    assert message == "dim is 5, but the data has width 10"
    assert "got width 10" in refused("encode", "--scheme", "sincos-2d", "--input", ten)
    eight = npy_file(write, np.zeros((3, 8)))
    assert cells("--scheme", "sincos-2d", "--input", eight).shape == (3, 8)


def test_a_sequence_is_shown_at_its_places_in_the_grid() -> None:
    labels = run_json("encode", "a b c", "--scheme", "sincos-2d:columns=2")["result"]["labels"]
    assert labels == [["0,0", "a"], ["0,1", "b"], ["1,0", "c"]]
    table = cells("--scheme", "sincos-3d", "--offset", "15", "--len", "2")
    assert_array_equal(table, cells("--scheme", "sincos-3d", "--len", "17")[15:])


@pytest.mark.parametrize("dim", range(1, 14))
@pytest.mark.parametrize("name", ["sincos-2d", "sincos-3d"])
def test_b69_rounded_up_then_cut_keeps_the_width(name: str, dim: int) -> None:
    assert cells("--scheme", f"{name}:uneven=cut", "--dim", str(dim)).shape == (8, dim)


@pytest.mark.parametrize("dim", ["2", "6", "5"])
def test_b69_detr_refuses_what_does_not_divide(dim: str) -> None:
    assert f"got width {dim}" in refused("encode", "--scheme", "detr-sine", "--dim", dim)


def test_b11_past_the_end_of_a_table_with_an_offset() -> None:
    message = refused("encode", "--scheme", "learned:rows=8,offset=2", "--len", "7")
    assert message == (
        "learned has 8 rows, 0 to 7; position 6, the 7th, would read row 8, which is not one of "
        "them"
    )
    message = refused("extrapolate", "learned:rows=8,offset=2", "--len", "7")
    assert message.startswith("learned cannot be trained at length 7: learned has 8 rows")
    assert run("extrapolate", "learned:rows=8,offset=2", "--len", "6").status == 0
