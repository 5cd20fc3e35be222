"""Comparisons of embeddings: what rotation, scale and mirroring cannot change, and what other tools say."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from scipy.spatial import procrustes as peer
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.core.permutations import Permutations
from mlcli.findings.frame.likeness import (
    agreement,
    principal_angles,
    procrustes,
    procrustes_p,
    shared_counts,
    standardize,
)
from mlcli.report.comparison.page import embeddings, page, spectra
from mlcli.report.comparison.side_by_side import Comparison, Side, align_to_first, side_by_side
from mlcli.report.drawing.figure import Text
from mlcli.report.figures.coloring import coloring
from mlcli.report.figures.scatter import Points
from tests.report.test_page import ATTRIBUTES, HOSTILE, TAGS, Seen, some_everyday


def points(seed: int, rows: int = 60, axes: int = 3) -> Array:
    return np.random.default_rng(seed).standard_normal((rows, axes)) * np.arange(axes, 0, -1)


def rotation(seed: int, axes: int = 3) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((axes, axes)))[0]


def m2(first: Array, second: Array) -> float:
    return procrustes(standardize(first), standardize(second)).m2


def angles(first: Array, second: Array) -> Array:
    return principal_angles(standardize(first), standardize(second))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.floats(-280, 280), st.floats(-1e3, 1e3))
def test_a_copy_turned_mirrored_scaled_and_moved_is_the_same(seed: int, power: float, shift: float) -> None:
    first = points(seed)
    second = (first @ rotation(seed) + shift) * 10.0**power
    assert m2(first, second) < 1e-20
    assert (angles(first, second) < 1e-9).all()
    fit = procrustes(standardize(first), standardize(second))
    assert np.allclose(fit.turned, standardize(first), atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_scipys_procrustes_gives_the_same_statistic(seed: int) -> None:
    first, second = points(seed), points(seed + 100)
    assert m2(first, second) == pytest.approx(peer(first, second)[2], rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_symmetric_also_between_different_numbers_of_axes(seed: int) -> None:
    first, second = points(seed), points(seed + 100, axes=2)
    assert m2(first, second) == pytest.approx(m2(second, first), rel=1e-12)
    assert m2(first, second) == pytest.approx(peer(first, np.pad(second, ((0, 0), (0, 1))))[2], rel=1e-12)
    assert np.allclose(angles(first, second), angles(second, first))


def test_a_small_distance_keeps_its_digits() -> None:
    first = standardize(points(0))
    noise = standardize(points(1))
    noise -= first * np.vdot(first, noise)
    for size in (1e-3, 1e-6, 1e-9):
        found = m2(first, first + size * noise)
        assert 0.2 * size**2 < found <= 1.01 * size**2


@pytest.mark.parametrize("seed", range(5))
def test_scipys_angles_are_the_same(seed: int) -> None:
    first, second = points(seed, axes=4), points(seed + 50, axes=2)
    centered = [part - part.mean(axis=0) for part in (first, second)]
    assert np.allclose(angles(first, second), np.sort(np.degrees(subspace_angles(*centered))), atol=1e-9)


def test_angles_of_known_planes_and_of_none() -> None:
    axes = np.linalg.qr(points(3, axes=6) - points(3, axes=6).mean(axis=0))[0]
    tilted = np.column_stack([axes[:, 0], np.cos(0.3) * axes[:, 1] + np.sin(0.3) * axes[:, 2]])
    assert np.allclose(principal_angles(axes[:, :2], tilted), [0, np.degrees(0.3)], atol=1e-10)
    assert np.allclose(principal_angles(axes[:, :2], axes[:, 3:5]), [90, 90])
    assert principal_angles(np.zeros((10, 2)), axes[:10, :2]).size == 0
    nearly = axes[:, 1] + 1e-12 * axes[:, 2]
    assert principal_angles(axes[:, 1:2], nearly[:, None])[0] == pytest.approx(np.degrees(1e-12), rel=1e-3)


def brute_force(first: Array, second: Array, k: int) -> tuple[float, float]:
    """Overlap and Jaccard index from whole distance matrices."""
    near = []
    for values in (first, second):
        distances = cdist(values, values)
        np.fill_diagonal(distances, np.inf)
        near.append([set(row[:k]) for row in np.argsort(distances, axis=1, kind="stable").tolist()])
    pairs = list(zip(*near, strict=True))
    overlaps, jaccards = [len(a & b) / k for a, b in pairs], [len(a & b) / len(a | b) for a, b in pairs]
    return float(np.mean(overlaps)), float(np.mean(jaccards))


@pytest.mark.parametrize("k", [1, 5, 12])
def test_shared_neighbors_are_those_of_whole_distance_matrices(k: int) -> None:
    first, second = points(0), points(0)[:, :2]
    found = agreement(first, second, np.arange(60), k)
    assert (found.overlap, found.jaccard) == pytest.approx(brute_force(first, second, k))
    assert found.overlap_se is None


def test_the_counts_of_shared_entries() -> None:
    assert shared_counts(np.array([[1, 2, 3], [4, 5, 6]]), np.array([[3, 9, 1], [7, 8, 9]])).tolist() == [2, 0]


def test_a_sample_is_near_the_whole_by_its_standard_error() -> None:
    first, second = points(0, 3000), points(0, 3000)[:, :2]
    whole = agreement(first, second, np.arange(3000), 12)
    rows = np.sort(np.random.default_rng(1).choice(3000, 400, replace=False))
    part = agreement(first, second, rows, 12)
    assert part.overlap_se is not None and abs(part.overlap - whole.overlap) < 4 * part.overlap_se < 0.1


def side(name: str, values: Array) -> Side:
    return Side(name, "pca", "points.csv", len(values), values, [3.0, 1.0, -0.5], [0.75, 0.25, None], named=False)


def test_many_points_are_compared_from_a_seeded_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.report.comparison.side_by_side.EXACT", 500)
    monkeypatch.setattr("mlcli.report.comparison.side_by_side.SAMPLE", 200)
    sides = [side("a", points(0, 1000)), side("b", points(0, 1000)[:, :2])]
    found = [side_by_side(sides, [str(i) for i in range(1000)], {}, 12, np.random.default_rng(seed)).document()
             for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert found[0]["pairs"][0]["points"] == 200 and found[0]["pairs"][0]["overlap_se"] > 0


def compared(name: str = "a", count: int = 30) -> Comparison:
    sides = [side(name, points(0, count)), side("b", points(1, count, 1)), side("c", np.zeros((count, 2)))]
    return side_by_side(sides, [name] * count, {name: [name, "x"] * (count // 2)}, 12, np.random.default_rng(0))


def test_every_two_runs_are_compared_and_a_point_has_no_shape() -> None:
    document = compared().document()
    assert [(pair["first"], pair["second"]) for pair in document["pairs"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert np.isnan(document["pairs"][1]["procrustes_m2"]) and document["pairs"][1]["principal_angles"] == []
    assert document["pairs"][0]["neighbors"] == 12


def test_a_panel_names_its_own_axes_where_they_are_not_turned() -> None:
    first = points(0, axes=2)
    others = {"mirrored": first * [-3, 3], "turned": first @ rotation(1, 2), "one": first[:, :1]}
    named = {"a": first, **others}
    sides = [replace(side(name, values), axes=[f"{name} 1", f"{name} 2"]) for name, values in named.items()]
    found = side_by_side(sides, [str(row) for row in range(60)], {}, 5, np.random.default_rng(0))
    assert [found.axis_labels(place) for place in range(4)] == [
        ["a 1", "a 2"], ["mirrored 1", "mirrored 2"], ["turned 1 (aligned)", "turned 2 (aligned)"],
        ["one 1", "one 2"]]
    words = Seen(page(found, seed=0)).words
    assert words.count("mirrored 2") == 1 and words.count("turned 1 (aligned)") == 1 and "turned 1" not in words


@pytest.mark.parametrize("count", [2, 3])
def test_measures_stand_across_the_page_with_names_in_one_piece(count: int) -> None:
    sides = [replace(side(str(place), points(place)), quality={"trustworthiness": 0.9}) for place in range(count)]
    text = page(side_by_side(sides, [str(row) for row in range(60)], {}, 5, np.random.default_rng(0)), seed=0)
    assert '<td class="w">trustworthiness</td>' in text
    assert '<div class="columns">' not in text[text.index("<h2>Quality</h2>"):]


def test_a_plane_among_many_axes_is_aligned_with_the_leading_ones() -> None:
    """Aligned with all axes of rows that vary most along the third, the plane of the first two would be a line."""
    many = points(0, axes=10) * [1, 1, 50, *[1] * 7]
    plane = many[:, [0, 2]] @ rotation(1, 2)
    found = align_to_first([standardize(many), standardize(plane)])[1]
    assert found.shape == (60, 2)
    shapes = procrustes(standardize(many[:, :2]), standardize(plane))
    np.testing.assert_allclose(np.linalg.norm(found), 1, rtol=1e-12)
    np.testing.assert_allclose(found, shapes.turned, atol=1e-9)


def test_a_run_without_a_spectrum_has_no_panel_and_is_named() -> None:
    sides = [side("a", points(0)), replace(side("b", points(1)), method="umap", eigenvalues=())]
    found = side_by_side(sides, [str(row) for row in range(60)], {}, 5, np.random.default_rng(0))
    words = " ".join(Seen(page(found, seed=0)).words)
    assert "Without a spectrum: b (umap)." in words and len(spectra(sides).parts) == 1
    none = replace(found, sides=[replace(part, eigenvalues=()) for part in sides])
    assert "Spectra" not in page(none, seed=0)


def test_angles_are_rounded() -> None:
    same = side_by_side([side("a", points(0)), side("b", points(0))], [str(row) for row in range(60)], {}, 5,
                        np.random.default_rng(0))
    assert "<td>0°, 0°, 0°</td>" in page(same, seed=0)


def test_in_its_own_orientation_each_run_has_its_axes_and_signs() -> None:
    first = points(0, axes=2)
    named = {"a": first, "turned": first @ rotation(1, 2), "mirrored": first * [-3, 3]}
    sides = [replace(side(name, values), axes=[f"{name} 1", f"{name} 2"]) for name, values in named.items()]
    found = side_by_side(sides, [str(row) for row in range(60)], {}, 5, np.random.default_rng(0)).in_own_orientation()
    assert [found.axis_labels(place) for place in range(3)] == [[f"{name} 1", f"{name} 2"] for name in named]
    for values, placed in zip(named.values(), found.placed, strict=True):
        correlations = np.corrcoef(values.T, placed.T)[:2, 2:]
        np.testing.assert_allclose(np.diag(correlations), 1, rtol=1e-12)
        assert np.square(placed).sum() == pytest.approx(1)
    text = page(found, seed=0)
    assert "in its own orientation" in text and "Procrustes rotation" not in text and "(aligned)" not in text


def test_every_column_for_colors_has_its_plots_with_a_legend_that_is_whole() -> None:
    names = [f"group {row % 23}" for row in range(60)]
    made = side_by_side([side("a", points(0)), side("b", points(1))], [str(row) for row in range(60)],
                        {"k": names, "m": [str(row % 3) for row in range(60)], "l": ["x", "y"] * 30}, 5,
                        np.random.default_rng(0))
    assert Seen(page(made, seed=0)).words.count("k") == 1 and "colored by m" not in page(made, seed=0)
    found = replace(made, colors=("m", "k"), measured=frozenset({"m"}))
    words = Seen(page(found, seed=0)).words
    assert "Embeddings, colored by m." in words and "Embeddings, colored by k." in words and "l" not in words
    assert all(f"group {number} ({2 + (number < 14)})" in words for number in range(23)) and "0 (20)" not in words
    drawn = Points(found.placed[0], found.ids, coloring("k", names), 60)
    figure = embeddings(found.sides, [drawn, drawn], "t")
    _, marks = figure.pieces[-1]
    assert figure.parts[-1].key and sum("group" in mark.text for mark in marks if isinstance(mark, Text)) == 23


def square(text: str, title: str) -> list[list[str]]:
    """The cells of the table after a sentence."""
    body = text.partition(title)[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.splitlines() if row]


@pytest.mark.parametrize("count", [4, 13])
def test_many_runs_with_long_names_stand_under_numbers_in_tables_that_fit(count: int) -> None:
    names = [f"runs/a-study-whose-name-is-long/{chr(97 + place)}-of-2026-11-24" for place in range(count)]
    sides = [replace(side(name, points(place)), quality={"trustworthiness": 1 / (3 + place)})
             for place, name in enumerate(names)]
    found = side_by_side(sides, [str(row) for row in range(60)], {}, 5, np.random.default_rng(0))
    text = page(found, seed=0)
    assert Seen(text).open == []
    assert max(len(re.findall("<th[ >]", head)) for head in re.findall("<thead>.*</thead>", text)) <= 13
    heads = " ".join(re.findall(r"<th[^>]*>(.*?)</th>", text))
    assert "a-study" not in heads and all(text.count(name) == 1 for name in names)
    shapes = square(text, "Procrustes m² of each pair of runs:")
    assert shapes[0][2] == f"{found.pairs[0].fit.m2:.3f}" == shapes[1][1] and shapes[0][1] == shapes[1][2] == ""
    assert f"{1 / 3:.4g}" in text and f"{1 / 3:.6g}" not in text


@pytest.mark.medium
@pytest.mark.parametrize("name", some_everyday(["a", *HOSTILE]), ids=range(1 + len(HOSTILE)))
def test_the_page_is_well_formed_whatever_the_names(name: str) -> None:
    found = compared(name, 8)
    found = replace(found, sides=[replace(side, named=True) for side in found.sides])
    seen = Seen(page(found, seed=0))
    assert seen.open == [] and seen.tags <= TAGS and seen.attributes <= ATTRIBUTES
    assert "Similarity of the runs" in seen.words and "Spectra" in seen.words


def test_options_that_differ_are_said_for_every_run_and_different_inputs_are_a_warning() -> None:
    k, metric = "method.neighbors.count", "method.metric.name"
    sides = [replace(side("a", points(0)), method="isomap", sha256="1", options={
                 "method.name": ("isomap", "pca"), k: ("6", "10"), "prepare.scale": ("standard", "center")}),
             replace(side("b", points(1)), method="isomap", sha256="1", seconds=2.5, quality={"trustworthiness": 0.75},
                     options={"method.name": ("isomap", "pca")}),
             replace(side("c", points(2)), method="mds", sha256="1", options={
                 "method.name": ("mds", "pca"), metric: ("cosine", "euclidean")})]
    found = side_by_side(sides, [f"p{row}" for row in range(60)], {}, 5, np.random.default_rng(0))
    assert found.document()["options"] == found.options == {
        "method.name": ["isomap", "isomap", "mds"], k: ["6", "10", "–"], metric: ["–", "–", "cosine"],
        "prepare.scale": ["standard", "center", "center"]}
    text = page(found, seed=0)
    assert "0.75" in text and "2.5" in text and "prepare.scale" in text and "different inputs" not in text
    apart = replace(found, sides=[*sides[:2], replace(sides[2], sha256="2")])
    assert "made from 2 different inputs" in page(apart, seed=0)


@pytest.mark.parametrize(("noise", "axes"), [(0.3, 3), (3.0, 2), (30.0, 3)])
def test_p_counts_the_permutations_that_scipys_disparity_does(noise: float, axes: int) -> None:
    first, orders = points(1, rows=12), Permutations(99, seed=4)
    second = (first + noise * points(2, rows=12))[:, :axes]
    padded = np.pad(second, ((0, 0), (0, 3 - axes)))
    observed = peer(first, padded)[2]
    reached = sum(peer(first, padded[order])[2] <= observed + 1e-9 for batch in orders.batches(12) for order in batch)
    assert procrustes_p(standardize(first), standardize(second), orders) == (reached + 1) / 100


def test_the_same_shape_has_the_least_p_and_one_point_none() -> None:
    shape = standardize(points(3))
    assert procrustes_p(shape, standardize(points(3) @ rotation(1)), Permutations(199)) == 1 / 200
    assert np.isnan(procrustes_p(shape, np.zeros((60, 2)), Permutations(199)))
