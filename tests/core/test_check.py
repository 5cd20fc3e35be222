"""What methods hold themselves to: honest results pass on hostile data, and every statement fails where it is false."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled, Features, Input, Labeled, TwoViews
from mlcli.base.values.quantity import Quantity
from mlcli.core.classifier import posteriors
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.errors import MlcliError
from mlcli.methods import METHODS, Model
from mlcli.methods.method import Method
from mlcli.methods.networks.vib import BottleneckEncoder
from mlcli.methods.processes.check import Varying, log_density
from mlcli.methods.processes.kalman import Sequence, Smoother, StateSpace, smooth
from mlcli.methods.processes.new_points import LatentSequence, ProcessMeans
from mlcli.methods.processes.state_space_check import RowLikelihood
from tests.laws.accuracy.families import FAMILIES
from tests.support import checks_of, names

QUICK = {"layers": [4], "learning": {"epochs": 3, "batch": 20}}
TAUGHT = ("E-NO-VARIATION", "E-COPIES")  # errors of data that teaches nothing
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "lda": ("lda", {}), "lda shrunk": ("lda", {"shrinkage": "ledoit_wolf", "priors": "equal"}),
    "bilinear": ("bilinear", {}), "bilinear symmetric": ("bilinear", {"style_axes": 2}),
    "cca": ("cca", {}), "ibfa": ("ibfa", {}), "ibfa first": ("ibfa", {"given": "first"}),
    "gib": ("gib", {}), "gib beta": ("gib", {"beta": 1e3}),
    "rda": ("rda", {"permutations": 99, "axes": {"components": 3}}),
    "rda lc": ("rda", {"permutations": 99, "scores": "lc", "condition": ["1"]}),
    "dbrda": ("dbrda", {"permutations": 99}),
    "dbrda lc": ("dbrda", {"permutations": 99, "scores": "lc", "condition": ["1"]}),
    "sfa": ("sfa", {}), "sfa quadratic": ("sfa", {"degree": 2}), "ica": ("ica", {"iterate": {"limit": 60}}),
    "lgssm": ("lgssm", {"iterate": {"limit": 30}}),
    "lgssm diagonal": ("lgssm", {"iterate": {"limit": 30}, "dynamics": {"name": "diagonal"}, "noise": "equal"}),
    "gplvm": ("gplvm", {"minimize": {"limit": 90}}),
    "gplvm sparse": ("gplvm", {"minimize": {"limit": 40}, "inference": {"name": "sparse", "inducing": 9}}),
    "gplvm bayesian": ("gplvm", {"minimize": {"limit": 40}, "inference": {"name": "bayesian", "inducing": 6}}),
    "gplvm smooth": ("gplvm", {"minimize": {"limit": 40}, "constraint": {"name": "kernel"}}),
    "gpdm": ("gpdm", {"minimize": {"limit": 10}, "forecast": 3}),
    "gpdm second order": ("gpdm", {"minimize": {"limit": 10}, "dynamics": {"order": 2}}),
    "gpssm": ("gpssm", {"minimize": {"limit": 10}, "inducing": 6, "forecast": 3}),
    "gpssm linear": ("gpssm", {"minimize": {"limit": 40}, "kernel": ["linear"], "transition": ["linear"]}),
    "gpssm ard": ("gpssm", {"minimize": {"limit": 6}, "inducing": 6, "kernel": ["rbf-ard", "bias"]}),
    "autoencoder": ("autoencoder", {}),
    "autoencoder deep": ("autoencoder", QUICK), "vae": ("vae", {}), "vae deep": ("vae", QUICK), "vib": ("vib", {}),
    "vib deep": ("vib", QUICK),
}


def given(method: str, points: Array, generator: np.random.Generator) -> Input:
    """Points with the classes or the second view that a method needs; the view shares a column with the first."""
    ids, columns = names(len(points)), names(points.shape[1])
    if method == "lda":
        return Labeled(points, ids, columns, labels=[f"class {i % 3}" for i in range(len(points))])
    if method == "bilinear":
        return CrossLabeled(points, ids, columns, [f"style {i % 3}" for i in range(len(points))],
                            [f"content {i // 3 % 4}" for i in range(len(points))])
    if method in ("cca", "ibfa", "gib", "vib", "rda", "dbrda"):
        own = generator.standard_normal((len(points), 2))
        if method in ("gib", "vib"):  # which refuse shared columns
            other = points + np.abs(points).max(axis=0) * generator.standard_normal(points.shape)
            return TwoViews(points, ids, columns, view=Features(other[:, :3], ids, names(3)))
        both = np.column_stack([own, points[:, 0] + np.abs(points[:, 0]).max() * own[:, 0]])
        return TwoViews(points, ids, columns, view=Features(both, ids, names(3)))
    return Features(points, ids, columns)


def fitted(method: str, options: dict[str, Any], data: Input) -> tuple[Method, Input, Model]:
    """A fit, with what it is of."""
    resolved = METHODS[method](**options).resolve(data)
    return resolved, data, resolved.fit(data, Compute())


def verdicts(resolved: Method, data: Input, model: Model) -> dict[str, str]:
    """What the certificate says of a model."""
    return {check.name: check.verdict for check in checks_of(resolved, data, model)}


def trained(case: str) -> list[pytest.MarkDecorator]:
    """The mark of a case whose networks are trained, which takes seconds."""
    return [pytest.mark.medium] if case.endswith("deep") else []


@pytest.mark.parametrize(("case", "family"), [
    pytest.param(case, family, marks=pytest.mark.slow if (row + column) % 3 or trained(case) else [])
    for row, case in enumerate(CASES) for column, family in enumerate(FAMILIES)])
@pytest.mark.filterwarnings("ignore")
def test_honest_results_pass(case: str, family: str) -> None:
    method, options = CASES[case]
    generator = np.random.default_rng([5, len(family), len(case)])
    points = FAMILIES[family](generator, 60, 4) * (1e60 if len(case) % 2 else 1.0)
    try:
        found = verdicts(*fitted(method, options, given(method, points, generator)))
    except MlcliError as error:
        assert error.code in {"lda": ("E-WITHIN", "E-ONE-CLASS"), "autoencoder": TAUGHT, "vae": TAUGHT,
                              "vib": TAUGHT}[method]
        return
    warned = {name for name, verdict in found.items() if verdict == "warn"}
    assert "fail" not in found.values()
    # beside the products of an outlier, rounding leaves the others few digits, and the certificate says so
    assert warned == ({"projection"} if (case, family) == ("sfa quadratic", "outlier") else set())


@pytest.mark.parametrize("seed", [7, 9])  # of a fit that converges, and of one that does not
def test_a_start_that_rows_hardly_determine_is_no_fault(seed: int) -> None:
    """Rows of two clusters in turn: one state is seen well, and the other has no part in them."""
    method, options = CASES["lgssm"]
    points = FAMILIES["two clusters"](np.random.default_rng([seed, 12, 5]), 60, 4)
    found = verdicts(*fitted(method, options, Features(points, names(60), names(4))))
    assert found["log-likelihood"] == "pass"
    assert "fail" not in found.values()


@pytest.mark.parametrize("case", ["lgssm", "lgssm diagonal"])
@pytest.mark.parametrize("family", ["two clusters", "rank two"])
def test_a_likelihood_that_is_off_by_a_millionth_is_seen_where_rows_say_little(case: str, family: str) -> None:
    method, options = CASES[case]
    for seed in (0, 3, 4):
        points = FAMILIES[family](np.random.default_rng([seed, 12, 5]), 60, 4)
        method_of_data, data, model = fitted(method, options, Features(points, names(60), names(4)))
        assert verdicts(method_of_data, data, model)["log-likelihood"] == "pass"
        assert verdicts(method_of_data, data, claimed("log_likelihood")(model))["log-likelihood"] == "fail"


def test_a_filter_loses_the_square_of_what_its_inverse_has_lost() -> None:
    """States that load on the same direction, seen through little noise: the bound holds, and is not far off."""
    gaps, shares = dict[float, list[float]](), list[float]()
    for noise, seed in product((1e-4, 1e-6, 1e-8, 1e-10), range(6)):
        generator = np.random.default_rng(seed)
        loadings = np.outer(generator.standard_normal(4), [1, -0.5]) + 1e-6 * generator.standard_normal((4, 2))
        points = (generator.standard_normal((60, 2)) @ loadings.T
                  + np.sqrt(noise) * generator.standard_normal((60, 4)))
        model = StateSpace(transition=np.diag([0.3, -0.2]), innovation=np.eye(2), loadings=loadings,
                           noise=np.full(4, noise))
        likelihood = RowLikelihood.of(points, np.zeros(4))
        value, own = likelihood(model)
        gaps.setdefault(noise, []).append(abs(value - smooth(Sequence.of(points), model).log_likelihood))
        shares.append(gaps[noise][-1] / (likelihood.filter_losses(model)[0] + own))
    assert max(shares) < 1
    assert max(shares) > 0.005
    # Σ e²/r less what the state explains of it was off by 4.7e-6 and 4e-3
    assert max(gaps[1e-4]) < 1e-8 and max(gaps[1e-6]) < 1e-6


def longer(model: Model) -> Model:
    """An axis that is too long by a millionth."""
    return replace(model, embedding=model.embedding * [1.0, 1 + 1e-6])


def turned(model: Model) -> Model:
    """Axes that are turned a little."""
    cosine, sine = np.cos(1e-4), np.sin(1e-4)
    return replace(model, embedding=model.embedding @ np.array([[cosine, sine], [-sine, cosine]]))


def misranked(model: Model) -> Model:
    """A spectrum whose first number is off by a millionth."""
    spectrum = model.spectrum
    return replace(model, spectrum=replace(spectrum, solved=spectrum.solved * np.r_[1 - 1e-6, np.ones(
        len(spectrum.solved) - 1)]))


def misled(model: Model) -> Model:
    """A way back that is off."""
    projector = model.projector
    assert projector is not None and projector.decoder is not None
    decoder = Affine(projector.decoder.mean, projector.decoder.directions * (1 + 1e-6))
    return replace(model, projector=replace(projector, decoder=decoder))


def swapped(model: Model) -> Model:
    """Axes in another order, in all places."""
    projector = model.projector
    assert projector is not None and projector.decoder is not None
    decoder = Affine(projector.decoder.mean, projector.decoder.directions[:, ::-1])
    return replace(model, embedding=model.embedding[:, ::-1],
                   projector=replace(projector, axes=projector.axes[:, ::-1], decoder=decoder))


def noisier(model: Model) -> Model:
    """States of another noise than the model's."""
    projector = model.projector
    assert projector is not None and isinstance(projector.similarity, Smoother)
    space = projector.similarity.model
    other = replace(projector.similarity, model=replace(space, noise=space.noise * (1 + 1e-5)))
    return replace(model, projector=replace(projector, similarity=other))


