"""The base of correspondence analyses: units, fit, and coordinates of columns."""

from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.errors import DataError
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Loadings, Model, Powers
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.algebra.metrics.points import MetricFeatures
from mlcli.stages.algebra.metrics.profiles import Indicators, Profiles
from mlcli.stages.eigen.axes import Axes, first_columns
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.linear.correspondence import (
    Inertia,
    correspondence_steps,
    principal_coordinates,
    principal_inertias,
)
from mlcli.stages.similarities.projector import Projector
from mlcli.stages.similarities.represented import Represented

FAINT = 2.0**-300  # root of a mass whose reciprocal still leaves room for squares


class Correspondence(Method):
    """The base of methods of profiles with weights, whose axes are ranked by principal inertias."""

    accepts: ClassVar = (Features,)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "principal inertias"
    decodes: ClassVar = None
    rules: ClassVar = ()
    loadings: Literal["principal", "standard"] = option(
        "principal", "Coordinates of the columns in loadings.csv: principal, or standard, of which the coordinates of "
        "rows are weighted means.")
    axes: Axes = Axes()

    @property
    def free_scale(self) -> bool:
        """Distances of all coordinates are chi-square distances."""
        return False

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values of standardized residuals."""
        return correspondence_steps(data.values, self.width(data), self.axes.count, compute.thread_count())

    def width(self, data: Input) -> int:
        """Return the number of columns of the represented rows."""
        return len(comparison_of(data).roots) if isinstance(data, MetricFeatures) else data.values.shape[1]

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the columns of the represented rows less one."""
        return min(len(data.values), self.width(data)) - 1

    def eigenvalues(self, data: Input) -> int:
        """Return the number of principal inertias."""
        return max(self.limit(data), 1)

    def of_inertia(self, data: MetricFeatures, found: Inertia, spectrum: Spectrum, names: tuple[str, ...],
                   fit: dict[str, Any]) -> Model:
        """Return the model of principal axes; `names` are those of the represented columns."""
        metric = comparison_of(data)
        count = self.axes.available_count(len(found.inertias))
        coordinates = principal_coordinates(data.values, metric, found, count)
        signs = leading_signs(coordinates)
        axes = first_columns(found.axes, count) * signs
        return Model(embedding=map_blocks(lambda some: some * signs, coordinates), spectrum=spectrum,
                     projector=Projector(Represented(metric), Centering(metric.roots, across=False), axes),
                     loadings=Loadings(self.column_coordinates(axes, metric, found.inertias), names, power=0), fit=fit)

    def column_coordinates(self, axes: Array, metric: Profiles | Indicators, inertias: Array) -> Array:
        """Return the coordinates of columns on principal axes (l x p): standard, or times roots of inertias (r)."""
        standard = axes / metric.roots[:, None]
        if self.loadings == "standard":
            return standard
        return standard * np.sqrt(np.pad(inertias, (0, axes.shape[1]))[: axes.shape[1]])


def comparison_of(data: MetricFeatures) -> Profiles | Indicators:
    """Return the chi-square distance that the data carries."""
    assert isinstance(data.metric, Profiles | Indicators)
    return data.metric


def find_inertias(data: MetricFeatures, weights: Array | None = None) -> Inertia:
    """Return the principal inertias of rows with weights (n); raises DataError for masses beyond double precision."""
    metric = comparison_of(data)
    if len(metric.roots) and metric.roots.min() < FAINT:
        raise DataError("COLUMN-SCALES", "a column holds too small a share of all numbers for double precision",
                        where=f"column {int(metric.roots.argmin()) + 1} of the data",
                        hint="leave it out with {input.columns}")
    return principal_inertias(data.values, metric, weights)
