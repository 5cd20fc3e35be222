"""Facts about maximum variance unfolding: optima in closed form, weak duality, what cannot be unfolded."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.graph.graph import undirected
from mlcli.core.graph.search import nearest, nearest_of_new
from mlcli.core.graph.weights import barycentric_weights, weights_by_distances
from mlcli.core.metrics.distances import local_distances
from mlcli.data.samples import sample
from mlcli.errors import ConfigError, GeometryError, NumericalError
from mlcli.methods.unfolding.faces import centered_basis, cliques
from mlcli.methods.unfolding.interior import Program, least_eigenvalue, maximize
from mlcli.methods.unfolding.pairs import NeighborPairs
from mlcli.methods.unfolding.semidefinite import DualityCertificate, Unfolding
from tests.support import EPS, Notes, dissimilarities, distances, features, fit, gram
from tests.wording import Wording

POINTS = np.random.default_rng(7).standard_normal((40, 12))
TURN, HEIGHT = (np.random.default_rng(8).random((70, 2)) * [9, 4]).T
ROLL = np.column_stack([(TURN + 3) * np.cos(TURN / 2), HEIGHT, (TURN + 3) * np.sin(TURN / 2)])

both = pytest.mark.parametrize("equal", [True, False], ids=["equal", "at most"])


def unfolded(left: list[int], right: list[int], lengths: list[float], *, equal: bool,
             **options: float) -> tuple[Array, DualityCertificate]:
    """The kernel of a graph given by its edges, and its certificate."""
    size = max(*left, *right) + 1
    graph = undirected(size, np.array(left), np.array(right), np.array(lengths, dtype=float), "union")
    chosen = {"common": False, "basis": None, "softness": 0.03, "tolerance": 1e-7, "limit": 100, "accepted": False}
    found = Unfolding(equal=equal, **{**chosen, **options})(graph, dissimilarities(np.zeros((size, size))), Compute())
    factor = found.unfolded.factor
    return factor @ factor.T, found.certificate


@both
def test_a_chain_unrolls_to_a_line(equal: bool) -> None:
    lengths = np.random.default_rng(0).random(24) + 0.2
    kernel, found = unfolded(list(range(24)), list(range(1, 25)), lengths.tolist(), equal=equal)
    places = np.append(0.0, np.cumsum(lengths))
    places -= places.mean()
    assert found.trace == pytest.approx(places @ places, rel=1e-6)
    assert np.abs(kernel - np.outer(places, places)).max() <= 1e-3 * kernel.max()


@both
@pytest.mark.parametrize("size", [5, 12, 31])
def test_a_ring_becomes_a_regular_polygon(size: int, equal: bool) -> None:
    """Fastest mixing on a cycle has equal weights (Sun, Boyd, Xiao and Diaconis, 2006): trace n/(4 sin²(π/n))."""
    kernel, found = unfolded(list(range(size)), [*range(1, size), 0], [1.0] * size, equal=equal)
    assert found.trace == pytest.approx(size / (4 * np.sin(np.pi / size) ** 2), rel=1e-6)
    angles = 2 * np.pi * np.arange(size) / size
    circle = np.cos(angles[:, None] - angles) / (4 * np.sin(np.pi / size) ** 2)
    assert np.abs(kernel - circle).max() <= 1e-3 * kernel.max()


@both
def test_a_star_centers_on_its_hub(equal: bool) -> None:
    _, found = unfolded([0] * 7, list(range(1, 8)), [2.0] * 7, equal=equal)
    assert found.trace == pytest.approx(7 * 4.0, rel=1e-6)


def test_with_all_distances_kept_it_is_classical_scaling() -> None:
    wide, flat = POINTS[:10], POINTS[:20, :3]
    for points in (wide, flat):
        model = fit("sde", points, neighbors=len(points) - 1, components=3, tolerance=1e-8)
        expected = fit("mds", points, components=3)
        assert np.abs(model.spectrum.values[:3] - expected.spectrum.values[:3]).max() <= 1e-6 * expected.spectrum.trace
        assert np.abs(gram(model.embedding) - gram(expected.embedding)).max() <= 1e-5 * expected.spectrum.trace


@pytest.mark.parametrize("constraints", ["equal", "at_most"])
@pytest.mark.parametrize("common", [False, True], ids=["neighbors", "common neighbors"])
def test_distances_are_kept_and_the_bound_is_met(constraints: str, common: bool) -> None:
    model = fit("sde", POINTS, neighbors=4, constraints=constraints, common_neighbors=common, components=1.0)
    lists = nearest(POINTS, 4)
    before, after = distances(POINTS)[lists.rows, lists.indices], distances(model.embedding)[lists.rows, lists.indices]
    if constraints == "equal":
        assert np.abs(after**2 - before**2).max() <= 1e-4 * np.mean(before**2)
    else:
        assert (after**2 - before**2).max() <= 1e-4 * np.mean(before**2)
        assert model.fit["trace"] > fit("sde", POINTS, neighbors=4, common_neighbors=common).fit["trace"]
    assert np.abs(model.embedding.mean(axis=0)).max() <= 1e-10
    assert model.spectrum.values.min() > -EPS
    assert model.fit["trace"] == pytest.approx(model.spectrum.trace, rel=1e-12)
    assert model.fit["converged"] and 0 <= model.fit["dual_bound"] / model.fit["trace"] - 1 <= 1.1e-4


def test_no_weights_give_a_bound_below_the_optimum() -> None:
    """Weak duality: bᵀy/λ₂(L(y)) for random weights, and for the optimal ones with noise."""
    lists = nearest(POINTS, 4)
    graph = undirected(40, lists.rows, lists.indices, lists.lengths, "union")
    rows = np.repeat(np.arange(40), np.diff(graph.starts))
    once = rows < graph.indices
    pairs = NeighborPairs(40, rows[once], graph.indices[once], graph.lengths[once] ** 2)
    program = Program(centered_basis(np.arange(40)), pairs, True)
    solution = maximize(program, 1e-6, 100, -np.inf)
    best = float(np.sum(solution.root**2))
    generator = np.random.default_rng(1)
    tried = [generator.random(len(pairs)) for _ in range(20)]
    tried += [solution.weights + 0.05 * np.std(solution.weights) * generator.standard_normal(len(pairs))
              for _ in range(20)]
    bounds = [program.bound(weights, least) for weights in tried if (least := program.least_curvature(weights)) > 0]
    assert len(bounds) > 20
    assert min(bounds) >= best * (1 - 2e-6)
    assert program.bound(solution.weights, program.least_curvature(solution.weights)) <= best * (1 + 2e-6)


@pytest.mark.parametrize("options", [{}, {"constraints": "at_most"}, {"basis": 8}], ids=str)
def test_scaling_the_points_scales_all_figures(options: dict) -> None:
    model, larger = fit("sde", POINTS, neighbors=4, **options), fit("sde", POINTS * 2.0**20, neighbors=4, **options)
    tripled = fit("sde", POINTS * 3, neighbors=4, **options)
    assert np.array_equal(larger.embedding, model.embedding * 2.0**20)
    for name in ("trace", "dual_bound"):
        assert larger.fit[name] == model.fit[name] * 2.0**40
        assert tripled.fit[name] == pytest.approx(9 * model.fit[name], rel=1e-7)
    assert larger.fit["duality_gap"] == model.fit["duality_gap"]


def test_a_roll_unrolls_further_than_it_is_wide() -> None:
    """Where none may grow, the unfolded kernel beats the points' own, and its distances stay below the geodesics."""
    model = fit("sde", ROLL, neighbors=6, constraints="at_most", components=3)
    paths = fit("isomap", ROLL, neighbors=6)
    assert model.fit["trace"] > 1.2 * fit("pca", ROLL).spectrum.trace
    assert model.fit["trace"] <= paths.spectrum.trace
    assert model.spectrum.proportions[:2].sum() > 0.99


