"""Kernel PCA against kernlab's kpca on iris, with held-out rows."""

import numpy as np
import pytest

from mlcli.methods import Model
from tests import support
from tests.laws.agreement.tables import TOLERANCE, column, read, score_deviation, value_deviation

KERNELS = {
    "iris_linear": {"name": "linear"},
    "iris_poly2": {"name": "polynomial", "degree": 2, "gamma": 1.0, "coef0": 1.0},
    "iris_rbf_sigma0.2": {"name": "gaussian", "rate": 0.2},
}
POINTS = read("data/iris4.csv")
HELD_OUT = np.arange(150) % 5 == 4  # kernlab saw the other 120 rows


def fit(name: str, values: np.ndarray) -> Model:
    return support.fit("kpca", values, kernel=KERNELS[name], components=4)


@pytest.mark.parametrize("name", KERNELS)
def test_eigenvalues_and_scores_of_all_rows(name: str) -> None:
    """kernlab's own eigenvalues are over n."""
    model, values = fit(name, POINTS), column(f"kpca/{name}/centred_kernel_eigenvalues_top20.csv")
    assert value_deviation(model.spectrum.eigenvalues[:20], values) < TOLERANCE
    assert value_deviation(model.spectrum.eigenvalues[:4] / 150, column(f"kpca/{name}/eig_div_n.csv")) < TOLERANCE
    scores = read(f"kpca/{name}/scores_unit_eigvec_times_sqrt_lambda.csv")
    assert score_deviation(model.embedding, scores, values) < TOLERANCE


@pytest.mark.parametrize("name", KERNELS)
def test_projection_of_held_out_rows(name: str) -> None:
    """kernlab's coordinates are √n times V√λ, of new rows as well."""
    model = fit(name, POINTS[~HELD_OUT])
    values, size = model.spectrum.eigenvalues, np.sqrt(120)
    trained, projected = read(f"kpca/{name}/rotated_train120.csv"), read(f"kpca/{name}/predict_test30.csv")
    found = np.vstack([model.embedding, model.project(POINTS[HELD_OUT])])
    assert score_deviation(found, np.vstack([trained, projected]) / size, values) < TOLERANCE


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_given_as_a_matrix_is_the_same(name: str) -> None:
    """Kernel values computed here, by the formulas that kernlab documents."""
    products = POINTS @ POINTS.T
    squares = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)
    matrix = {"iris_linear": products, "iris_poly2": (products + 1) ** 2, "iris_rbf_sigma0.2": np.exp(-0.2 * squares)}
    model = support.fit("kpca", support.similarities(matrix[name]), components=4)
    values = column(f"kpca/{name}/centred_kernel_eigenvalues_top20.csv")
    assert value_deviation(model.spectrum.eigenvalues[:20], values) < TOLERANCE
    scores = read(f"kpca/{name}/scores_unit_eigvec_times_sqrt_lambda.csv")
    assert score_deviation(model.embedding, scores, values) < TOLERANCE
