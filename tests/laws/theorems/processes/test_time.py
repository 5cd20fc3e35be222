"""Slow features and state-space models: what holds of rows in time order."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.base.types import Array
from mlcli.core.eigen.options import Axes
from mlcli.core.iterate import Iterate
from mlcli.methods.processes.kalman import Sequence, StateSpace, smooth
from mlcli.methods.processes.state_space import (
    Diagonal,
    Noise,
    StateSpaceForm,
    accelerated_step,
    canonical_form,
    first_guess,
    fit_model,
    gradient,
    maximize,
    smooth_states,
    unpack_parameters,
)
from tests.support import Notes, features, fit

TIME = np.arange(600)
SIGNALS = np.column_stack([np.sin(TIME / 60), np.sin(TIME / 7), np.cos(TIME / 3)])
MIXING = np.array([[2.0, 1, 0], [1, -1, 3], [0.5, 2, 1]])
TRUE = StateSpace(0.97 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]),
                  np.array([[0.1, 0.02], [0.02, 0.2]]), np.array([[1.0, 0], [0.5, 1], [-1, 0.5]]),
                  np.array([0.2, 0.3, 0.1]))


def simulated(rows: int, seed: int) -> Array:
    generator = np.random.default_rng(seed)
    state, root, points = np.zeros(2), np.linalg.cholesky(TRUE.innovation), []
    for _ in range(rows):
        state = TRUE.transition @ state + root @ generator.standard_normal(2)
        points.append(TRUE.loadings @ state + np.sqrt(TRUE.noise) * generator.standard_normal(3))
    return np.array(points)


def with_gaps(points: Array, seed: int) -> Array:
    gaps = np.where(np.random.default_rng(seed).random(points.shape) < 0.15, np.nan, points)
    gaps[4] = np.nan
    return gaps


SERIES = simulated(300, 2)


def test_slow_features_unmix_signals_by_their_slowness() -> None:
    model = fit("sfa", SIGNALS @ MIXING, components=3)
    assert np.all(np.diff(model.spectrum.values) > 0)
    for found, signal in zip(model.embedding.T, SIGNALS.T, strict=True):
        assert abs(np.corrcoef(found, signal)[0, 1]) > 0.99


def test_slowness_is_the_mean_squared_step_of_a_white_feature() -> None:
    model = fit("sfa", SIGNALS @ MIXING, components=3)
    steps = np.diff(model.embedding, axis=0)
    assert np.allclose(np.mean(steps**2, axis=0), model.spectrum.values, rtol=1e-10)
    assert np.allclose(steps.T @ steps / 599, np.diag(model.spectrum.values), atol=1e-12)
    assert np.allclose(model.embedding.T @ model.embedding / 600, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2])
def test_slow_features_do_not_depend_on_an_affine_map_of_the_columns(degree: int) -> None:
    points = SIGNALS + 0.1 * np.random.default_rng(0).standard_normal(SIGNALS.shape)
    model, mapped = fit("sfa", points, degree=degree), fit("sfa", 1e6 * points @ MIXING + 3e6, degree=degree)
    assert np.allclose(mapped.embedding, model.embedding, atol=1e-8)
    assert np.allclose(mapped.spectrum.values, model.spectrum.values, rtol=1e-9)


def test_quadratic_features_find_a_slow_signal_hidden_in_products() -> None:
    """Of x = slow + fast², y = fast, the slow part is quadratic: x - y². No linear feature is as slow."""
    hidden = np.column_stack([SIGNALS[:, 0] + SIGNALS[:, 1] ** 2, SIGNALS[:, 1]]) @ MIXING[:2, :2]
    linear, quadratic = (fit("sfa", hidden, degree=degree) for degree in (1, 2))
    assert abs(np.corrcoef(quadratic.embedding[:, 0], SIGNALS[:, 0])[0, 1]) > 0.999
    assert abs(np.corrcoef(linear.embedding[:, 0], SIGNALS[:, 0])[0, 1]) < 0.95
    assert np.allclose(quadratic.project(hidden[::-1]), quadratic.embedding[::-1], atol=1e-10)


def test_noise_without_memory_has_slowness_two_and_alternation_four() -> None:
    noise = np.random.default_rng(1).standard_normal((20_000, 2))
    assert np.allclose(fit("sfa", noise).spectrum.values, 2, atol=0.05)
    assert fit("sfa", (-1.0) ** TIME[:, None]).spectrum.values[0] == pytest.approx(4, rel=1e-12)


def dense(points: Array, start: Array) -> tuple[float, Array, Array, float]:
    """Log-likelihood, states with their covariances and the best log-likelihood of any start, without recursions."""
    count, size = len(points), 2
    chain = np.eye(count * size)
    chain[size:, :-size] -= np.kron(np.eye(count - 1), TRUE.transition)
    chain = np.linalg.inv(chain)
    states = chain @ np.kron(np.eye(count), TRUE.innovation) @ chain.T
    seen = ~np.isnan(points.ravel())
    show = np.kron(np.eye(count), TRUE.loadings)[seen]
    covariance = show @ states @ show.T + np.diag(np.tile(TRUE.noise, count)[seen])
    reach, values = show @ chain[:, :size], points.ravel()[seen]
    best = np.linalg.solve(reach.T @ np.linalg.solve(covariance, reach), reach.T @ np.linalg.solve(covariance, values))
    gain = np.linalg.solve(covariance, show @ states).T
    means = chain[:, :size] @ start + gain @ (values - reach @ start)
    spread = states - gain @ show @ states
    density = [multivariate_normal(reach @ one, covariance).logpdf(values) for one in (start, best)]
    return density[0], means.reshape(count, size), spread, density[1]


@pytest.mark.parametrize("points", [SERIES[:25], with_gaps(SERIES[:25], 3)], ids=["whole", "gaps"])
def test_the_recursions_are_the_dense_gaussian(points: Array) -> None:
    found = smooth(Sequence.of(points), TRUE)
    density, means, spread, best = dense(points, found.start)
    assert found.log_likelihood == pytest.approx(density, rel=1e-13)
    assert found.log_likelihood == pytest.approx(best, rel=1e-13)
    assert np.allclose(found.means, means, rtol=0, atol=1e-12)
    for t in range(25):
        own = slice(2 * t, 2 * t + 2)
        assert np.allclose(found.covariances[t], spread[own, own], atol=1e-13)
        if t:
            assert np.allclose(found.following[t - 1], spread[own, 2 * t - 2 : 2 * t], atol=1e-13)


@pytest.mark.medium
@pytest.mark.parametrize("points", [SERIES, with_gaps(SERIES, 5)], ids=["whole", "gaps"])
def test_no_step_lowers_the_likelihood(points: Array) -> None:
    sequence = Sequence.of(points - np.nanmean(points, axis=0), 1e-4)
    plain = bent = smooth_states(sequence, first_guess(sequence, 2))
    for _ in range(15):
        next_plain = smooth_states(sequence, maximize(sequence, plain.states))
        next_bent = accelerated_step(sequence, bent)
        assert next_plain.objective >= plain.objective - 1e-12 * abs(plain.objective)
        assert next_bent.objective >= bent.objective - 1e-12 * abs(bent.objective)
        plain, bent = next_plain, next_bent
    assert bent.objective > plain.objective  # and what bends the steps is worth it


FORMS = [StateSpaceForm(), StateSpaceForm(Diagonal()), StateSpaceForm(Diagonal(), noise="equal"),
         StateSpaceForm(Diagonal(coefficients=(0.9, 0.2))),
         StateSpaceForm(noise="vanishing")]


def slope_at(sequence: Sequence, numbers: Array, like: StateSpace, form: StateSpaceForm) -> Array:
    return gradient(sequence, smooth_states(sequence, unpack_parameters(numbers, like, form)), form)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("points", [SERIES[:60], with_gaps(SERIES[:60], 5)], ids=["whole", "gaps"])
def test_the_gradient_is_that_of_the_likelihood(points: Array, form: StateSpaceForm) -> None:
    sequence = Sequence.of(points - np.nanmean(points, axis=0), 1e-3)
    model = first_guess(sequence, 2, form)
    numbers = form.pack(model)

    def height(moved: Array) -> float:
        return smooth_states(sequence, unpack_parameters(moved, model, form)).objective

    found = slope_at(sequence, numbers, model, form)
    steps = 1e-5 * np.eye(len(numbers))
    expected = [(height(numbers + step) - height(numbers - step)) / 2e-5 for step in steps]
    assert np.allclose(found, expected, rtol=0, atol=1e-6 * np.abs(found).max())


@pytest.mark.medium
@pytest.mark.parametrize(("seed", "rows", "columns", "size", "form"), [
    (2, 100, 5, 3, StateSpaceForm()), pytest.param(1, 60, 3, 2, StateSpaceForm(Diagonal()), marks=pytest.mark.slow)],
                         ids=str)
def test_a_fit_that_has_converged_leaves_no_gain(seed: int, rows: int, columns: int, size: int,
                                                 form: StateSpaceForm) -> None:
    """What Newton's step would gain is within ten times the tolerance: sequences on which EM creeps."""
    points = flat_sequence(seed, rows, columns)
    sequence = Sequence.of(points - points.mean(axis=0), 1e-4)
    fitted = fit_model(points, Axes(components=size), Iterate(), 1e-4, form)
    assert fitted.facts["converged"]
    numbers = form.pack(fitted.model)
    free = numbers > form.least(sequence, numbers) + 1e-6
    slope = slope_at(sequence, numbers, fitted.model, form)[free]
    steps = 1e-5 * np.eye(len(numbers))[free]
    curvature = -np.array([slope_at(sequence, numbers + step, fitted.model, form)[free]
                           - slope_at(sequence, numbers - step, fitted.model, form)[free] for step in steps]) / 2e-5
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    kept = values > 1e-6 * values[-1]  # the others change no likelihood: the basis of the states is free
    gain = 0.5 * float(np.sum((vectors.T @ slope)[kept] ** 2 / values[kept]))
    assert gain < 1e-8 * abs(fitted.log_likelihood)


