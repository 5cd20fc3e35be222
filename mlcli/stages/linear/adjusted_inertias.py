"""Adjusted inertias of multiple correspondence analysis (Greenacre, "Correspondence analysis in practice", 2007)."""

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS

SLACK = 16 * EPS  # over one over the number of questions, which an inertia exceeds by rounding only


def adjusted_inertias(inertias: Array, questions: int) -> Array:
    """Return (Q / (Q - 1))² (λ - 1/Q)² of inertias (r, descending) of the indicator matrix over 1/Q: an (a,) array.

    λ is the root of an inertia of the Burt matrix. Two questions give the inertias of their cross table.
    """
    above = inertias[inertias > 1 / max(questions, 1) + SLACK]
    return (questions / max(questions - 1, 1)) ** 2 * (above - 1 / max(questions, 1)) ** 2


def adjusted_total(inertias: Array, questions: int, answers: int) -> float:
    """Return the mean inertia of the cross tables of two different questions, from all inertias (r): Q / (Q - 1)
    (Σλ² - (J - Q) / Q²), with J answers."""
    if questions < 2:
        return 0.0
    return questions / (questions - 1) * (float(np.sum(inertias**2)) - (answers - questions) / questions**2)
