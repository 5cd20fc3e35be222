"""Results of a finished run, read back from its files as a model has them."""

from pathlib import Path

import numpy as np

from mlcli.base.values.quantity import Quantity
from mlcli.findings.loadings import TABLE as LOADINGS
from mlcli.findings.private import TABLE as PRIVATE
from mlcli.findings.trace import TABLE as TRACE
from mlcli.methods.model import Loadings
from mlcli.rundir.reading import damaged


def loadings_of(folder: Path) -> Loadings | None:
    """The loadings of the columns, where the run has any."""
    rows = LOADINGS.read(folder)
    if rows is None:
        return None
    names_of, *axes = rows.columns
    if not axes:
        raise damaged(folder / LOADINGS.name, "it has no axis", 1)
    values = np.array([rows.array(axis) for axis in axes]).reshape(len(axes), -1)
    return Loadings(values.T, rows.texts(names_of), power=0)


def private_of(folder: Path) -> Loadings | None:
    """The loadings of private factors, where the run has any."""
    rows = PRIVATE.read(folder)
    if rows is None:
        return None
    names_of, _, _, *factors = rows.columns
    values = np.array([rows.array(factor) for factor in factors]).reshape(len(factors), -1)
    return Loadings(np.nan_to_num(values.T), rows.texts(names_of), power=0)


def trace_of(folder: Path) -> tuple[Quantity | None, dict[str, Quantity]]:
    """The objective after each iteration, where the run has any, and its other curves by name."""
    rows = TRACE.read(folder)
    if rows is None:
        return None, {}
    curves = {name: Quantity(rows.array(name)) for name in rows.columns}
    return curves.pop("objective"), {name: curve for name, curve in curves.items() if name != "iteration"}
