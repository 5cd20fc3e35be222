"""Loadings as plain numbers."""

import numpy as np

from mlcli.core.model import Loadings
from tests.support import features


def test_a_zero_has_no_sign() -> None:
    plain = Loadings(np.array([[-0.0, 0.0], [1.0, -2.0]]), ("a", "b")).plain(features(np.eye(2)))
    assert not np.signbit(plain.values[0]).any()
    np.testing.assert_array_equal(plain.values, [[0.0, 0.0], [1.0, -2.0]])
