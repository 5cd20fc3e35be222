"""The linear-Gaussian state-space model: likelihood and smoothed states by Kalman's filter, also of new sequences.

    x₁ ~ N(start, Q),   xₜ₊₁ ~ N(A xₜ, Q),   yₜ ~ N(C xₜ, diag(noise)),   yₜ with cells missing where NaN.

The start is a parameter of each sequence, estimated by generalized least squares; the state before the
first row is thus an unknown constant. All recursions are in the information form of a diagonal
noise, where the number of columns enters through K x K matrices only.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import result, stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.core.linalg import require_finite, symmetric_eigen
from mlcli.core.similarities.base import Similarity
from mlcli.errors import NumericalError


@stored("state-space", transition="cc", innovation="cc", loadings="dc", noise="d")
@result("state-space")
@frozen
class StateSpace:
    """The parameters of the model without the start."""

    transition: Array  # A, K x K
    innovation: Array  # Q, K x K
    loadings: Array  # C, d x K
    noise: Array  # d, variances


@frozen
class Sequence:
    """Rows in time order, with the pattern of their missing cells."""

    values: Array  # n x d, zero where missing
    present: AnyArray  # n x d, true where a cell is observed
    kinds: AnyArray  # g x d: the patterns of cells that rows have
    kind: Indices  # n: which of them a row has
    variances: Array  # d
    least: Array  # d: lower bounds of the columns' noise

    @classmethod
    def of(cls, points: Array, floor: float = 0.0) -> "Sequence":
        """Return the sequence of points (n x d; NaN where missing); `floor` bounds noise, as a share of variance."""
        present = ~np.isnan(points)
        variances = np.nanvar(points, axis=0)
        if present.all():
            once = np.zeros(len(points), dtype=np.int64)
            return cls(points, present, present[:1], once, variances, floor * variances)
        kinds, kind = np.unique(present, axis=0, return_inverse=True)
        return cls(np.where(present, points, 0.0), present, kinds, kind.reshape(-1).astype(np.int64),
                   variances, floor * variances)


@frozen
class StateInformation:
    """The information of each row about its state: precision Cᵀ R⁻¹ C and Cᵀ R⁻¹ y, over the observed cells."""

    precisions: Array  # g x K x K, for each pattern of missing cells
    pull: Array  # n x K

    @classmethod
    def of(cls, sequence: Sequence, model: StateSpace) -> "StateInformation":
        """Return the evidence of a sequence under a model."""
        weighted = model.loadings / model.noise[:, None]
        precisions = np.stack([(model.loadings * kind[:, None]).T @ weighted for kind in sequence.kinds])
        return cls(precisions, sequence.values @ weighted)


@frozen
class Filtered:
    """Predictions of each row's state from the rows before it."""

    means: Array  # n x K
    covariances: Array  # n x K x K
    shrink: Array  # n x K x K: W = (I + J P)⁻¹
    step: Array  # n x K x K: A Wᵀ, from one prediction to the next
    start: Array  # K
    log_likelihood: float


@result("smoothed")
@frozen
class Smoothed:
    """Moments of the states given all rows."""

    means: Array  # n x K
    covariances: Array  # n x K x K
    following: Array  # n-1 x K x K: cov(xₜ₊₁, xₜ)
    start: Array  # K
    log_likelihood: float


def smooth(sequence: Sequence, model: StateSpace) -> Smoothed:
    """Return the moments of a sequence's states given all rows, and its log-likelihood.

    The backward recursion is that of de Jong and of Durbin and Koopman, which inverts no matrix.
    """
    evidence = StateInformation.of(sequence, model)
    forward = kalman_filter(sequence, evidence, model)
    count, size = forward.means.shape
    pulls = np.einsum("tij,tj->ti", forward.shrink, evidence.pull
                      - np.einsum("tij,tj->ti", evidence.precisions[sequence.kind], forward.means))
    weights = forward.shrink @ evidence.precisions[sequence.kind]
    push, force = np.empty((count, size)), np.empty((count + 1, size, size))
    force[count], later = 0.0, np.zeros(size)
    for t in range(count - 1, -1, -1):
        turn = forward.step[t].T
        later = push[t] = pulls[t] + turn @ later
        force[t] = weights[t] + turn @ force[t + 1] @ turn.T
    before = forward.covariances
    means = forward.means + np.einsum("tij,tj->ti", before, push)
    covariances = before - before @ force[:count] @ before
    following = (np.eye(size) - before[1:] @ force[1:count]) @ forward.step[:-1] @ before[:-1]
    return Smoothed(means=means, covariances=(covariances + covariances.transpose(0, 2, 1)) / 2, following=following,
                    start=forward.start, log_likelihood=forward.log_likelihood)


def kalman_filter(sequence: Sequence, evidence: StateInformation, model: StateSpace) -> Filtered:
    """Return Kalman's predictions, from the start of largest likelihood."""
    covariances, shrink, step = _covariances(sequence, evidence, model)
    precisions = evidence.precisions[sequence.kind]
    gains = model.transition @ covariances @ shrink
    drift = np.einsum("tij,tj->ti", gains, evidence.pull)
    origin = _propagate(np.zeros(len(model.transition)), step, drift)
    start = _start(evidence=evidence, precisions=precisions, shrink=shrink, step=step, origin=origin)
    means = _propagate(start, step, drift)
    return Filtered(means=means, covariances=covariances, shrink=shrink, step=step, start=start,
                    log_likelihood=_log_likelihood(sequence, model, means, covariances, shrink))