def spaced(part: str, other: Callable[[Array], Array]) -> Callable[[Model], Model]:
    """A state-space model that is off in one part."""

    def change(model: Model) -> Model:
        projector = model.projector
        assert projector is not None and isinstance(projector.similarity, Smoother)
        space = replace(projector.similarity.model, **{part: other(getattr(projector.similarity.model, part))})
        return replace(model, projector=replace(projector, similarity=replace(projector.similarity, model=space)))

    change.__name__ = f"spaced {part}"
    return change


def fallen(model: Model) -> Model:
    """Iterations that end less likely than they were."""
    assert model.trace is not None
    return replace(model, objective=Quantity(np.append(model.trace[:-1], model.trace[-2] - 1.0)))


def looser(model: Model) -> Model:
    """Another precision of the second view than the best one."""
    projector = model.projector
    assert isinstance(projector, Projector) and isinstance(projector.similarity, BottleneckEncoder)
    encoder = replace(projector.similarity, root=projector.similarity.root * (1 - 1e-3))
    return replace(model, projector=replace(projector, similarity=encoder))


def tinted(model: Model) -> Model:
    """Coordinates in which the second view is not white."""
    projector = model.projector
    assert isinstance(projector, Projector) and isinstance(projector.similarity, BottleneckEncoder)
    encoder = replace(projector.similarity, into=projector.similarity.into * (1 + 1e-6))
    return replace(model, projector=replace(projector, similarity=encoder))


