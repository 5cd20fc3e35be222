"""Every way of factoring RᵀR for a sparse R gives the same solutions and refuses the same matrices."""

import numpy as np
import pytest
from scipy import sparse

from mlcli import native
from mlcli.core import sparse_factors
from mlcli.core.graph.affinities import incidence
from mlcli.core.sparse_factors import CompressedRows, SparseFactorization, SuperLU, factorization
from mlcli.errors import NumericalError
from tests.native.support import lattice

WAYS = ["kernels", "no kernels", "neither kernels nor METIS"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Takes away what is absent."""
    if request.param == "kernels" and not native.available():
        pytest.skip("the kernels are absent")
    if request.param == "no kernels" and not sparse_factors.available():
        pytest.skip("METIS is absent")
    if request.param != "kernels":
        monkeypatch.setattr(native, "available", lambda: False)
    if request.param.startswith("neither"):
        monkeypatch.setattr(sparse_factors, "available", lambda: False)
    return str(request.param)


def factored(root: CompressedRows, shift: float) -> SparseFactorization:
    return factorization(root, shift, where="here", hint="do that")


def test_solutions(way: str) -> None:
    graph = lattice(12, 17)
    root = incidence(graph, graph.lengths, np.ones(graph.size))
    matrix = sparse.csgraph.laplacian(graph.matrix()) + 0.1 * sparse.eye_array(graph.size)
    sides = np.random.default_rng(0).standard_normal((graph.size, 9))
    factors = factored(root, 0.1)
    assert isinstance(factors, SuperLU) == (way != "kernels")
    np.testing.assert_allclose(matrix @ factors.solve(sides), sides, rtol=0, atol=1e-12)


def test_a_singular_matrix_is_an_error_with_place_and_hint(way: str) -> None:
    root = CompressedRows(np.array([0, 2, 3]), np.array([0, 1, 2]), np.array([1.0, -1.0, 1.0]), 3)
    with pytest.raises(NumericalError) as refusal:
        factored(root, 0.0)
    assert (refusal.value.code, refusal.value.where, refusal.value.hint) == ("E-FACTORIZATION", "here", "do that")
