"""The bilinear model against the dense formulas of its paper."""

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled
from mlcli.methods import METHODS
from tests import support
from tests.laws.agreement.tables import read

IRIS = read("data/iris4.csv")


@pytest.mark.parametrize("axes", [1, 3])
def test_factors_and_contents_are_those_of_the_stacked_means(axes: int) -> None:
    """Tenenbaum and Freeman, equations 5 to 7: A the first columns of U S; b = (AᵀA)⁻¹Aᵀy for each style's rows."""
    style, content = np.repeat(np.arange(3), 50), np.arange(150) * 7 % 50 % 5
    data = CrossLabeled(IRIS, support.names(150), list("abcd"), [f"s{place}" for place in style],
                        [f"c{place}" for place in content])
    model = METHODS["bilinear"](axes={"components": axes}).resolve(data).fit(data, Compute())
    means = np.array([[IRIS[(style == s) & (content == c)].mean(axis=0) for c in range(5)] for s in range(3)])
    left, sizes, _ = np.linalg.svd(np.vstack([of_style.T for of_style in means]), full_matrices=False)
    factors = (left * sizes)[:, :axes].reshape(3, 4, axes)
    expected = np.vstack([np.linalg.solve(factor.T @ factor, factor.T @ IRIS[style == s].T).T
                          for s, factor in enumerate(factors)])
    signs = np.sign((expected * model.embedding).sum(axis=0))
    assert np.abs(model.embedding - expected * signs).max() <= 1e-10 * np.abs(expected).max()
    assert model.loadings is not None
    assert np.abs(model.loadings.values.reshape(3, 4, axes) - factors * signs).max() <= 1e-12 * sizes[0]
    assert np.abs(model.spectrum.values - sizes[: len(model.spectrum.values)] ** 2).max() <= 1e-12 * sizes[0] ** 2
