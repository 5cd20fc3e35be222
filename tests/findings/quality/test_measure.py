"""Every measure agrees with its definition, written out the slow way, and with other tools."""

import numpy as np
import pytest
from scipy import stats

from mlcli.base.types import Array
from tests import support
from tests.findings.quality.support import intrusion, measured, overlap
from tests.support import Notes, distances

RANDOM = np.random.default_rng(7)
POINTS = RANDOM.standard_normal((61, 5)) * [5, 3, 2, 1, 1]
CLOUDS = {"general": POINTS, "even count": POINTS[:60], "lattice": np.round(POINTS), "one column": POINTS[:, :1],
          "duplicates": np.repeat(POINTS[:20], 3, axis=0), "wide": RANDOM.standard_normal((50, 40)),
          "far": POINTS + 1e6, "large": POINTS * 1e200, "small": POINTS * 1e-200}


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("neighbors", [1, 7])
def test_neighborhoods(name: str, neighbors: int) -> None:
    """Also with ties, which are broken by index: whole numbers have exact squared distances."""
    points = CLOUDS[name]
    scale = np.abs(points).max()
    with np.errstate(over="ignore"):
        found = measured(points, points[:, :2], neighbors=neighbors)
    source, embedded = distances(points / scale), distances(points[:, :2] / scale)
    if name in ("lattice", "duplicates"):
        source, embedded = np.round(source**2 * scale**2, 9), np.round(embedded**2 * scale**2, 9)
    assert found["trustworthiness"] == pytest.approx(intrusion(source, embedded, neighbors), abs=1e-14)
    assert found["continuity"] == pytest.approx(intrusion(embedded, source, neighbors), abs=1e-14)
    for k in (1, 5, neighbors, len(points) - 1):
        assert found["q_nx"]["values"][k - 1] == pytest.approx(overlap(source, embedded, k), abs=1e-14)
    assert found["lcmc"] == pytest.approx(overlap(source, embedded, neighbors) - neighbors / (len(points) - 1))
    assert found["q_nx"]["neighbors"] == list(range(1, len(points)))


def test_trustworthiness_of_scikit_learn() -> None:
    """Where it is installed; its own ties are broken anyhow, so there are none here."""
    manifold = pytest.importorskip("sklearn.manifold")
    for size, neighbors in ((61, 12), (61, 30), (10, 4)):
        points, embedding = POINTS[:size], POINTS[:size, 3:]
        found = measured(points, embedding, neighbors=neighbors)
        assert found["trustworthiness"] == pytest.approx(
            manifold.trustworthiness(points, embedding, n_neighbors=neighbors), abs=1e-14)
        assert found["continuity"] == pytest.approx(
            manifold.trustworthiness(embedding, points, n_neighbors=neighbors), abs=1e-14)


@pytest.mark.parametrize("name", CLOUDS)
def test_distances(name: str) -> None:
    points = CLOUDS[name]
    embedding = points[:, :2] * 0.7
    scale = np.abs(points).max()
    whole, other = distances(points / scale), distances(embedding / scale)
    upper = np.triu_indices(len(points), 1)
    delta, d = whole[upper], other[upper]
    off, there = (delta - d) ** 2, delta > 0
    found, near = measured(points, embedding), {"rel": 1e-9, "abs": 1e-9}
    assert found["stress_1"] == pytest.approx(np.sqrt(off.sum() / (d**2).sum()), **near)
    assert found["sammon_stress"] == pytest.approx((off[there] / delta[there]).sum() / delta.sum(), **near)
    assert found["residual_variance"] == pytest.approx(1 - np.corrcoef(delta, d)[0, 1] ** 2, **near)
    both = np.corrcoef(whole.ravel(), other.ravel())[0, 1]
    assert found["residual_variance_tenenbaum"] == pytest.approx(1 - both**2, **near)
    best = (delta @ d) / (d @ d)
    assert found["stress_1_scaled"] == pytest.approx(np.linalg.norm(delta - best * d) / np.linalg.norm(delta),
                                                     rel=1e-6, abs=1e-7)
    flat = d[there] ** 2 / delta[there]
    best = d[there].sum() / flat.sum()
    assert found["sammon_stress_scaled"] == pytest.approx(
        ((delta - best * d)[there] ** 2 / delta[there]).sum() / delta.sum(), **near)


@pytest.mark.parametrize("name", ["general", "even count", "lattice", "duplicates", "wide"])
def test_shepard_correlation_is_that_of_spearman(name: str) -> None:
    points = CLOUDS[name]
    upper = np.triu_indices(len(points), 1)
    delta, d = (np.round(distances(values)[upper], 9) for values in (points, points[:, :2]))
    expected = stats.spearmanr(delta, d).statistic
    assert measured(points, points[:, :2])["shepard_correlation"] == pytest.approx(expected, abs=1e-7)


