"""The bilinear model against the dense formulas of its paper."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled
from mlcli.methods import METHODS
from mlcli.methods.views.style_projector import FactorProjector
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


def vector_transpose(stacked: Array, length: int) -> Array:
    """X^VT: of a matrix (r K x c) whose columns are stacks of r vectors of a length K, that (c K x r) of their rows."""
    return stacked.reshape(-1, length, stacked.shape[1]).transpose(2, 1, 0).reshape(-1, len(stacked) // length)


@pytest.mark.parametrize("axes", [(2, 1), (2, 3)])
def test_the_symmetric_model_is_that_of_the_alternation_of_the_paper(axes: tuple[int, int]) -> None:
    """Tenenbaum and Freeman, section 3.2: A and B by singular vectors of [Y Bᵀ]^VT and [Y^VT Aᵀ]^VT, W between them."""
    style, content = np.repeat(np.arange(3), 50), np.arange(150) * 7 % 50 % 5
    data = CrossLabeled(IRIS, support.names(150), list("abcd"), [f"s{place}" for place in style],
                        [f"c{place}" for place in content])
    method = METHODS["bilinear"](style_axes=axes[0], axes={"components": axes[1]}, iterate={"tolerance": 1e-12})
    model = method.resolve(data).fit(data, Compute())
    means = np.vstack([np.array([IRIS[(style == s) & (content == c)].mean(axis=0) for c in range(5)]).T
                       for s in range(3)])  # styles stacked, contents side by side
    contents = np.linalg.svd(means)[2][: axes[1]]
    for _ in range(300):
        styles = np.linalg.svd(vector_transpose(means @ contents.T, 4))[2][: axes[0]]
        contents = np.linalg.svd(vector_transpose(vector_transpose(means, 4) @ styles.T, 4))[2][: axes[1]]
    interaction = vector_transpose(vector_transpose(means @ contents.T, 4) @ styles.T, 4)
    expected = vector_transpose(vector_transpose(interaction @ contents, 4) @ styles, 4)
    projector = model.projector
    assert isinstance(projector, FactorProjector) and model.loadings is not None
    found = model.loadings.values @ projector.content_vectors.T
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(means).max()
    assert model.fit["explained_share"] == pytest.approx(float(np.sum(expected**2) / np.sum(means**2)), abs=1e-13)
