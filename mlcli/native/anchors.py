"""Distances from anchors to all points: sums over pairs in two spaces, and counts of nearer points."""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels

SUMS = ("delta", "d", "delta²", "d²", "delta d", "off²", "d²/delta", "off²/delta")


def pair_sums(kept: Array, embedded: Array, scale: float) -> dict[str, Array]:
    """Return the SUMS of each anchor over its pairs, from squared distances to keep and embedded ones (b x n each).

    delta is the distance to keep, d the embedded one times `scale`, off = delta - d. Quotients leave out pairs with
    delta = 0.
    """
    out = np.empty((len(kept), len(SUMS)))
    kernels().pair_sums(np.ascontiguousarray(kept), np.ascontiguousarray(embedded), scale, out)
    return dict(zip(SUMS, np.ascontiguousarray(out.T), strict=True))


def keys_before(keys: Indices, wanted: Indices, bits: int) -> Indices:
    """Return how many keys (b x n) of each anchor are before those `wanted` (b x m), as a (b, m) array.

    A key is the number of a step and, in its last `bits`, that of a point, which orders keys of one step or of
    successive ones.
    """
    out = np.empty(wanted.shape, dtype=np.int64)
    kernels().keys_before(keys, np.ascontiguousarray(wanted), bits, out)
    return out