def sooner(model: Model) -> Model:
    """A first axis that opens at a smaller β."""
    first, *others = model.fit["critical_betas"]
    return replace(model, fit={**model.fit, "critical_betas": [first * (1 - 1e-6), *others]})


def parted(model: Model) -> Model:
    """Axes that keep parts of the same sum as others do."""
    first, second = model.fit["axis_information"]
    return replace(model, fit={**model.fit, "axis_information": [first + 1e-6, second - 1e-6]})


def told(model: Model) -> Model:
    """A summary that tells much more of the second view than it does."""
    return replace(model, fit={**model.fit, "relevant_information": model.fit["relevant_information"] + 300})


def claimed(name: str) -> Callable[[Model], Model]:
    """A figure of the fit that is off by a millionth."""

    def change(model: Model) -> Model:
        return replace(model, fit={**model.fit, name: model.fit[name] * (1 + 1e-6)})

    change.__name__ = f"claimed {name}"
    return change


def noised(model: Model) -> Model:
    """A reconstruction that is claimed to be better than its draws are."""
    fit = {**model.fit, "reconstruction": model.fit["reconstruction"] + 30.0, "elbo": model.fit["elbo"] + 30.0}
    return replace(model, fit=fit)


def lighter(model: Model) -> Model:
    """A process whose means are off."""
    projector = model.projector
    assert projector is not None and isinstance(projector.decoder, ProcessMeans)
    posterior = projector.decoder.posterior
    decoder = ProcessMeans(replace(posterior, weights=posterior.weights * (1 + 1e-6)))
    return replace(model, projector=replace(projector, decoder=decoder))


