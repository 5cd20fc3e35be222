"""Several tables at once: PCA and MCA are special cases, and what groups say about axes adds up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.core.metrics.distances import with_metric_of
from mlcli.core.similarities.spaces import input_space
from mlcli.findings.contributions import shares_of
from mlcli.methods import METHODS, Model
from tests.support import dissimilarities, distances, features, fit, matrices

RANDOM = np.random.default_rng(8)
POINTS = RANDOM.standard_normal((40, 7)) @ RANDOM.standard_normal((7, 7))
ANSWERS = np.column_stack([RANDOM.integers(0, size, 40) for size in (2, 3, 4, 3)]).astype(float)
GROUPS = ["first=x1:x3", "second=x4,x5", "third=x6,x7"]


def standardized(points: Array) -> Array:
    return (points - points.mean(axis=0)) / points.std(axis=0)


def pca(points: Array, count: int = 3) -> Model:
    return fit("pca", points, components=count)


def close(left: Array, right: Array) -> None:
    assert left.shape == right.shape
    assert np.abs(left - right).max() <= 1e-12 * max(np.abs(right).max(), 1.0)


def several(method: str, data: Any = POINTS, **options: Any) -> Model:
    return fit(method, data, components=3, **{"groups": GROUPS, **options})


def as_chain(data: Any, names: Sequence[str] = GROUPS, *, shares: Sequence[float] = (), **kernel: Any) -> Model:
    """The chain of the sum of linear kernels of standardized columns, a table for each group."""
    named = [text.split("=") for text in names]
    tables = [{"name": name, "columns": columns.split(","), "scale": "standard"} for name, columns in named]
    for table, weight in zip(tables, shares, strict=False):
        table["weight"] = weight  # type: ignore[assignment]
    return fit("chain", data, components=3, coordinates={"divisor": "n"}, kernel={
        "name": "sum", "tables": tables, **kernel})


@pytest.mark.parametrize(("method", "stages"), [
    ("mfa", {}), ("mfa", {"normalization": "eigenvalue", "weights": "given"}),
    ("statis", {"normalization": "frobenius", "weights": "rv"})])
def test_a_chain_that_says_the_stages_of_a_method_is_the_method(method: str, stages: dict[str, Any]) -> None:
    found, expected = as_chain(POINTS, **stages), several(method)
    close(found.embedding, expected.embedding)
    close(found.spectrum.eigenvalues[:7], expected.spectrum.eigenvalues)
    close(found.project(POINTS[:9] ** 2), expected.project(POINTS[:9] ** 2))
    for name in ("weights", "eigenvalues", "products", "coordinates", "correlations", "partial"):
        close(getattr(found.groups, name), getattr(expected.groups, name))


@pytest.mark.parametrize(("method", "stages"), [("mfa", {}), ("statis", {
    "normalization": "frobenius", "weights": "rv"})])
def test_a_table_of_weight_zero_is_a_supplementary_group(method: str, stages: dict[str, Any]) -> None:
    found, expected = as_chain(POINTS, shares=[1, 1, 0], **stages), several(method, supplementary=["third"])
    close(found.embedding, expected.embedding)
    assert found.groups.active.tolist() == expected.groups.active.tolist()
    close(found.groups.partial, expected.groups.partial)


def test_a_sum_of_one_kernel_is_kernel_pca_with_it_up_to_its_norm() -> None:
    """And a sum that is not divided by norms adds variances: PCA of the tables side by side."""
    one = {"name": "gaussian", "rate": 0.01}
    alone = fit("kpca", POINTS, components=3, kernel=one)
    found = fit("chain", POINTS, components=3, kernel={
        "name": "sum", "tables": [{"name": "all", "columns": ["x1:x7"], "kernel": one}]})
    close(found.embedding, alone.embedding * np.sqrt(len(POINTS) / alone.spectrum.eigenvalues[0]))
    tables = [{"name": "first", "columns": ["x1:x3"]}, {"name": "second", "columns": ["x4:x7"]}]
    whole = fit("chain", POINTS * 1e5, components=3, kernel={"name": "sum", "normalization": "none", "tables": tables})
    close(whole.embedding / 1e5, pca(POINTS).embedding)


@pytest.mark.parametrize(("normalization", "scale"), [("eigenvalue", "standard"), ("eigenvalue", "none"),
                                                      ("none", "none")])
def test_a_sum_is_judged_by_the_distances_of_its_kernel(normalization: str, scale: str) -> None:
    """They are those of all its axes, in plain units whatever the unit of the data."""
    tables = [{"name": name, "columns": columns.split(","), "scale": scale}
              for name, columns in (text.split("=") for text in GROUPS)]
    for unit in (1.0, 1e-30, 1e30):
        data = features(POINTS * unit)
        method = METHODS["chain"](kernel={"name": "sum", "normalization": normalization, "tables": tables},
                                  eigensolve={"components": 7}).resolve(data)
        model = method.fit(data, Compute())
        apart = input_space(with_metric_of(data, method.compared(data, model))).between(np.arange(40), np.arange(40))
        expected = distances(model.embedding)
        found = apart * (expected.max() / apart.max())
        assert np.abs(found - expected).max() <= 1e-7 * expected.max()  # of equal points, the root of rounding


def test_distances_of_a_sum_are_those_of_its_tables() -> None:
    """Classical scaling of √Σ w d² / s for the distances d of each table, which have metrics of their own."""
    counts = np.abs(POINTS)
    tables = [{"name": "counts", "columns": ["x1:x4"], "metric": "braycurtis", "kernel": {"name": "gower"}},
              {"name": "rest", "columns": ["x5:x7"], "metric": "cityblock", "kernel": {"name": "gower"}, "weight": 0.5}]
    found = fit("chain", counts, components=3, kernel={"name": "sum", "tables": tables})
    squares = [cdist(counts[:, :4], counts[:, :4], "braycurtis") ** 2,
               cdist(counts[:, 4:], counts[:, 4:], "cityblock") ** 2]
    norms = [fit("mds", dissimilarities(np.sqrt(one)), components=1).spectrum.eigenvalues[0] / len(counts)
             for one in squares]
    close(np.array(norms), found.groups.eigenvalues)
    summed = np.sqrt(squares[0] / norms[0] + 0.5 * squares[1] / norms[1])
    close(found.embedding, fit("mds", dissimilarities(summed), components=3).embedding)


def test_mfa_of_one_group_is_pca_over_the_root_of_its_first_eigenvalue() -> None:
    components = pca(standardized(POINTS))
    close(fit("mfa", POINTS, components=3).embedding,
          components.embedding / np.sqrt(components.spectrum.eigenvalues[0]))


def test_mfa_of_one_group_with_its_scales_is_pca_of_covariances() -> None:
    components = pca(POINTS)
    found = fit("mfa", POINTS, components=3, groups=["all=x1:x7"], center=["all"])
    close(found.embedding, components.embedding / np.sqrt(components.spectrum.eigenvalues[0]))


def test_famd_of_numbers_is_pca_of_correlations() -> None:
    components, found = pca(standardized(POINTS)), fit("famd", POINTS, components=3)
    close(found.embedding, components.embedding)
    close(found.spectrum.eigenvalues, components.spectrum.eigenvalues)


def test_famd_of_categories_is_mca_times_the_number_of_questions() -> None:
    answers, found = fit("mca", ANSWERS, components=3), fit("famd", ANSWERS, components=3, categories=["x1:x4"])
    close(found.spectrum.eigenvalues, 4 * answers.spectrum.eigenvalues)
    close(found.embedding, 2 * answers.embedding)


def test_mfa_of_groups_of_one_column_is_famd() -> None:
    groups = [f"group {place}=x{place}" for place in range(1, 8)]
    close(several("mfa", groups=groups).embedding, fit("famd", POINTS, components=3).embedding)


@pytest.mark.parametrize("method", ["mfa", "statis"])
def test_equal_tables_are_the_pca_of_one(method: str) -> None:
    """Up to one factor: √(g / λ₁) of g tables, and √(1 / ‖K‖) of tables whose weights add up to one."""
    points = standardized(POINTS[:, :3])
    components = pca(points)
    values = components.spectrum.eigenvalues
    factor = np.sqrt(2 / values[0]) if method == "mfa" else np.linalg.norm(values) ** -0.5
    found = several(method, np.hstack([points, points]), groups=["first=x1:x3", "second=x4:x6"])
    close(found.embedding, components.embedding * factor)
    close(found.groups.rv, np.ones((3, 3)))


@pytest.mark.parametrize("method", ["mfa", "statis"])
def test_a_row_lies_at_the_weighted_mean_of_its_partial_points(method: str) -> None:
    found = several(method)
    weights = found.groups.weights / found.groups.weights.sum()
    close(np.tensordot(weights, found.groups.partial, axes=1), found.embedding)


@pytest.mark.parametrize("method", ["mfa", "statis"])
def test_contributions_of_groups_add_up_to_the_eigenvalues(method: str) -> None:
    groups, values = several(method).groups, several(method).spectrum.eigenvalues[:3]
    close(groups.weights @ groups.coordinates, values)
    close(groups.contributions.sum(axis=0), np.ones(3))


def test_a_group_explains_at_most_one_of_an_axis_of_mfa_and_the_first_axis_is_between() -> None:
    groups, values = several("mfa").groups, several("mfa").spectrum.eigenvalues
    assert (groups.coordinates <= 1 + 1e-12).all() and (groups.coordinates >= 0).all()
    assert 1 <= values[0] <= 3


def test_a_supplementary_group_changes_no_row_and_is_described_like_the_others() -> None:
    without = several("mfa", POINTS[:, :5], groups=GROUPS[:2])
    found = several("mfa", supplementary=["third"])
    close(found.embedding, without.embedding)
    assert found.groups.weights.tolist() == [1, 1, 0]
    close(found.groups.contributions[2], np.zeros(3))
    active = several("mfa", POINTS, groups=[GROUPS[2], *GROUPS[:2]], supplementary=["third"])
    close(active.groups.coordinates[0], found.groups.coordinates[2])


def test_units_of_columns_change_nothing() -> None:
    scales = 10.0 ** np.array([-200, 3, 0, 150, -5, 200, 8])
    close(several("mfa", POINTS * scales).embedding, several("mfa").embedding)
    within = np.array([2.0, 2, 2, 1e100, 1e100, 1e-90, 1e-90])  # one unit for each group
    close(several("mfa", POINTS * within, center=["first", "second", "third"]).embedding,
          several("mfa", center=["first", "second", "third"]).embedding)


@pytest.mark.parametrize("method", ["mfa", "statis"])
def test_the_weight_of_columns_within_a_group_does_not_grow_with_their_number(method: str) -> None:
    twice = np.hstack([POINTS, POINTS[:, :3]])
    found = several(method, twice, groups=["first=x1:x3,x8:x10", *GROUPS[1:]])
    close(found.embedding, several(method).embedding)


def test_statis_weighs_a_table_unlike_the_others_least() -> None:
    shared = RANDOM.standard_normal((60, 2))
    tables = [shared @ RANDOM.standard_normal((2, 3)) + 0.1 * RANDOM.standard_normal((60, 3)) for _ in range(3)]
    found = several("statis", np.hstack([*tables, RANDOM.standard_normal((60, 3))]),
                    groups=["first=x1:x3", "second=x4:x6", "third=x7:x9", "odd=x10:x12"])
    assert found.groups.weights.argmin() == 3 and found.groups.weights[3] < 0.6 * found.groups.weights[:3].min()
    vectors = np.linalg.eigh(found.groups.rv[:-1, :-1])[1]
    close(found.groups.weights, np.abs(vectors[:, -1]) / np.abs(vectors[:, -1]).sum())


def test_what_famd_says_of_a_column_is_its_squared_correlation_or_correlation_ratio() -> None:
    data = features(np.hstack([POINTS[:, :2], ANSWERS[:, 1:2]]))
    found = fit("famd", data, components=2, categories=["x3"])
    axes = found.embedding
    squares = np.array([[np.corrcoef(column, axis)[0, 1] ** 2 for axis in axes.T] for column in POINTS[:, :2].T])
    close(found.groups.coordinates[:2], squares)
    means = np.array([axes[ANSWERS[:, 1] == level].mean(axis=0) for level in range(3)])
    shares = np.array([np.mean(ANSWERS[:, 1] == level) for level in range(3)])
    close(found.groups.coordinates[2], shares @ means**2 / axes.var(axis=0))
    close(found.loadings.values[2:], means)


@pytest.mark.parametrize("method", ["pca", "ca", "mca", "mfa", "famd", "statis"])
def test_contributions_add_up_to_one_and_squared_cosines_to_one_over_all_axes(method: str) -> None:
    values = np.abs(POINTS) if method == "ca" else ANSWERS if method == "mca" else POINTS
    kind = METHODS[method]
    chosen = kind().resolve(features(values))
    whole = kind(**{kind.axes_section(): {"components": chosen.limit(features(values))}}).resolve(features(values))
    rows, columns = shares_of(whole, values, fit(method, values, components=whole.axes_options.components))
    for contributions, cosines in (rows, columns):
        close(contributions.sum(axis=0), np.ones(contributions.shape[1]))
        close(cosines.sum(axis=1), np.ones(len(cosines)))


def test_texts_and_the_numbers_that_stand_for_them_are_the_same_categories() -> None:
    levels = {place: tuple("abcd"[: int(column.max()) + 1]) for place, column in enumerate(ANSWERS.T)}
    texts = Features(ANSWERS, [str(row) for row in range(40)], ["x1", "x2", "x3", "x4"], categories=levels)
    assert np.array_equal(fit("famd", texts).embedding, fit("famd", ANSWERS, categories=["x1:x4"]).embedding)


TABLES = [POINTS[:, :3], POINTS[:, 3:5] * [9, 1], POINTS[:, 5:]]


def inner(matrix: Array) -> Array:
    centered = np.eye(len(matrix)) - 1 / len(matrix)
    return centered @ (matrix**2 / (-2 * len(matrix))) @ centered


def test_statis_of_distances_is_statis_of_the_tables_that_have_them() -> None:
    of_tables = several("statis", center=["first", "second", "third"], data=np.hstack(TABLES))
    found = fit("statis", matrices([distances(table) for table in TABLES]), components=3)
    close(found.embedding, of_tables.embedding)
    close(found.groups.weights, of_tables.groups.weights)
    close(found.groups.rv, of_tables.groups.rv)
    close(found.groups.partial, of_tables.groups.partial)


def test_distatis_is_the_compromise_of_kernels_over_their_first_eigenvalues() -> None:
    """Abdi, O'Toole, Valentin and Edelman (2005), of dissimilarities that are not Euclidean."""
    given = [np.abs(distances(table) ** power) for table, power in zip(TABLES, (1.0, 1.7, 0.6), strict=True)]
    found = fit("statis", matrices(given), components=2, normalization="eigenvalue")
    kernels = [inner(matrix) for matrix in given]
    kernels = [kernel / np.linalg.eigvalsh(kernel)[-1] for kernel in kernels]
    cosines = np.array([[np.sum(one * other) / np.linalg.norm(one) / np.linalg.norm(other) for other in kernels]
                        for one in kernels])
    weights = np.abs(np.linalg.eigh(cosines)[1][:, -1])
    weights /= weights.sum()
    whole = sum(weight * kernel for weight, kernel in zip(weights, kernels, strict=True))
    values, vectors = np.linalg.eigh(whole)
    close(found.groups.weights, weights)
    close(found.spectrum.eigenvalues[:2], values[::-1][:2])
    expected = vectors[:, ::-1][:, :2] * np.sqrt(values[::-1][:2] * len(whole))
    close(np.abs(found.embedding), np.abs(expected))


def test_units_and_the_order_of_points_in_a_matrix_change_nothing() -> None:
    plain = fit("statis", matrices([distances(table) for table in TABLES]), components=2)
    scaled = fit("statis", matrices([distances(table) * 10.0**power for table, power in zip(
        TABLES, (-150, 0, 200), strict=True)]), components=2)
    close(scaled.embedding, plain.embedding)
    order = RANDOM.permutation(40)
    turned = matrices([distances(table)[order][:, order] for table in TABLES])
    close(fit("statis", turned, components=2).embedding, plain.embedding[order])
