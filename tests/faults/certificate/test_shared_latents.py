"""Lies about several views of the same latent points fail, also where all their numbers follow from each other."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, TwoViews
from mlcli.core.similarities.projector import Decoder
from mlcli.methods import METHODS, Model
from mlcli.methods.processes.check import joint_bound
from mlcli.methods.processes.new_points import ProcessMeans, SharedLatentPoints
from tests.support import checks_of, names

TIMES = np.linspace(0, 9, 30)
FIRST = np.column_stack([np.sin(TIMES), np.cos(TIMES), np.sin(2 * TIMES)])
SECOND = np.column_stack([np.sin(TIMES) + TIMES / 5, np.cos(TIMES)]) * 100
NOISE = np.random.default_rng(11).standard_normal((30, 5))
DATA = TwoViews(FIRST + 0.05 * NOISE[:, :3], names(30), names(3),
                view=Features(SECOND + 5 * NOISE[:, 3:], names(30), names(2)))


@cache
def fitted() -> tuple[Any, Model]:
    method = METHODS["mvgplvm"](inducing=6, minimize={"tolerance": 1e-4}).resolve(DATA)
    return method, method.fit(DATA, Compute())


def checked(model: Model, full: bool = False) -> dict[str, Check]:
    return {check.name: check for check in checks_of(fitted()[0], DATA, model, full=full)}


def failed(model: Model) -> set[str]:
    return {name for name, check in checked(model).items() if check.verdict == "fail"}


def moved(model: Model, points: np.ndarray, others: SharedLatentPoints) -> Model:
    """A model at other points or processes, with the bound that belongs to it."""
    projector: Any = model.projector
    views = [DATA.normalized(), DATA.normalized().view]

    def bound(embedding: np.ndarray, held: SharedLatentPoints) -> float:
        clouds = np.hstack([embedding, np.log(np.diagonal(model.spreads, axis1=1, axis2=2))])
        return joint_bound(list(zip(views, (held.posterior, *held.others), strict=True)), clouds)[0]

    gain = bound(points, others) - bound(model.embedding, projector.similarity)
    decoder: Decoder = ProcessMeans(others.posterior)
    return replace(model, embedding=points, objective=None, projector=replace(
        projector, similarity=others, decoder=decoder), fit={**model.fit, "log_likelihood":
                                                             model.fit["log_likelihood"] + gain})


def noisier(model: Model) -> Model:
    """A second view with twice its noise."""
    held: Any = model.projector.similarity  # type: ignore[union-attr]
    (other,) = held.others
    covariance = replace(other.covariance, noise=2 * other.covariance.noise)
    return moved(model, model.embedding, replace(held, others=(replace(other, covariance=covariance),)))


def claimed(name: str, value: Callable[[Any], Any]) -> Callable[[Model], Model]:
    def change(model: Model) -> Model:
        return replace(model, fit={**model.fit, name: value(model.fit[name])})

    return change


def lighter(model: Model) -> Model:
    """A decoder whose means are off."""
    projector: Any = model.projector
    posterior = projector.decoder.posterior
    decoder = replace(projector.decoder, posterior=replace(posterior, weights=posterior.weights * (1 + 1e-6)))
    return replace(model, projector=replace(projector, decoder=decoder))


def misranked(model: Model) -> Model:
    return replace(model, spectrum=replace(model.ranks, solved=model.ranks.solved * [1 - 1e-6, 1]))


def better(model: Model) -> Model:
    assert model.objective is not None
    return replace(model, objective=replace(model.objective, value=np.asarray(model.objective.value) + 0.1))


@pytest.mark.medium
def test_an_honest_fit_passes() -> None:
    model = fitted()[1]
    for full in (False, True):
        found = checked(model, full)
        assert {check.verdict for check in found.values()} <= {"pass", "skipped"}
        assert found["stationarity"].verdict == "pass" and found["gradient"].verdict == "pass"


@pytest.mark.medium
@pytest.mark.parametrize(("lie", "names"), [
    (noisier, {"stationarity"}), (lighter, {"one process"}), (misranked, {"relevances"}), (better, {"objective"}),
    (claimed("log_likelihood", lambda held: held + 1e-3), {"log_likelihood"}),
    (claimed("shared_axes", lambda held: []), {"axes"}),
    (claimed("relevances", lambda held: (np.array(held) * [[1, 1], [1 + 1e-6, 1]]).tolist()), {"relevances"})])
def test_a_lie_is_seen(lie: Callable[[Model], Model], names: set[str]) -> None:
    assert failed(lie(fitted()[1])) == names
