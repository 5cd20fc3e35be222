"""Facts about linear versions of graph methods: where every function is linear, they are the graph methods."""

import numpy as np
import pytest

from mlcli.errors import ConfigError, GeometryError
from tests.support import Notes, features, fit

GENERATOR = np.random.default_rng(23)
WIDE = GENERATOR.standard_normal((50, 50))  # 49 independent columns once their means are gone
POINTS = GENERATOR.standard_normal((80, 4)) * [4, 2, 1, 0.5]
METHODS = ["lpp", "npe", "lltsa"]


@pytest.mark.parametrize(("linear", "graph"), [("lpp", "laplacian"), ("npe", "lle"), ("lltsa", "ltsa")])
def test_over_columns_that_span_all_functions_they_are_the_graph_methods(linear: str, graph: str) -> None:
    """Those of LPP have no mean weighted by degrees, those of NPE and LLTSA no plain one."""
    with Notes() as notes:
        found = fit(linear, WIDE, neighbors=8, components=3)
    expected = fit(graph, WIDE, neighbors=8, components=3)
    assert "W-SATURATED" in notes.codes
    assert np.abs(found.embedding - expected.embedding).max() <= 1e-10
    assert np.abs(found.spectrum.values / expected.spectrum.values[:49] - 1).max() <= 1e-10


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_depend_on_others_change_nothing_but_coefficients(method: str) -> None:
    """The graph is that of the same points: the columns are turned, and a third of each is written twice."""
    turned = POINTS @ np.linalg.qr(GENERATOR.standard_normal((4, 4)))[0]
    with Notes() as notes:
        found = fit(method, np.hstack([turned / 3, turned * np.sqrt(8) / 3]), neighbors=8)
    assert "N-DIRECTIONS" in notes.codes and len(found.spectrum.values) == 4
    assert np.abs(found.embedding - fit(method, POINTS, neighbors=8).embedding).max() <= 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_coordinates_are_columns_times_coefficients(method: str) -> None:
    model = fit(method, POINTS, neighbors=8)
    new = GENERATOR.standard_normal((5, 4))
    assert np.abs((new - POINTS[0]) @ model.loadings.values - (model.project(new) - model.embedding[0])).max() <= 1e-12
    moved = fit(method, POINTS * 2.0**30, neighbors=8)
    assert np.array_equal(moved.loadings.values, model.loadings.values * 2.0**-30)


def test_coefficients_have_the_unit_of_the_values_under_any_metric() -> None:
    model = fit("lpp", POINTS, neighbors=12, metric="cosine")
    rows = (POINTS - POINTS[0]) @ model.loadings.values
    assert np.abs(rows - (model.embedding - model.embedding[0])).max() <= 1e-12


def test_lltsa_lays_a_plane_flat_at_no_cost() -> None:
    """Linear functions of points of a plane are affine in any of its tangent coordinates."""
    plane = GENERATOR.random((60, 2))
    points = np.column_stack([plane, plane @ [[0.3], [0.8]]]) @ np.linalg.qr(GENERATOR.standard_normal((3, 3)))[0]
    with Notes() as notes:
        model = fit("lltsa", points, neighbors=12)
    assert "N-ALONE" not in notes.codes and (model.spectrum.costs < 1e-25).all()
    left = plane - plane.mean(axis=0)
    rest = model.embedding - left @ np.linalg.lstsq(left, model.embedding, rcond=None)[0]
    assert np.abs(rest).max() <= 1e-10


def test_lltsa_says_how_many_neighbors_it_needs() -> None:
    with pytest.raises(ConfigError) as caught:
        fit("lltsa", POINTS, neighbors=4, components=3)
    assert caught.value.code == "E-FEW-NEIGHBORS" and "at least 5" in caught.value.hint
    with pytest.raises(GeometryError) as few:
        fit("lltsa", POINTS[:4])
    assert few.value.code == "E-FEW-POINTS"


@pytest.mark.parametrize("method", METHODS)
def test_more_axes_than_directions_are_refused_and_text_columns_too(method: str) -> None:
    with pytest.raises(GeometryError) as caught:
        fit(method, POINTS[:, [0, 1, 0]], neighbors=8, components=3)
    assert caught.value.code == "E-AXES" and "at most 2" in caught.value.hint
    data = features(POINTS)
    object.__setattr__(data, "categories", (1,))
    with pytest.raises(ConfigError) as text:
        fit(method, data, metric="gower")
    assert text.value.code == "E-TEXT-COLUMNS" and "x2 " in text.value.what
