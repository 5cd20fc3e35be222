"""The baseline of a layout is the linear method of its input, on as many axes."""

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.findings.quality.measure import baseline_of, baseline_steps
from mlcli.methods import METHODS
from tests import support
from tests.support import distances

POINTS = np.random.default_rng(11).standard_normal((60, 5)) * [5, 4, 3, 2, 1]
APART = distances(POINTS)
COMPUTE = Compute()


def test_of_features_it_is_pca_and_of_dissimilarities_classical_scaling() -> None:
    for name, data in (("pca", support.features(POINTS)), ("mds", support.dissimilarities(APART))):
        found = baseline_of(METHODS["smacof"](), data, 3, COMPUTE)
        expected = METHODS[name]().with_axes(3).resolve(data).fit(data, COMPUTE)
        assert found is not None and found.method == name
        np.testing.assert_array_equal(found.points, expected.embedding)


@pytest.mark.parametrize(("name", "data"), [
    ("isomap", support.features(POINTS)), ("pca", support.features(POINTS)), ("mds", support.dissimilarities(APART))])
def test_methods_that_are_no_layouts_have_none(name: str, data: Input) -> None:
    assert baseline_of(METHODS[name](), data, 2, COMPUTE) is None and not baseline_steps(METHODS[name](), data, COMPUTE)


def test_it_has_no_more_axes_than_the_input() -> None:
    for points, axes in ((POINTS[:, :1], 1), (np.ones((20, 3)), 1), (POINTS[:2], 1), (POINTS, 2)):
        found = baseline_of(METHODS["nmds"](), support.features(points), 2, COMPUTE)
        assert found is not None and found.points.shape == (len(points), axes)
