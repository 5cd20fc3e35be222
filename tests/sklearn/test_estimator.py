"""Estimators keep scikit-learn's conventions, and give the numbers of the command."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlcli
from mlcli.base.types import Array
from mlcli.errors import DataError, MlcliError, UnsafeFile
from mlcli.methods.layouts import principal
from tests.sklearn.expected import EXPECTED, PARAMETERS, SLOW

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.manifold import MDS as PeerMDS
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import mlcli.sklearn
from mlcli.sklearn import CCA, DBRDA, FAMD, LDA, MDS, NMDS, PCA, PPCA, UMAP, Isomap, KernelPCA
from mlcli.sklearn.estimator import Estimator
from tests.wording import Wording

POINTS = np.random.default_rng(0).standard_normal((60, 4)) * [4.0, 2.0, 1.0, 0.5]
NEW = np.random.default_rng(1).standard_normal((7, 4))
pytestmark = pytest.mark.filterwarnings("ignore:W-NEGATIVE")  # of paths among points that lie on no surface


@pytest.mark.medium
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
                                  for name in dir(mlcli.sklearn)])
def test_what_scikit_learn_checks_holds_but_for_what_is_listed(name: str) -> None:
    found: dict[str, set[str]] = {}

    def count(check_name: str, status: str, **others: Any) -> None:
        found.setdefault(status, set()).add(check_name)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(getattr(mlcli.sklearn, name)(**PARAMETERS.get(name, {})), on_fail=None, on_skip=None,
                        expected_failed_checks=EXPECTED.get(name, {}), callback=count)
    assert found.get("failed", set()) == set()
    assert found.get("xfail", set()) == EXPECTED.get(name, {}).keys()  # the list has none that holds
    assert len(found["passed"]) > 30


@pytest.mark.parametrize("estimator", [PCA(components=3), Isomap(neighbors=8), KernelPCA(kernel="gaussian",
                                                                                         kernel_rate=0.1)])
def test_an_estimator_has_the_numbers_of_the_function(estimator: Estimator) -> None:
    options: dict[str, dict[str, Any]] = {
        "PCA": {"method": "pca", "components": 3}, "Isomap": {"method": "isomap", "neighbors": 8},
        "KernelPCA": {"method": "kpca", "kernel": "gaussian", "set": {"method.kernel.rate": 0.1}}}
    run = mlcli.embed(POINTS, **options[type(estimator).__name__])
    assert np.array_equal(estimator.fit_transform(POINTS), run.embedding)
    assert np.array_equal(estimator.transform(NEW), run.project(NEW))
    assert np.array_equal(estimator.embedding_, estimator.run_.embedding)


STARTS: dict[str, dict[str, Any]] = {
    "SMACOF": {}, "Sammon": {}, "NMDS": {"starts": 1}, "TSNE": {"perplexity": 8.0}, "UMAP": {"epochs": 40}}
START = np.random.default_rng(2).standard_normal((len(POINTS), 2))


def scaled(points: Array) -> Array:
    """Coordinates from 0 to 10 on each axis, as UMAP starts."""
    return np.asarray(10 * (points - points.min(axis=0)) / np.ptp(points, axis=0))


@pytest.mark.parametrize("factor", [1.0, 1000.0])
@pytest.mark.parametrize("name", ["SMACOF", "Sammon", "NMDS"])
def test_a_layout_that_starts_at_its_solution_stays_there(name: str, factor: float) -> None:
    flat = POINTS[:, :2] * factor
    estimator = getattr(mlcli.sklearn, name)(start=flat, **STARTS[name])
    found = estimator.fit_transform(flat)
    assert estimator.n_iter_ <= 1 and estimator.stress_ < 1e-12
    np.testing.assert_allclose(found, principal(flat), atol=1e-9 * factor)
    elsewhere = clone(estimator).set_params(start=START).fit(flat)
    assert elsewhere.n_iter_ > 20


@pytest.mark.medium
def test_a_neighbor_embedding_moves_from_the_coordinates_given() -> None:
    few = mlcli.sklearn.TSNE(start=START * 100, perplexity=8, descent_early_steps=1, descent_steps=1)
    np.testing.assert_allclose(few.fit_transform(POINTS), principal(START * 100), atol=10)
    still = UMAP(start=START + 1000, epochs=1, learning_rate=1e-9)
    np.testing.assert_allclose(still.fit_transform(POINTS), principal(scaled(START)), atol=0.01)
    edges = kneighbors_graph(POINTS, 12, mode="distance")
    few.set_params(kind="graph", perplexity=3)
    np.testing.assert_allclose(few.fit_transform(edges), principal(START * 100), atol=10)


@pytest.mark.medium
def test_the_stress_from_a_start_is_no_larger_than_that_of_scikit_learn() -> None:
    mine = mlcli.sklearn.SMACOF(start=START, iterate_tolerance=1e-9).fit(POINTS)
    with warnings.catch_warnings(action="ignore"):
        theirs = PeerMDS(2, n_init=1, max_iter=20_000, eps=1e-12, normalized_stress=True).fit(POINTS, init=START)
    assert mine.stress_ < theirs.stress_ * (1 + 1e-6)


@pytest.mark.medium
@pytest.mark.parametrize("name", STARTS)
def test_a_start_is_an_array_of_any_kind_and_gives_the_number_of_axes(name: str) -> None:
    estimator = getattr(mlcli.sklearn, name)(start=START, **STARTS[name])
    found = estimator.fit_transform(POINTS)
    assert np.array_equal(clone(estimator).set_params(start=START.tolist()).fit_transform(POINTS), found)
    assert np.array_equal(START, np.random.default_rng(2).standard_normal((len(POINTS), 2)))  # and is not changed
    assert not np.array_equal(clone(estimator).set_params(start=START[::-1]).fit_transform(POINTS), found)
    order = np.random.default_rng(3).permutation(len(POINTS))
    if name not in ("UMAP", "TSNE"):  # whose rounding grows from step to step
        moved = clone(estimator).set_params(start=START[order]).fit_transform(POINTS[order])
        np.testing.assert_allclose(np.abs(moved), np.abs(found[order]), atol=0.01)
    three = np.column_stack([START, START[:, 0] ** 2])
    for components in (None, 3, *([] if name in ("UMAP", "TSNE") else ["auto"])):  # which no rules choose
        estimator.set_params(start=three, components=components)
        assert estimator.fit_transform(POINTS).shape == (len(POINTS), 3)
    assert np.array_equal(pickle.loads(pickle.dumps(estimator)).start, three)


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_does_not_fit_is_refused(name: str) -> None:
    estimator = getattr(mlcli.sklearn, name)
    for start, said in ((START[:5], r" 5 rows.* 60; start"), (START[:, 0], "2D array"),
                        (np.ones_like(START), "are equal"), (START * np.nan, "contains NaN.; start"),
                        ("elsewhere", "elsewhere")):
        with pytest.raises(ValueError, match=said):
            estimator(start=start).fit(POINTS)
    with pytest.raises(ValueError, match=r" 2 axes.* 3 "):
        estimator(start=START, components=3).fit(POINTS)


def test_the_first_of_several_starts_is_the_one_given() -> None:
    flat, several = POINTS[:, :2], mlcli.sklearn.SMACOF(starts=3, start=POINTS[:, :2])
    assert several.fit(flat).run_.fit["starts"] == 3 and several.stress_ < 1e-12
    doubled = mlcli.sklearn.SMACOF(start=np.vstack([flat, flat[:9] + 1])).fit(np.vstack([flat, flat[:9]]))
    assert doubled.stress_ < 1e-12 and np.array_equal(doubled.embedding_[:9], doubled.embedding_[60:])


def test_coordinates_lead_back_where_the_parameters_have_a_decoder() -> None:
    fitted = PCA(components=4).fit(POINTS)
    assert fitted.inverse_transform(fitted.transform(NEW)) == pytest.approx(NEW)
    assert not hasattr(Isomap(), "inverse_transform") and not hasattr(UMAP(), "inverse_transform")
    assert not hasattr(Isomap(decoder="root"), "inverse_transform")
    assert Isomap(decoder="ridge").fit(POINTS).inverse_transform(np.zeros((3, 2))).shape == (3, 4)


def test_coordinates_and_features_can_be_written_to() -> None:
    fitted = PCA(components=2).fit(POINTS)
    placed = fitted.transform(NEW)
    assert all(array.flags.writeable for array in (placed, fitted.embedding_, fitted.inverse_transform(placed)))


def test_a_copy_has_the_parameters_and_no_model(wording: Wording) -> None:
    fitted = Isomap(neighbors=7, kind="features", decoder={"name": "ridge", "alpha": 2.0}).fit(POINTS)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() and not hasattr(copy, "run_")
    with pytest.raises(NotFittedError) as caught:
        copy.transform(NEW)
    assert isinstance(caught.value, MlcliError) and wording(caught.value) == ["E-NOT-FITTED"]


@pytest.mark.parametrize("estimator", [PCA(), Isomap(neighbors=6), KernelPCA(), PPCA(missing="model")])
def test_a_pickle_places_rows_on_the_same_bytes(estimator: Estimator) -> None:
    fitted = estimator.fit(POINTS)
    stored = pickle.dumps(fitted)
    again = pickle.loads(stored)
    assert again.transform(NEW).tobytes() == fitted.transform(NEW).tobytes()
    assert again.embedding_.tobytes() == fitted.embedding_.tobytes()
    assert b'"format": 2' in stored  # the model's own format, with its hashes


def test_a_pickle_whose_model_was_changed_is_refused() -> None:
    stored = pickle.dumps(PCA().fit(POINTS))
    place = stored.index(b"NUMPY") + 200  # among the numbers of the first array
    changed = stored[:place] + bytes([stored[place] ^ 1]) + stored[place + 1:]
    with pytest.raises(UnsafeFile):
        pickle.loads(changed)


@pytest.mark.medium
def test_the_number_of_neighbors_is_found_by_a_grid_with_cross_validation() -> None:
    roll, along = make_swiss_roll(120, random_state=0)
    part = (along > np.median(along)).astype(int)
    steps = make_pipeline(StandardScaler(), Isomap(), KNeighborsClassifier(3))
    grid = GridSearchCV(steps, {"isomap__neighbors": np.arange(4, 13, 4), "isomap__components": [1, 2]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid.fit(roll, part)
        scores = cross_val_score(grid.best_estimator_, roll, part, cv=3)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert grid.best_score_ > 0.7  # 0.5 by chance
    assert scores.mean() == pytest.approx(grid.best_score_)


@pytest.mark.medium
def test_a_grid_goes_over_the_options_of_a_kernel() -> None:
    iris = load_iris()
    grid = GridSearchCV(make_pipeline(KernelPCA(components=3), KNeighborsClassifier()),
                        {"kernelpca__kernel_rate": [1e-3, 0.1]}, cv=3).fit(iris.data, iris.target)
    assert len(set(grid.cv_results_["mean_test_score"])) == 2


def test_columns_of_the_output_are_named() -> None:
    assert PCA(components=3).fit(POINTS).get_feature_names_out().tolist() == ["pca0", "pca1", "pca2"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_output_is_a_frame_where_that_is_set(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({name: POINTS[:, place] for place, name in enumerate("abcd")})
    estimator = PCA().set_output(transform=library)
    placed = estimator.fit_transform(frame)
    assert list(placed.columns) == ["pca0", "pca1"] and np.array_equal(placed.to_numpy(), estimator.embedding_)
    assert np.array_equal(estimator.transform(frame).to_numpy(), PCA().fit(POINTS).transform(POINTS))
    assert estimator.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(frame[["b", "a", "c", "d"]])


def test_a_graph_in_pieces_is_completed_with_a_warning() -> None:
    apart = np.vstack([POINTS[:30], POINTS[30:] + 1000])
    with pytest.warns(UserWarning, match=r"^W-CONNECTED: .*: 1\b"):
        fitted = Isomap(neighbors=3).fit(apart)
    assert np.isfinite(fitted.embedding_).all()
    with pytest.raises(ValueError, match="neighbors_pieces='largest' "):
        Isomap(neighbors=3, neighbors_pieces="error").fit(apart)


def test_rows_that_a_fit_leaves_out_have_no_coordinates() -> None:
    apart = np.vstack([POINTS[:20] + 1000, POINTS[20:]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        placed = Isomap(neighbors=5, neighbors_pieces="largest").fit_transform(apart)
    assert np.isnan(placed[:20]).all() and np.isfinite(placed[20:]).all()


def test_a_fit_that_stopped_at_its_limit_warns_as_scikit_learn_does() -> None:
    with pytest.warns(ConvergenceWarning, match="W-UNCONVERGED"):
        NMDS(minimize_limit=1, starts=1).fit(POINTS)


def test_pairs_are_taken_by_their_kind_and_split_on_both_sides() -> None:
    distances = np.linalg.norm(POINTS[:, None] - POINTS[None], axis=2)
    fitted = MDS(kind="dissimilarities", components=4).fit(distances)
    apart = np.linalg.norm(fitted.embedding_[:, None] - fitted.embedding_[None], axis=2)
    assert apart == pytest.approx(distances)
    assert fitted.transform(distances[3:5]) == pytest.approx(fitted.embedding_[3:5])
    assert not hasattr(fitted, "inverse_transform")
    groups = (POINTS[:, 0] > 0).astype(int)
    steps = make_pipeline(MDS(kind="dissimilarities"), KNeighborsClassifier())
    assert cross_val_score(steps, distances, groups, cv=3).mean() > 0.9
    with pytest.raises(ValueError, match="Negative values"):
        MDS(kind="dissimilarities").fit(-distances)


@pytest.mark.medium
def test_a_kernel_keeps_the_conventions_of_pairs() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(KernelPCA(kind="kernel"), on_skip=None)


def test_classes_and_second_views_are_given_as_y(wording: Wording) -> None:
    iris = load_iris()
    names = iris.target_names[iris.target]
    by_name, by_number = LDA().fit(iris.data, names), LDA().fit(iris.data, iris.target)
    assert np.array_equal(by_name.embedding_, by_number.embedding_) and by_name.transform(iris.data[:2]).shape == (2, 2)
    with pytest.raises(ValueError, match="requires y to be passed"):
        LDA().fit(iris.data)
    first, second = POINTS[:, :2], POINTS @ np.random.default_rng(2).standard_normal((4, 3))
    run = mlcli.embed(first, "cca", view=second)
    assert np.array_equal(CCA().fit_transform(first, second), run.embedding)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CCA().fit(first, second[:50])
    distances = np.linalg.norm(POINTS[:, None] - POINTS[None], axis=2)
    pairs = DBRDA(kind="dissimilarities", permutations=0)
    assert pairs.fit_transform(distances, first) == pytest.approx(DBRDA(permutations=0).fit_transform(POINTS, first))
    with pytest.raises(ValueError) as below:
        pairs.fit(-distances, first)
    assert wording(below.value)


def test_rows_are_what_they_are_said_to_be_whatever_they_look_like(wording: Wording) -> None:
    square = np.abs(POINTS[:, :1] - POINTS[:, 0])
    with wording.raises(DataError, "LOOKS-LIKE-MATRIX"):
        mlcli.embed(square)
    assert np.array_equal(PCA().fit_transform(square), mlcli.embed(square, kind="features").embedding)


@pytest.mark.medium
def test_labels_count_for_umap_where_their_weight_is_given() -> None:
    rows, groups = make_blobs(40, random_state=0)
    plain = UMAP(epochs=5).fit_transform(rows)
    assert np.array_equal(UMAP(epochs=5).fit_transform(rows, groups), plain)
    assert not np.array_equal(UMAP(epochs=5, target_weight=0.9).fit_transform(rows, groups), plain)


def test_sparse_rows_and_missing_cells_are_taken() -> None:
    rows = np.where(POINTS > 0, POINTS, 0.0)
    assert PCA().fit_transform(scipy.sparse.csr_array(rows)) == pytest.approx(PCA().fit_transform(rows))
    gaps = POINTS.copy()
    gaps[0, 0] = np.nan
    assert np.isfinite(PPCA(missing="model").fit_transform(gaps)).all()
    with pytest.raises(ValueError, match="NaN"):
        PPCA().fit(gaps)


@pytest.mark.parametrize(("estimator", "code", "where"), [
    (Isomap(neighbors=99), "NEIGHBORS", "neighbors"), (Isomap(metric="l7"), "CONFIG", "metric"),
    (Isomap(paths_store="tape"), "CONFIG", "paths_store"),
    (PCA(eigensolve_tolerance=-1.0), "CONFIG", "eigensolve_tolerance"),
    (KernelPCA(kernel="linear", metric="cityblock"), "KERNEL-METRIC", "metric"),
    (KernelPCA(kind="kernel"), "NOT-SQUARE", "X (n_samples=60, n_features=4)"),
])
def test_errors_name_parameters(estimator: Estimator, code: str, where: str) -> None:
    with pytest.raises(MlcliError) as caught:
        estimator.fit(POINTS)
    assert isinstance(caught.value, ValueError) and (caught.value.code, caught.value.where) == (f"E-{code}", where)
    assert "--" not in str(caught.value) and "{" not in str(caught.value)


@pytest.mark.parametrize("library", ["numpy", "list", "pyarrow", "pandas", "polars"])
def test_texts_are_categories_as_in_a_call_of_a_frame(library: str) -> None:
    kinds = [("red", "blue", "green")[row % 3] for row in range(60)]
    columns = {"kind": kinds, "a": POINTS[:, 0], "b": POINTS[:, 1]}
    names = list(columns) if library in ("pyarrow", "pandas", "polars") else ["x1", "x2", "x3"]
    rows = np.array(list(zip(*columns.values(), strict=True)), dtype=object)
    make = {"numpy": np.array, "list": lambda _: rows.tolist()}.get(library)
    given: Any = (make(rows) if make else pytest.importorskip("pyarrow").table(columns) if library == "pyarrow" else
                  pytest.importorskip(library).DataFrame(columns))
    frame = pytest.importorskip("pyarrow").table(dict(zip(names, columns.values(), strict=True)))
    called = mlcli.embed(frame, "famd", ids=range(60))
    estimator = FAMD().fit(given)
    assert np.array_equal(estimator.embedding_, called.embedding)
    assert estimator.run_.loadings.columns == called.loadings.columns  # type: ignore[union-attr]
    assert {f"{names[0]}=blue", f"{names[0]}=green", f"{names[0]}=red"} < {*called.loadings.columns}  # type: ignore[union-attr]
    assert np.allclose(estimator.transform(given), called.embedding, atol=1e-10)
    assert np.allclose(pickle.loads(pickle.dumps(estimator)).transform(given), called.embedding, atol=1e-10)


def test_texts_that_are_no_categories_are_refused() -> None:
    rows = np.array([[("red", "blue")[row % 2], *POINTS[row, :2]] for row in range(60)], dtype=object)
    other, mixed = rows.copy(), rows.copy()
    other[3, 0], mixed[3, 0] = "violet", 4.0
    estimator = FAMD().fit(rows)
    with pytest.raises(ValueError, match="no row of the fit has 'violet'"):
        estimator.transform(other)
    with pytest.raises(ValueError, match="'x1'"):  # numbers in the place of texts are met by name, not by their order
        estimator.transform(POINTS[:, :3])
    with pytest.raises(ValueError, match="neither numbers alone nor texts alone"):
        FAMD().fit(mixed)
    with pytest.raises(ValueError, match="'red'"):
        PCA().fit(rows)
