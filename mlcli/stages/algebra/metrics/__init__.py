"""Metrics: how far apart two rows are, one choice with its parameters."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from mlcli.stages.algebra.metrics.angles import Correlation, Cosine
from mlcli.stages.algebra.metrics.base import Comparison, Metric
from mlcli.stages.algebra.metrics.counts import BrayCurtis, Dice, Jaccard, Ruzicka
from mlcli.stages.algebra.metrics.gower import Gower
from mlcli.stages.algebra.metrics.haversine import Haversine
from mlcli.stages.algebra.metrics.minkowski import Canberra, Chebyshev, Cityblock, Euclidean, Hamming, Minkowski
from mlcli.stages.algebra.metrics.shares import Aitchison, Hellinger, JensenShannon


def named(value: Any) -> Any:
    """A bare name in full: `metric: cosine` is `metric: {name: cosine}`."""
    return {"name": value} if isinstance(value, str) else value


AnyMetric = Annotated[
    Annotated[Euclidean | Cityblock | Chebyshev | Minkowski | Cosine | Correlation | BrayCurtis | Canberra | Jaccard
              | Ruzicka | Dice | Hamming | JensenShannon | Hellinger | Aitchison | Gower | Haversine,
              Field(discriminator="name")], BeforeValidator(named)]

__all__ = ["AnyMetric", "Comparison", "Euclidean", "Metric"]
