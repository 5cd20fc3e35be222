"""Methods ranked by several measures at once, with what the sample of points leaves open."""

from collections.abc import Mapping, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.explore.report.scores import Judged

MEASURES = ("r_nx", "trustworthiness", "continuity")  # that methods are ranked by: larger is better
DRAWS = 1_000  # samples with repetition, of the points that are looked from
OPEN = 0.05  # share of these in which another one has to come first to count as tied
ENOUGH = 0.02  # difference of R_NX below which more is gained by the simpler method


@frozen
class Place:
    """One of those that are ranked."""

    mean_rank: float
    interval: tuple[float, float]  # that nine of ten samples lie in
    tied: bool  # whether it is first, or the samples leave that open


@frozen
class Gain:
    """By how much one is better than another in R_NX."""

    value: float
    error: float  # its standard error over the points

    @property
    def counts(self) -> bool:
        """Whether it is more than the points leave open, and enough to matter."""
        return self.value > max(2 * self.error, ENOUGH)


def mean_ranks(values: Array) -> Array:
    """The mean over measures of the rank of each (... x measures x m -> ... x m): 1 is the best, ties share theirs."""
    better = (values[..., None, :] > values[..., :, None]).sum(axis=-1)
    equal = (values[..., None, :] == values[..., :, None]).sum(axis=-1)
    ranks: Array = (better + (equal + 1) / 2).mean(axis=-2)
    return ranks


def stacked(judged: Sequence[Judged]) -> Array:
    """What the ranking is made of (measures x m x b)."""
    return np.array([[one.scores[name] for one in judged] for name in MEASURES])


def ranked(judged: Sequence[Judged], generator: np.random.Generator) -> list[Place]:
    """The place of each; samples with repetition of the points say what is open."""
    scores = stacked(judged)
    count = scores.shape[-1]
    weights = generator.multinomial(count, np.full(count, 1 / count), DRAWS) / count
    ranks = mean_ranks(scores.mean(axis=-1))
    drawn = mean_ranks(np.moveaxis(scores @ weights.T, -1, 0))
    first = int(ranks.argmin())
    open_to = (drawn <= drawn[:, [first]]).mean(axis=0) > OPEN
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return [Place(float(rank), (float(low[i]), float(high[i])), bool(open_to[i])) for i, rank in enumerate(ranks)]


def best_of(judged: Sequence[Judged]) -> int:
    """The first of those with the largest R_NX."""
    return int(np.argmax([one.scores["r_nx"].mean() for one in judged]))


def gain(one: Judged, other: Judged) -> Gain:
    """How much better the first is; both are seen from the same points."""
    differences = one.scores["r_nx"] - other.scores["r_nx"]
    count = len(differences)
    error = float(differences.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0
    return Gain(float(differences.mean()), error)


def figures(judged: Judged) -> Mapping[str, float]:
    """The means over points, each with its standard error as NAME_se; points without a label do not count."""
    shown: dict[str, float] = {}
    for name, scores in judged.scores.items():
        known = scores[~np.isnan(scores)]
        if len(known):
            shown[name] = float(known.mean())
            shown[f"{name}_se"] = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else 0.0
    return shown