@pytest.mark.medium
def test_an_end_of_em_far_below_the_maximum_is_no_convergence() -> None:
    """EM gains less than its tolerance here, on a likelihood that rises on over thousands of steps."""
    with Notes() as notes:
        fitted = fit_model(flat_sequence(0, 60, 3), Axes(components=2), Iterate(), 1e-4,
                           StateSpaceForm(Diagonal(), noise="equal"))
    assert not fitted.facts["converged"] and "W-UNCONVERGED" in notes.codes


def flat_sequence(seed: int, rows: int, columns: int) -> Array:
    """Rows of two states that turn and decay, with noise that hides part of them."""
    generator = np.random.default_rng(seed)
    turn = 0.95 * np.linalg.qr(generator.standard_normal((2, 2)))[0]
    loadings, state, points = generator.standard_normal((columns, 2)), np.zeros(2), []
    for _ in range(rows):
        state = turn @ state + 0.5 * generator.standard_normal(2)
        points.append(loadings @ state + 0.5 * generator.standard_normal(columns))
    return np.array(points)


@pytest.mark.medium
@pytest.mark.parametrize("points", [SERIES[:100], with_gaps(SERIES[:100], 5)], ids=["whole", "gaps"])
def test_no_parameter_can_be_moved_to_raise_the_likelihood(points: Array) -> None:
    sequence = Sequence.of(points - np.nanmean(points, axis=0), 1e-4)
    fitted = smooth_states(sequence, first_guess(sequence, 2))
    for _ in range(80):
        fitted = accelerated_step(sequence, fitted)
    best, generator = fitted.model, np.random.default_rng(0)
    for size in (1e-2, 1e-3):
        for _ in range(20):
            turn = np.eye(2) + size * generator.standard_normal((2, 2))
            moved = StateSpace(best.transition + size * generator.standard_normal((2, 2)),
                               turn @ best.innovation @ turn.T,
                               best.loadings + size * generator.standard_normal((3, 2)),
                               best.noise * np.exp(size * generator.standard_normal(3)))
            assert smooth(sequence, moved).log_likelihood < fitted.objective


