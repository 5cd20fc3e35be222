"""Expectation and maximization for the latent model with equal noise, exact with missing cells.

The coordinates are the only hidden variables: a missing cell takes no part in the likelihood, and needs none in
the steps. Source: Tipping and Bishop, 1999; Ilin and Raiko, "Practical approaches to PCA in the presence of
missing values", 2010.
"""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.stages.algebra.costs import pass_cost
from mlcli.stages.algebra.iterate import Iterate, Iterated
from mlcli.stages.algebra.linalg import EPS, inverse, root_positive
from mlcli.stages.latent.model import COUNT, FEWER, Grouped, Latent, Posterior, posterior

EXPECTED = 6.5  # arrays of the size of the data at once
USUAL, CALLS = 100, 60  # iterations of most fits, and small calls of each


@result("estimate")
@frozen
class Estimate:
    """A model during EM, and the posterior that its last step started from."""

    model: Latent
    posterior: Posterior

    @property
    def objective(self) -> float:
        """The log-likelihood of the observed cells before the last maximization."""
        return self.posterior.log_likelihood


def expectation_maximization(data: Grouped, start: Latent, iterate: Iterate) -> Iterated[Estimate]:
    """Maximize the likelihood of the observed cells by EM from `start`."""
    floor = EPS * float(np.sum(data.values**2)) / max(data.cells, 1)

    def step(state: Estimate) -> Estimate:
        states = posterior(state.model, data)
        return Estimate(maximize(data, states, floor), states)

    return iterate(step, Estimate(start, Posterior(np.zeros((0, 0)), np.zeros((0, 0, 0)), -np.inf)), change)


def em_seconds(shape: tuple[int, ...], size: int) -> float:
    """Predict the seconds of one iteration for complete points: a dozen passes over them, and the small calls."""
    rows, columns = shape
    return pass_cost(rows * (12 * columns + 4 * (size + 1) ** 2)) + CALLS * rates().called


def maximize(data: Grouped, states: Posterior, floor: float) -> Latent:
    """Return the M-step: each column regressed on the coordinates of the rows that have it; noise from residuals."""
    size = states.means.shape[1]
    wide = size + 1  # the last coordinate is the constant one: its loading is the mean
    moments = np.zeros((len(data.observed), wide, wide))
    crossed = np.zeros((data.values.shape[1], wide))
    moments[:, :size, :size] = data.counts[:, None, None] * states.covariances
    for block in data.blocks(wide * wide + data.values.shape[1]):
        extended = np.column_stack([states.means[block], np.ones(len(states.means[block]))])
        crossed += data.values[block].T @ extended
        group = data.group[block]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        outer = extended[:, :, None] * extended[:, None, :]
        moments[group[first]] += np.add.reduceat(outer, first, axis=0)
    patterns, kind = np.unique(data.observed, axis=1, return_inverse=True)  # of columns: few, often one
    inverses = inverse(np.tensordot(patterns.T, moments, axes=1), where=COUNT, hint=FEWER)
    fitted = np.einsum("dij,dj->di", inverses[kind.ravel()], crossed)
    noise = (float(np.sum(data.values**2)) - float(np.sum(fitted * crossed))) / data.cells
    return standardize(Latent(fitted[:, size], fitted[:, :size], max(noise, floor)), moments.sum(axis=0))


def standardize(model: Latent, moments: Array) -> Latent:
    """Return the model of the same distribution of data for coordinates of mean zero and covariance one.

    `moments` is the (q + 1, q + 1) array of second moments of the present coordinates, the constant one last.

    Letting the coordinates have a mean and a covariance of their own is the parameter expansion of Liu, Rubin and
    Wu, 1998: no step lowers the likelihood, and far fewer are needed.
    """
    size = model.loadings.shape[1]
    mean = moments[:size, size] / moments[size, size]
    covariance = moments[:size, :size] / moments[size, size] - np.outer(mean, mean)
    return Latent(model.mean + model.loadings @ mean, model.loadings @ root_positive(covariance), model.noise)


def change(before: Estimate, after: Estimate) -> float:
    """Return the largest relative change of loadings, mean and noise."""
    old, new = before.model, after.model
    size = float(np.sqrt(np.sum(new.loadings**2) + len(new.loadings) * new.noise))
    if size == 0:
        return 0.0
    return max(float(np.linalg.norm(new.loadings - old.loadings)) / size, abs(new.noise - old.noise) / new.noise,
               float(np.linalg.norm(new.mean - old.mean)) / size)


def random_start(data: Grouped, size: int, generator: np.random.Generator) -> Latent:
    """Return a model of random loadings, with the data's variance for the noise."""
    columns = data.values.shape[1]
    variance = float(np.sum(data.values**2)) / max(data.cells, 1)
    directions = generator.standard_normal((columns, size))
    return Latent(np.zeros(columns), directions * np.sqrt(variance), variance)
