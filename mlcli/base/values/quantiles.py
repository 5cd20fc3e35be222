"""Quantiles by linear interpolation, as `np.quantile` has them.

That imports NumPy's masked arrays, which takes longer than all quantiles of a small table.
"""

from collections.abc import Sequence

import numpy as np

from mlcli.base.types import Array


def quantiles(values: Array, shares: Sequence[float]) -> Array:
    """Return quantiles of numbers (m), or of each column of values (m x q), an (s,) or (s, q) array.

    NaN for a column that holds one.
    """
    last = len(values) - 1
    places = [share * last for share in shares]
    near = {int(place): min(int(place) + 1, last) for place in places}
    ordered = np.partition(values, sorted({*near, *near.values(), last}), axis=0)
    found = []
    for place in places:
        below, above, part = ordered[int(place)], ordered[near[int(place)]], place % 1
        apart = above - below
        found.append(below + apart * part if part < 0.5 else above - apart * (1 - part))
    return np.where(np.isnan(ordered[last]), np.nan, found)
