"""Facts about LTSA, HLLE and modified LLE: flat data, what costs nothing, distances alone, equal and lonely points."""

from collections.abc import Callable

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.graph.search import Lists, nearest
from mlcli.errors import ConfigError, GeometryError, NumericalError
from mlcli.methods.local.hlle import hessian_root
from mlcli.methods.local.mlle import several_weights_root
from mlcli.methods.local.tangents import tangent_root
from tests.support import EPS, Notes, dissimilarities, distances, features, fit
from tests.wording import Wording

METHODS = ("ltsa", "hlle", "mlle")
ROOTS: dict[str, Callable] = {"ltsa": tangent_root, "hlle": hessian_root, "mlle": several_weights_root}
RANDOM = np.random.default_rng(12)
PLANE = RANDOM.random((90, 2)) * [3.0, 1.0]
FRAME = np.linalg.qr(RANDOM.standard_normal((5, 5)))[0][:2]
POINTS = RANDOM.standard_normal((90, 4)) * [3.0, 2.0, 0.2, 0.1]


def explained(coordinates: Array, functions: Array) -> float:
    """The root of the share of coordinates' variance that affine functions leave."""
    columns = np.column_stack([np.ones(len(functions)), functions])
    rest = coordinates - columns @ np.linalg.lstsq(columns, coordinates)[0]
    return float(np.linalg.norm(rest) / np.linalg.norm(coordinates - coordinates.mean(axis=0)))


@pytest.mark.parametrize(("method", "ridge"), [("ltsa", 1e-3), ("hlle", 1e-3), ("mlle", 1e-12)])
def test_a_plane_is_recovered_up_to_an_affine_map(method: str, ridge: float) -> None:
    """Of modified LLE the regularized weights alone cost anything: as much as their ridge lets them."""
    model = fit(method, PLANE @ FRAME + 7, neighbors=10, components=2, ridge=ridge)
    assert model.fit["cost_of_coordinates"] < 1e-18
    assert model.spectrum.values[1] > 1e8 * model.spectrum.values[2]
    assert explained(model.embedding, PLANE) < 1e-9


@pytest.mark.parametrize(("method", "ridge", "code"), [
    ("lle", 1.79e308, "E-NOT-FINITE"), ("mlle", 1.79e308, "E-NOT-FINITE"), ("mlle", 1e-310, "E-SINGULAR"),
    ("mlle", 5e-324, "E-SINGULAR")])
def test_a_ridge_that_overflows_or_vanishes_is_refused(method: str, ridge: float, code: str) -> None:
    with pytest.raises(NumericalError) as told:
        fit(method, PLANE @ FRAME, neighbors=60, components=2, ridge=ridge)
    assert told.value.code == code


@pytest.mark.medium
def test_hlle_flattens_a_sheet_with_a_hole_better_than_lle() -> None:
    """A part of a cylinder is isometric to the plane: HLLE finds it up to an affine map, and LTSA as well."""
    sheet = np.random.default_rng(5).random((1600, 2))
    sheet = sheet[np.abs(sheet - 0.5).max(axis=1) > 0.2]
    curved = np.column_stack([np.cos(2 * sheet[:, 0]), np.sin(2 * sheet[:, 0]), sheet[:, 1]])
    left = {method: explained(fit(method, curved, neighbors=12, components=2).embedding, sheet)
            for method in ("hlle", "ltsa", "lle")}
    assert max(left["hlle"], left["ltsa"]) < 0.02 < 0.06 < left["lle"]


@pytest.mark.parametrize("method", METHODS)
def test_constants_cost_nothing(method: str) -> None:
    root = ROOTS[method](features(POINTS), nearest(POINTS, 9), 2, 1e-3).matrix()
    assert np.abs(root @ np.ones(90)).max() < 100 * EPS


@pytest.mark.parametrize("method", ["ltsa", "hlle"])
def test_rows_are_orthonormal_in_a_neighborhood_and_vanish_on_its_tangent_coordinates(method: str) -> None:
    lists = nearest(POINTS, 9)
    root = ROOTS[method](features(POINTS), lists, 2, 1e-3).dense()
    height = {"ltsa": 6, "hlle": 3}[method]
    assert root.shape == (90 * height, 90)
    for place in range(90):
        members = lists.indices[9 * place : 9 * place + 9]
        rows = root[height * place : height * (place + 1), members]
        axes = np.linalg.svd(POINTS[members] - POINTS[members].mean(axis=0))[0][:, :2]
        assert np.abs(rows @ rows.T - np.eye(height)).max() < 1e-12
        assert np.abs(rows @ axes).max() < 1e-12


def test_each_of_several_weights_sums_to_one_and_reproduces_the_point_as_well_as_the_axes_allow() -> None:
    lists = nearest(POINTS, 9)
    root = several_weights_root(features(POINTS), lists, 2, 1e-3).matrix()
    owners = np.flatnonzero(np.isclose(root.data, 1.0) & (root.indices >= 0))
    assert root.shape[0] > 90 * 4 and len(owners) >= root.shape[0]  # k - d axes hold nothing: each has five or more
    spread = np.linalg.norm(root @ POINTS, axis=1)
    assert np.median(spread) < 0.5 * np.median(lists.lengths)


