"""Additive schemes against the installed libraries, on sizes and settings drawn at random.

The libraries compute in float32: a table may be off by the rounding of an angle, so differences
are held to 2^-24 * (1 + 8 * angle), the largest angle being the last position.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from poscli.schemes import SCHEMES, expand
from poscli.schemes.additive import Additive

pytestmark = pytest.mark.peers

widths, even_widths = st.integers(2, 65), st.integers(2, 40).map(lambda half: 2 * half)
lengths = st.integers(1, 40)


def scheme(preset: str, **changes: object) -> Additive:
    values = expand({"preset": preset, **changes})
    built = SCHEMES[values["name"]].model_validate(values)
    assert isinstance(built, Additive)
    return built


def close(got: np.ndarray, want: object, largest_angle: float) -> None:
    atol = 2.0**-24 * (1 + 8 * largest_angle)
    assert_allclose(got, np.asarray(want, np.float64), rtol=0, atol=atol)


@given(widths, lengths)
@settings(deadline=None, max_examples=30)
def test_marian(width: int, length: int) -> None:
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    want = MarianSinusoidalPositionalEmbedding(length, width).create_weight()
    close(scheme("marian").vectors(np.arange(length), width), want.numpy(), 0)


@given(st.integers(4, 65), lengths, st.integers(0, 3))
@settings(deadline=None, max_examples=30)
def test_m2m100(width: int, length: int, padding: int) -> None:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

    length += padding + 1
    want = M2M100SinusoidalPositionalEmbedding.get_embedding(length, width, padding).numpy()
    got = scheme("m2m100", origin=padding + 1).vectors(np.arange(length) - padding - 1, width)
    close(got, want, length)


@given(st.integers(2, 30).map(lambda half: 2 * half), lengths, st.integers(100, 10**6))
@settings(deadline=None, max_examples=30)
def test_whisper(width: int, length: int, base: int) -> None:
    from transformers.models.whisper.modeling_whisper import sinusoids

    want = sinusoids(length, width, base).numpy()
    close(scheme("whisper", base=float(base)).vectors(np.arange(length), width), want, length)


@given(st.integers(2, 30).map(lambda half: 2 * half), lengths)
@settings(deadline=None, max_examples=30)
def test_musicgen(width: int, length: int) -> None:
    from transformers.models.musicgen.modeling_musicgen import (
        MusicgenSinusoidalPositionalEmbedding,
    )

    want = MusicgenSinusoidalPositionalEmbedding.get_embedding(length, width).numpy()
    close(scheme("musicgen").vectors(np.arange(length), width), want, length)


@given(widths, lengths)
@settings(deadline=None, max_examples=30)
def test_positional_encodings_in_one_two_and_three_axes(width: int, length: int) -> None:
    import torch
    from positional_encodings.torch_encodings import (
        PositionalEncoding1D,
        PositionalEncoding2D,
        PositionalEncoding3D,
    )

    one = PositionalEncoding1D(width)(torch.zeros(1, length, width))[0].numpy()
    close(scheme("positional-encodings").vectors(np.arange(length), width), one, length)
    for name, peer, sizes in (
        ("positional-encodings-2d", PositionalEncoding2D, (3, 4)),
        ("positional-encodings-3d", PositionalEncoding3D, (2, 3, 2)),
    ):
        want = peer(width)(torch.zeros(1, *sizes, width))[0].numpy().reshape(-1, width)
        places = np.indices(sizes).reshape(len(sizes), -1).T
        close(scheme(name).vectors(places, width), want, 4)


@given(st.integers(1, 32).map(lambda half: 2 * half), lengths, st.integers(0, 50))
@settings(deadline=None, max_examples=30)
def test_x_transformers_scaled_sinusoidal(width: int, length: int, offset: int) -> None:
    import torch
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    peer = ScaledSinusoidalEmbedding(width)
    want = peer(torch.zeros(1, length, width), offset=offset).detach().numpy()
    built = SCHEMES["scaled-sinusoidal"].model_validate({})
    assert isinstance(built, Additive)
    close(built.vectors(np.arange(offset, offset + length), width), want, offset + length)
