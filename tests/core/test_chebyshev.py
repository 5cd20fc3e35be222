"""Chebyshev filters: the smallest eigenvalues of sparse costs whose spectra are known, and bounds of them."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from mlcli.base.machine.threads import limit_threads
from mlcli.core import arithmetic
from mlcli.core.chebyshev import Filter, largest_at_most, null_vectors, smallest
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels.inverse import CostSize
from mlcli.native import linalg
from tests.native.support import needs_native

TOLERANCE = 1e-9


def laplacian(size: int, edges: list[tuple[int, int]]) -> sparse.csr_array:
    """D - W of an unweighted graph."""
    left, right = np.array(edges, dtype=np.int32).T
    ones = np.ones(len(left))
    adjacency = sparse.coo_array((ones, (left, right)), shape=(size, size)).tocsr()
    adjacency = adjacency + adjacency.T
    cost = sparse.csr_array(sparse.diags_array(adjacency.sum(axis=1)) - adjacency)
    cost.indices, cost.indptr = cost.indices.astype(np.int32), cost.indptr.astype(np.int32)
    cost.sort_indices()
    return cost


def cycle(size: int, first: int = 0) -> list[tuple[int, int]]:
    """The edges of a cycle of vertices from `first` on."""
    return [(first + place, first + (place + 1) % size) for place in range(size)]


def constant(size: int) -> np.ndarray:
    """The null vector of a Laplacian, of unit length."""
    return np.full(size, 1 / np.sqrt(size))


def generator() -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(0)


def test_a_path_has_the_costs_of_its_vibrations() -> None:
    size = 120
    found = smallest(laplacian(size, [(i, i + 1) for i in range(size - 1)]), constant(size), 3, TOLERANCE, generator())
    assert found.costs == pytest.approx(4 * np.sin(np.arange(1, 4) * np.pi / (2 * size)) ** 2, rel=1e-9)
    assert (found.residuals <= TOLERANCE * found.costs).all()
    waves = np.cos(np.outer(np.arange(size) + 0.5, np.arange(1, 4)) * np.pi / size)
    waves /= np.linalg.norm(waves, axis=0)
    assert np.abs(np.sum(waves * found.vectors, axis=0)) == pytest.approx(1, abs=1e-12)


def test_a_larger_tolerance_takes_fewer_products() -> None:
    cost, null = laplacian(120, cycle(120)), constant(120)
    close, rough = (smallest(cost, null, 2, tolerance, generator()) for tolerance in (1e-9, 1e-3))
    assert rough.products < close.products and (rough.residuals <= 1e-3 * rough.costs).all()


def test_all_copies_of_an_eigenvalue_are_found() -> None:
    """A hypercube of dimension d has the cost 2 d times, and then the cost 4."""
    dimension = 7
    edges = [(vertex, vertex ^ (1 << bit)) for vertex in range(2**dimension) for bit in range(dimension)
             if not vertex >> bit & 1]
    found = smallest(laplacian(2**dimension, edges), constant(2**dimension), 9, TOLERANCE, generator())
    assert found.costs == pytest.approx([2.0] * 7 + [4.0] * 2, abs=1e-10)
    assert np.abs(found.vectors.T @ found.vectors - np.eye(9)).max() < 1e-10


@pytest.mark.parametrize(("pieces", "count"), [(3, 2), (3, 4), (20, 5)])
def test_each_further_piece_is_one_more_zero(pieces: int, count: int) -> None:
    size = 40
    edges = [edge for piece in range(pieces) for edge in cycle(size, piece * size)]
    cost, null = laplacian(size * pieces, edges), constant(size * pieces)
    found = smallest(cost, null, count, TOLERANCE, generator())
    zeros = min(pieces - 1, count)
    assert (found.costs[:zeros] == 0).all()
    assert found.costs[zeros:] == pytest.approx(2 - 2 * np.cos(2 * np.pi / size), rel=1e-8)
    assert np.abs(cost @ found.vectors[:, :zeros]).max() < 1e-14
    both = np.column_stack([null, found.vectors])
    assert np.abs(both.T @ both - np.eye(count + 1)).max() < 1e-10


def test_weakly_joined_pieces_take_a_wider_block() -> None:
    """Twelve rings of 40, joined to a ring by edges of weight 1e-6, have eleven costs far below the others."""
    size, pieces = 40, 12
    rings = laplacian(size * pieces, [edge for piece in range(pieces) for edge in cycle(size, piece * size)])
    links = laplacian(size * pieces, [(piece * size, (piece + 1) % pieces * size) for piece in range(pieces)])
    cost = sparse.csr_array(rings + 1e-6 * links)
    cost.indices, cost.indptr = cost.indices.astype(np.int32), cost.indptr.astype(np.int32)
    found = smallest(cost, constant(size * pieces), 3, TOLERANCE, generator())
    assert found.costs == pytest.approx(4e-6 * np.sin(np.pi * np.array([1, 1, 2]) / pieces) ** 2 / size, rel=1e-5)
    assert found.degree < 100  # of a narrow block it is a thousand


def test_eigenvalues_in_the_upper_half_are_found() -> None:
    """All costs of a complete graph but the null vector's are n, and few are smaller without two of its edges."""
    size = 60
    edges = [pair for pair in combinations(range(size), 2) if pair not in ((0, 1), (2, 3))]
    found = smallest(laplacian(size, edges), constant(size), 3, TOLERANCE, generator())
    assert found.costs == pytest.approx([size - 2, size - 2, size], rel=1e-9)


