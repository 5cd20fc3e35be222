"""What must hold of the measures whatever the data: known values, invariance, samples, sizes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.findings.dimension.evidence import evidence_of
from mlcli.findings.dimension.rules import apply_rules
from mlcli.findings.quality import section
from mlcli.findings.quality.measure import BaselineCoordinates, QualityResult, quality
from mlcli.findings.quality.section import MEASURES, in_words, main_measures
from mlcli.methods import METHODS
from tests import support
from tests.findings.quality.support import measured
from tests.native.support import needs_native
from tests.support import distances
from tests.wording import Wording

RANDOM = np.random.default_rng(3)
POINTS = RANDOM.standard_normal((90, 6)) * [5, 4, 3, 2, 1, 1]
MANY = RANDOM.standard_normal((2500, 20)) * np.linspace(4, 1, 20)
LABELS = {"side": tuple("ab"[int(x > 0)] for x in MANY[:, 0] + 3 * MANY[:, 10])}
NEIGHBORHOODS = ("trustworthiness", "continuity", "lcmc")


def numbers(found: dict[str, object]) -> Array:
    """All measures one after another; None as NaN."""
    values = {name: value for name, value in found.items() if name not in ("distances", "label", "exact")}
    return np.concatenate([np.atleast_1d(np.array(v["values"] if isinstance(v, dict) else v, dtype=float))
                           for v in values.values()])


def rotation(columns: int) -> Array:
    return np.linalg.qr(RANDOM.standard_normal((columns, columns)))[0]


def test_the_data_itself_is_a_perfect_embedding() -> None:
    found = measured(POINTS, POINTS.copy())
    assert (found["trustworthiness"], found["continuity"], found["stress_1"], found["sammon_stress"]) == (1, 1, 0, 0)
    assert set(found["q_nx"]["values"]) == {1.0}
    assert found["lcmc"] == 1 - 12 / 89
    assert found["shepard_correlation"] == pytest.approx(1, abs=1e-15)
    assert found["residual_variance"] == pytest.approx(0, abs=1e-13)


def test_rotation_shift_and_order_change_nothing() -> None:
    labels = [f"{int(x > 0)}" for x in POINTS[:, 0]]
    expected = numbers(measured(POINTS, POINTS[:, :2], labels={"side": labels}))
    moved = numbers(measured(POINTS @ rotation(6) + 5, POINTS[:, :2] @ rotation(2) - 9, labels={"side": labels}))
    turned = RANDOM.permutation(90)
    other = numbers(measured(POINTS[turned], POINTS[turned, :2], labels={"side": [labels[i] for i in turned]}))
    np.testing.assert_allclose(moved, expected, rtol=1e-9)
    np.testing.assert_allclose(other, expected, rtol=1e-9)


def test_scale_matters_to_stress_alone() -> None:
    expected, found = (measured(POINTS, POINTS[:, :2] * scale) for scale in (1, 3))
    for name, value in expected.items():
        if name in ("stress_1", "sammon_stress"):
            assert found[name] > value
        elif isinstance(value, float):
            assert found[name] == pytest.approx(value, rel=1e-6), name
    assert expected["stress_1_scaled"] <= expected["stress_1"]
    assert expected["sammon_stress_scaled"] <= expected["sammon_stress"]


def test_a_random_embedding_overlaps_by_chance_only() -> None:
    found = measured(MANY[:1000], RANDOM.standard_normal((1000, 2)))
    assert abs(found["lcmc"]) < 0.005
    assert found["trustworthiness"] == pytest.approx(0.5, abs=0.05)
    assert abs(found["shepard_correlation"]) < 0.05


def test_a_sample_of_all_points_is_exact() -> None:
    expected, found = (measured(POINTS, POINTS[:, :2], sample=sample) for sample in ("auto", 90))
    assert found == expected and found["exact"] and "stress_1_se" not in found


@pytest.mark.medium
def test_a_sample_agrees_with_all_points_within_its_standard_errors() -> None:
    """Over 40 samples of 60: the errors' size is right, and no measure is far from its value on the whole."""
    points, labels = MANY[:600], {"side": LABELS["side"][:600]}
    exact, source = measured(points, points[:, :2], labels=labels), support.features(points)
    samples = [quality(source, points[:, :2], sample=60, labels=labels, generator=np.random.default_rng(seed)).figures
               for seed in range(40)]
    assert not samples[0]["exact"] and samples[0]["anchors"] == 60
    names = [name for name in exact if f"{name}_se" in samples[0] and name != "q_nx"]
    off = {name: np.array([(found[name] - exact[name]) / found[f"{name}_se"] for found in samples]) for name in names}
    assert {name: size for name, values in off.items() if not 0.6 < (size := np.sqrt((values**2).mean())) < 1.5} == {}
    assert len(names) == 12


