"""Corrections that make dissimilarities Euclidean: Lingoes and Cailliez."""

from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, stage
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.scaling import Unit
from mlcli.core.euclidean_distances import gower
from mlcli.core.kernels.forms import Dense
from mlcli.core.linalg import lowest_eigenvector, symmetric_eigenvalues, threads_for
from mlcli.errors import NumericalError

Rule = Literal["none", "lingoes", "cailliez"]
STEPS = 100  # of the search for Cailliez' constant, which takes about six


@stored("correction")
@frozen
class Correction:
    """A constant added to squared dissimilarities (Lingoes) or to dissimilarities (Cailliez)."""

    rule: Rule
    constant: float

    def squared(self, squared: Array) -> Array:
        """Return the corrected squares of an array of any shape. A zero stays zero, since it marks equal points."""
        if self.constant == 0:
            return squared
        if self.rule == "lingoes":
            return np.where(squared > 0, squared + 2 * self.constant, 0.0)
        return np.where(squared > 0, (np.sqrt(squared) + self.constant) ** 2, 0.0)

    def of_distances(self, distances: Array) -> Array:
        """Return the corrected dissimilarities of an array of any shape."""
        return distances if self.constant == 0 else np.sqrt(self.squared(distances**2))

    def off_diagonal(self, squared: Array, rows: Indices | None = None) -> Array:
        """Return corrected squares of an (n, n) array, or of its rows `rows` as an (m, n) array, with a zero diagonal.
        Every entry off the diagonal gets the constant, zeros included; `squared` may be overwritten.
        """
        if self.constant == 0:
            return squared
        corrected = squared + 2 * self.constant if self.rule == "lingoes" else (np.sqrt(squared) + self.constant) ** 2
        own = np.arange(len(corrected))
        corrected[own, own if rows is None else rows] = 0.0
        return corrected


def correction_for(squared: Array, rule: Rule, unit: Unit) -> Correction:
    """Return the correction of an (n, n) array of squares under `rule`; dissimilarities are in `unit`. Raises
    NumericalError where the constant of Cailliez does not converge.
    """
    return Correction("none", 0.0) if rule == "none" else _smallest(squared, rule, unit)


@stage("correction")
def _smallest(squared: Array, rule: Rule, unit: Unit) -> Correction:
    """Compute the smallest constant that makes all eigenvalues nonnegative."""
    kernel = Dense.of(gower(squared)).matrix
    with threads_for(len(kernel)):
        spectrum = symmetric_eigenvalues(kernel)
        if is_euclidean(spectrum):
            note("N-CORRECTION", f"{rule} constant 0: no eigenvalue is negative", constant=0.0)
            return Correction(rule, 0.0)
        constant = lingoes_constant(spectrum) if rule == "lingoes" else cailliez_constant(squared, kernel)
    unit = unit**2 if rule == "lingoes" else unit
    note("N-CORRECTION", f"{rule} constant {unit.shown(constant)}", constant=unit.number(constant))
    return Correction(rule, constant)


def is_euclidean(spectrum: Array) -> bool:
    """Whether no eigenvalue of -HD²H/2 (an (n,) array, descending) is negative beyond rounding (Schoenberg, 1935)."""
    return bool(spectrum[-1] >= -10 * len(spectrum) * EPS * np.abs(spectrum).max(initial=0.0))


def lingoes_constant(spectrum: Array) -> float:
    """Return minus the smallest eigenvalue of B = -HD²H/2, from its (n,) array of eigenvalues (Lingoes, 1971)."""
    return -float(spectrum[-1])


def cailliez_constant(squared: Array, kernel: Array) -> float:
    """Return the largest real eigenvalue of [[0, 2B], [-I, -4B']] (Cailliez, 1983).

    `squared` is the (n, n) array D², `kernel` the (n, n) array B = -HD²H/2, and B' = -HDH/2. The constant is the
    smallest c for which the kernel B + 2cB' + c²H/2 of D + c has no negative eigenvalue. A direction v in which the
    kernel is negative at some c shows that the constant is at least the larger root of v'(B + 2cB' + c²/2)v. The search
    goes from root to root, each time along the lowest eigenvector at the last root, as Newton's method does. It cannot
    overshoot: once D + c is Euclidean, it stays so for every larger c. Raises NumericalError.
    """
    roots = Dense.of(gower(np.sqrt(squared))).matrix
    constant = 0.0
    for _ in range(STEPS):
        shifted = kernel + 2 * constant * roots
        shifted[np.diag_indices(len(shifted))] += constant**2 / 2
        lowest = lowest_eigenvector(shifted)
        slope, offset = 2 * float(lowest @ roots @ lowest), float(lowest @ kernel @ lowest)
        root = -slope + float(np.sqrt(max(slope**2 - 2 * offset, 0.0)))
        if root <= constant * (1 + 4 * EPS):
            return max(root, constant)
        constant = root
    raise NumericalError("CAILLIEZ", "the constant of Cailliez did not converge",
                         hint="use method.correction: lingoes")
