"""The Gaussian information bottleneck, by covariances of its coordinates."""

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.base.values.inputs import TwoViews
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.second_moments import correlations_check, covariance_checks, loadings_check
from mlcli.stages.linear.whitening import whiten


def bottleneck_checks(data: TwoViews, model: Model, related: Array, asked: float) -> list[Check]:
    """Check variances α² of the axes, their correlations with the second view, β, and the information of coordinates.

    `related` holds the stated correlations above zero (r), `asked` is the β that was chosen or follows from these.
    """
    count, beta = model.embedding.shape[1], float(model.fit["beta"])
    squares = np.pad(related[:count], (0, count - len(related[:count]))) ** 2
    lengths = np.sqrt(np.maximum(beta * squares - 1, 0.0) / (1 - squares))
    scaled = model.embedding / np.where(lengths > 0, lengths, 1.0)
    second = whiten(data.view.normalized().values, equal_columns=True)
    directions = None if model.directions is None else model.directions * lengths
    rows = max(len(scaled), 1)
    shared = second.points.T @ model.embedding / rows
    total = model.embedding.T @ model.embedding / rows
    rest = total - shared.T @ shared  # the covariance of coordinates that a regression on the second view leaves
    kept, unexplained = (0.5 * float(np.linalg.slogdet(np.eye(count) + part)[1]) for part in (total, rest))
    stated = [float(model.fit[name]) for name in ("kept_information", "relevant_information")]
    wrong = EPS * max(*data.values.shape, second.rank, 10) * (1 + float(lengths.max(initial=0.0)) ** 2)
    return [*covariance_checks(scaled, (lengths > 0).astype(np.float64)),
            *loadings_check(data.values, scaled, directions),
            correlations_check(second.points, second.condition, scaled, related),
            ratio("beta", abs(beta / asked - 1), 10 * EPS / float(related.min(initial=1.0)),
                  "β is the one that was asked for, or follows from the critical ones"),
            ratio("information", abs(kept - stated[0]) + abs(kept - unexplained - stated[1]), wrong * second.condition,
                  "I(T; X) and I(T; Y) by determinants of covariances of the coordinates")]
