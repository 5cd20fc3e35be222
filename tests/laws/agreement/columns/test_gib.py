"""The Gaussian information bottleneck against the dense formula of its paper."""

import numpy as np
import pytest

from mlcli.base.values.inputs import Features, TwoViews
from tests import support
from tests.laws.agreement.tables import read

IRIS = read("data/iris4.csv")


@pytest.mark.parametrize("beta", [1.5, 90.0, 1e5])
def test_axes_are_left_eigenvectors_of_the_conditional_covariance(beta: float) -> None:
    """Chechik et al., equation 11: vᵢ of Σ(x|y) Σ(x)⁻¹ by ascending λᵢ, times √((β(1 - λᵢ) - 1) / (λᵢ vᵢᵀΣ(x)vᵢ))."""
    ids, one, other = support.names(150), IRIS[:, :2], IRIS[:, 2:]
    model = support.fit("gib", TwoViews(one, ids, ["a", "b"], view=Features(other, ids, ["c", "d"])), beta=beta)
    joint = np.cov(IRIS.T, bias=True)
    total, crossed, noise = joint[:2, :2], joint[:2, 2:], joint[2:, 2:]
    given = total - crossed @ np.linalg.solve(noise, crossed.T)
    values, vectors = np.linalg.eig((given @ np.linalg.inv(total)).T)
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    opened = beta > 1 / (1 - values)
    lengths = np.sqrt((beta * (1 - values) - 1)[opened] / (
        values[opened] * np.einsum("ij,ik,kj->j", vectors, total, vectors)[opened]))
    expected = (one - one.mean(axis=0)) @ (vectors[:, opened] * lengths)
    expected *= np.sign((expected * model.embedding).sum(axis=0))
    assert np.abs(model.embedding - expected).max() <= 1e-10 * np.abs(expected).max()
    assert model.spectrum.values == pytest.approx(np.sqrt(1 - values), rel=1e-10)
    assert model.fit["critical_betas"] == pytest.approx((1 / (1 - values)).tolist(), rel=1e-10)
