"""Polychoric correlations of answers in place of the columns' own."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Covariance, Features, Input
from mlcli.base.values.scaling import all_finite
from mlcli.errors import ConfigError, GeometryError

Correlations = Literal["pearson", "polychoric"]


def require_answers(method: Any, data: Input) -> None:
    """Raise ConfigError for polychoric correlations of rows with gaps, and where the correlations are given.

    Raises GeometryError where no column varies.
    """
    if isinstance(data, Covariance):
        method.refuse_unused("the correlations are given", "correlations")
    if method.correlations == "pearson":
        return
    if not all_finite(data.values):
        raise ConfigError("GAPS-OPTION", "polychoric correlations need complete answers", where="method.correlations",
                          hint="leave rows with missing answers out ({prepare.missing=drop})")
    require_varying(varying_columns(data.values))


def varying_columns(points: Array) -> Indices:
    """Return the columns of points (n x d) that are not constant."""
    return np.flatnonzero(points.max(axis=0) > points.min(axis=0))


def require_varying(varying: Indices) -> None:
    """Raise GeometryError where no column varies, of a table or of resampled rows of one."""
    if not len(varying):
        raise GeometryError("AXES", "no column varies: nobody answers otherwise than the others", where="input",
                            hint="choose other columns with {input.columns}")


def polychoric_columns(data: Features, varying: Indices, results: str) -> tuple[Array, Mapping[str, Any]]:
    """Return the polychoric correlations (m x m) of the columns that vary, and figures: the pairs, and thresholds.

    A note says which `results` are of these. Raises DataError for a column of more than ten values, and GeometryError
    where no column varies.
    """
    require_varying(varying)
    from mlcli.core.latent.polychoric import polychoric_correlations

    names = [data.columns[column] for column in varying.tolist()]
    found = polychoric_correlations(np.asarray(data.values)[:, varying], names)
    note("N-POLYCHORIC", f"{results} are of polychoric correlations; scores are by regression on the standardized "
         "codes of the answers")
    cuts = found.answers.thresholds
    return found.matrix, {"polychoric": found.pairs.tolist(), "thresholds": [
        row[: size - 1].tolist() for row, size in zip(cuts, found.answers.counts.tolist(), strict=True)]}