def _covariances(sequence: Sequence, evidence: StateInformation, model: StateSpace) -> tuple[Array, Array, Array]:
    """Return predicted covariances P, (I + J P)⁻¹ and A (I + P J)⁻¹ (n x K x K), reused once they are steady."""
    count, size = evidence.pull.shape
    covariances, shrink, step = (np.empty((count, size, size)) for _ in range(3))
    now, identity, steady = model.innovation, np.eye(size), False
    for t in range(count):
        kind = sequence.kind[t]
        steady = steady and kind == sequence.kind[t - 1]
        if steady:
            covariances[t], shrink[t], step[t] = covariances[t - 1], shrink[t - 1], step[t - 1]
            continue
        precision = evidence.precisions[kind]
        try:
            covariances[t], shrink[t] = now, np.linalg.inv(identity + precision @ now)
        except np.linalg.LinAlgError as error:
            raise NumericalError("SINGULAR", "the predicted covariance of the state is so large that no digit of the "
                                 "noise is left beside it", where="method", hint="see with `mlcli verify` "
                                 "whether the run is damaged; of a new fit, give the columns one scale") from error
        step[t] = model.transition @ shrink[t].T
        after = step[t] @ now @ model.transition.T + model.innovation
        after = (after + after.T) / 2
        steady = bool(np.abs(after - now).max() <= EPS * np.abs(now).max())
        now = after
    require_finite(now, "the predicted covariance of the state")
    return covariances, shrink, step


def _propagate(start: Array, step: Array, drift: Array) -> Array:
    """Return the predictions m₁ = start, mₜ₊₁ = stepₜ mₜ + driftₜ (n x K, or n x K x b without drift)."""
    means = np.empty((len(step), *start.shape))
    now = start
    for t in range(len(step)):
        means[t] = now
        now = step[t] @ now + drift[t]
    return means


def _start(evidence: StateInformation, precisions: Array, shrink: Array, step: Array, origin: Array) -> Array:
    """Return the start of largest likelihood (K); its part that the rows do not determine, but for rounding, is zero.

    The information is a sum over rows, and each of its terms is rounded.
    """
    count, size = len(step), len(step[0])
    propagated = _propagate(np.eye(size), step, np.zeros((len(step), 1, 1)))
    weights = shrink @ precisions
    rest = evidence.pull - np.einsum("tij,tj->ti", precisions, origin)
    information = np.einsum("tki,tkl,tlj->ij", propagated, weights, propagated)
    target = np.einsum("tki,tkl,tl->i", propagated, shrink, rest)
    values, vectors = symmetric_eigen((information + information.T) / 2)
    determined = values > count * size * EPS * 10 * values[0]
    return vectors[:, determined] @ ((vectors[:, determined].T @ target) / values[determined])


def _log_likelihood(sequence: Sequence, model: StateSpace, means: Array, covariances: Array, shrink: Array) -> float:
    """Return Σ log p(yₜ | y₁ .. yₜ₋₁), constants included, by the lemmas on inverse and determinant of a sum.

    With δ = P w the step of the state from its prediction to the mean given its row, the squares eᵀ (C P Cᵀ + R)⁻¹ e
    are (e - C δ)ᵀ R⁻¹ (e - C δ) + wᵀ δ: nothing is taken away, and an error of δ, where they are least, counts twice.
    """
    errors = np.where(sequence.present, sequence.values - means @ model.loadings.T, 0.0)
    pull = errors @ (model.loadings / model.noise[:, None])
    weights = np.einsum("tij,tj->ti", shrink, pull)
    steps = np.einsum("tij,tj->ti", covariances, weights)
    left = np.where(sequence.present, errors - steps @ model.loadings.T, 0.0)
    squares = float(np.sum(left**2 / model.noise)) + float(np.sum(weights * steps))
    spread = float(np.sum(sequence.present @ np.log(2 * np.pi * model.noise)))
    return -0.5 * (squares + spread - float(np.sum(np.linalg.slogdet(shrink)[1])))


@stored("smoother", means="d")
@frozen
class Smoother(Similarity):
    """The states of a sequence given all its rows: the linear-Gaussian state-space model."""

    rowwise: ClassVar[bool] = False  # a state depends on the rows before and after it
    means: Array  # d
    model: StateSpace

    def rows(self, new: Array) -> Array:
        """Return the smoothed states (m x K) of successive rows, started from the model's prior."""
        varying = self.model.noise > 0
        if not varying.any():
            return np.zeros((len(new), len(self.model.transition)))
        model = replace(self.model, loadings=self.model.loadings[varying], noise=self.model.noise[varying])
        return smooth(Sequence.of((new - self.means)[:, varying]), model).means

    def width(self, given: int) -> int:
        """Return the number of states."""
        return len(self.model.transition)