def test_flat_neighborhoods_are_kept_through_their_face() -> None:
    """Points of a plane, so densely joined that they cannot bend: their own kernel is the only one."""
    plane = np.random.default_rng(3).random((25, 2)) @ np.random.default_rng(4).standard_normal((2, 5))
    model = fit("sde", plane, neighbors=14)
    assert np.abs(gram(model.embedding) - gram(fit("pca", plane).embedding)).max() < 1e-3 * model.fit["trace"]


@pytest.mark.medium
def test_the_basis_approaches_all_kernels() -> None:
    """With every vector of the Laplacian and ever stiffer penalties it becomes the program over all kernels."""
    whole = fit("sde", POINTS[:20], neighbors=4, constraints="at_most", tolerance=1e-6).fit["trace"]
    with Notes() as notes:
        found = [fit("sde", POINTS[:20], neighbors=4, constraints="at_most", tolerance=1e-6, basis=19,
                     softness=softness).fit for softness in (0.1, 0.01, 0.001)]
    errors = [abs(figures["trace"] / whole - 1) for figures in found]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 5e-3
    assert all(figures["penalized_trace"] <= figures["dual_bound"] <= figures["bound_without_basis"]
               for figures in found)
    assert "W-SOFT" in notes.codes


def test_a_side_longer_than_the_way_around_is_infeasible_and_named(wording: Wording) -> None:
    with wording.raises(NumericalError, "INFEASIBLE") as caught:
        unfolded([0, 1, 2, 3, 0], [1, 2, 3, 4, 4], [1.0, 1.0, 1.0, 1.0, 4.5], equal=True)
    assert caught.value.exit_code == 80 and "1 and 5 are 4.5 " in str(caught.value)
    _, found = unfolded([0, 1, 2, 3, 0], [1, 2, 3, 4, 4], [1.0, 1.0, 1.0, 1.0, 4.5], equal=False)
    assert found.trace == pytest.approx(10, rel=1e-6)  # a straight line: the long side is slack


