"""Facts about layouts: stress never rises, exact distances have none, ranks alone decide, and points are at rest."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.iterate import Iterate
from mlcli.core.layouts.majorize import laplacian_solver, layout_at, minimize_stress
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.ranks import PairOrder, Ranks
from mlcli.errors import DataError
from mlcli.methods import METHODS
from tests.support import dissimilarities, distances, features, fit
from tests.wording import Wording

RANDOM = np.random.default_rng(4)
POINTS = RANDOM.standard_normal((40, 4)) * [3, 2, 1, 0.5]
LENGTHS, DATA = distances(POINTS), features(POINTS)


def pairs_of(lengths: Array, power: float = 0.0) -> Pairs:
    return Pairs.of(lengths, power, [str(number) for number in range(len(lengths))])


@pytest.mark.parametrize("power", [0.0, -1.0, 1.5])
def test_stress_never_rises_under_majorization(power: float) -> None:
    start = RANDOM.standard_normal((40, 2))
    ended = minimize_stress(pairs_of(LENGTHS, power), start, Iterate(limit=300))
    pairs = pairs_of(LENGTHS, power)
    course = np.append(layout_at(pairs, start, laplacian_solver(pairs)).stress, ended.trace)
    assert np.all(np.diff(course) <= 1e-14)


@pytest.mark.parametrize("method", ["smacof", "sammon", "nmds"])
def test_distances_of_the_plane_itself_have_no_stress(method: str) -> None:
    plane = POINTS[:, :2]
    model = fit(method, plane)
    assert model.fit["stress"] <= 1e-7
    if method != "nmds":
        assert np.allclose(distances(model.embedding), distances(plane), atol=1e-7)


def test_in_full_dimension_stress_of_euclidean_distances_reaches_zero_from_anywhere() -> None:
    start = RANDOM.standard_normal((40, 4))
    assert minimize_stress(pairs_of(LENGTHS), start, Iterate(tolerance=1e-8)).state.stress < 1e-4


def test_the_gradient_of_stress_of_ranks_is_that_of_differences() -> None:
    ranks = Ranks(PairOrder.of(pairs_of(LENGTHS), "primary"), np.ones(40))
    values = RANDOM.standard_normal(80)
    slope = ranks(values)[1]
    for direction in RANDOM.standard_normal((5, 80)):
        ahead, behind = (ranks(values + step * direction)[0] for step in (1e-6, -1e-6))
        assert (ahead - behind) / 2e-6 == pytest.approx(slope @ direction, rel=1e-6, abs=1e-9)


def test_only_the_order_of_dissimilarities_counts() -> None:
    plain, bent = (Ranks(PairOrder.of(pairs_of(lengths), "primary"), np.ones(40)) for lengths in (LENGTHS, LENGTHS**3))
    values = RANDOM.standard_normal(80)
    assert plain(values)[0] == bent(values)[0]


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_disparities_are_the_nearest_monotone_function(ties: str) -> None:
    """Against quadratic programming's optimality: pooled means, no fall, and equal ones for secondary ties."""
    order = PairOrder.of(pairs_of(np.rint(2 * LENGTHS) + (1 - np.eye(40))), ties)  # type: ignore[arg-type]
    fit = Ranks(order, np.ones(40)).fit(RANDOM.random((40, 3)))
    given, fitted = fit.distances, fit.disparities
    means = np.add.reduceat(fitted, order.groups) / np.diff(order.groups, append=len(given))
    assert np.all(np.diff(means) >= -1e-12) and abs(fitted.sum() - given.sum()) < 1e-9
    assert abs((given - fitted) @ fitted) < 1e-9  # the residual is orthogonal to the fit, as for every convex cone
    if ties == "secondary":
        assert np.ptp(fitted[order.groups[3] : order.groups[4]]) == 0


@pytest.mark.parametrize("method", ["smacof", "sammon"])
def test_equal_points_count_by_their_number(method: str) -> None:
    """A point given twice has the layout of one with twice the weight: its twins coincide, and no division is by zero.
    """
    twice = np.vstack([POINTS, POINTS[:5]])
    model = fit(method, twice)
    assert np.isfinite(model.embedding).all()
    assert np.allclose(model.embedding[:5], model.embedding[40:], atol=1e-9)


def test_training_points_are_at_rest_among_the_others() -> None:
    for method in ("smacof", "sammon", "nmds"):
        model = fit(method, POINTS, **({"starts": 1} if method == "nmds" else {}))
        assert np.array_equal(model.project(POINTS), model.embedding)
        near = model.project(POINTS + 1e-9)  # no longer equal, so found by its stress
        reach = (0.3 if method == "nmds" else 1e-2) * np.abs(model.embedding).max()
        assert np.abs(near - model.embedding).max() < reach


def test_bad_input_is_refused_by_name(wording: Wording) -> None:
    equal = dissimilarities(1.0 - np.eye(5))
    with wording.raises(DataError, "ALL-EQUAL"):
        fit("nmds", equal)
    assert fit("smacof", equal).fit["stress"] < 0.5
    bent = LENGTHS.copy()
    bent[0, 1] = bent[1, 0] = 0.0
    with wording.raises(DataError, "ZERO-PAIRS") as caught:
        fit("sammon", dissimilarities(bent))
    assert caught.value.where == "row 2"
    with wording.raises(DataError, "ZERO-PAIRS") as caught:
        fit("smacof", dissimilarities(bent), weights=-2)
    assert fit("smacof", dissimilarities(bent), weights=0.5).fit["stress"] < 0.5
    near = LENGTHS.copy()
    near[0, 1] = near[1, 0] = 1e-90
    with wording.raises(DataError, "WEIGHTS-SPAN"):
        fit("smacof", dissimilarities(near), weights=-4)


@pytest.mark.parametrize("method", ["smacof", "nmds"])
def test_threads_change_no_byte(method: str) -> None:
    one, two = (METHODS[method](starts=2).resolve(DATA).fit(DATA, Compute(threads=count)) for count in (1, 2))
    assert np.array_equal(one.embedding, two.embedding)
