"""Results that are no optimum fail, though all their numbers follow from each other as the method says."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.core.check.stationarity import Course
from mlcli.core.similarities.projector import Affine, require_projector
from mlcli.methods import METHODS, Model
from mlcli.methods.networks.network import DenseLayer, Network
from mlcli.methods.processes.check import figures_of
from mlcli.methods.processes.kalman import Sequence, StateSpace, smooth
from mlcli.methods.processes.latents import Perceptron
from mlcli.methods.processes.likelihoods import Exact, Observations
from mlcli.methods.processes.new_points import LatentPoints, LatentSequence, ProcessMeans
from mlcli.methods.processes.process import CovarianceFunction
from mlcli.methods.processes.transitions import ProcessPart, SmoothedSequence
from tests.laws.accuracy.families import FAMILIES
from tests.support import checks_of, features

WALK = np.cumsum(np.random.default_rng(8).standard_normal((40, 2)), axis=0) @ np.random.default_rng(9).standard_normal(
    (2, 4)) + np.random.default_rng(10).uniform(-1, 1, (40, 4))
TIMES = np.linspace(0, 9, 30)
LOOP = np.column_stack([np.sin(TIMES), np.cos(TIMES), np.sin(2 * TIMES), TIMES / 5]) + 0.05 * np.random.default_rng(
    11).standard_normal((30, 4))
QUICK = {"tolerance": 1e-4}  # of a minimization
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gplvm": ("gplvm", {"minimize": QUICK}), "gplvm linear": ("gplvm", {"kernel": ["linear"]}),
    "gplvm sparse": ("gplvm", {"inference": {"name": "sparse", "inducing": 8}, "minimize": QUICK}),
    "gplvm bayesian": ("gplvm", {"inference": {"name": "bayesian", "inducing": 6}, "minimize": QUICK}),
    "gplvm smooth": ("gplvm", {"constraint": {"name": "kernel"}, "minimize": QUICK}),
    "gplvm network": ("gplvm", {"constraint": {"name": "mlp", "hidden": 5}, "minimize": QUICK}),
    "gpdm": ("gpdm", {"minimize": {"tolerance": 1e-3}}),
    "gpssm": ("gpssm", {"inducing": 6, "minimize": {"tolerance": 1e-3}}),
    "gpssm linear": ("gpssm", {"kernel": ["linear"], "transition": ["linear"], "minimize": QUICK}),
    "lgssm": ("lgssm", {}), "ica": ("ica", {}),
    "lgssm diagonal": ("lgssm", {"dynamics": {"name": "diagonal"}, "noise": "equal"}),
    "lgssm vanishing": ("lgssm", {"dynamics": {"name": "diagonal", "coefficients": [0.9, 0.7]}, "noise": "vanishing",
                                  "floor": 0.01}),
    "ica deflation": ("ica", {"algorithm": "deflation"}), "autoencoder": ("autoencoder", {}), "vae": ("vae", {})}


@cache
def fitted(case: str) -> tuple[Any, Features, Model]:
    """A method, its data, and its model of them."""
    method, options = CASES[case]
    noise = np.random.default_rng(3)
    mixed = noise.laplace(size=(200, 4)) @ noise.standard_normal((4, 4))
    data = features({"ica": mixed, "gpdm": LOOP}.get(method, WALK))
    resolved = METHODS[method](**options).resolve(data)
    return resolved, data, resolved.fit(data, Compute())


def checked(case: str, change: Callable[[Model, Features], Model] | None = None, *,
            full: bool = False) -> dict[str, Check]:
    """What the certificate says of a model, or of a changed one, by name."""
    method, data, model = fitted(case)
    model = model if change is None else change(model, data.over(require_projector(model.projector).input_unit))
    return {check.name: check for check in checks_of(method, data, model, full=full)}


def process(model: Model, data: Features, points: Array, covariance: CovarianceFunction) -> Model:
    """A GP-LVM at other latent points or parameters, with the likelihood and the decoder that belong to them."""
    projector: Any = model.projector
    old, exact = projector.decoder.posterior, Exact(Observations.of(data.values))
    posterior = exact.posterior(covariance, points, points[:0])
    gain = (exact(covariance, points, points[:0]).value
            - exact(old.covariance, model.embedding, points[:0]).value)
    spectrum = replace(model.ranks, solved=covariance.relevances(points))
    return replace(model, embedding=points, objective=None, spectrum=spectrum, projector=replace(
        projector, similarity=LatentPoints(posterior, True), decoder=ProcessMeans(posterior)),
                   fit={**model.fit, "log_likelihood": model.fit["log_likelihood"] + gain})


def moved(points: Array) -> Array:
    """Latent points, one of which lies elsewhere."""
    return np.asarray(points + 0.4 * (np.arange(len(points)) == 7)[:, None])


def moved_point(model: Model, data: Features) -> Model:
    projector: Any = model.projector
    return process(model, data, moved(model.embedding), projector.decoder.posterior.covariance)


def doubled_noise(model: Model, data: Features) -> Model:
    projector: Any = model.projector
    old = projector.decoder.posterior.covariance
    return process(model, data, model.embedding, replace(old, noise=2 * old.noise))


def moved_step(model: Model, data: Features) -> Model:
    """A GPDM with a point that lies elsewhere, and steps that lead there."""
    method, projector = fitted("gpdm")[0], require_projector(model.projector)
    similarity: Any = projector.similarity
    points = moved(model.embedding)
    points = (points - points.mean(axis=0)) / np.sqrt(np.mean((points - points.mean(axis=0)) ** 2))
    found = process(model, data, points, similarity.posterior.covariance)
    density, logs = method.dynamics.density, similarity.motion.covariance.logs
    other: Any = found.projector
    sequence = LatentSequence(other.decoder.posterior, density.motion(logs, points))
    return replace(found, projector=replace(other, similarity=sequence),
                   fit={**found.fit, "dynamics_log_density": density(logs, points).value, **{
                       f"dynamics_{name}": value for name, value in figures_of(sequence.motion.covariance).items()}})


def resequenced(model: Model, data: Features, case: str, means: Array, louder: float = 1.0) -> Model:
    """A GPSSM with other means of states and noise of steps, with functions and the bound that belong to these."""
    projector: Any = require_projector(model.projector)
    similarity, axes = projector.similarity, model.embedding.shape[1]
    problem = fitted(case)[0].problem(Observations.of(data.values), axes)
    rows, steps = similarity.posterior, similarity.motion.posterior

    before = ProcessPart(rows.covariance, rows.places), ProcessPart(steps.covariance, steps.places)
    noise = louder * steps.covariance.noise
    parts = before[0], replace(before[1], covariance=replace(steps.covariance, noise=noise))
    sequence = replace(similarity.sequence, means=means)
    posterior, motion = problem.posteriors(sequence, parts)
    gain = problem.bound(sequence, parts) - problem.bound(similarity.sequence, before)
    return replace(model, embedding=means, objective=None, projector=replace(
        projector, similarity=SmoothedSequence(posterior, motion, sequence), decoder=ProcessMeans(posterior)),
                   spectrum=replace(model.ranks, solved=posterior.covariance.relevances(means)),
                   fit={**model.fit, "log_likelihood": model.fit["log_likelihood"] + gain, **{
                       f"transition_{name}": value for name, value in figures_of(motion.covariance).items()}})


def moved_state(model: Model, data: Features) -> Model:
    return resequenced(model, data, "gpssm" if "rbf_variance" in model.fit else "gpssm linear", moved(model.embedding))


def noisier_steps(model: Model, data: Features) -> Model:
    return resequenced(model, data, "gpssm linear", model.embedding, 2.0)


def respaced(model: Model, data: Features, **parts: Array) -> Model:
    """A state-space model with other parameters, with the states and the likelihood that belong to it."""
    projector: Any = model.projector
    space = replace(projector.similarity.model, **parts)
    ended = smooth(Sequence.of(data.values - projector.similarity.means), space)
    before = smooth(Sequence.of(data.values - projector.similarity.means), projector.similarity.model)
    similarity = replace(projector.similarity, model=space)
    fit = {**model.fit, "log_likelihood": model.fit["log_likelihood"] + ended.log_likelihood - before.log_likelihood}
    diagonal = not np.any(space.transition - np.diag(np.diag(space.transition)))
    ranks = 2 - 2 * np.diag(space.transition) if diagonal else np.sum(space.loadings**2, axis=0)
    spectrum = replace(model.ranks, solved=ranks)
    return replace(model, embedding=ended.means, projector=replace(projector, similarity=similarity), objective=None,
                   spreads=ended.covariances, spectrum=spectrum, fit=fit)


def slowed(model: Model, data: Features) -> Model:
    """States that decay faster."""
    return respaced(model, data, transition=0.9 * space_of(model).transition)


def hastened(model: Model, data: Features) -> Model:
    """States with smaller coefficients, and the innovations that belong to them."""
    own = 0.97 * np.diag(space_of(model).transition)
    return respaced(model, data, transition=np.diag(own), innovation=np.diag((1 - own) * (1 + own)))


def louder(model: Model, data: Features) -> Model:
    """More noise in all columns."""
    return respaced(model, data, noise=1.05 * space_of(model).noise)


def stretched(model: Model, data: Features) -> Model:
    """Longer loadings."""
    return respaced(model, data, loadings=1.02 * space_of(model).loadings)


def space_of(model: Model) -> StateSpace:
    """The parameters of a state-space model."""
    similarity: Any = require_projector(model.projector).similarity
    space: StateSpace = similarity.model
    return space


def turned(model: Model, data: Features) -> Model:
    """Sources that are turned a little, in all places, with the negentropies that they have."""
    projector: Any = model.projector
    turn = np.array([[np.cos(1e-3), -np.sin(1e-3)], [np.sin(1e-3), np.cos(1e-3)]])
    sources, values = model.embedding @ turn, np.polynomial.hermite_e.hermegauss(180)
    gaussian = float(np.logaddexp(values[0], -values[0]) @ values[1]) / np.sqrt(2 * np.pi)
    negentropy = (np.logaddexp(sources, -sources).mean(axis=0) - gaussian) ** 2
    decoder = Affine(projector.decoder.mean, projector.decoder.directions @ turn)
    return replace(model, embedding=sources, fit={**model.fit, "negentropy": negentropy.tolist()},
                   projector=replace(projector, axes=projector.axes @ turn, decoder=decoder))


def bent(model: Model, data: Features) -> Model:
    """Linear networks with other weights of the decoder, and the share that it leaves unexplained."""
    projector: Any = model.projector
    (layer,) = projector.decoder.network.layers
    other = Network((DenseLayer(layer.weights + 1e-4, layer.biases, "identity"),))
    decoder = replace(projector.decoder, network=other)
    lost = float(np.sum((decoder(model.embedding) - data.values) ** 2))
    total = float(np.sum((data.values - data.values.mean(axis=0)) ** 2))
    return replace(model, projector=replace(projector, decoder=decoder), fit={**model.fit, "unexplained": lost / total})


def noisier(model: Model, data: Features) -> Model:
    """A linear variational autoencoder with more noise, and the bound that belongs to it."""
    ratio, columns, bound = 1.01, data.values.shape[1], model.fit["elbo"]
    projector: Any = model.projector
    (first,), (last,) = projector.similarity.network.layers, projector.decoder.network.layers
    spreads = np.exp(first.biases[2:])
    rest = data.values - projector.decoder(model.embedding)
    squares = (float(np.mean(np.sum(rest**2, axis=1)))
               + projector.decoder.scale**2 * float(spreads @ np.sum(last.weights**2, axis=1)))
    noise = float((data.unit**2).measured(np.asarray(model.fit["noise_variance"])))
    bound += -0.5 * (columns * np.log(ratio) + squares / noise * (1 / ratio - 1))
    return replace(model, fit={**model.fit, "elbo": bound, "noise_variance": model.fit["noise_variance"] * ratio})


LIES = [("gplvm", moved_point), ("gplvm", doubled_noise), ("gplvm linear", moved_point),
        ("gplvm linear", doubled_noise), ("gpdm", moved_step), ("gpssm", moved_state),
        ("gpssm linear", moved_state), ("gpssm linear", noisier_steps), ("lgssm", slowed), ("ica", turned),
        ("lgssm diagonal", hastened), ("lgssm diagonal", louder), ("lgssm vanishing", stretched),
        ("ica deflation", turned), ("autoencoder", bent), ("vae", noisier)]


@pytest.mark.parametrize("case", CASES)
def test_an_optimum_is_stationary(case: str) -> None:
    found = checked(case)
    assert {check.verdict for check in found.values()} <= {"pass", "skipped"}
    assert found["stationarity"].verdict == "pass" and found["stationarity"].value < 5
    assert checked(case, full=True)["stationarity"].verdict == "pass"


@pytest.mark.parametrize(("case", "lie"), LIES, ids=[f"{case}-{lie.__name__}" for case, lie in LIES])
def test_a_consistent_lie_is_seen_by_its_slope_alone(case: str, lie: Callable[[Model, Features], Model]) -> None:
    found = checked(case, lie)
    failed = {name for name, check in found.items() if check.verdict == "fail"}
    assert failed == ({"stationarity", "likelihood"} if case == "vae" else {"stationarity"})


@pytest.mark.parametrize("case", ["gplvm", "gplvm sparse", "gplvm bayesian", "gpdm", "gpssm"])
def test_an_objective_that_is_stated_wrongly_fails(case: str) -> None:
    def better(model: Model, data: Features) -> Model:
        assert model.objective is not None
        return replace(model, objective=replace(model.objective, value=np.asarray(model.objective.value) + 0.1))

    assert checked(case, better)["objective"].verdict == "fail"


def test_a_wrong_gradient_of_a_fit_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CovarianceFunction.pull_back

    def wrong(self: CovarianceFunction, *given: Any, **named: Any) -> tuple[Array, Array]:
        logs, points = whole(self, *given, **named)
        return logs, 1.01 * points

    assert checked("gplvm", moved_point)["gradient"].verdict == "pass"
    monkeypatch.setattr(CovarianceFunction, "pull_back", wrong)
    assert checked("gplvm", moved_point)["gradient"].verdict == "fail"


def test_hidden_weights_that_stay_as_they_began_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Perceptron.pull_back

    def output_layer(self: Perceptron, parameters: Array, slope: Array) -> Array:
        found = whole(self, parameters, slope)
        found[:self.into.size + self.into.shape[1]] = 0
        return found

    monkeypatch.setattr(Perceptron, "pull_back", output_layer)
    data = features(WALK)
    method: Any = METHODS["gplvm"](constraint={"name": "mlp", "hidden": 5}, minimize=QUICK).resolve(data)
    model = method.fit(data, Compute())
    found = {check.name: check for check in checks_of(method, data, model)}
    assert model.fit["converged"] and found["gradient"].verdict == "pass"
    # where it ends depends on rounding: 43 to 976 times the rounding on six settings of one processor
    assert {name for name, check in found.items() if check.verdict in ("warn", "fail")} == {"stationarity"}


def test_without_convergence_the_certificate_says_that_none_is_claimed() -> None:
    for method, options in (("gplvm", {"minimize": {"limit": 3}}), ("gpdm", {"minimize": {"limit": 3}}),
                            ("gpssm", {"minimize": {"limit": 3}, "inducing": 4}),
                            ("lgssm", {"iterate": {"limit": 3}}), ("ica", {"iterate": {"limit": 2}})):
        data = features(WALK)
        resolved: Any = METHODS[method](**options).resolve(data)
        found = {check.name: check for check in checks_of(resolved, data, resolved.fit(data, Compute()))}
        assert found["stationarity"].verdict == "skipped" and "claims no convergence" in found["stationarity"].how


@pytest.mark.medium
def test_states_that_hardly_move_of_themselves_keep_their_likelihood() -> None:
    """Of a lattice four states have an innovation of condition 10⁷, whose inverse lost the digits of the likelihood.

    The likelihood rises towards states without innovation, which is no maximum: the fit claims none.
    """
    data = features(FAMILIES["lattice"](np.random.default_rng(0), 40, 4))
    method: Any = METHODS["lgssm"](axes={"components": 4}).resolve(data)
    model = method.fit(data, Compute())
    found = {check.name: check for check in checks_of(method, data, model)}
    assert found["log-likelihood"].value < 1
    assert not model.fit["converged"] and found["stationarity"].verdict == "skipped"


def test_slopes_of_a_narrow_valley_are_those_of_short_steps() -> None:
    course = Course(lambda some: float(np.cosh(1e5 * (some[0] - 1e-6))), np.zeros(1), float(np.cosh(0.1)),
                    [np.ones(1)], 1e-15, 1e-3)
    assert course.slopes[0] == pytest.approx(-1e5 * np.sinh(0.1), rel=1e-2)
    assert course.curvatures[0] == pytest.approx(1e10 * np.cosh(0.1), rel=1e-2)