def test_the_canonical_form_is_the_same_model_whatever_basis_it_comes_from() -> None:
    sequence = Sequence.of(SERIES - SERIES.mean(axis=0))
    turn = np.array([[2.0, 0.3], [-1.0, 0.7]])
    back = np.linalg.inv(turn)
    other = StateSpace(turn @ TRUE.transition @ back, turn @ TRUE.innovation @ turn.T, TRUE.loadings @ back, TRUE.noise)
    one, two = (canonical_form(smooth_states(sequence, model)) for model in (TRUE, other))
    assert two.objective == pytest.approx(one.objective, rel=1e-13)
    for name in ("transition", "innovation", "loadings"):
        assert np.allclose(getattr(one.model, name), getattr(two.model, name), atol=1e-11)
    moments = one.states.covariances.mean(axis=0) + one.states.means.T @ one.states.means / len(SERIES)
    assert np.allclose(moments, np.eye(2), atol=1e-12)
    crossed = one.model.loadings.T @ one.model.loadings
    assert abs(crossed[0, 1]) < 1e-12 and crossed[0, 0] > crossed[1, 1]
    again = smooth_states(sequence, one.model)
    assert np.allclose(again.states.means, one.states.means, atol=1e-11)


@pytest.mark.medium
def test_a_long_series_gives_its_parameters_back() -> None:
    """What no basis changes: the eigenvalues of A, the noise, and C Q Cᵀ."""
    model = fit("lgssm", simulated(4000, 7))
    innovation, noise = np.array(model.fit["innovation"]), np.array(model.fit["noise_variances"])
    angle = np.abs(np.angle(np.linalg.eigvals(np.array(model.fit["transition"]))))
    assert model.fit["converged"]
    assert np.allclose(angle, 0.3, atol=0.02)
    assert np.allclose(noise, TRUE.noise, atol=0.03)
    shown = model.loadings.values @ innovation @ model.loadings.values.T
    assert np.allclose(shown, TRUE.loadings @ TRUE.innovation @ TRUE.loadings.T, atol=0.04)


