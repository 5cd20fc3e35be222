"""Corrections that make dissimilarities Euclidean: Lingoes and Cailliez."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mlcli.base.scaling import scaled, shown
from mlcli.base.stage import note, stage
from mlcli.base.types import Array
from mlcli.stages.kernels import Dense
from mlcli.stages.linalg import EPS, largest_real_eigenvalue, symmetric_eigenvalues

Rule = Literal["none", "lingoes", "cailliez"]


@dataclass(frozen=True)
class Correction:
    """A constant added to squared dissimilarities (Lingoes) or to dissimilarities (Cailliez)."""

    rule: Rule
    constant: float

    def squared(self, squared: Array) -> Array:
        """The corrected squares; a zero stays zero, for it says that two points are the same."""
        if self.constant == 0:
            return squared
        if self.rule == "lingoes":
            return np.where(squared > 0, squared + 2 * self.constant, 0.0)
        return np.where(squared > 0, (np.sqrt(squared) + self.constant) ** 2, 0.0)

    def off_diagonal(self, squared: Array) -> Array:
        """The corrected squares of a square matrix: every entry but the diagonal gets the constant."""
        if self.constant == 0:
            return squared
        corrected = squared + 2 * self.constant if self.rule == "lingoes" else (np.sqrt(squared) + self.constant) ** 2
        np.fill_diagonal(corrected, 0.0)
        return corrected


@stage("correction")
def correction_for(squared: Array, rule: Rule, exponent: int) -> Correction:
    """The smallest constant that makes all eigenvalues nonnegative.

    Lingoes (1971): minus the smallest eigenvalue of B = -HD²H/2. Cailliez (1983): the largest
    real eigenvalue of [[0, 2B], [-I, -4B']], with B' = -HDH/2.
    """
    if rule == "none":
        return Correction("none", 0.0)
    kernel = Dense.of(-0.5 * squared).matrix
    spectrum = symmetric_eigenvalues(kernel)
    if spectrum[-1] >= -10 * len(squared) * EPS * np.abs(spectrum).max():
        return Correction(rule, 0.0)
    constant = -float(spectrum[-1]) if rule == "lingoes" else _cailliez(squared, kernel)
    unit = 2 * exponent if rule == "lingoes" else exponent
    note("N-CORRECTION", f"{rule} constant {shown(constant, unit)}", constant=float(scaled(np.asarray(constant), unit)))
    return Correction(rule, constant)


def _cailliez(squared: Array, kernel: Array) -> float:
    size = len(squared)
    roots = Dense.of(-0.5 * np.sqrt(squared)).matrix
    return largest_real_eigenvalue(np.block([[np.zeros((size, size)), 2 * kernel], [-np.eye(size), -4 * roots]]))