def test_the_bound_of_a_normalized_laplacian_is_two() -> None:
    star = laplacian(200, [*cycle(200), *((0, other) for other in range(2, 199))])
    roots = np.sqrt(star.diagonal())
    cost = sparse.csr_array(sparse.diags_array(1 / roots) @ star @ sparse.diags_array(1 / roots))
    bound = largest_at_most(cost, roots / np.linalg.norm(roots))
    assert np.linalg.eigvalsh(cost.toarray())[-1] <= bound <= 2 * (1 + 1e-10)


def test_a_filter_is_a_chebyshev_polynomial_that_is_one_at_zero() -> None:
    size = 50
    cost, costs = laplacian(size, cycle(size)), 2 - 2 * np.cos(2 * np.pi * np.arange(1, 4) / size)
    applied = Filter(cost, null_vectors(cost, constant(size)), 0.5, 4.0)
    waves = np.cos(2 * np.pi * np.outer(np.arange(size), np.arange(1, 4)) / size)
    center, half = 2.25, 1.75
    degree = applied.degree
    shares = np.cosh(degree * np.arccosh((center - costs) / half)) / np.cosh(degree * np.arccosh(center / half))
    assert applied.apply(waves) == pytest.approx(waves * shares, abs=1e-12)
    assert applied.inverse(shares) == pytest.approx(costs, rel=1e-9)


def test_any_number_of_threads_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linalg, "ENTRIES", 100)
    size, vectors = 120, []
    for threads in (1, 2):
        with limit_threads(threads):
            vectors.append(smallest(laplacian(size, cycle(size)), constant(size), 3, TOLERANCE, generator()).vectors)
    assert vectors[0].tobytes() == vectors[1].tobytes()


@needs_native
@pytest.mark.parametrize("pieces", [1, 2])
def test_filters_find_the_same_bits_without_kernels(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one piece, which has no further null vector: its block of them has no column."""
    size, edges = 60 * pieces, [edge for piece in range(pieces) for edge in cycle(60, 60 * piece)]
    found = smallest(laplacian(size, edges), constant(size), 3, TOLERANCE, generator())
    monkeypatch.setattr(arithmetic, "multiplies", lambda rows: False)
    again = smallest(laplacian(size, edges), constant(size), 3, TOLERANCE, generator())
    assert found.vectors.tobytes() == again.vectors.tobytes() and found.costs.tobytes() == again.costs.tobytes()


def test_filters_are_chosen_where_a_factor_fills_in() -> None:
    auto, asked = Eigensolve(), Eigensolve(solver="filter")
    surface = CostSize(10**6, 14, 3, 7 * 10**6, 14 * 10**6, squared=False, fill=5e7, products=4e3)
    space = CostSize(10**6, 14, 50, 7 * 10**6, 14 * 10**6, squared=False, fill=1e11, products=500.0)
    unknown = CostSize(10**6, 14, 50, 7 * 10**6, 14 * 10**6, squared=True, fill=1e11)
    few = CostSize(10**4, 14, 50, 7 * 10**4, 14 * 10**4, squared=False, fill=4e7, products=200.0)
    assert [size.by_filters(auto) for size in (surface, space, unknown, few)] == [False, True, False, False]
    assert all(size.by_filters(asked) for size in (surface, space, unknown, few))
    with limit_threads(1):
        assert space.by_filters(auto)