@pytest.mark.parametrize("method", METHODS)
def test_distances_are_enough(method: str) -> None:
    by_points, by_distances = (fit(method, data, neighbors=10, components=2)
                               for data in (features(POINTS), dissimilarities(distances(POINTS))))
    assert np.abs(by_points.spectrum.values[:5] / by_distances.spectrum.values[:5] - 1).max() < 1e-7
    assert np.abs(by_points.embedding - by_distances.embedding).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_a_rigid_motion_and_a_scale_leave_coordinates_as_they_are(method: str) -> None:
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0]
    still, moved = (fit(method, data, neighbors=10, components=2).embedding
                    for data in (POINTS, 32 * POINTS @ turn + 5))
    assert np.abs(still - moved).max() < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_training_points_are_placed_on_themselves(method: str) -> None:
    model = fit(method, POINTS, neighbors=10)
    assert np.array_equal(model.project(POINTS), model.embedding)


@pytest.mark.parametrize("method", METHODS)
def test_a_dimension_of_its_own_lets_all_axes_be_asked_for(method: str) -> None:
    model = fit(method, POINTS[:40], neighbors=10, dimension=2, components="all")
    assert model.embedding.shape == (40, 39)
    two = fit(method, POINTS[:40], neighbors=10, components=2)
    assert np.abs(model.embedding[:, :2] - two.embedding).max() < 1e-9


@pytest.mark.parametrize("components", [0.9, "all"])
@pytest.mark.parametrize("method", METHODS)
def test_axes_that_are_not_counted_need_a_dimension(method: str, components: object) -> None:
    with pytest.raises(ConfigError) as caught:
        fit(method, POINTS, neighbors=10, components=components)
    assert caught.value.code == "E-DIMENSION" and "method.dimension" in str(caught.value)


@pytest.mark.parametrize(("method", "axes", "least"), [("ltsa", 2, 4), ("ltsa", 3, 5), ("hlle", 2, 6), ("hlle", 3, 10),
                                                       ("hlle", 1, 3), ("mlle", 2, 3), ("mlle", 3, 4)])
def test_too_few_neighbors_are_refused_with_the_fewest(method: str, axes: int, least: int, wording: Wording) -> None:
    with pytest.raises(ConfigError) as caught:
        fit(method, POINTS, neighbors=least - 1, components=axes)
    assert caught.value.code == "E-FEW-NEIGHBORS" and "E-FEW-NEIGHBORS" in wording(caught.value)
    try:
        fit(method, POINTS, neighbors=least, components=axes)
    except GeometryError as error:  # so few neighborhoods may not overlap
        assert error.code in ("E-OVERLAP", "E-CLOSED-GROUPS", "E-PIECES")


@pytest.mark.parametrize("method", METHODS)
def test_too_few_points_within_a_radius_name_the_first(method: str) -> None:
    line = np.column_stack([np.arange(20.0), np.arange(20.0) ** 2 / 50])
    with pytest.raises(GeometryError) as caught:
        fit(method, line, neighbors={"radius": 2.5}, components=2)
    assert caught.value.code == "E-FEW-MEMBERS" and caught.value.where == "the first: 1"


def test_points_of_no_neighborhood_lie_near_weighted_means_of_their_neighbors() -> None:
    """Nothing else says where they are: scikit-learn leaves each an axis of its own, at no cost."""
    far = np.vstack([POINTS, [[12.0, 9.0, 0.0, 0.0]]])
    assert 90 not in nearest(far, 10).indices
    with Notes() as notes:
        model = fit("ltsa", far, neighbors=10, components=2)
    assert "N-ALONE" in notes.codes
    without = fit("ltsa", POINTS, neighbors=10, components=2)
    signs = np.sign((without.embedding * model.embedding[:-1]).sum(axis=0))
    apart = np.abs(model.embedding[-1] - signs * without.project(far[-1:])[0]).max()
    assert apart < 0.2 * np.abs(model.embedding).max()


def test_equal_points_have_equal_coordinates_nearly_under_hessians() -> None:
    doubled = np.repeat(POINTS, 2, axis=0)
    model = fit("hlle", doubled, neighbors=12, components=2)
    apart = np.abs(model.embedding[::2] - model.embedding[1::2]).max()
    assert apart < 0.02 * np.abs(model.embedding).max()


def test_neighborhoods_of_equal_points_have_no_tangent_space_and_a_note_says_so() -> None:
    points = np.vstack([POINTS, np.repeat(POINTS[:1], 12, axis=0)])
    for method in ("ltsa", "hlle"):
        with Notes() as notes:
            model = fit(method, points, neighbors=10, components=2)
        assert "W-FLAT" in notes.codes
        assert np.ptp(model.embedding[[0, *range(90, 102)]], axis=0).max() < 0.02 * np.abs(model.embedding).max()


def test_tied_tangent_spaces_are_noted() -> None:
    side = np.arange(8.0)
    grid = np.array([(x, y) for x in side for y in side])
    with Notes() as notes:
        fit("ltsa", grid, neighbors=8, components=1)
    assert "W-TANGENT" in notes.codes


def test_products_that_are_affine_on_the_members_have_no_row() -> None:
    """Six points on a circle: the sum of the squares of both coordinates is constant."""
    angles = np.arange(6) * np.pi / 3 + 0.1
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    lists = Lists(np.array([0, 6]), np.arange(6), np.ones(6))
    root = hessian_root(features(circle), lists, 2, 1e-3).dense()[:3]
    assert sorted(np.linalg.norm(root, axis=1).round(12).tolist()) == [0.0, 1.0, 1.0]
