"""Orders of elimination."""

import numpy as np
import pytest

from mlcli import native
from mlcli.stages.algebra import ordering
from tests.native.support import lattice, needs_native

pytestmark = pytest.mark.skipif(not ordering.available(), reason="METIS is absent")


@needs_native
def test_few_refinements_leave_a_separator_order_with_little_more_fill() -> None:
    graph = lattice(40, 41)

    def fill(order: np.ndarray) -> int:
        assert np.array_equal(np.sort(order), np.arange(graph.size))
        return native.Cholesky(graph.starts, graph.indices, graph.lengths, order).fill

    usual, few = (fill(ordering.nested_dissection(graph.starts, graph.indices, count))
                  for count in (ordering.REFINEMENTS, ordering.FEW))
    assert few <= 1.1 * usual
    assert few < fill(np.arange(graph.size)) / 1.5