def moved(part: str, other: Callable[[Array], Array]) -> Callable[[Model], Model]:
    """A process of the steps that is off in one part."""

    def change(model: Model) -> Model:
        projector = model.projector
        assert projector is not None and isinstance(projector.similarity, LatentSequence)
        motion = projector.similarity.motion
        similarity = replace(projector.similarity, motion=replace(motion, **{part: other(getattr(motion, part))}))
        return replace(model, projector=replace(projector, similarity=similarity))

    change.__name__ = f"moved {part}"
    return change


def shaken(model: Model) -> Model:
    """One latent point that is off by a millionth, in the embedding alone."""
    points = model.embedding.copy()
    points[7, 0] += 1e-6
    return replace(model, embedding=points)


def dragged(model: Model) -> Model:
    """The same in all places where the model holds the point."""
    model, projector = shaken(model), model.projector
    assert projector is not None and isinstance(projector.similarity, LatentSequence)
    posterior = replace(projector.similarity.posterior, places=model.embedding)
    motion, last = projector.similarity.motion, len(model.embedding) - 1
    similarity = replace(projector.similarity, posterior=posterior,
                         motion=replace(motion, before=model.embedding[:last, None]))
    return replace(model, projector=replace(projector, similarity=similarity, decoder=ProcessMeans(posterior)))


def wider(model: Model) -> Model:
    """A state that is less certain than the sequence says, by a millionth."""
    assert model.spreads is not None
    return replace(model, spreads=model.spreads * (1 + 1e-6 * (np.arange(len(model.spreads)) == 7))[:, None, None])


def noisier_steps(model: Model) -> Model:
    """A process whose steps are noisier, in the model and in what is stated of it."""
    name = "dynamics_noise_variance"
    changed = moved("covariance", lambda held: replace(held, noise=held.noise * 1.001))(model)
    projector = changed.projector
    assert projector is not None and isinstance(projector.similarity, LatentSequence)
    return replace(changed, fit={**model.fit, name: projector.similarity.motion.covariance.whole_noise})


def farther(model: Model) -> Model:
    """A forecast whose last point is off by a millionth."""
    ahead = model.forecast
    assert ahead is not None
    off = np.where(np.arange(len(ahead.points)) == len(ahead.points) - 1, 1 + 1e-6, 1.0)
    return replace(model, forecast=replace(ahead, points=ahead.points * off[:, None]))


def less_likely(model: Model) -> Model:
    """A likelihood that is off."""
    return replace(model, fit={**model.fit, "log_likelihood": model.fit["log_likelihood"] - 1e-5})


def unstated(model: Model) -> Model:
    """A likelihood that is not stated."""
    return replace(model, fit={**model.fit, "log_likelihood": None})


