"""Attributes of a fit are scikit-learn's, in name and meaning; those of a finished run are those of its fit."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import eye_array
from sklearn.base import clone
from sklearn.decomposition import PCA as PeerPCA
from sklearn.decomposition import FactorAnalysis
from sklearn.decomposition import KernelPCA as PeerKernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import Isomap as PeerIsomap
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import kneighbors_graph

import mlcli
from mlcli import sklearn as ours
from mlcli.base.machine.scheduler import Memory
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.config.run_config import RunConfig
from mlcli.errors import RefusedByPlan
from mlcli.pipeline.run import run
from mlcli.sklearn.attributes import ATTRIBUTES
from tests.wording import Wording

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.standard_normal((80, 6)) @ np.diag([4, 2, 1, 1, 0.5, 0.3]) + 7
NOISY = (RANDOM.standard_normal((300, 2)) @ RANDOM.standard_normal((2, 7)) * 3
         + RANDOM.standard_normal((300, 7)) * [1, 2, 1, 1, 2, 1, 0.5])


def equal(mine: Any, theirs: Any, **tolerances: float) -> None:
    """Numbers of an attribute are the same but for the signs of axes."""
    assert np.shape(mine) == np.shape(theirs)
    np.testing.assert_allclose(np.abs(mine), np.abs(theirs), **{"rtol": 1e-9, "atol": 1e-11, **tolerances})


def test_principal_components_have_all_attributes_of_scikit_learn() -> None:
    mine, theirs = ours.PCA(components=3).fit(POINTS), PeerPCA(3).fit(POINTS)
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_",
                 "noise_variance_", "n_components_", "n_features_in_", "n_samples_"):
        equal(getattr(mine, name), getattr(theirs, name))
    equal(ours.PCA(components=3, divisor="n-1").fit(POINTS).explained_variance_, theirs.explained_variance_)


@pytest.mark.medium
def test_kernels_have_eigenvalues_and_the_error_of_their_rank() -> None:
    mine = ours.KernelPCA(components=2, kernel="gaussian", kernel_rate=0.1).fit(POINTS)
    theirs = PeerKernelPCA(2, kernel="rbf", gamma=0.1).fit(POINTS)
    equal(mine.eigenvalues_, theirs.eigenvalues_)
    equal(mine.eigenvectors_, theirs.eigenvectors_, atol=1e-9)
    with warnings.catch_warnings(action="ignore"):
        paths = ours.Isomap(neighbors=7).fit(POINTS)
        other = PeerIsomap(n_neighbors=7).fit(POINTS)
    equal(paths.reconstruction_error(), other.reconstruction_error())
    assert not hasattr(ours.TSNE(), "reconstruction_error")


@pytest.mark.medium
def test_factors_weights_and_sources_have_theirs() -> None:
    mine, theirs = ours.FA(components=2, lower=1e-4).fit(NOISY), FactorAnalysis(2, tol=1e-12, max_iter=10**5).fit(NOISY)
    shared, other = (one.components_.T @ one.components_ for one in (mine, theirs))
    np.testing.assert_allclose(shared, other, atol=1e-3)
    np.testing.assert_allclose(mine.noise_variance_, theirs.noise_variance_, atol=1e-3)
    equal(ours.LLE(neighbors=7).fit(POINTS).reconstruction_error_,
          LocallyLinearEmbedding(n_neighbors=7).fit(POINTS).reconstruction_error_, rtol=1e-6)
    sources = ours.ICA(components=3).fit(POINTS)
    np.testing.assert_allclose((POINTS - sources.mean_) @ sources.components_.T, sources.embedding_, atol=1e-9)
    amounts = np.abs(POINTS)
    parts = ours.NMF(components=2).fit(amounts)
    assert parts.reconstruction_err_ == pytest.approx(np.linalg.norm(amounts - parts.embedding_ @ parts.components_))
    assert parts.n_iter_ >= 1 and not hasattr(parts, "mean_")


@pytest.mark.medium
def test_layouts_have_their_cost_and_the_number_of_iterations() -> None:
    neighbors, stress = ours.TSNE(perplexity=10).fit(POINTS), ours.SMACOF().fit(POINTS)
    assert neighbors.kl_divergence_ == neighbors.run_.fit["divergence"] and neighbors.n_iter_ >= 1
    assert stress.stress_ == stress.run_.fit["stress"] and stress.n_iter_ >= 1


@pytest.mark.medium
def test_what_a_method_does_not_have_is_no_attribute() -> None:
    estimator = ours.TSNE()
    assert not any(hasattr(estimator, name) for name in ATTRIBUTES)
    with pytest.raises(AttributeError, match="has no attribute 'components_'"):
        _ = estimator.fit(POINTS).components_


def test_attributes_of_a_chain_are_those_of_its_axes() -> None:
    chain = ours.Chain(kernel="linear", centering="columns", components=3).fit(POINTS)
    equal(chain.components_, PeerPCA(3).fit(POINTS).components_)
    equal(chain.singular_values_, PeerPCA(3).fit(POINTS).singular_values_)


def test_discriminants_have_the_classes_as_they_were_given() -> None:
    given = np.repeat([10, 2, 7, 2], 20)
    mine, theirs = ours.LDA().fit(POINTS, given), LinearDiscriminantAnalysis().fit(POINTS, given)
    assert mine.classes_.tolist() == [2, 7, 10] and mine.classes_.dtype == given.dtype
    for name in ("classes_", "priors_", "means_"):
        equal(getattr(mine, name), getattr(theirs, name))
    assert ours.LDA(priors="equal").fit(POINTS, given).priors_.tolist() == [1 / 3] * 3
    named = ours.LDA().fit(POINTS.astype(np.float32), given.astype(str))
    assert named.classes_.tolist() == ["10", "2", "7"] and named.means_.dtype == np.float32
    equal(named.means_, theirs.means_[[2, 0, 1]], rtol=1e-6)
    assert not any(hasattr(ours.PCA().fit(POINTS, given), name) for name in ("classes_", "priors_", "means_"))


@pytest.mark.filterwarnings("ignore:W-NEGATIVE")
def test_geodesic_distances_are_those_of_scikit_learn() -> None:
    scaled = POINTS * 1000
    mine = ours.Isomap(neighbors=12).fit(scaled)
    equal(mine.dist_matrix_, PeerIsomap(n_neighbors=12).fit(scaled).dist_matrix_)
    equal(pickle.loads(pickle.dumps(mine)).dist_matrix_, mine.dist_matrix_)
    given = ours.Isomap(kind="graph").fit(kneighbors_graph(scaled, 12, mode="distance"))
    equal(given.dist_matrix_, mine.dist_matrix_)
    assert not hasattr(ours.Isomap(neighbors=12, landmarks=20).fit(scaled), "dist_matrix_")
    assert not hasattr(ours.LLE(neighbors=12).fit(scaled), "dist_matrix_")


@pytest.mark.filterwarnings("ignore:W-NEGATIVE")
def test_distances_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = ours.Isomap(neighbors=12).fit(POINTS)
    monkeypatch.setattr(Compute, "allowed_memory", lambda self: Memory(1000, "compute.memory_limit"))
    with pytest.raises(RefusedByPlan) as caught:
        _ = fitted.dist_matrix_
    assert caught.value.code == "E-MEMORY"


@pytest.mark.filterwarnings("ignore:W-NEGATIVE")
@pytest.mark.parametrize("factor", [1.0, 1000.0])
def test_affinities_are_the_weights_of_the_edges(factor: float) -> None:
    lengths = kneighbors_graph(POINTS, 12, mode="distance")
    lengths = lengths.maximum(lengths.T)
    heat = lengths.copy()
    heat.data = np.exp(-0.01 * lengths.data**2)
    mine = ours.Laplacian(neighbors=12, weights="heat", weights_rate=0.01 / factor**2).fit(POINTS * factor)
    equal(mine.affinity_matrix_.toarray(), heat.toarray())
    equal(ours.Laplacian(neighbors=12).fit(POINTS).affinity_matrix_.toarray(), (lengths > 0).toarray())
    given = ours.Laplacian(kind="affinities").fit(heat * factor)
    equal(given.affinity_matrix_.toarray(), heat.toarray() * factor)
    assert not hasattr(ours.Isomap(neighbors=12).fit(POINTS), "affinity_matrix_")


def test_a_chain_of_distances_follows_the_edges_of_a_graph(wording: Wording) -> None:
    with warnings.catch_warnings(action="ignore"):
        for kind in ("graph", "dissimilarities"):
            found = ours.Chain(kind=kind).fit(lengths())
            assert np.array_equal(found.embedding_, ours.Isomap(kind=kind).fit(lengths()).embedding_)
            equal(found.dist_matrix_, PeerIsomap(n_neighbors=12).fit(POINTS).dist_matrix_)
        assert ours.Chain(kind="graph", kernel="graph_laplacian").fit(lengths()).embedding_.shape == (80, 2)
    with pytest.raises(ValueError, match="linear ") as caught:
        ours.Chain(kind="graph", kernel="linear").fit(lengths())
    assert wording(caught.value)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A run of the command with parameters of its own."""
    np.savetxt(tmp_path / "points.csv", POINTS, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%.17g")
    run(RunConfig.model_validate({
        "input": {"path": str(tmp_path / "points.csv")}, "output": str(tmp_path / "run"),
        "method": {"name": "pca", "divisor": "n-1", "eigensolve": {"components": 3}}}))
    return tmp_path / "run"


@pytest.mark.medium
def test_the_estimator_of_a_finished_run_is_that_of_its_fit(finished: Path) -> None:
    estimator, fitted = ours.PCA.from_run(finished), ours.PCA(components=3, divisor="n-1").fit(POINTS)
    assert estimator.get_params() == fitted.get_params()
    for name in ("components_", "mean_", "explained_variance_", "noise_variance_", "n_features_in_"):
        equal(getattr(estimator, name), getattr(fitted, name), atol=1e-9)
    assert list(estimator.feature_names_in_) == list("abcdef")
    with warnings.catch_warnings(action="ignore"):
        np.testing.assert_allclose(estimator.transform(POINTS), estimator.embedding_, atol=1e-9)
    again = pickle.loads(pickle.dumps(estimator))
    equal(again.components_, fitted.components_, atol=1e-9)
    equal(clone(estimator).fit(POINTS).components_, fitted.components_)
    with pytest.raises(ValueError, match=r"\bPCA\b"):
        ours.Isomap.from_run(finished)


@pytest.mark.medium
def test_loadings_and_figures_of_a_run_are_those_of_its_files(finished: Path) -> None:
    opened, made = mlcli.open_run(finished), mlcli.embed(POINTS, components=3, set={"method.divisor": "n-1"})
    assert opened.loadings.columns == tuple("abcdef") and made.loadings.columns == tuple(f"x{n}" for n in range(1, 7))
    equal(opened.loadings.values, made.loadings.values, atol=1e-9)
    assert mlcli.embed(NOISY, "fa").fit["degrees_of_freedom"] == 8
    assert mlcli.embed(POINTS, "isomap", neighbors=20).loadings is None
    assert opened.spectrum.frobenius == pytest.approx(made.spectrum.frobenius)


@pytest.mark.medium
def test_a_perplexity_that_is_too_large_is_reduced_with_a_warning() -> None:
    few = POINTS[:20]
    with pytest.warns(UserWarning, match=r"perplexity=30 .* 6\.167"):
        large = ours.TSNE(perplexity=30).fit(few)
    assert np.array_equal(large.embedding_, ours.TSNE(perplexity=18.5 / 3).fit(few).embedding_)
    with pytest.raises(mlcli.errors.ConfigError, match="perplexity"):
        mlcli.embed(few, "tsne", set={"method.perplexity": 30})


def test_single_precision_in_is_single_precision_out() -> None:
    single = POINTS.astype(np.float32)
    estimator = ours.PCA().fit(single)
    assert estimator.embedding_.dtype == estimator.transform(single).dtype == estimator.components_.dtype == np.float32
    assert estimator.inverse_transform(estimator.transform(single)).dtype == np.float32
    assert estimator.transform(POINTS).dtype == ours.PCA().fit(POINTS).transform(single).dtype == np.float64


def lengths() -> Any:
    """The distances of neighbors (n x n), each in one direction or in both."""
    return kneighbors_graph(POINTS, 12, mode="distance")


@pytest.mark.parametrize(("method", "kind"), [("Isomap", "graph"), ("Isomap", "dissimilarities"),
                                              ("Laplacian", "graph"), ("Laplacian", "affinities")])
@pytest.mark.parametrize("dense", [False, True])
def test_a_graph_is_taken_where_the_method_takes_one(method: str, kind: str, dense: bool) -> None:
    estimator = getattr(ours, method)
    if kind == "dissimilarities" and dense:
        pytest.skip("zeros are distances there")
    edges = kneighbors_graph(POINTS, 12, include_self=False) if kind == "affinities" else lengths()
    edges = edges + 2 * eye_array(len(POINTS)) if kind == "affinities" else edges  # which counts for nothing
    with warnings.catch_warnings(action="ignore"):
        found: Array = estimator(kind=kind).fit_transform(edges.toarray() if dense else edges)
        expected = estimator(neighbors=12).fit_transform(POINTS)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_a_method_of_lengths_refuses_affinities() -> None:
    with pytest.raises(ValueError, match="kind='graph'"):
        ours.Isomap(kind="affinities").fit(kneighbors_graph(POINTS, 12))
