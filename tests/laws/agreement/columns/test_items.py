"""Factor analysis of questionnaires against R's psych: minres, polychoric correlations with their thresholds.

psych's optimizers stop at about four digits; the objectives here are never worse.
"""

import csv

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features
from mlcli.core.latent.polychoric import ItemAnswers, ItemPairs, normal_below, polychoric_correlations
from mlcli.methods import METHODS
from tests.laws.agreement.columns.test_fa import deviation
from tests.laws.agreement.tables import TABLES, read

PSYCH = 1e-4


def answers() -> np.ndarray:
    """Complete answers to ten items of bfi."""
    with (TABLES / "psych" / "bfi_gaps.csv").open(newline="", encoding="utf-8") as stream:
        rows = [row[1:] for row in list(csv.reader(stream))[1:] if "NA" not in row]
    return np.array(rows, dtype=np.float64)


def residuals(correlations: np.ndarray, loadings: np.ndarray) -> float:
    rest = correlations - loadings @ loadings.T
    return float(np.sum(np.triu(rest, 1) ** 2))


@pytest.mark.parametrize(("matrix", "name", "factors"), [
    ("bfi_correlation", "bfi", 5), ("../factanal/Harman74_cor_q4/correlation", "Harman74", 4),
    ("bfi_polychoric", "polychoric", 2)])
def test_minres_leaves_no_larger_residuals_than_psych_and_has_its_loadings(matrix: str, name: str,
                                                                          factors: int) -> None:
    correlations, expected = read(f"psych/{matrix}.csv"), read(f"psych/{name}_minres.csv")
    data = Covariance(correlations, tuple(map(str, range(len(correlations)))), None)
    options = {"axes": {"components": factors}, "estimator": "minres", "iterate": {"tolerance": 1e-12}}
    model = METHODS["fa"](**options).resolve(data).fit(data, Compute())
    assert residuals(correlations, model.loadings.values) <= residuals(correlations, expected) * (1 + 1e-12)
    assert deviation(model.loadings.values, expected) < PSYCH
    assert model.fit["converged"] and model.trace is None


def test_polychoric_correlations_and_thresholds() -> None:
    points = answers()
    found = polychoric_correlations(points, [f"i{place}" for place in range(10)])
    expected = read("psych/bfi_polychoric.csv")
    assert np.allclose(found.answers.thresholds, read("psych/bfi_thresholds.csv"), rtol=0, atol=1e-14)
    assert np.abs(found.matrix - expected).max() < PSYCH and not found.smooth
    first, second = np.triu_indices(10, 1)
    cuts = found.answers.thresholds
    pairs = ItemPairs(found.answers.tables(first, second), cuts[first], cuts[second])
    assert np.all(pairs.objective(found.matrix[first, second]) >= pairs.objective(expected[first, second]))


def test_components_of_polychoric_correlations_have_psychs_loadings_and_scores() -> None:
    points = answers()
    data = Features(points, [str(row) for row in range(len(points))], tuple(f"i{place}" for place in range(10)))
    model = METHODS["pca"](correlations="polychoric", eigensolve={"components": 3}).resolve(data).fit(data, Compute())
    expected, scores = read("psych/polychoric_components.csv"), read("psych/polychoric_component_scores.csv")
    found, values = model.loadings.values, model.spectrum.eigenvalues
    assert deviation(found, expected) < PSYCH
    signs = np.sign((found * expected).sum(axis=0))
    unit = model.embedding * signs / np.sqrt(values[:3]) * np.sqrt(1 - 1 / len(points))  # psych's, over n - 1
    assert np.abs(unit[:20] - scores).max() < 20 * PSYCH
    matrix = polychoric_correlations(points, data.columns).matrix
    assert np.allclose(matrix @ found, found * values[:3], rtol=0, atol=1e-13) and values.sum() == pytest.approx(10)
    assert np.allclose(model.project(points), model.embedding, rtol=0, atol=1e-12)
    assert np.allclose((found**2).sum(axis=0), values[:3], rtol=1e-13, atol=0)


def test_constant_items_have_no_part_in_components() -> None:
    points = np.insert(answers(), 4, 3.0, axis=1)
    data = Features(points, [str(row) for row in range(len(points))], tuple(f"i{place}" for place in range(11)))
    method = METHODS["pca"](correlations="polychoric", eigensolve={"components": "all"}).resolve(data)
    model = method.fit(data, Compute())
    assert model.embedding.shape[1] == 10 and not model.loadings.values[4].any() and not model.axes[4].any()
    assert np.allclose(model.reconstruct(model.embedding), points, rtol=0, atol=1e-12)


def test_the_maximum_is_that_of_another_integral_to_1e_8() -> None:
    """SciPy integrates the bivariate normal density by another method (Genz); golden sections end at the root of 1e-16
    in the correlation, so the slope by central differences is compared."""
    points = answers()[:, :2]
    found = ItemAnswers.of(points, ["a", "b"])
    tables = found.tables(np.array([0]), np.array([1]))
    rho = ItemPairs(tables, found.thresholds[:1], found.thresholds[1:]).maximize()[0]
    h, k = np.meshgrid(*found.thresholds, indexing="ij")
    grid = [np.concatenate([[-9.0], cuts, [9.0]]) for cuts in found.thresholds]

    def value(at: float) -> float:
        below = np.array([[multivariate_normal.cdf([x, y], [0, 0], [[1, at], [at, 1]]) for y in grid[1]]
                          for x in grid[0]])
        return float((tables[0] * np.log(np.diff(np.diff(below, axis=0), axis=1))).sum())

    step = 1e-3
    around = [value(rho + move * step) for move in (-2, -1, 0, 1, 2)]
    slope = (around[0] - 8 * around[1] + 8 * around[3] - around[4]) / (12 * step)
    bend = (-around[0] + 16 * around[1] - 30 * around[2] + 16 * around[3] - around[4]) / (12 * step**2)
    assert abs(slope / bend) < 1e-8
    mine = normal_below(h, k, np.array(rho))
    theirs = [[multivariate_normal.cdf([x, y], [0, 0], [[1, rho], [rho, 1]]) for x, y in zip(*row, strict=True)]
              for row in zip(h, k, strict=True)]
    assert np.abs(mine - theirs).max() < 1e-14
