"""Methods under a metric: the same as of its matrix of distances, and new points under the same metric."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.metrics import AnyMetric
from mlcli.core.metrics.distances import pairwise
from mlcli.data.options.input import Input
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, GeometryError
from mlcli.methods import Model
from mlcli.pipeline import run as pipeline
from mlcli.runs import project
from tests.faults.certificate.support import configured, judged, write_csv
from tests.laws.agreement.tables import read
from tests.support import dissimilarities, features, fit, gram, similarities

GENERATOR = np.random.default_rng(12)
COUNTS = GENERATOR.poisson(4.0, (60, 6)) * GENERATOR.uniform(0.5, 1.5, (60, 6)) + 0.25
GLOBE = np.column_stack([GENERATOR.uniform(-80, 80, 60), GENERATOR.uniform(-180, 180, 60)])
PRESENCE = np.where(GENERATOR.random((60, 24)) < 0.5, COUNTS[:, :1], 0.0)
DATA = {"haversine": GLOBE, "jaccard": PRESENCE, "dice": PRESENCE, "hamming": PRESENCE}
METRICS: dict[str, Any] = {name: {"name": name} for name in (
    "euclidean", "cityblock", "chebyshev", "cosine", "correlation", "braycurtis", "canberra", "jaccard", "ruzicka",
    "dice", "hamming", "jensenshannon", "hellinger", "aitchison", "gower", "haversine")} | {
    "minkowski": {"name": "minkowski", "p": 1.5}}
METHODS: dict[str, dict[str, Any]] = {
    "mds": {}, "isomap": {"neighbors": 12},
    "isomap in a radius": {"neighbors": {"radius": 0.2, "pieces": "connect"}}, "laplacian": {"neighbors": 12},
    "lle": {"neighbors": 12},
}
every_metric = pytest.mark.parametrize("metric", METRICS)
every_method = pytest.mark.parametrize("method", METHODS)


def points_for(metric: str) -> Array:
    """Points within the domain of a metric."""
    return DATA.get(metric, COUNTS)


def matrix(metric: str, points: Array) -> Array:
    """All distances of points."""
    return pairwise(TypeAdapter(AnyMetric).validate_python(METRICS[metric]).fitted(points), points)


def under(method: str, metric: str, **options: Any) -> Model:
    """A fit of the points of a metric under it."""
    return fit(method.split()[0], points_for(metric), metric=METRICS[metric], **{**METHODS[method], **options})


@every_metric
@every_method
def test_a_metric_gives_what_its_matrix_gives(method: str, metric: str) -> None:
    model, points = under(method, metric), points_for(metric)
    other = fit(method.split()[0], dissimilarities(matrix(metric, points)), **METHODS[method])
    top = np.abs(other.ranks.values).max()
    np.testing.assert_allclose(model.ranks.values[:5], other.ranks.values[:5], rtol=1e-9, atol=1e-12 * top)
    np.testing.assert_allclose(gram(model.embedding), gram(other.embedding), atol=1e-7 * np.abs(other.embedding).max())


@every_metric
@every_method
def test_training_rows_are_projected_onto_themselves(method: str, metric: str) -> None:
    model, points = under(method, metric), points_for(metric)
    apart = np.abs(model.project(points) - model.embedding).max(axis=1)
    assert apart.max() <= 1e-9 * np.abs(model.embedding).max()


@pytest.mark.parametrize("metric", [name if name in ("braycurtis", "cosine", "gower") else pytest.param(
    name, marks=pytest.mark.slow) for name in METRICS])
@every_method
@pytest.mark.filterwarnings("ignore")
def test_the_certificate_passes(method: str, metric: str, tmp_path: Path) -> None:
    options: dict[str, Any] = dict(METHODS[method])
    if isinstance(options.get("neighbors"), int):
        options["neighbors"] = {"count": options["neighbors"]}
    options |= {"name": method.split()[0], "metric": METRICS[metric]}
    full = {"certify": "full"}
    checks = judged(configured(tmp_path, options, points_for(metric), report=full))
    assert {"pass"} == {check["verdict"] for check in checks.values()} - {"skipped"}, checks
    assert checks["residual" if method != "laplacian" else "neighbors"]["verdict"] == "pass"


@pytest.mark.parametrize("data", ["dune", "bci"])
def test_principal_coordinates_of_communities_are_those_of_their_bray_curtis_matrix(data: str) -> None:
    counts = read(f"metrics/{data}.csv")
    model = fit("mds", counts, metric={"name": "braycurtis"}, components=4)
    apart = np.zeros((len(counts), len(counts)))
    columns = read(f"metrics/{data}_pairs.csv")[:, 0]  # by R's vegdist
    apart[np.triu_indices(len(counts), 1)] = columns
    other = fit("mds", dissimilarities(apart + apart.T), components=4)
    np.testing.assert_allclose(model.ranks.values, other.ranks.values, atol=1e-12)
    np.testing.assert_allclose(model.embedding, other.embedding, atol=1e-12)


def test_pca_of_hellinger_transformed_rows_is_mds_of_hellinger_distances() -> None:
    names = tuple(map(str, range(len(COUNTS))))
    rows = prepare(Prepare(transform=("hellinger",)), Table(COUNTS, names[: COUNTS.shape[1]], names)).table.values
    pca, mds = fit("pca", rows, components=4), fit("mds", COUNTS, metric={"name": "hellinger"}, components=4)
    np.testing.assert_allclose(pca.embedding, mds.embedding, atol=1e-13)


@pytest.mark.parametrize("power", [-300, 300])
@pytest.mark.parametrize("metric", ["cityblock", "braycurtis", "cosine", "canberra", "ruzicka", "hellinger"])
def test_amounts_in_another_unit_have_the_same_distances_in_that_unit(metric: str, power: int) -> None:
    own = 1 if metric == "cityblock" else 0
    one, other = (fit("mds", points, metric={"name": metric}) for points in (COUNTS, np.ldexp(COUNTS, power)))
    assert np.array_equal(np.ldexp(one.embedding, own * power), other.embedding)
    assert np.array_equal(np.ldexp(one.project(COUNTS[:5] + 0.5), own * power),
                          other.project(np.ldexp(COUNTS[:5] + 0.5, power)))


@pytest.mark.parametrize(("metric", "value", "place"), [
    ("braycurtis", -1.0, "row 3 ('3'), column 'x2': "), ("hellinger", -1.0, "row 3 ('3'), column 'x2': "),
    ("aitchison", 0.0, "row 3 ('3'), column 'x2': "), ("haversine", 91.0, "")])
@every_method
def test_numbers_outside_of_the_domain_are_refused_by_row(method: str, metric: str, value: float, place: str) -> None:
    points = COUNTS.copy()
    points[2, 1] = value
    with pytest.raises(DataError) as caught:
        fit(method.split()[0], points, metric={"name": metric}, **METHODS[method])
    assert caught.value.code == "E-METRIC" and caught.value.where == "method.metric"
    assert caught.value.what.startswith(f"{place}{metric} ")


def test_a_row_without_a_direction_is_refused() -> None:
    points = COUNTS.copy()
    points[7] = 0.0
    for metric in ("cosine", "braycurtis", "dice"):
        with pytest.raises(DataError, match=rf"row 8 \('8'\), {metric} ") as caught:
            fit("mds", points, metric={"name": metric})
        assert caught.value.code == "E-METRIC"
    points[7] = 4.0
    with pytest.raises(DataError, match=r"row 8 \('8'\), correlation "):
        fit("mds", points, metric={"name": "correlation"})


@every_method
def test_given_distances_leave_no_choice_of_a_metric(method: str) -> None:
    given = dissimilarities(matrix("euclidean", COUNTS))
    with pytest.raises(ConfigError) as caught:
        fit(method.split()[0], given, metric={"name": "cosine"}, **METHODS[method])
    assert caught.value.code == "E-METRIC" and caught.value.where == "method.metric"


def test_rows_in_one_direction_are_equal_under_cosine() -> None:
    with pytest.raises(GeometryError) as caught:
        fit("isomap", features(np.outer(2.0 ** np.arange(20), [1.0, 2.0])), metric={"name": "cosine"}, neighbors=3)
    assert caught.value.code == "E-ALL-EQUAL"


@every_metric
@pytest.mark.filterwarnings("ignore")
def test_the_gaussian_kernel_of_a_metric_is_that_of_its_distances(metric: str, tmp_path: Path) -> None:
    points, options = points_for(metric), {"metric": METRICS[metric]}
    squares = matrix(metric, points) ** 2
    rate = 1 / float(np.median(squares[np.triu_indices(60, 1)][squares[np.triu_indices(60, 1)] > 0]))
    model, other = fit("kpca", points, **options), fit("kpca", similarities(np.exp(-rate * squares)))
    np.testing.assert_allclose(model.ranks.values, other.ranks.values, atol=1e-9)
    assert np.abs(model.project(points) - model.embedding).max() <= 1e-9 * np.abs(model.embedding).max()
    checks = judged(configured(tmp_path, {"name": "kpca", **options}, points, report={"certify": "full"}))
    assert {"pass"} == {check["verdict"] for check in checks.values()} - {"skipped"}, checks
    assert checks["residual"]["verdict"] == "pass"


@pytest.mark.medium
def test_a_streamed_kernel_of_a_metric_has_the_same_spectrum(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).random((1300, 4))
    options: dict[str, Any] = {"metric": {"name": "braycurtis"}, "components": 3}
    whole = fit("kpca", points, **options)
    squares = matrix("braycurtis", points)[np.triu_indices(1300, 1)] ** 2
    assert whole.projector is not None and whole.projector.similarity.function.rate == 1 / np.median(squares)
    monkeypatch.setattr("mlcli.core.kernels.streamed.STORED", 0)
    streamed = fit("kpca", points, **options)
    np.testing.assert_allclose(streamed.ranks.values[:3], whole.ranks.values[:3], rtol=1e-8)


def test_a_kernel_of_no_distances_refuses_a_metric() -> None:
    with pytest.raises(ConfigError) as caught:
        fit("kpca", COUNTS, metric={"name": "cosine"}, kernel={"name": "polynomial"})
    assert caught.value.code == "E-KERNEL-METRIC"


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_locally_linear_embedding_needs_distances_only(solver: str) -> None:
    points = np.random.default_rng(3).standard_normal((150, 4)) * [4, 2, 1, 0.5]
    options: dict[str, Any] = {"neighbors": 10, "eigensolve": {"solver": solver, "components": 2}}
    by_points = fit("lle", points, **options)
    by_distances = fit("lle", dissimilarities(matrix("euclidean", points)), **options)
    assert np.abs(by_points.embedding - by_distances.embedding).max() < 1e-8
    np.testing.assert_allclose(by_points.ranks.values[:2], by_distances.ranks.values[:2], rtol=1e-8)


@pytest.mark.medium
@pytest.mark.parametrize("metric", ["cityblock", "cosine", "gower"])
def test_unfolding_keeps_the_distances_of_neighbors_under_the_metric(metric: str) -> None:
    options: dict[str, Any] = {"neighbors": 6, "constraints": "at_most", "common_neighbors": True}
    points = points_for(metric)[:40]
    model = fit("sde", points, metric=METRICS[metric], **options)
    other = fit("sde", dissimilarities(matrix(metric, points)), **options)
    np.testing.assert_allclose(model.ranks.values[:3], other.ranks.values[:3], rtol=1e-6)
    assert np.abs(model.project(points) - model.embedding).max() <= 1e-9 * np.abs(model.embedding).max()


@pytest.mark.filterwarnings("ignore")
def test_the_certificate_of_locally_linear_embedding_takes_dissimilarities(tmp_path: Path) -> None:
    checks = judged(configured(tmp_path, {"name": "lle", "neighbors": {"count": 12}}, matrix("canberra", COUNTS),
                               input={"kind": "dissimilarities"}, report={"certify": "full"}))
    assert {"pass"} == {check["verdict"] for check in checks.values()} - {"skipped"}, checks
    assert checks["residual"]["verdict"] == checks["projection"]["verdict"] == "pass"


@pytest.mark.parametrize(("metric", "value"), [("braycurtis", -3.0), ("aitchison", 0.0), ("hellinger", -0.5)])
@pytest.mark.filterwarnings("ignore")
def test_new_rows_outside_of_the_domain_are_refused_by_name(metric: str, value: float, tmp_path: Path) -> None:
    judged(configured(tmp_path, {"name": "isomap", "metric": metric, "neighbors": {"count": 12}}, COUNTS))
    new = COUNTS[:4].copy()
    new[2, 5] = value
    write_csv(tmp_path / "new.csv", new)
    with pytest.raises(DataError) as caught:
        project.project(tmp_path / "out", Input(path=str(tmp_path / "new.csv"), id_column="id"), Compute())
    assert caught.value.code == "E-METRIC" and "row 3 ('2'), column 'x5'" in str(caught.value)


def test_quality_and_dimension_compare_rows_by_the_metric(tmp_path: Path) -> None:
    config = configured(tmp_path, {"name": "mds", "metric": "braycurtis", "eigensolve": {"components": 4}}, COUNTS,
                        report={"quality": {"neighbors": 7}})
    pipeline.run(config)
    found = json.loads((tmp_path / "out" / "quality.json").read_text())
    other = configured(tmp_path, {"name": "mds", "eigensolve": {"components": 4}}, matrix("braycurtis", COUNTS),
                       input={"kind": "dissimilarities"}, report={"quality": {"neighbors": 7}})
    pipeline.run(other, force=True)
    given = json.loads((tmp_path / "out" / "quality.json").read_text())
    assert (found["distances"], given["distances"]) == ("braycurtis", "given")
    for name in ("trustworthiness", "continuity", "stress_1", "shepard_correlation", "residual_variance"):
        assert found[name] == pytest.approx(given[name], rel=1e-9)
