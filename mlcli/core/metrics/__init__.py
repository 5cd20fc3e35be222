"""Metrics: how far apart two rows are, one choice with its parameters."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from mlcli.base.stored import BY_KIND
from mlcli.base.values.choices import NamedChoices
from mlcli.base.values.metric import RowMetric
from mlcli.core.metrics.base import Euclidean, Metric

NAMES = {  # the module of this package and the class of each, in the order of docs/metrics.md
    "euclidean": "base:Euclidean",
    "cityblock": "minkowski:Cityblock",
    "chebyshev": "minkowski:Chebyshev",
    "minkowski": "minkowski:Minkowski",
    "cosine": "angles:Cosine",
    "correlation": "angles:Correlation",
    "braycurtis": "counts:BrayCurtis",
    "canberra": "minkowski:Canberra",
    "jaccard": "counts:Jaccard",
    "ruzicka": "counts:Ruzicka",
    "dice": "counts:Dice",
    "hamming": "minkowski:Hamming",
    "jensenshannon": "shares:JensenShannon",
    "hellinger": "shares:Hellinger",
    "aitchison": "shares:Aitchison",
    "gower": "gower:Gower",
    "haversine": "haversine:Haversine",
}
ALIASES = {"l2": "euclidean", "manhattan": "cityblock", "taxicab": "cityblock", "l1": "cityblock",
           "maximum": "chebyshev", "linf": "chebyshev", "bray": "braycurtis", "bray-curtis": "braycurtis",
           "jensen-shannon": "jensenshannon"}  # other names that people type


def metric_defect(kind: type[Metric]) -> str:
    """Return what the class of a metric of another package lacks; empty if nothing."""
    if not hasattr(kind, "definition"):
        return "it does not declare the `definition` that its distances are checked by"
    return "" if kind in BY_KIND else "models cannot store it: it is not declared as @stored()"


METRICS = NamedChoices(Metric, {name: f"mlcli.core.metrics.{place}" for name, place in NAMES.items()}, ALIASES,
                       "metrics", metric_defect)

if TYPE_CHECKING:
    AnyMetric = Metric
else:
    AnyMetric = Annotated[Metric, METRICS, Field(description="Distance metric; docs/metrics.md defines each.")]
EUCLIDEAN = Euclidean()

__all__ = ["EUCLIDEAN", "METRICS", "AnyMetric", "Euclidean", "Metric", "RowMetric"]