def turned_pair(model: Model) -> Model:
    """The first two axes turned a little, in coordinates and loadings."""
    turn = np.eye(model.embedding.shape[1])
    turn[:2, :2] = [[np.cos(1e-4), np.sin(1e-4)], [-np.sin(1e-4), np.cos(1e-4)]]
    assert model.loadings is not None
    loadings = replace(model.loadings, values=model.loadings.values @ turn)
    return replace(model, embedding=model.embedding @ turn, loadings=loadings)


def stretched(axis: int) -> Callable[[Model], Model]:
    """An axis that is too long by a millionth, of constrained ones and of others."""
    def fault(model: Model) -> Model:
        return replace(model, embedding=model.embedding * (1 + 1e-6 * (np.arange(model.embedding.shape[1]) == axis)))

    return fault


def pointed(row: int) -> Callable[[Model], Model]:
    """A loading that is off by a millionth, of a column or of a constraint."""
    def fault(model: Model) -> Model:
        assert model.loadings is not None
        values = model.loadings.values.copy()
        values[row] += 1e-6 * np.abs(values).max()
        return replace(model, loadings=replace(model.loadings, values=values))

    return fault


def marked(model: Model) -> Model:
    """A constrained axis that is said to be one of residuals."""
    spectrum = model.ranks
    assert spectrum.constrained is not None
    return replace(model, spectrum=replace(spectrum, constrained=spectrum.constrained & (np.arange(
        len(spectrum.solved)) != 0)))


def surer(model: Model) -> Model:
    """A p-value as if no permutation had explained as much, where many did, or the other way round."""
    made = model.fit["permutations"]
    return replace(model, fit={**model.fit, "p_value": 1.0 if model.fit["p_value"] < 0.4 else 1 / (made + 1)})


def surest(model: Model) -> Model:
    """A p-value below the least of so many permutations."""
    return replace(model, fit={**model.fit, "p_value": 0.5 / (model.fit["permutations"] + 1)})


def freer(model: Model) -> Model:
    """A residual degree of freedom too many."""
    freedom = model.fit["degrees_of_freedom"]
    return replace(model, fit={**model.fit, "degrees_of_freedom": {**freedom, "residual": freedom["residual"] + 1}})


def rescaled(model: Model) -> Model:
    """Axes that are too long by a millionth, in coordinates and projector."""
    projector: Any = model.projector
    return replace(model, embedding=model.embedding * (1 + 1e-6),
                   projector=replace(projector, axes=projector.axes * (1 + 1e-6)))


def likelier(model: Model) -> Model:
    """A probability of a class that is off by a millionth in one row."""
    assert model.memberships is not None
    chances = model.memberships.probabilities.copy()
    chances[7, 0] += 1e-6
    return replace(model, memberships=replace(model.memberships, probabilities=chances))


def denser(model: Model) -> Model:
    """Densities of classes that are off, as are the probabilities by them."""
    projector: Any = model.projector
    held = replace(projector.classifier, centers=projector.classifier.centers * (1 + 1e-5))
    assert model.memberships is not None
    chances = posteriors(model.embedding, held.centers, held.priors)
    return replace(model, projector=replace(projector, classifier=held),
                   memberships=replace(model.memberships, probabilities=chances))


def surer_of_one(model: Model) -> Model:
    """Priors that are off."""
    projector: Any = model.projector
    held = projector.classifier
    priors = held.priors + 1e-6 * np.r_[1.0, -1.0, np.zeros(len(held.priors) - 2)]
    return replace(model, projector=replace(projector, classifier=replace(held, priors=priors)))


def misloaded(model: Model) -> Model:
    """Loadings and coordinates that fit each other, and are off."""
    assert model.loadings is not None
    scale = np.array([1.0, 1 + 1e-6])
    return replace(model, loadings=replace(model.loadings, values=model.loadings.values * scale),
                   embedding=model.embedding / scale)


def in_projector(name: str, factor: float) -> Callable[[Model], Model]:
    """Numbers of a projector that are off by a factor."""
    return lambda model: replace(model, projector=replace(model.projector, **{
        name: getattr(model.projector, name) * factor}))


