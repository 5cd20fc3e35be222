"""How many entries the factor of a cost is predicted to have."""

import numpy as np
import pytest

from mlcli import native
from mlcli.core.chain.graphs import fill_of


@pytest.mark.skipif(not native.available(), reason="the native kernels count them")
def test_the_fill_is_counted_in_smaller_samples_where_there_is_no_room_for_larger_ones() -> None:
    points = np.random.default_rng(0).standard_normal((6000, 5))
    whole, less = fill_of(points, 8, squared=False), fill_of(points, 8, squared=False, room=2e6)
    assert whole is not None and less is not None and less != whole
    assert 0.5 < less / whole < 2
    assert fill_of(points, 8, squared=False, room=1e4) is None
