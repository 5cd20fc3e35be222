"""Methods whose axes are ranked by something else than eigenvalues: no rule takes it for a variance."""

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.findings.dimension.rules import dimension
from mlcli.methods import METHODS
from tests.support import features, fit, furnished

POINTS = np.cumsum(np.random.default_rng(3).standard_normal((80, 4)), axis=0)


@pytest.mark.parametrize("name", ["lda", "cca", "ibfa", "sfa", "lgssm", "ica"])
def test_rules_for_eigenvalues_are_left_out_with_the_reason(name: str) -> None:
    kind = METHODS[name]
    data = features(POINTS)
    data = data if issubclass(type(data), kind.accepts) else furnished(data, kind.accepts)
    found = dimension(kind(), fit(name, data), data, Compute())
    assert set(found["rules"]) == {"two_nn", "maximum_likelihood"}
    assert {"kaiser", "elbow", "variance_90", "broken_stick", "residual_variance"} < set(found["left_out"])
    reason = "no spectrum" if name == "ica" else kind.ranked_by
    assert all(reason in found["left_out"][rule] for rule in ("kaiser", "elbow", "variance_90", "broken_stick"))
    assert all(told for told in found["left_out"].values())
    assert found["recommendation"]["components"] is None