def tilted(model: Model) -> Model:
    """Vectors of styles that are orthonormal, and span another space."""
    projector: Any = model.projector
    vectors = projector.style_vectors.copy()
    beside = np.linalg.svd(vectors)[0][:, -1]
    vectors[:, 0] = np.cos(0.1) * vectors[:, 0] + np.sin(0.1) * beside
    return replace(model, projector=replace(projector, style_vectors=vectors))


def total_off(model: Model) -> Model:
    """A total that is off by a millionth."""
    return replace(model, spectrum=replace(model.spectrum, solved_trace=model.spectrum.solved_trace * (1 + 1e-6)))


FAULTS = [
    *((case, fault, check) for case in ("lda", "lda shrunk") for fault, check in (
        (likelier, "classifier"), (likelier, "posterior"), (denser, "posterior"), (surer_of_one, "priors"))),
    ("lda shrunk", rescaled, "within"), ("lda shrunk", misranked, "between"),
    *((case, fault, check) for case in ("rda", "rda lc", "dbrda", "dbrda lc") for fault, check in (
        (stretched(0), "scores" if case.startswith("rda") else "lengths"), (misranked, "constrained"),
        (marked, "unconstrained"), (pointed(-1), "arrows"),
        (claimed("pseudo_F"), "pseudo-F"), (claimed("explained_share"), "share"), (freer, "freedom"),
        (surer, "p-value"), (surest, "p-value"))),
    ("rda", pointed(0), "directions"), ("rda", turned_pair, "residual"),
    ("dbrda", turned_pair, "residual"),
    *((case, longer, "codes") for case in ("autoencoder", "autoencoder deep", "vae", "vae deep", "vib", "vib deep")),
    ("vib", claimed("kept_information"), "optimum"), ("vib", claimed("relevant_information"), "relevant"),
    ("vib", claimed("total_information"), "optimum"), ("vib", claimed("beta"), "beta"), ("vib", looser, "stationarity"),
    ("vib", looser, "relevant"), ("vib", sooner, "correlations"), ("vib", tinted, "white"),
    ("vib deep", claimed("kept_information"), "parts"), ("vib deep", parted, "kept"), ("vib deep", told, "relevant"),
    ("autoencoder", claimed("unexplained"), "reconstruction"),
    ("autoencoder deep", claimed("unexplained"), "reconstruction"), ("vae", claimed("elbo"), "likelihood"),
    ("vae deep", claimed("elbo"), "bound"), ("vae deep", claimed("divergence"), "divergence"),
    ("vae deep", noised, "log-density"),
    ("lda", longer, "within"), ("lda", turned, "between"), ("lda", misranked, "between"),
    ("bilinear", longer, "contents"), ("bilinear", turned, "contents"), ("bilinear", misranked, "spectrum"),
    ("bilinear", misranked, "factors"), ("bilinear", misranked, "singular"), ("bilinear", misloaded, "factors"),
    ("bilinear", claimed("residual_share"), "residual"), ("bilinear", total_off, "trace"),
    ("bilinear", in_projector("maps", 1 + 1e-6), "maps"),
    *(("bilinear symmetric", fault, check) for fault, check in (
        (longer, "contents"), (turned, "contents"), (misranked, "spectrum"), (misranked, "factors"),
        (misranked, "singular"), (misloaded, "factors"), (misloaded, "interaction"), (total_off, "trace"),
        (claimed("residual_share"), "residual"), (claimed("explained_share"), "explained"),
        (in_projector("style_vectors", 1 + 1e-6), "orthonormal"),
        (in_projector("content_vectors", 1 + 1e-6), "orthonormal"),
        (in_projector("interaction", 1 + 1e-6), "interaction"), (in_projector("interaction", 1 + 1e-6), "style shares"),
        (in_projector("maps", 1 + 1e-6), "maps"), (tilted, "alternation"), (tilted, "leading"), (fallen, "explained"))),
    ("cca", longer, "covariance"), ("cca", turned, "correlations"), ("cca", misranked, "correlations"),
    ("cca", misled, "loadings"), ("ibfa", longer, "covariance"), ("ibfa", misranked, "covariance"),
    ("gib", longer, "covariance"), ("gib", misranked, "covariance"), ("gib", misled, "loadings"),
    ("gib", turned, "correlations"), ("gib beta", longer, "information"), ("gib", claimed("beta"), "beta"),
    ("gib", claimed("kept_information"), "information"), ("gib", claimed("relevant_information"), "information"),
    ("ibfa first", turned, "covariance"), ("ibfa", misled, "loadings"), ("sfa", longer, "covariance"),
    ("sfa", turned, "slowness"), ("sfa", misranked, "slowness"), ("sfa", misled, "loadings"),
    ("ica", longer, "covariance"), ("ica", misled, "loadings"), ("ica", turned, "loadings"), ("ica", swapped, "order"),
    ("lgssm", longer, "states"), ("lgssm", noisier, "states"), ("lgssm", misranked, "carried"),
    ("lgssm", claimed("log_likelihood"), "log-likelihood"), ("lgssm", unstated, "log-likelihood"),
    ("lgssm diagonal", spaced("transition", lambda held: held * (1 - 1e-6)), "dynamics"),
    ("lgssm diagonal", misranked, "slowness"),
    ("lgssm diagonal", spaced("innovation", lambda held: held + 1e-9), "dynamics"),
    ("lgssm diagonal", spaced("noise", lambda held: held * (1 + 1e-6 * np.arange(len(held)))), "noise"),
    ("lgssm", fallen, "likelihood"), ("gplvm", fallen, "likelihood"), ("gplvm", misranked, "relevances"),
    ("gplvm", lighter, "decoder"), ("gplvm", lighter, "one process"), ("gpdm", lighter, "one process"),
    ("gplvm", less_likely, "log_likelihood"), ("gplvm", shaken, "places"),
    ("gplvm", unstated, "log_likelihood"), ("gpdm", unstated, "log_likelihood"),
    ("gpdm", fallen, "likelihood"), ("gpdm", misranked, "relevances"), ("gpdm", less_likely, "log_likelihood"),
    ("gpdm", shaken, "places"), ("gpdm second order", shaken, "steps"), ("gpdm", dragged, "steps"),
    ("gpdm", dragged, "decoder"), ("gpdm second order", moved("weights", lambda held: held * (1 + 1e-5)), "steps"),
    ("gpdm", moved("known", lambda held: held * (1 + 1e-5)), "steps"), ("gpdm", noisier_steps, "steps"),
    ("gpdm", claimed("dynamics_log_density"), "density"), ("gpdm", farther, "forecast"),
    ("gpdm", claimed("dynamics_noise_variance"), "parameters of steps"),
    *((case, fault, check) for case in ("gpssm", "gpssm linear") for fault, check in (
        (fallen, "likelihood"), (misranked, "relevances"), (unstated, "log_likelihood"), (shaken, "states"),
        (claimed("log_likelihood"), "log_likelihood"), (wider, "states"), (lighter, "one process"),
        (moved("weights", lambda held: held * (1 + 1e-5)), "functions"),
        (moved("known", lambda held: held * (1 + 1e-5)), "functions"),
        (claimed("transition_noise_variance"), "parameters of steps"))),
    ("gpssm", farther, "forecast"),
]


