"""The Euclidean metric, the only one that most runs load."""

from typing import ClassVar, Literal

from mlcli.base.stored import stored
from mlcli.core.metrics.base import Metric


@stored("euclidean-metric")
class Euclidean(Metric):
    """The length of the straight way between two points: √Σ (x - y)²; SciPy's `euclidean`."""

    name: Literal["euclidean"] = "euclidean"
    plain: ClassVar[bool] = True
    unit_power: ClassVar[int] = 1
    embeds: ClassVar[bool] = True
