"""Metrics: how far apart two rows are, one choice with its parameters."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Field

from mlcli.stages.algebra.metrics.angles import Correlation, Cosine
from mlcli.stages.algebra.metrics.base import Comparison, Metric
from mlcli.stages.algebra.metrics.counts import BrayCurtis, Dice, Jaccard, Ruzicka
from mlcli.stages.algebra.metrics.gower import Gower, RangedGower
from mlcli.stages.algebra.metrics.haversine import Haversine
from mlcli.stages.algebra.metrics.minkowski import Canberra, Chebyshev, Cityblock, Euclidean, Hamming, Minkowski
from mlcli.stages.algebra.metrics.shares import Aitchison, Hellinger, JensenShannon


def named(value: Any) -> Any:
    """A bare name in full: `metric: cosine` is `metric: {name: cosine}`."""
    return {"name": value} if isinstance(value, str) else value


KINDS = (Euclidean, Cityblock, Chebyshev, Minkowski, Cosine, Correlation, BrayCurtis, Canberra, Jaccard, Ruzicka, Dice,
         Hamming, JensenShannon, Hellinger, Aitchison, Gower, Haversine)

if TYPE_CHECKING:
    AnyMetric = Metric
else:
    Chosen = Annotated[Union[KINDS], Field(discriminator="name")]  # noqa: UP007
    Name = Literal[tuple(kind.model_fields["name"].default for kind in KINDS)]
    AnyMetric = Annotated[Chosen, BeforeValidator(named, json_schema_input_type=Chosen | Name),
                          Field(description="How far apart two points are; docs/metrics.md defines each metric.")]
Fitted = Metric | RangedGower  # a metric with what it knows of the training points
EUCLIDEAN = Euclidean()

__all__ = ["EUCLIDEAN", "KINDS", "AnyMetric", "Comparison", "Euclidean", "Fitted", "Metric"]
