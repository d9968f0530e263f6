"""Are two biases the same to attention: after a causal mask and softmax?"""

import numpy as np

from poscli.arrays import Array
from poscli.attention import softmax
from poscli.identify.columns import Likeness

_HIDDEN = -1e4


def same_under_mask(one: Array, other: Array, slack: float) -> Likeness | None:
    """Return the weights of two biases (..., n, n) if they agree under a causal mask.

    Softmax does not see a number that is added to a whole row, nor what the mask hides.
    """
    if one.ndim < 2 or one.shape[-1] != one.shape[-2] or one.shape[-1] < 2:
        return None
    seen = np.tril(np.ones(one.shape[-2:], bool))
    if min(one[..., seen].min(), other[..., seen].min()) <= _HIDDEN:
        return None
    weights = [softmax(np.where(seen, bias, -np.inf)) for bias in (one, other)]
    rows = [bias - np.diagonal(bias, axis1=-2, axis2=-1)[..., None] for bias in (one, other)]
    if np.abs(rows[0] - rows[1])[..., seen].max() > 4 * slack:
        return None
    return Likeness("same under a causal mask after softmax", [], *weights)