@pytest.mark.medium
def test_a_seed_gives_one_sample_and_threads_change_nothing() -> None:
    def found(threads: int) -> dict[str, object]:
        with limit_threads(threads):
            return measured(MANY, MANY[:, :2], labels=LABELS)

    once = found(1)
    assert (once["exact"], once["anchors"], once["rows"]) == (False, 250, 2500)
    assert found(2) == found(3) == once


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["far away", "two far clusters", "huge", "tiny"])
def test_neighbors_are_seen_where_squares_hide_them(kind: str) -> None:
    """Above the limit distances are found by products about a center; the truth is the same data, tame."""
    halves = np.repeat([[0.0], [1.0]], 1250, axis=0)
    points = {"far away": MANY + 1e5, "two far clusters": MANY + 3e4 * halves, "huge": MANY * 2.0**600,
              "tiny": MANY * 2.0**-600}[kind]
    tame = MANY + 200 * halves if kind == "two far clusters" else MANY
    for name in NEIGHBORHOODS:
        found, expected = (measured(values, MANY[:, :2])[name] for values in (points, tame))
        assert found == pytest.approx(expected, abs=2e-3 if kind == "two far clusters" else 1e-5), name


@pytest.mark.parametrize("size", [1, 2, 3, 4, 24, 25])
def test_few_points(size: int) -> None:
    """Neighborhoods are clipped below half the points, with a note; what has no meaning is None or no number."""
    with support.Notes() as notes:
        found = measured(POINTS[:size], POINTS[:size, :2])
    assert found["neighbors"] == (min(12, (size - 1) // 2) or None)
    assert ("N-QUALITY-NEIGHBORS" in notes.codes) == (size < 25)
    assert (found["trustworthiness"] is None) == (size < 3)
    assert (found["stress_1"] is None) == (size < 2)


def test_points_all_alike() -> None:
    """No distances: correlations have no value, and nothing fails."""
    found = measured(np.ones((30, 3)), np.zeros((30, 2)))
    assert found["trustworthiness"] == found["continuity"] == 1
    assert np.isnan([found["stress_1"], found["residual_variance"], found["shepard_correlation"]]).all()


def test_geodesic_distances_are_those_that_isomap_keeps() -> None:
    model = support.fit("isomap", POINTS * 2.0**40, neighbors=6)
    found = measured(POINTS * 2.0**40, model.embedding, kept=model.space(Compute()))
    graph = model.projector.similarity.graph
    from mlcli.core.paths.geodesics import dijkstra_rows

    expected = measured(support.dissimilarities(dijkstra_rows(graph, np.arange(90))), model.embedding * 2.0**-46)
    assert found["distances"] == "geodesic"
    scale = model.projector.exponent_in
    same = measured(support.dissimilarities(dijkstra_rows(graph, np.arange(90)) * 2.0**scale), model.embedding)
    for name in ("stress_1", "sammon_stress", "residual_variance", "shepard_correlation"):
        assert found[name] == pytest.approx(same[name], rel=1e-9), name
    assert found["residual_variance"] == pytest.approx(expected["residual_variance"])
    assert found["trustworthiness"] == measured(POINTS, model.embedding)["trustworthiness"]


def test_isomap_with_all_neighbors_keeps_euclidean_distances() -> None:
    model = support.fit("isomap", POINTS, neighbors=89)
    found = measured(POINTS, model.embedding, kept=model.space(Compute()))
    np.testing.assert_allclose(numbers(found), numbers(measured(POINTS, model.embedding)), rtol=1e-9)


@pytest.mark.parametrize("kernel", [{"name": "linear"}, {"name": "gaussian", "rate": 0.01}, {"name": "polynomial"}])
def test_kernel_pca_keeps_the_distances_of_its_feature_space(kernel: dict[str, object]) -> None:
    """With all axes it keeps them exactly; a kernel given as a matrix has the same."""
    model = support.fit("kpca", POINTS, kernel=kernel, components=89 if kernel["name"] == "gaussian" else 6)
    found = measured(POINTS, model.embedding, kept=model.space(Compute()))
    similarity = model.projector.similarity
    values = similarity.function(similarity.points, similarity.points) * 4.0**model.projector.exponent_out
    given = measured(support.similarities(values), model.embedding)
    assert found["distances"] == given["distances"] == "kernel"
    assert found["stress_1"] == pytest.approx(given["stress_1"], abs=1e-7)
    assert found["residual_variance"] == pytest.approx(given["residual_variance"], rel=1e-6, abs=1e-9)
    if kernel["name"] != "polynomial":
        assert found["stress_1"] < 1e-6


def test_given_dissimilarities() -> None:
    given = measured(support.dissimilarities(distances(POINTS)), POINTS[:, :2])
    expected = measured(POINTS, POINTS[:, :2])
    assert (given["distances"], expected["distances"]) == ("given", "euclidean")
    np.testing.assert_allclose(numbers(given), numbers(expected), rtol=1e-9)


def test_embeddings_without_a_unit_of_data_in_any_unit() -> None:
    """LLE of data at the end of the range: ranks are measured, stress is what it is."""
    points = POINTS * 1e300
    found = measured(points, support.fit("lle", POINTS, neighbors=10).embedding)
    assert 0.5 < found["trustworthiness"] <= 1
    assert 0 <= found["stress_1_scaled"] <= 1


@pytest.mark.parametrize(("size", "sample"), [(90, "auto"), (600, 60)])
def test_measures_of_a_baseline_are_those_of_its_coordinates_alone(size: int, sample: int | str) -> None:
    """Of all points, and of a sample with standard errors; and those of the embedding are as without it."""
    points, labels = MANY[:size], {"side": LABELS["side"][:size]}
    embedding, other = RANDOM.standard_normal((size, 2)) * 1e3, points[:, 2:4]
    alone, expected = (measured(points, part, labels=labels, sample=sample) for part in (embedding, other))
    found = measured(points, embedding, labels=labels, sample=sample, baseline=BaselineCoordinates("pca", other))
    beside = found.pop("baseline")
    assert found == alone and (beside.pop("method"), beside.pop("components")) == ("pca", 2)
    assert beside == {name: expected[name] for name in beside} and set(beside) >= {"q_nx", "silhouette"}


def test_more_groups_of_anchors_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcli.findings.quality import anchors

    expected = numbers(measured(MANY, MANY[:, :2], sample=60))
    monkeypatch.setattr(anchors, "anchors_in_group", lambda size: 7)
    monkeypatch.setattr(anchors, "BLOCK", 2500 * 3)
    np.testing.assert_allclose(numbers(measured(MANY, MANY[:, :2], sample=60)), expected, rtol=1e-6)


@needs_native
def test_the_kernels_give_what_numpy_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcli.findings.quality import measures

    scattered = RANDOM.standard_normal((len(MANY), 2))
    for embedding in (MANY[:, :2], scattered):
        expected = numbers(measured(MANY, embedding, sample=60))
        with monkeypatch.context() as patch:
            patch.setattr(measures.native, "available", lambda: False)
            patch.setattr(measures, "KEY_BLOCK", 700)
            np.testing.assert_allclose(numbers(measured(MANY, embedding, sample=60)), expected, rtol=1e-12)


@pytest.mark.medium
def test_no_copy_of_the_data_is_made() -> None:
    import tracemalloc

    points = np.lib.stride_tricks.as_strided(RANDOM.standard_normal((1, 400)), (40_000, 400), (0, 8))
    points = points * 1.0  # 128 MB
    embedding = points[:, :2] + RANDOM.standard_normal((40_000, 2))
    points[:, :2] = embedding
    tracemalloc.start()
    found = quality(Features(points, []), embedding, sample=100, generator=np.random.default_rng(0)).figures
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["anchors"] == 100
    assert peak < 100e6


def test_content_is_plain() -> None:
    json.dumps(measured(POINTS, POINTS[:, :2]), allow_nan=False)


@pytest.mark.medium
def test_geodesics_from_the_fit_give_what_geodesics_found_anew_give() -> None:
    """Where distances are streamed in single precision, and the measures are of a sample."""
    model = support.fit("isomap", MANY[:, :3], neighbors=8, paths={"store": "streamed"})
    if model.rows is None:
        pytest.skip("needs the native kernels")
    anew = replace(model, rows=None)
    found, expected = (measured(MANY[:, :3], model.embedding, kept=m.space(Compute())) for m in (model, anew))
    assert not found["exact"]
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-5)
    first, second = (apply_rules(evidence_of(METHODS["isomap"](), m, support.features(MANY[:, :3]), Compute()))
                     for m in (model, anew))
    curves = [found["residual_variance"].figures["residual_variances"] for found in (first, second)]
    np.testing.assert_allclose(*curves, rtol=1e-5)


@pytest.mark.parametrize("method", ["tsne", "umap", "phate"])
def test_words_say_what_a_layout_does_not_keep(method: str) -> None:
    assert METHODS[method].loses in in_words({}, METHODS[method].loses).text
    assert "sizes and densities of groups" in METHODS[method].loses


def test_words_say_that_a_density_term_keeps_densities_in_part() -> None:
    plain, kept = METHODS["umap"](), METHODS["umap"](density={})
    assert plain.loss() == METHODS["umap"].loses and "local densities in part" in kept.loss()
    assert "Distances between groups mean little" in kept.loss()


@pytest.mark.parametrize(("method", "scale", "third"), [
    ("pca", None, "residual_variance"), ("isomap", None, "residual_variance"), ("tsne", None, "lcmc"),
    ("lle", "free", "lcmc"), ("smacof", None, "stress_1"), ("sammon", None, "sammon_stress"),
    ("nmds", None, "shepard_correlation"), ("autoencoder", None, "reconstruction_error"),
    ("phate", None, "lcmc"), ("gplvm", None, "reconstruction_error")])
def test_three_measures_that_a_method_is_judged_by_stand_open_and_the_others_are_folded(
        method: str, scale: str | None, third: str) -> None:
    figures = {**dict.fromkeys(MEASURES, 0.25), **({"scale": scale} if scale else {})}
    assert main_measures(figures, dict.fromkeys(MEASURES, 0.25), METHODS[method]()) == [
        "trustworthiness", "continuity", third]
    shown = section.quality(QualityResult(figures, None), METHODS[method]())
    assert shown is not None
    first, rest = shown.text.split("<details>")
    rows = [text.count("<tr>") - 1 for text in (first, rest)]
    assert rows == [3, len(MEASURES) - 3 - 2 * (scale is not None)] and f"<summary>{rows[1]} further measures<" in rest
    assert f"<td>{MEASURES[third][0]}<" in first


def test_a_run_with_few_measures_folds_none() -> None:
    figures = {"shepard_correlation": 0.5, "trustworthiness": 0.75}
    assert main_measures(figures, figures, METHODS["pca"]()) == ["trustworthiness", "shepard_correlation"]
    assert "<details>" not in section.quality(QualityResult(figures, None), METHODS["pca"]()).text


def test_the_stress_of_ranks_and_that_of_distances_are_told_apart(wording: Wording) -> None:
    figures = {"shepard_correlation": 0.9, "stress_1": 0.25}
    plain, ranked = in_words(figures).text, in_words(figures, of_ranks=0.125).text
    assert wording(plain) == wording(ranked) == [] and " ranks" not in plain
    assert " 0.125" in ranked and " 0.25" in ranked
