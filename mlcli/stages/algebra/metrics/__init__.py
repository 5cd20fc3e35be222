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


def expand_name(value: Any) -> Any:
    """Expand a name or an alias: `metric: l1` is `metric: {name: cityblock}`."""
    if isinstance(value, str):
        return expand_name({"name": value})
    other = value.get("name") if isinstance(value, dict) else None
    return {**value, "name": ALIASES[other]} if isinstance(other, str) and other in ALIASES else value


KINDS = (Euclidean, Cityblock, Chebyshev, Minkowski, Cosine, Correlation, BrayCurtis, Canberra, Jaccard, Ruzicka, Dice,
         Hamming, JensenShannon, Hellinger, Aitchison, Gower, Haversine)
ALIASES = {alias: kind.model_fields["name"].default for kind in KINDS for alias in kind.aliases}

if TYPE_CHECKING:
    AnyMetric = Metric
else:
    Chosen = Annotated[Union[KINDS], Field(discriminator="name")]  # noqa: UP007
    Name = Literal[tuple(kind.model_fields["name"].default for kind in KINDS)]
    AnyMetric = Annotated[Chosen, BeforeValidator(expand_name, json_schema_input_type=Chosen | Name),
                          Field(description="Distance metric; docs/metrics.md defines each.")]
Fitted = Metric | RangedGower  # a metric with its parameters from the training points
EUCLIDEAN = Euclidean()

__all__ = ["EUCLIDEAN", "KINDS", "AnyMetric", "Comparison", "Euclidean", "Fitted", "Metric"]
