"""Ranks of methods by several measures at once, with their uncertainty over the sample of points."""

from collections.abc import Mapping, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.explore.report.scores import Assessment

MEASURES = ("r_nx", "trustworthiness", "continuity")  # measures for the ranks: larger is better
DRAWS = 1_000  # bootstrap samples of the points
OPEN = 0.05  # share of the samples above which a method that comes first there counts as tied
ENOUGH = 0.02  # difference of R_NX below which the simpler method is preferred


@frozen
class MeanRank:
    """The mean rank of one method, with its uncertainty."""

    mean_rank: float
    interval: tuple[float, float]  # contains nine of ten samples
    tied: bool  # whether it is first, or comes first in enough of the samples


@frozen
class Gain:
    """The difference of R_NX between two embeddings."""

    value: float
    error: float  # its standard error over the points

    @property
    def counts(self) -> bool:
        """Whether the difference is more than twice its standard error, and more than `ENOUGH`."""
        return self.value > max(2 * self.error, ENOUGH)


def mean_ranks(values: Array) -> Array:
    """Return the mean rank over measures, an array of shape (..., m), of values of shape (..., measures, m).

    Rank 1 is the largest value; equal values share the mean of their ranks.
    """
    better = (values[..., None, :] > values[..., :, None]).sum(axis=-1)
    equal = (values[..., None, :] == values[..., :, None]).sum(axis=-1)
    ranks: Array = (better + (equal + 1) / 2).mean(axis=-2)
    return ranks


def score_array(judged: Sequence[Assessment]) -> Array:
    """Return the scores for the ranks, a (measures, m, b) array."""
    return np.array([[one.scores[name] for one in judged] for name in MEASURES])


def rank_methods(judged: Sequence[Assessment], generator: np.random.Generator) -> list[MeanRank]:
    """Return the rank of each embedding, with its uncertainty over bootstrap samples of the points."""
    scores = score_array(judged)
    count = scores.shape[-1]
    weights = generator.multinomial(count, np.full(count, 1 / count), DRAWS) / count
    ranks = mean_ranks(scores.mean(axis=-1))
    drawn = mean_ranks(np.moveaxis(scores @ weights.T, -1, 0))
    first = int(ranks.argmin())
    open_to = (drawn <= drawn[:, [first]]).mean(axis=0) > OPEN
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return [MeanRank(float(rank), (float(low[i]), float(high[i])), bool(open_to[i])) for i, rank in enumerate(ranks)]


def best_of(judged: Sequence[Assessment]) -> int:
    """Return the index of the first embedding with the largest R_NX."""
    return int(np.argmax([one.scores["r_nx"].mean() for one in judged]))


def gain(one: Assessment, other: Assessment) -> Gain:
    """Return the mean difference in R_NX, the first minus the second, over the same points."""
    differences = one.scores["r_nx"] - other.scores["r_nx"]
    count = len(differences)
    error = float(differences.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0
    return Gain(float(differences.mean()), error)


def figures(judged: Assessment) -> Mapping[str, float]:
    """Return the means over points, each with its standard error as NAME_se; points without a label do not count."""
    shown: dict[str, float] = {}
    for name, scores in judged.scores.items():
        known = scores[~np.isnan(scores)]
        if len(known):
            shown[name] = float(known.mean())
            shown[f"{name}_se"] = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else 0.0
    return shown
