"""The Cholesky factorization of RᵀR solves what a dense one solves, whatever R and the instruction set."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows.blocks import in_stages
from mlcli.base.types import Array
from mlcli.core import sparse_factors
from mlcli.core.graph.graph import Graph
from mlcli.native.library import kernels
from tests.native.support import GRAPHS, choose, lattice, levels, needs_native, path, random_graph, star
from tests.support import paired

pytestmark = needs_native


def root_of(graph: Graph, seed: int = 0) -> sparse.csr_array:
    """Rows of random signs for the edges of a graph, and one for each vertex, in any order of rows and columns."""
    generator = np.random.default_rng(seed)
    edges = sparse.triu(graph.matrix() + sparse.eye_array(graph.size), 1).tocoo()
    count = len(edges.row)
    rows = np.concatenate([np.repeat(np.arange(count), 2), count + np.arange(graph.size)])
    columns = np.concatenate([np.column_stack([edges.row, edges.col]).ravel(), np.arange(graph.size)])
    values = np.concatenate([generator.standard_normal(2 * count), generator.uniform(1, 2, graph.size)])
    matrix = sparse.coo_array((values, (rows, columns)), shape=(count + graph.size, graph.size)).tocsr()
    return sparse.csr_array(matrix[generator.permutation(matrix.shape[0])])


def begun(root: sparse.csr_array, shift: float = 0.0) -> native.NormalCholesky:
    return native.NormalCholesky(root.indptr, root.indices, root.data, columns=root.shape[1], shift=shift)


def prepared(root: sparse.csr_array, shift: float = 0.0) -> native.NormalCholesky:
    factors = begun(root, shift)
    for _ in in_stages(factors.steps, factors.prepare):
        pass
    return factors


def factored(root: sparse.csr_array, shift: float = 0.0) -> native.NormalCholesky:
    factors = prepared(root, shift)
    assert all(in_stages(factors.stages, factors.factor))
    return factors


def worst(root: sparse.csr_array, factors: native.NormalCholesky, sides: Array, shift: float = 0.0) -> float:
    """The largest difference from LAPACK's solution, relative to the largest number in it."""
    expected = np.linalg.solve((root.T @ root).toarray() + shift * np.eye(root.shape[1]), sides)
    return float(np.abs(factors.solve(sides) - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize(("name", "level"), paired(GRAPHS, levels()))
def test_every_pattern_at_every_level(name: str, level: str) -> None:
    usual, root = native.describe(), root_of(GRAPHS[name])
    sides = np.random.default_rng(1).standard_normal((root.shape[1], 11))  # more than are solved for at once
    choose(level)
    try:
        assert worst(root, factored(root), sides) < 1e-11
    finally:
        choose(usual)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 90), edges=st.integers(0, 400), seed=st.integers(0, 10**6), columns=st.integers(1, 9),
       shift=st.sampled_from([0.0, 1e-3, 5.0]))
def test_random_patterns(size: int, edges: int, seed: int, columns: int, shift: float) -> None:
    root = root_of(random_graph(size, edges, seed), seed)
    sides = np.random.default_rng(seed).standard_normal((size, columns))
    assert worst(root, factored(root, shift), sides, shift) < 1e-11