@pytest.mark.medium
def test_states_of_the_same_rows_are_the_embedding_again() -> None:
    gaps = with_gaps(SERIES, 5)
    model = fit("lgssm", features(gaps))
    assert np.allclose(model.project(gaps), model.embedding, atol=1e-12)
    filled = model.reconstruct(model.embedding)
    hidden = np.isnan(gaps)
    unexplained = np.mean((filled - SERIES)[hidden] ** 2) / np.mean((SERIES - SERIES.mean(axis=0))[hidden] ** 2)
    assert unexplained < 0.3


@pytest.mark.medium
def test_a_unit_shifts_the_log_likelihood_and_changes_no_state() -> None:
    model, larger = (fit("lgssm", unit * with_gaps(SERIES, 5)) for unit in (1.0, 2.0**30))
    cells = int(np.sum(~np.isnan(with_gaps(SERIES, 5))))
    units = cells * 30 * np.log(2)
    assert larger.fit["log_likelihood"] == pytest.approx(model.fit["log_likelihood"] - units, rel=1e-13)
    assert np.array_equal(larger.embedding, model.embedding)
    assert np.array_equal(larger.loadings.values, 2.0**30 * model.loadings.values)


@pytest.mark.medium
def test_a_constant_column_has_no_part_in_the_model() -> None:
    model, wider = fit("lgssm", SERIES), fit("lgssm", np.column_stack([SERIES, np.full(300, 0.1)]))
    assert np.allclose(wider.embedding, model.embedding, atol=1e-12)
    assert wider.fit["log_likelihood"] == pytest.approx(model.fit["log_likelihood"], rel=1e-13)
    assert not wider.loadings.values[3].any() and wider.fit["noise_variances"][3] == 0


@pytest.mark.slow
def test_two_states_show_through_one_column() -> None:
    """A sine in noise needs two states and one column: its period is the angle of A."""
    generator = np.random.default_rng(3)
    model = fit("lgssm", np.sin(TIME / 5)[:, None] + 0.1 * generator.standard_normal((600, 1)))
    assert np.allclose(np.abs(np.angle(np.linalg.eigvals(np.array(model.fit["transition"])))), 0.2, atol=1e-3)


