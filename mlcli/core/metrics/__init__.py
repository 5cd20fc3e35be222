"""Metrics: how far apart two rows are, one choice with its parameters."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from mlcli.base.values.choices import NamedChoices
from mlcli.core.metrics.base import Comparison, Metric
from mlcli.core.metrics.gower import RangedGower
from mlcli.core.metrics.minkowski import Euclidean

MODULES = {  # in the order of docs/metrics.md
    "euclidean": "minkowski",
    "cityblock": "minkowski",
    "chebyshev": "minkowski",
    "minkowski": "minkowski",
    "cosine": "angles",
    "correlation": "angles",
    "braycurtis": "counts",
    "canberra": "minkowski",
    "jaccard": "counts",
    "ruzicka": "counts",
    "dice": "counts",
    "hamming": "minkowski",
    "jensenshannon": "shares",
    "hellinger": "shares",
    "aitchison": "shares",
    "gower": "gower",
    "haversine": "haversine",
}
ALIASES = {"l2": "euclidean", "manhattan": "cityblock", "taxicab": "cityblock", "l1": "cityblock",
           "maximum": "chebyshev", "linf": "chebyshev", "bray": "braycurtis", "bray-curtis": "braycurtis",
           "jensen-shannon": "jensenshannon"}  # other names that people type
AMOUNTS = ("braycurtis", "ruzicka", "jaccard", "dice", "canberra", "hellinger", "jensenshannon", "aitchison")
METRICS = NamedChoices(Metric, {name: f"mlcli.core.metrics.{module}" for name, module in MODULES.items()},
                       ALIASES)

if TYPE_CHECKING:
    AnyMetric = Metric
else:
    AnyMetric = Annotated[Metric, METRICS, Field(description="Distance metric; docs/metrics.md defines each.")]
FittedMetric = Metric | RangedGower  # a metric with its parameters from the training points
EUCLIDEAN = Euclidean()

__all__ = ["AMOUNTS", "EUCLIDEAN", "METRICS", "AnyMetric", "Comparison", "Euclidean", "Fitted", "Metric"]