def test_neighbors_that_are_no_points_are_infeasible() -> None:
    """Four points at distance 1 of each other but for one pair at 1.8: more than twice the height of a triangle."""
    with pytest.raises(NumericalError) as caught:
        unfolded([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], [1, 1, 1, 1, 1, 1.8], equal=True)
    assert caught.value.code == "E-INFEASIBLE" and "4 points" in str(caught.value)


def test_a_ring_whose_neighbors_lie_on_lines_is_infeasible(wording: Wording) -> None:
    """Every third point lies on the line of the two before it, so all lie on one line, which no ring does."""
    left = [*range(12), *range(12)]
    right = [*((point + 1) % 12 for point in range(12)), *((point + 2) % 12 for point in range(12))]
    with pytest.raises(NumericalError) as caught:
        unfolded(left, right, [1.0] * 12 + [2.0] * 12, equal=True)
    assert caught.value.code == "E-INFEASIBLE" and "E-INFEASIBLE" in wording(caught.value)


def test_a_wheel_that_cannot_close_is_proven_infeasible_by_its_dual(wording: Wording) -> None:
    """Five spokes with all angles above 144 degrees: every triangle exists, the wheel does not."""
    left, right = [0, 0, 0, 0, 0, 1, 2, 3, 4, 1], [1, 2, 3, 4, 5, 2, 3, 4, 5, 5]
    with pytest.raises(NumericalError) as caught:
        unfolded(left, right, [1.0] * 5 + [1.95] * 5, equal=True)
    assert caught.value.code == "E-INFEASIBLE" and "E-INFEASIBLE" in wording(caught.value)
    _, found = unfolded(left, right, [1.0] * 5 + [1.85] * 5, equal=True)
    assert found.converged


def test_pieces_without_a_link_are_unbounded() -> None:
    with pytest.raises(GeometryError) as caught:
        fit("sde", np.vstack([POINTS, POINTS + 100]), neighbors=4)
    assert caught.value.code == "E-PIECES" and caught.value.exit_code == 81
    assert "unbounded" in str(caught.value)


def test_a_gap_over_the_tolerance_is_an_error_unless_accepted() -> None:
    for constraints, iterations, code in (("at_most", 3, "E-GAP"), ("equal", 5, "E-GAP")):
        options = {"neighbors": 4, "constraints": constraints, "iterations": iterations}
        with pytest.raises(NumericalError) as caught:
            fit("sde", POINTS, **options)
        assert caught.value.code == code and caught.value.exit_code == 80
        with Notes() as notes:
            model = fit("sde", POINTS, accept_uncertified=True, **options)
        assert "W-UNCONVERGED" in notes.codes and not model.fit["converged"]
        assert model.fit["duality_gap"] > 1e-4


