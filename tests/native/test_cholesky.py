"""The sparse Cholesky factorization solves what a dense one solves, whatever the pattern, order and instruction set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mlcli import native
from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels
from mlcli.stages.algebra import ordering
from mlcli.stages.graph.graph import Graph
from tests.native.support import GRAPHS, levels, needs_native, random_graph
from tests.support import paired

pytestmark = needs_native


def positive(graph: Graph, seed: int = 0) -> sparse.csr_array:
    """A matrix of random signs with the pattern of a graph, its diagonal a little above what its rows sum to."""
    generator = np.random.default_rng(seed)
    lower = sparse.tril(graph.matrix(), -1).tocoo()
    values = generator.standard_normal(lower.nnz)
    whole = sparse.coo_array((values, (lower.row, lower.col)), shape=lower.shape)
    whole = (whole + whole.T).tocsr()
    diagonal = abs(whole).sum(axis=1) + generator.uniform(0.01, 1, graph.size)
    return (whole + sparse.diags_array(diagonal)).tocsr()


def factored(matrix: sparse.csr_array, order: Indices | None = None) -> native.Cholesky:
    """The finished factorization, its tasks one after the other."""
    if order is None:
        order = np.arange(matrix.shape[0])
    factors = native.Cholesky(matrix.indptr, matrix.indices, matrix.data, order)
    assert all(factors.factor(stage, task) for stage, count in enumerate(factors.stages) for task in range(count))
    return factors


def worst(matrix: sparse.csr_array, factors: native.Cholesky, sides: Array) -> float:
    """The largest difference from LAPACK's solution, relative to the largest number in it."""
    expected = np.linalg.solve(matrix.toarray(), sides)
    return float(np.abs(factors.solve(sides) - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize(("name", "level"), paired(GRAPHS, levels()))
def test_every_pattern_at_every_level(name: str, level: str) -> None:
    usual, graph = native.describe(), GRAPHS[name]
    matrix = positive(graph)
    sides = np.random.default_rng(1).standard_normal((graph.size, 11))  # more than are solved for at once
    assert kernels().choose_level(level)
    try:
        for order in (np.arange(graph.size), np.random.default_rng(2).permutation(graph.size)):
            assert worst(matrix, factored(matrix, order), sides) < 1e-12
    finally:
        kernels().choose_level(usual)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 90), edges=st.integers(0, 400), seed=st.integers(0, 10**6), columns=st.integers(1, 9))
def test_random_patterns(size: int, edges: int, seed: int, columns: int) -> None:
    matrix, generator = positive(random_graph(size, edges, seed), seed), np.random.default_rng(seed)
    sides = generator.standard_normal((size, columns))
    assert worst(matrix, factored(matrix, generator.permutation(size)), sides) < 1e-12


def test_a_large_dense_part_is_divided_among_tasks() -> None:
    generator = np.random.default_rng(0)
    root = generator.standard_normal((900, 900))
    matrix = sparse.csr_array(root @ root.T + 900 * np.eye(900))
    factors = factored(matrix)
    assert max(factors.stages) > 1
    assert factors.fill == 900 * 899 // 2
    assert worst(matrix, factors, generator.standard_normal((900, 3))) < 1e-12


def test_one_triangle_is_enough() -> None:
    matrix = positive(GRAPHS["lattice"])
    sides = np.random.default_rng(0).standard_normal((matrix.shape[0], 2))
    lower = factored(sparse.csr_array(sparse.tril(matrix)))
    np.testing.assert_array_equal(lower.solve(sides), factored(matrix).solve(sides))


@pytest.mark.skipif(not ordering.available(), reason="pymetis is not installed, as where it has no wheels")
def test_nested_dissection_fills_in_less_than_the_rows_order() -> None:
    matrix = positive(GRAPHS["lattice"])
    pattern = matrix.copy()
    pattern.setdiag(0)
    pattern.eliminate_zeros()
    order = ordering.nested_dissection(pattern.indptr, pattern.indices)
    assert factored(matrix, order).fill < factored(matrix, np.random.default_rng(0).permutation(len(order))).fill


@pytest.mark.parametrize("entry", [-1.0, 0.0, -1e-30])
def test_a_matrix_that_is_not_positive_definite_is_told(entry: float) -> None:
    matrix = sparse.csr_array(np.diag([2.0, 3.0, 1.0]))
    matrix[1, 1] = entry
    factors = native.Cholesky(matrix.indptr, matrix.indices, matrix.data, np.arange(3))
    assert not all(factors.factor(stage, task) for stage, count in enumerate(factors.stages) for task in range(count))


def test_an_indefinite_matrix_with_a_positive_diagonal_is_told() -> None:
    matrix = sparse.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))
    factors = native.Cholesky(matrix.indptr, matrix.indices, matrix.data, np.arange(2))
    assert not factors.factor(0, 0)


def test_wrong_input_raises() -> None:
    starts, indices, values, order = np.array([0, 1, 2]), np.array([0, 1]), np.array([1.0, 1.0]), np.array([0, 1])
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            native.Cholesky(starts, indices, np.array([1.0, wrong]), order)
    with pytest.raises(ValueError, match="permutation"):
        native.Cholesky(starts, indices, values, np.array([0, 0]))
    with pytest.raises(ValueError, match="out of range"):
        native.Cholesky(starts, np.array([0, 2]), values, order)
    factors = native.Cholesky(starts, indices, values, order)
    for stage, task in ((-1, 0), (9, 0), (0, -1), (0, 9)):
        with pytest.raises(ValueError, match="no such"):
            factors.factor(stage, task)
    with pytest.raises(ValueError, match="row for every"):
        factors.solve(np.ones((3, 1)))