@pytest.mark.medium
def test_a_column_that_the_states_reproduce_exactly_is_warned_of() -> None:
    """A walk is its own state: all of it is explained but for the floor; the same walk in noise keeps its noise."""
    generator = np.random.default_rng(6)
    walk = np.cumsum(generator.standard_normal(300))
    points = np.column_stack([walk, walk + 3 * generator.standard_normal(300)])
    with Notes() as notes:
        model = fit("lgssm", points, components=1)
    shares = np.array(model.fit["noise_variances"]) / points.var(axis=0)
    rest = points - model.reconstruct(model.embedding)
    assert [note.facts for note in notes.notes if note.code == "W-NOISELESS"] == [{"columns": 1}]
    assert shares[0] == pytest.approx(1e-4, rel=1e-9) and shares[1] > 1e-2
    assert np.mean(rest[:, 0] ** 2) < 1e-4 * walk.var()
    assert model.fit["noise_variances"][1] == pytest.approx(9, rel=0.2)


def test_noise_in_every_column_is_no_reason_to_warn() -> None:
    with Notes() as notes:
        model = fit("lgssm", SERIES)
    assert np.all(np.array(model.fit["noise_variances"]) > 1e-2 * SERIES.var(axis=0))
    assert "W-NOISELESS" not in notes.codes


@pytest.mark.parametrize("components", [1, *(pytest.param(count, marks=pytest.mark.slow) for count in (2, 3))])
@pytest.mark.parametrize("name", ["sine", "walk", "noise", "trend"])
def test_rows_of_rank_one_are_projected_onto_themselves(name: str, components: int) -> None:
    """States beyond the first show in no column, or hardly: what rows tell of them is as little as rounding."""
    generator = np.random.default_rng(1)
    column = {"sine": np.sin(TIME[:120] / 9), "walk": np.cumsum(generator.standard_normal(120)),
              "noise": generator.standard_normal(120), "trend": 1.0 * TIME[:120]}[name]
    points = np.outer(column, [1, 2, -0.5, 3])
    model = fit("lgssm", points, components=components)
    assert np.allclose(model.project(points), model.embedding, rtol=0, atol=1e-12)
    moments = model.embedding.T @ model.embedding / 120 + np.mean(np.asarray(model.spreads), axis=0)
    assert np.allclose(moments, np.eye(components), atol=1e-5)


@pytest.mark.medium
@pytest.mark.parametrize("seed", [1, 3])
def test_a_tolerance_below_rounding_ends_where_the_likelihood_rises_no_further(seed: int) -> None:
    """EM on noise takes a variance to its floor; steps end by changing nothing, or nothing but rounding."""
    points = np.random.default_rng(seed).standard_normal((40, 4))
    usual = fit("lgssm", points)
    with Notes() as notes:
        found = fit("lgssm", points, iterate={"tolerance": 1e-300})
    assert found.fit["converged"] and "W-UNCONVERGED" not in notes.codes and found.fit["iterations"] < 500
    assert np.isclose(found.fit["log_likelihood"], usual.fit["log_likelihood"], rtol=1e-5)


def palindrome() -> Array:
    """Rows whose mean is zero, and which begin and end there: of them no sum has an end of its own."""
    half = np.random.default_rng(12).standard_normal((150, 3))
    for lag in range(1, 150):
        half[lag] += np.array([0.95, 0.7, -0.3]) * half[lag - 1]
    zero = np.zeros((1, 3))
    return np.vstack([zero, half, zero, -half, zero]) @ MIXING


ENDLESS = palindrome()
KNOWN = np.array([0.8, 0.3, -0.5])  # other coefficients than the data's


def limit_loadings(coefficients: Array) -> Array:
    """Loadings of largest likelihood as noise vanishes: those of SFA, in the scale that the coefficients ask for."""
    slow, rows = fit("sfa", ENDLESS, components=3), len(ENDLESS)
    steps = slow.spectrum.values * (rows - 1) / rows
    squares = (1 - coefficients**2) / ((1 - coefficients) ** 2 + coefficients * steps)
    return slow.loadings.values / np.sqrt(squares)


def limit_likelihood(coefficients: Array, loadings: Array, noise: float) -> float:
    """The likelihood of autoregressions seen through square loadings with a little noise."""
    model = StateSpace(np.diag(coefficients), np.diag(1 - coefficients**2), loadings, np.full(3, noise))
    return smooth(Sequence.of(ENDLESS), model).log_likelihood


