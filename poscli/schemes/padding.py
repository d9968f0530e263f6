"""Where tokens stand when some of them are padding: the two rules in use.

pads_counted: padding takes up positions like any token (BERT, BART). pads_skipped: real tokens are
counted, and padding stands at -1 (fairseq's make_positions, RoBERTa, OPT, M2M100). A scheme whose
first row is not row 0 adds its own offset or origin to both, so that padding reads the row before
the first: row padding_idx of RoBERTa, row 1 of OPT, the row of zeros of M2M100.
"""

import numpy as np

from poscli.arrays import Array


def attention_mask(tokens: Array, padding: int) -> Array:
    """Token ids (..., n) -> True where a token is no padding, the same shape."""
    return np.asarray(np.asarray(tokens) != padding)


def pads_counted(mask: Array, start: int = 0) -> Array:
    """Mask (..., n) -> the place of every token, from start on, padding or not.

    >>> pads_counted(np.array([0, 0, 1, 1, 1])).tolist()
    [0, 1, 2, 3, 4]
    """
    mask = np.asarray(mask)
    return np.broadcast_to(np.arange(start, start + mask.shape[-1]), mask.shape)


def pads_skipped(mask: Array, start: int = 0) -> Array:
    """Mask (..., n) -> the place of each real token among the real ones, and -1 for padding.

    start is the number of real tokens that came before, in a cache.

    >>> pads_skipped(np.array([0, 0, 1, 1, 1])).tolist()
    [-1, -1, 0, 1, 2]
    """
    real = np.asarray(mask).astype(bool)
    return np.where(real, np.cumsum(real, axis=-1) - 1 + start, -1)
