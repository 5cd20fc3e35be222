"""The certificate of random projections: each kind passes, and directions or figures of another kind fail."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.methods import METHODS
from tests.support import checks_of, features

POINTS = np.random.default_rng(8).standard_normal((30, 90))


def failed(kind: str, change: Any = lambda axes: axes, **figures: Any) -> set[str]:
    """The checks that fail for changed directions and figures."""
    data = features(POINTS)
    method: Any = METHODS["random"](kind=kind, axes={"components": 20}).resolve(data)
    model = method.fit(data, Compute())
    projector = replace(model.projector, axes=change(model.axes))
    changed = replace(model, projector=projector, fit={**model.fit, **figures})
    return {check.name for check in checks_of(method, data, changed) if check.verdict == "fail"}


@pytest.mark.parametrize("kind", ["gaussian", "sparse", "orthogonal"])
def test_directions_are_of_their_kind(kind: str) -> None:
    assert not failed(kind)
    seen = failed(kind, lambda axes: 2 * axes)
    assert seen == {{"gaussian": "variance", "sparse": "entries", "orthogonal": "directions"}[kind], "projection", *(
        {"variance"} if kind == "sparse" else ())}


def test_figures_are_those_of_the_definition() -> None:
    assert failed("gaussian", bound=0.5) == {"bound"}
    assert failed("gaussian", distortion={"smallest": 0.9, "mean": 1.0, "largest": 1.1}) == {"distortion"}