@cache
def whole(case: str) -> tuple[Method, Input, Model, dict[str, str]]:
    """The fit of a walk that all faults in a case share, and what the certificate says of it."""
    method, options = CASES[case]
    generator = np.random.default_rng(8)
    walk = np.cumsum(generator.standard_normal((80, 2)), axis=0)
    points = walk @ generator.standard_normal((2, 4)) + generator.uniform(-1, 1, (80, 4))
    fit = fitted(method, options, given(method, points, generator))
    return *fit, verdicts(*fit)


@pytest.mark.parametrize(("case", "fault", "check"), [
    pytest.param(case, fault, check, marks=trained(case), id=f"{case}-{fault.__name__}-{check}")
    for case, fault, check in FAULTS])
def test_every_statement_can_fail(case: str, fault: Callable[[Model], Model], check: str) -> None:
    method, data, model, honest = whole(case)
    assert honest[check] == "pass"
    assert verdicts(method, data, fault(model))[check] == "fail"


def test_a_covariance_without_a_density_is_less_probable_than_any() -> None:
    """Equal numbers in all cells, and next to no noise, as a damaged model may say."""
    found = log_density({"bias_variance": 1.0, "noise_variance": 5e-324}, np.eye(3), Varying.of(np.eye(3)))
    assert found.value == -np.inf and found.noise == np.inf