@pytest.mark.medium
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
def test_rigidity_that_groups_of_neighbors_do_not_show_is_no_obstacle(tolerance: float) -> None:
    """Neighborhoods of a surface in three dimensions: stresses leave the kernel few directions, and an interior."""
    model = fit("sde", ROLL, neighbors=7, tolerance=tolerance)
    assert model.fit["converged"] and model.fit["constraint_violation"] <= tolerance
    assert model.fit["trace"] == pytest.approx(6520.5353, rel=2 * tolerance)  # as a tolerance of 1e-9 proves


@pytest.mark.medium
def test_where_rounding_has_the_last_word_the_gap_is_stated() -> None:
    with Notes() as notes:
        model = fit("sde", ROLL, neighbors=7, tolerance=1e-14)
    assert "W-UNCONVERGED" in notes.codes and not model.fit["converged"]
    assert 1e-14 < max(model.fit["duality_gap"], model.fit["constraint_violation"]) < 1e-6
    assert model.fit["dual_bound"] >= 6520.5353 * (1 - 1e-8)


def is_proven(rows: int, seed: int, neighbors: int) -> None:
    """The unfolding of a swiss roll is proven within the tolerance, and its trace is above that of its points."""
    points = sample("swiss-roll", rows, seed).values
    with Notes() as notes:
        model = fit("sde", points, neighbors=neighbors)
    assert max(model.fit["duality_gap"], model.fit["constraint_violation"]) <= 1e-4
    assert model.fit["converged"] and "W-UNCONVERGED" not in notes.codes
    assert model.fit["dual_bound"] >= model.fit["trace"] * (1 - 1e-4) > fit("pca", points).spectrum.trace


@pytest.mark.medium
@pytest.mark.parametrize(("rows", "seed", "neighbors"), [(100, 9, 5), (100, 0, 6), (100, 5, 6), (150, 9, 6)])
def test_rolls_whose_dual_is_not_attained_without_their_face_are_unfolded(rows: int, seed: int, neighbors: int) -> None:
    is_proven(rows, seed, neighbors)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", [4, 5, 6])
@pytest.mark.parametrize("rows", [100, 150, 300])
def test_all_connected_rolls_are_unfolded(rows: int, neighbors: int) -> None:
    for seed in range(12):
        try:
            is_proven(rows, seed, neighbors)
        except GeometryError as error:
            assert error.code == "E-PIECES"


def test_new_points_are_placed_among_their_neighbors() -> None:
    model = fit("sde", POINTS, neighbors=4)
    assert np.array_equal(model.project(POINTS), model.embedding)
    given = fit("sde", dissimilarities(distances(POINTS)), neighbors=4)
    assert np.array_equal(given.project(distances(POINTS)), given.embedding)
    new = 0.6 * POINTS[:5] + 0.4 * POINTS[5:10]  # halfway both would be equally near, and one of them too many
    rows = np.linalg.norm(new[:, None] - POINTS, axis=2)
    assert np.abs(model.project(new) - given.project(rows)).max() <= 1e-9 * np.abs(model.embedding).max()


def test_weights_from_distances_are_those_from_points() -> None:
    lists = nearest_of_new(POINTS[:6] + 0.1, POINTS, 5)
    by_points = barycentric_weights(POINTS[:6] + 0.1, POINTS, lists, ridge=1e-3)
    assert np.abs(by_points - weights_by_distances(lists, local_distances(distances(POINTS), None), 1e-3)).max() < 1e-10


def test_a_negative_basis_is_refused() -> None:
    with pytest.raises((ConfigError, ValueError)):
        fit("sde", features(POINTS), basis=-1)


def test_groups_of_neighbors_are_all_found() -> None:
    """Two tetrahedra that share an edge, and a triangle hung on by one corner."""
    left, right = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 6], [1, 2, 3, 2, 3, 3, 4, 5, 4, 5, 5, 6, 7, 7]
    found = cliques(NeighborPairs(8, np.array(left), np.array(right), np.ones(14)))
    assert sorted(group.tolist() for group in found) == [[0, 1, 2, 3], [2, 3, 4, 5], [5, 6, 7]]


@pytest.mark.parametrize("size", [3, 150, 400])
def test_the_least_eigenvalue_is_bounded_from_below(size: int) -> None:
    matrix = np.random.default_rng(size).standard_normal((size, size))
    matrix += matrix.T
    least = float(np.linalg.eigvalsh(matrix)[0])
    assert least * 1.02 <= least_eigenvalue(matrix) <= least * (1 - 1e-9)
