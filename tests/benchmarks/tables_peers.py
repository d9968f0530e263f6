"""Tables of sines and cosines, beside public libraries on one thread."""

from collections.abc import Iterator

import numpy as np
import torch
from measure import Goal, least_seconds
from positional_encodings.torch_encodings import PositionalEncoding1D
from tables import LENGTH, SIZE, WIDTH
from x_transformers.x_transformers import ScaledSinusoidalEmbedding

from poscli.schemes.sinusoidal import Sinusoidal


def goals() -> Iterator[Goal]:
    torch.set_num_threads(1)
    positions, asked = np.arange(LENGTH), torch.zeros((1, LENGTH, WIDTH))
    scaled = ScaledSinusoidalEmbedding(WIDTH)
    with torch.no_grad():
        mine, x_transformers, encodings = least_seconds(
            lambda: Sinusoidal().encoder(WIDTH, 1)(positions, "float32"),
            lambda: scaled(asked),
            lambda: PositionalEncoding1D(WIDTH)(asked),
            rounds=3,
        )
    work = f"table {SIZE}, float32, new memory"
    yield Goal(work, mine, "x-transformers", x_transformers, None)
    yield Goal(work, mine, "positional-encodings", encodings, None)
