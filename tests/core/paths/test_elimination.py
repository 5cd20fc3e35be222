"""A start from a sample of a kernel's columns: products with it, and the passes that it saves."""

import numpy as np
import pytest

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.compute import Compute
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest
from mlcli.core.kernels.streamed import Streamed
from mlcli.core.paths import elimination
from mlcli.core.paths.elimination import Analysis, EliminationRows
from mlcli.core.paths.paths import Paths

POINTS = np.random.default_rng(5).random((300, 3)) * [4, 2, 0.1]
COMPUTE = Compute()
pytestmark = pytest.mark.skipif(not native.available(),
                                reason="needs the native kernels")


def test_a_sample_of_columns_multiplies_as_the_matrix_does(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, block = graph_of(nearest(POINTS, 9), "union"), np.random.default_rng(3).standard_normal((300, 5))
    whole = Paths(algorithm="dijkstra", store="memory").kernel(graph, COMPUTE)
    monkeypatch.setattr(elimination, "SHARE", 1)  # so that all columns are the sample
    kernel = Streamed(EliminationRows.of(Analysis.of(graph), "float64"))
    assert kernel.apply_sampled is not None
    found, wanted = kernel.apply_sampled(block), whole.apply(block)
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()
    with limit_threads(3):
        assert np.array_equal(kernel.apply_sampled(block), found)
    plain = Streamed(EliminationRows.of(Analysis.of(graph), "float64"), centered=False).apply_sampled
    distances = Paths(algorithm="dijkstra").distances(graph, COMPUTE)
    assert plain is not None and np.allclose(plain(block), -0.5 * distances**2 @ block, rtol=1e-12)


@pytest.mark.medium
def test_a_start_from_a_sample_of_columns_saves_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    along, across = generator.uniform(4.7, 14.1, 6000), generator.uniform(0, 21, 6000)
    graph = graph_of(nearest(np.c_[along * np.cos(along), across, along * np.sin(along)], 10), "union")
    passes, values = [], []
    for share in (4, 6001):  # the latter leaves no column
        monkeypatch.setattr(elimination, "SHARE", share)
        kernel = Streamed(EliminationRows.of(Analysis.of(graph), "float32"))
        spectrum = Eigensolve(components=2)(kernel, 5999, COMPUTE)
        passes.append(kernel.passes)
        values.append(spectrum.solved[:2])
        assert len(spectrum.solved_at_least) >= 6  # eigenvalues of a scree plot, beside the two
    assert passes == [2, 3]
    assert np.allclose(*values, rtol=1e-9)