def test_shepard_correlation_of_many_pairs() -> None:
    """Counted in bins instead of sorted."""
    points = RANDOM.standard_normal((500, 4)) * [3, 2, 1, 1]
    upper = np.triu_indices(500, 1)
    expected = stats.spearmanr(*(distances(values)[upper] for values in (points, points[:, :2]))).statistic
    assert measured(points, points[:, :2])["shepard_correlation"] == pytest.approx(expected, abs=1e-7)


def silhouette(embedding: Array, labels: list[str]) -> float:
    """Rousseeuw's mean of (b - a) / max(a, b), 0 for a point alone in its class."""
    whole, values = distances(embedding), []
    for i, own in enumerate(labels):
        means = {other: [whole[i, j] for j, text in enumerate(labels) if text == other and j != i] for other in labels}
        if not means[own]:
            values.append(0.0)
            continue
        a, b = np.mean(means[own]), min(np.mean(far) for other, far in means.items() if other != own)
        values.append((b - a) / max(a, b) if max(a, b) else 0.0)
    return float(np.mean(values))


def test_labels() -> None:
    """Also with a class of one; points without a label are left out."""
    labels = ["a", "b", "c"] * 20 + ["alone"]
    found = measured(POINTS, POINTS[:, :2], labels={"class": labels})
    whole = distances(POINTS[:, :2]) + np.diag(np.full(61, np.inf))
    wrong = np.mean([labels[i] != labels[j] for i, j in enumerate(whole.argmin(axis=1))])
    assert found["label"] == "class"
    assert found["label_1nn_error"] == pytest.approx(wrong)
    assert found["silhouette"] == pytest.approx(silhouette(POINTS[:, :2], labels))
    some = np.arange(61) % 4 > 0
    blanked = [text if there else "" for text, there in zip(labels, some, strict=True)]
    partly = measured(POINTS, POINTS[:, :2], labels={"class": blanked})
    alone = measured(POINTS[some], POINTS[some, :2], labels={"class": [labels[i] for i in np.flatnonzero(some)]})
    assert partly["label_1nn_error"] == alone["label_1nn_error"]
    assert partly["silhouette"] == pytest.approx(alone["silhouette"])


def test_silhouette_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels = ["ab"[int(x > 0)] for x in POINTS[:, 0]]
    expected = metrics.silhouette_score(POINTS[:, :2], labels)
    assert measured(POINTS, POINTS[:, :2], labels={"side": labels})["silhouette"] == pytest.approx(expected)


def test_the_first_label_column_with_classes_is_measured() -> None:
    labels = {"same": ["x"] * 61, "name": [f"p{i}" for i in range(61)], "side": ["ab"[i % 2] for i in range(61)],
              "other": ["ab"[i > 20] for i in range(61)]}
    assert measured(POINTS, POINTS, labels=labels)["label"] == "side"
    for useless in ({}, {"same": labels["same"]}, {"name": labels["name"]}, {"none": [""] * 61}):
        found = measured(POINTS, POINTS, labels=useless)
        assert (found["label"], found["label_1nn_error"], found["silhouette"]) == (None, None, None)


@pytest.mark.parametrize("divisor", ["n", "n-1"])
def test_reconstruction_error_is_the_sum_of_the_eigenvalues_left_out(divisor: str) -> None:
    model = support.fit("pca", POINTS, components=2, divisor=divisor)
    found = measured(POINTS, model.embedding, decode=model.projector.decode)
    left_out = model.spectrum.eigenvalues[2:].sum() * (1 if divisor == "n" else 60 / 61)
    assert found["reconstruction_error"] == pytest.approx(left_out, rel=1e-12)
    assert measured(POINTS, model.embedding)["reconstruction_error"] is None


@pytest.mark.parametrize("absent", ["", "  ", "NA", "NaN", "nan"])
def test_a_label_that_is_missing_as_a_number_would_be_is_no_class(absent: str) -> None:
    labels = ["a", "b", "c"] * 20 + ["a"]
    gaps = [absent if place % 5 == 0 else label for place, label in enumerate(labels)]
    with Notes() as notes:
        found = measured(POINTS, POINTS[:, :2], labels={"class": gaps})
    known = [place for place, label in enumerate(gaps) if label != absent]
    alone = measured(POINTS[known], POINTS[known, :2], labels={"class": [gaps[place] for place in known]})
    for figure in ("label_1nn_error", "silhouette"):
        assert found[figure] == pytest.approx(alone[figure], rel=1e-12)
    assert [note.facts["rows"] for note in notes.notes if note.code == "N-NO-LABEL"] == [len(labels) - len(known)]
