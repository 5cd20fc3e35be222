"""Facts about layouts whose graph intersects that of classes: what labels take from memberships, and leave."""

from dataclasses import replace

import numpy as np
import pytest

from mlcli.base.values.inputs import Labeled
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.search import nearest
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods import METHODS
from mlcli.methods.neighbor_embedding.fuzzy_graph import fuzzy_graph, intersect_classes
from tests.support import dissimilarities, distances, features, fit
from tests.wording import Wording

RANDOM = np.random.default_rng(8)
POINTS = RANDOM.standard_normal((60, 3))
GRAPH = fuzzy_graph(nearest(POINTS, 8), 1.0, 1.0)
PLAIN = GRAPH.matrix().toarray()
CLASSES = np.arange(60) % 3


def labeled(names: list[str]) -> Labeled:
    data = features(POINTS)
    return Labeled(data.values, data.ids, data.columns, labels=names)


NAMES = [f"class {number}" for number in CLASSES]


@pytest.mark.parametrize("weight", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("same", [0, -1])
def test_one_class_or_none_leaves_the_graph_but_for_its_join(weight: float, same: int) -> None:
    """Largest memberships are one here, so that dividing by them changes none, nor does a factor of all."""
    found = intersect_classes(GRAPH, np.full(60, same), weight).matrix().toarray()
    assert found == pytest.approx(1 - (1 - PLAIN) ** 2, abs=1e-14)


def test_at_weight_one_no_edge_joins_two_classes_and_others_stay() -> None:
    found = intersect_classes(GRAPH, CLASSES, 1.0).matrix().toarray() > 0
    assert (found == ((PLAIN > 0) & (CLASSES[:, None] == CLASSES))).all()


def test_a_larger_weight_leaves_less_between_classes() -> None:
    pairs = (CLASSES[:, None] != CLASSES) & (PLAIN > 0)
    graphs = [intersect_classes(GRAPH, CLASSES, weight).matrix().toarray()[pairs].sum()
              for weight in (0.0, 0.4, 0.8, 1.0)]
    assert graphs[0] > graphs[1] > graphs[2] > graphs[3] == 0


@pytest.mark.parametrize(("classes", "own", "other"), [
    ([0, 0, 0, 0], 0.5, 0.5), ([0, 0, -1, 0], 0.5 / np.e, 0.5), ([0, 0, 1, 1], *[0.5 * np.exp(-5)] * 2)])
def test_an_unknown_class_lies_between_the_same_and_another(classes: list[int], own: float, other: float) -> None:
    """Of a path with memberships 1, 0.5 and 1, the middle edge: both ends keep a membership of one elsewhere."""
    path = Graph(np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2]), np.array([1, 1, 0.5, 0.5, 1, 1]))
    found = intersect_classes(path, np.array(classes), 0.5).matrix().toarray()
    assert found[1, 2] == found[2, 1] == pytest.approx(own + other - own * other, rel=1e-14)


def test_every_point_keeps_a_membership_of_one_below_weight_one() -> None:
    """Also where all neighbors are of other classes, and so far that products of memberships are zero."""
    found = intersect_classes(GRAPH, np.arange(60), 0.9999).matrix().toarray()
    assert found.max(axis=1) == pytest.approx(1) and found == pytest.approx(1 - (1 - PLAIN) ** 2, abs=1e-11)


def test_labels_that_are_not_asked_for_change_nothing() -> None:
    plain, colored = (fit("umap", data, epochs=20) for data in (features(POINTS), labeled(NAMES)))
    assert np.array_equal(plain.embedding, colored.embedding) and "classes" not in colored.fit


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_classes_part_and_new_points_need_none(metric: str) -> None:
    model = fit("umap", labeled([*NAMES[:-1], "NA"]), epochs=200, target_weight=0.9, metric=metric)
    assert (model.fit["classes"], model.fit["unlabeled"]) == (3, 1)
    near = np.argsort(distances(model.embedding) + 1e9 * np.eye(60), axis=1)[:, :5]
    assert (CLASSES[near] == CLASSES[:, None]).mean() > 0.9
    assert np.abs(model.project(POINTS[:5]) - model.embedding[:5]).max() == 0
    assert np.isfinite(model.project(POINTS[:5] + 0.1)).all()


def test_bad_labels_are_refused_by_name(wording: Wording) -> None:
    for data in (features(POINTS), dissimilarities(distances(POINTS))):
        with wording.raises(ConfigError, "NEEDS"):
            METHODS["umap"](target_weight=0.5).resolve(data)
    for names in (["one"] * 60, [""] * 60, [*["one"] * 30, *["NA"] * 30]):
        with wording.raises(GeometryError, "ONE-CLASS"):
            fit("umap", labeled(names), target_weight=0.5)
    each = replace(labeled(NAMES), labels=[str(row) for row in range(60)])
    with wording.raises(GeometryError, "NO-EDGES"):
        fit("umap", each, target_weight=1.0)
    assert np.isfinite(fit("umap", each, target_weight=0.5, epochs=5).embedding).all()