def limit_slopes(coefficients: Array, loadings: Array, noise: float, *, own: bool) -> Array:
    """Derivatives of the likelihood of a row, by relative changes of loadings and, if `own`, by coefficients."""
    changes = [*np.eye(12)[:12 if own else 9]]

    def likelihood(change: Array) -> float:
        moved = loadings @ (np.eye(3) + change[:9].reshape(3, 3))
        return limit_likelihood(np.tanh(np.arctanh(coefficients) + change[9:]), moved, noise)

    return np.array([likelihood(1e-3 * some) - likelihood(-1e-3 * some) for some in changes]) / 2e-3 / len(ENDLESS)


@pytest.mark.medium
@pytest.mark.parametrize("own", [False, True], ids=["known", "own"])
def test_slow_features_are_the_limit_of_a_state_space_model_as_noise_vanishes(own: bool) -> None:
    """Turner and Sahani: with as many states as columns, the gradient at SFA's loadings vanishes with the noise.

    The coefficients of largest likelihood are then the correlations of neighboring values, and the scale is SFA's.
    """
    slow, rows = fit("sfa", ENDLESS, components=3), len(ENDLESS)
    coefficients = 1 - slow.spectrum.values * (rows - 1) / rows / 2 if own else KNOWN
    best = limit_loadings(coefficients)
    if own:
        assert np.allclose(best, slow.loadings.values, rtol=1e-10)
    some, less = (np.abs(limit_slopes(coefficients, best, noise, own=own)).max() for noise in (1e-3, 1e-4))
    assert less < 3e-4 and less == pytest.approx(some / 10, rel=0.05)
    assert np.abs(limit_slopes(coefficients, 1.01 * best, 1e-4, own=own)).max() > 30 * less


def test_neighbors_and_other_orders_of_slow_features_are_less_likely_as_noise_vanishes() -> None:
    best, generator = limit_loadings(KNOWN), np.random.default_rng(4)
    top = limit_likelihood(KNOWN, best, 1e-6)
    for size in (0.01, 0.1, 1.0):
        for _ in range(5):
            moved = best @ (np.eye(3) + size * generator.standard_normal((3, 3)))
            assert limit_likelihood(KNOWN, moved, 1e-6) < top
    for order in ([1, 0, 2], [0, 2, 1], [2, 1, 0]):  # features with the coefficients of others, at their best scale
        other = limit_loadings(KNOWN[order])[:, np.argsort(order)]
        assert limit_likelihood(KNOWN, other, 1e-6) < top - 10


@pytest.mark.medium
def test_a_fit_with_vanishing_noise_ends_at_slow_features() -> None:
    slow = fit("sfa", ENDLESS, components=3)
    for coefficients in (None, KNOWN.tolist()):
        model = fit("lgssm", ENDLESS, noise="vanishing", floor=1e-5, components=3,
                    dynamics={"name": "diagonal", "coefficients": coefficients})
        agreement = np.abs(np.sum(model.embedding * slow.embedding, axis=0)) / np.linalg.norm(
            model.embedding, axis=0) / np.linalg.norm(slow.embedding, axis=0)
        assert model.fit["converged"] and np.all(agreement > 1 - 1e-6)
        if coefficients is None:
            assert np.allclose(np.diag(model.fit["transition"]), 1 - slow.spectrum.values / 2, atol=5e-3)
            assert np.allclose(np.abs(model.loadings.values), np.abs(slow.loadings.values), atol=1e-2)


@pytest.mark.medium
def test_no_step_with_diagonal_dynamics_lowers_the_likelihood() -> None:
    sequence = Sequence.of(SERIES - SERIES.mean(axis=0), 1e-4)
    noises: tuple[Noise, ...] = ("each", "equal", "vanishing")
    for noise in noises:
        form = StateSpaceForm(Diagonal(), noise)
        plain = smooth_states(sequence, first_guess(sequence, 2, form))
        for _ in range(15):
            further = smooth_states(sequence, maximize(sequence, plain.states, form))
            assert further.objective >= plain.objective - 1e-12 * abs(plain.objective)
            plain = further