def test_a_column_may_stand_twice_in_a_row() -> None:
    root = sparse.csr_array((np.array([1.0, 2.0, 1.0, 4.0]), np.array([0, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 2))
    factors = native.NormalCholesky(root.indptr, root.indices, root.data, columns=2, shift=0.0)
    for _ in in_stages(factors.steps, factors.prepare):
        pass
    assert all(in_stages(factors.stages, factors.factor))
    np.testing.assert_allclose(np.array([[9.0, 3.0], [3.0, 17.0]]) @ factors.solve(np.eye(2)), np.eye(2), atol=1e-14)


@pytest.mark.medium
def test_a_large_dense_part_is_divided_among_tasks() -> None:
    generator = np.random.default_rng(0)
    root = sparse.csr_array(generator.standard_normal((900, 900)) + 60 * np.eye(900))
    factors = factored(root)
    assert max(factors.stages) > 1
    assert factors.fill == 900 * 899 // 2
    assert worst(root, factors, generator.standard_normal((900, 3))) < 1e-11


@pytest.mark.skipif(not sparse_factors.available(), reason="pymetis is not installed, as where it has no wheels")
@pytest.mark.parametrize("graph", [lattice(40, 41), lattice(9, 200), random_graph(1500, 3000, seed=3)],
                         ids=["square", "strip", "random"])
def test_the_order_fills_in_little_more_than_that_of_metis(graph: Graph) -> None:
    order = sparse_factors.nested_dissection(graph.starts, graph.indices)
    theirs = native.Elimination(graph.starts, graph.indices, graph.lengths, order).fill
    assert prepared(root_of(graph)).fill <= 1.25 * theirs


def test_neighborhoods_in_a_plane_fill_in_as_nested_dissection_does() -> None:
    """Entries of a row grow with the logarithm of the number of points, not with its root as by rows of a lattice."""
    points = np.random.default_rng(0).random((6000, 2))
    sizes = []
    for count in (1500, 6000):
        some = native.KdTree(points[:count]).query(points[:count], 11)[0]
        root = sparse.csr_array((np.ones(some.size), some.ravel(), 11 * np.arange(count + 1)), shape=(count, count))
        sizes.append(prepared(root, 1.0).fill / count)
    assert sizes[1] < 1.75 * sizes[0]
    assert sizes[1] < 100


@pytest.mark.parametrize("graph", [star(30_000), path(30_000), random_graph(20_000, 5000)],
                         ids=["star", "path", "pieces"])
@pytest.mark.medium
def test_hubs_paths_and_many_pieces_take_no_longer(graph: Graph) -> None:
    started = time.process_time()
    assert prepared(root_of(graph)).fill <= 2 * len(graph.indices)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("graph", [lattice(100, 101), random_graph(3000, 5000, seed=3)], ids=["square", "random"])
def test_subtrees_solve_the_system_with_the_same_bits_on_any_number_of_threads(graph: Graph) -> None:
    root = root_of(graph)
    sides = np.random.default_rng(0).standard_normal((root.shape[1], 11))
    solutions = []
    for threads in (1, 3):
        with limit_threads(threads):
            factors = factored(root, 0.1)
            solutions.append(factors.solve(sides))
    subtrees, *_ = kernels().NormalSolution(factors._native, sides, np.empty_like(sides), 8).steps
    assert subtrees > 1
    np.testing.assert_array_equal(*solutions)
    np.testing.assert_allclose(root.T @ (root @ solutions[0]) + 0.1 * solutions[0], sides, atol=1e-11)


@pytest.mark.parametrize("shift", [-1.0, 0.0, -1e-30])
def test_a_matrix_that_is_not_positive_definite_is_told(shift: float) -> None:
    factors = prepared(sparse.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]])), shift)
    assert not all(in_stages(factors.stages, factors.factor))


def test_wrong_input_raises() -> None:
    starts, indices, values = np.array([0, 1, 2]), np.array([0, 1]), np.array([1.0, 1.0])
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            native.NormalCholesky(starts, indices, np.array([1.0, wrong]), columns=2, shift=0.0)
    with pytest.raises(ValueError, match="not finite"):
        native.NormalCholesky(starts, indices, values, columns=2, shift=np.nan)
    with pytest.raises(ValueError, match="out of range"):
        native.NormalCholesky(starts, np.array([0, 2]), values, columns=2, shift=0.0)
    with pytest.raises(ValueError, match="equally many"):
        native.NormalCholesky(starts, indices, values[:1], columns=2, shift=0.0)


def test_steps_and_tasks_out_of_turn_raise() -> None:
    root = sparse.csr_array(np.eye(2))
    factors = begun(root)
    for step in (2, 3, 4, 5):
        with pytest.raises(ValueError, match="follow one another"):
            factors.prepare(step, 0)
    with pytest.raises(ValueError, match="no such"):
        factors.prepare(0, 99)
    with pytest.raises(ValueError, match="steps must come"):
        factors.solve(np.ones((2, 1)))
    with pytest.raises(ValueError, match="order must come"):
        _ = factors.fill
    factors = factored(root)
    for stage, task in ((-1, 0), (9, 0), (0, -1), (0, 9)):
        with pytest.raises(ValueError, match="no such"):
            factors.factor(stage, task)
    with pytest.raises(ValueError, match="row for every"):
        factors.solve(np.ones((3, 1)))
    sides = np.ones((2, 3))
    for first in (-1, 3):
        with pytest.raises(ValueError, match="no such column"):
            kernels().NormalSolution(factors._native, sides, np.empty_like(sides), first)
    solution = kernels().NormalSolution(factors._native, sides, np.empty_like(sides), 0)
    for step, task in ((-1, 0), (3, 0), (1, 1), (0, 99)):
        with pytest.raises(ValueError, match="no such task"):
            solution.run(step, task)
