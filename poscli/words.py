"""From text to tokens, and from tokens to vectors."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from poscli.arrays import Array
from poscli.errors import PoscliError

Embeddings = dict[str, Annotated[list[float], Field(min_length=1)]]
"""A vector per word, all of one width."""

Unit = Literal["word", "char", "line"]


def split(text: str, unit: Unit) -> list[str]:
    """Cut a text into tokens; PoscliError where nothing is left.

    >>> split("dog bites man", "word"), split("ab", "char")
    (['dog', 'bites', 'man'], ['a', 'b'])
    """
    tokens = {
        "word": text.split(),
        "char": [c for c in text if c not in "\r\n"],
        "line": [line for line in text.splitlines() if line.strip()],
    }[unit]
    if not tokens:
        raise PoscliError(f"the text has no {unit} in it; give at least one")
    return tokens


def embed(
    tokens: Sequence[str], width: int, seed: int, given: Mapping[str, Sequence[float]] | None
) -> Array:
    """Return one float64 vector per token, (n, width): the ones given, or drawn ones.

    A drawn vector depends on the seed and the word alone, not on the other words or their order.
    """
    if given is None:
        return np.array([_drawn(token, width, seed) for token in tokens])
    for token in tokens:
        if token not in given:
            raise PoscliError(f"no vector is given for {token!r}; there are: {', '.join(given)}")
        if len(given[token]) != width:
            raise PoscliError(
                f"the vector given for {token!r} has width {len(given[token])}; dim is {width}"
            )
    return np.array([given[token] for token in tokens], np.float64)


def _drawn(token: str, width: int, seed: int) -> Array:
    word = int.from_bytes(sha256(token.encode("utf-8", "surrogateescape")).digest(), "big")
    return np.random.default_rng([seed, word]).normal(0, 1, width)
