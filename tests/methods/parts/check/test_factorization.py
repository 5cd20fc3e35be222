"""The certificate of a factorization: honest ones pass, and each consistent lie fails a check."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.methods import METHODS, Model
from tests.support import checks_of, features

POINTS = np.random.default_rng(8).random((40, 7)) ** 2 * np.linspace(3, 1, 7)
both = pytest.mark.parametrize("objective", ["frobenius", "kullback_leibler"])


def fitted(objective: str) -> tuple[Any, Any, Model]:
    """The method, the data and the model, in units of the data."""
    data = features(POINTS)
    method: Any = METHODS["nmf"](objective=objective).resolve(data)
    return method, data, method.fit(data, Compute())


def failed(method: Any, data: Any, model: Model, **changes: Any) -> set[str]:
    """The checks that fail for a model with changed coordinates, parts and figures."""
    weights, parts = changes.pop("weights", model.embedding), changes.pop("parts", model.directions)
    affine = replace(model.projector.affine, directions=parts)
    changed = replace(model, embedding=weights, projector=replace(model.projector, decoder=affine),
                      fit={**model.fit, **changes})
    return {check.name for check in checks_of(method, data, changed) if check.verdict == "fail"}


@both
def test_an_honest_factorization_passes(objective: str) -> None:
    method, data, model = fitted(objective)
    assert {check.name for check in checks_of(method, data, model) if check.verdict != "pass"} == {"points"}


@both
def test_every_lie_is_seen(objective: str) -> None:
    method, data, model = fitted(objective)
    weights, parts = model.embedding, model.directions
    lower = 0.999 * model.fit["objective"]
    assert "objective" in failed(method, data, model, objective=lower)
    assert "shares" in failed(method, data, model, shares=[0.5, 0.5])
    assert "signs" in failed(method, data, model, weights=weights - weights.min() - 1e-3)
    assert "sums" in failed(method, data, model, parts=2 * parts, weights=weights / 2)
    assert "order" in failed(method, data, model, parts=parts[:, ::-1], weights=weights[:, ::-1],
                             shares=model.fit["shares"][::-1])
    assert "weights" in failed(method, data, model, weights=weights * (1 + 1e-6))
    other = parts + 1e-2 * np.random.default_rng(0).random(parts.shape)
    assert "stationarity" in failed(method, data, model, parts=other / other.sum(axis=0))


def test_no_convergence_is_claimed_at_the_limit() -> None:
    data = features(POINTS)
    method: Any = METHODS["nmf"](iterate={"limit": 2}).resolve(data)
    model = method.fit(data, Compute())
    verdicts = {check.name: check.verdict for check in checks_of(method, data, model)}
    assert {name for name, verdict in verdicts.items() if verdict != "pass"} == {"points", "stationarity"}
    assert verdicts["stationarity"] == verdicts["points"] == "skipped"
