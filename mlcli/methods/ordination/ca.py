"""Correspondence analysis."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.naming import listed
from mlcli.base.values.quantity import Quantity
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import Subject
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.metrics.profiles import ChiSquare
from mlcli.core.model import Model
from mlcli.errors import DataError
from mlcli.methods.ordination.check import correspondence_checks, table_parts
from mlcli.methods.ordination.correspondence import Correspondence, comparison_of, find_inertias, masses
from mlcli.methods.trials import variant


class CA(Correspondence):
    """Rows and columns of a table of counts on the axes along which its rows' profiles differ most.

    It keeps chi-square distances between profiles: rows lie near each other if their counts are in the same
    proportions. It fails if rare columns decide the axes: leave these out. Long gradients bend into an arch. Set
    `loadings` first, which says whether a row lies at the mean of its columns, or rows and columns each have a scale of
    their own.

    How it works: A profile is a row divided by its sum. Profiles are compared by chi-square distances, and each has a
    weight, its mass: the row's share of the grand total. The axes are the principal axes of these weighted profiles.
    They come from the singular values of the standardized residuals (p - r c) / √(r c), with p the table divided by its
    total, and r and c the masses of rows and columns.

    Coordinates are principal coordinates of the rows: their weighted mean is zero, and their weighted variances are the
    principal inertias. Amounts need not be integers. Numbers below zero, and rows and columns of zeros, are refused.
    Adding up rows with equal profiles changes nothing.

    New points: New rows, called supplementary, are placed at the means of the columns' standard coordinates, weighted
    by their profiles.

    Files: `spectrum.csv` holds the principal inertias, the squares of the singular values. Their sum is the chi-square
    statistic of the table divided by its total. `loadings.csv` holds principal coordinates of the columns, with which a
    map is symmetric (as in the R packages ca and FactoMineR, and `dudi.coa` of ade4). With `loadings: standard` they
    are divided by the roots of the inertias. Then a row lies at the mean of the columns, weighted by its profile
    (vegan's scaling 1). `run.json` has the masses of the columns (`column_masses`); `report.arrows` draws columns over
    the rows.

    Source: Benzécri, "L'analyse des données", 1973; Greenacre, "Correspondence analysis in practice", 2007.
    """

    in_blocks: ClassVar = ""
    domain: ClassVar = "amounts"
    variants: ClassVar = (variant("", "rotation", "shift", "constant column"),)
    axis: ClassVar = "CA"
    name: Literal["ca"] = "ca"

    @property
    def distance(self) -> ChiSquare:
        """The chi-square distance of profiles."""
        return ChiSquare()

    def row_weights(self, points: Array) -> Array:
        """Return the masses of rows (n) of a table (n x d)."""
        return masses(points, float(points.sum()))

    def with_metric(self, data: Input) -> Input:
        """Return the rows with the chi-square distance; raises DataError for negative numbers, and rows or columns of
        zeros."""
        found = super().with_metric(data)
        if isinstance(found, Features):
            require_filled(found)
        return found

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the SVD of the standardized residuals; coordinates are (p / r / √c - √c) V."""
        found = find_inertias(data)
        spectrum = Spectrum.of_values(found.inertias, float(found.inertias.sum()), complete=True)
        return self.of_inertia(data, found, spectrum, tuple(data.columns), {
            "column_masses": Quantity(comparison_of(data).roots ** 2, names=tuple(data.columns))})

    def weighted_rows(self, subject: Subject) -> WeightedRows:
        """Return the profiles of the table, with the masses of the rows."""
        return WeightedRows.of_profiles(np.vstack([*table_parts(subject.data.values)]))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check centering, inertias, both transition formulas, and the total inertia as chi-square over the total."""
        yield from super().checks(subject)
        yield from correspondence_checks(table_parts(subject.data.values), subject.model, self.loadings == "standard")


def require_filled(data: Features) -> None:
    """Raise DataError for a column without any number above zero."""
    rows = rows_of(data.values)
    if rows is not None and rows.sketched:
        return
    largest = data.values.max(axis=0)
    if (empty := np.flatnonzero(largest <= 0)).size:
        raise DataError("COUNTS", f"only zeros, which make no profile, in {len(empty)} of {len(largest)} columns: "
                        f"{listed([data.columns[place] for place in empty.tolist()])}", where="input",
                        hint="leave them out with {input.columns}")
