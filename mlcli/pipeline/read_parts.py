"""Parts of the model of a finished run that its files beside the model hold: its spectrum and its loadings."""

from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.values.scaling import Unit
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.model import Loadings
from mlcli.findings.frame.finished_run import CONSTRAINED
from mlcli.findings.loadings import TABLE as LOADINGS
from mlcli.findings.spectrum import TABLE as SPECTRUM
from mlcli.rundir.reading import damaged

LEAST = 1e-290  # eigenvalues below this have lost digits to the end of the range of doubles


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


def stated_spectrum(folder: Path, facts: dict[str, Any], written: int | None) -> Spectrum | None:
    """The spectrum as the files state it, in the units of the computation; None where these are out of range.

    Raises UnsafeFile for another number of eigenvalues than were computed, of which the first ones are `written`.
    """
    rows = SPECTRUM.read(folder)
    found, known = len(rows.numbers("eigenvalue")) if rows else 0, len(range(int(facts["computed"]))[:written])
    if rows is not None and found != known:
        raise damaged(folder / SPECTRUM.name, f"it has {found} eigenvalues, not {known}")
    unit, divisor = Unit(int(facts["exponent"])), float(facts["divisor"])
    with np.errstate(over="ignore"):  # what leaves the range of doubles is not finite
        values = np.array(rows.numbers("eigenvalue") if rows else [], dtype=np.float64) * divisor
    top = float(np.abs(values).max(initial=0.0))
    if not np.isfinite(values).all() or (unit.exponent and top < LEAST):
        return None

    def stated(name: str) -> float:
        value = facts[name]
        return float("nan") if value is None else (unit**-1).number(value * divisor)

    complete = bool(facts["complete"]) and len(values) == facts["computed"]
    return Spectrum(unit.measured(values), np.zeros((0, 0)), None, stated("trace"), complete, divisor,
                    solved_frobenius=stated("frobenius"), tolerance=float(facts["tolerance"]),
                    of_inverse=rows is not None and "cost" in rows.columns,
                    constrained=rows.array(CONSTRAINED) != 0 if rows and CONSTRAINED in rows.columns else None,
                    adjusted=rows.array("adjusted") if rows and "adjusted" in rows.columns else np.zeros(0))
