"""The base of metrics, a choice with parameters, a domain and a comparison of rows; and the Euclidean one."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import NO_CATEGORIES, TextColumns
from mlcli.base.values.metric import RowMetric
from mlcli.base.values.options import Options

DEPTH = 256  # columns in a partial sum, as in the kernels


def differences(kind: str, left: Array, right: Array) -> Array:
    """Return distances (m x n) of two arrays of rows (m x d, n x d); `kind` is SciPy's name of a metric, or ruzicka.

    They are zero for equal rows, and symmetric to the last bit.
    """
    if native.available():
        return native.differences(kind, left, right)
    if kind == "chebyshev":
        return by_columns(left, right, gap, np.maximum)
    sums, whole = np.zeros((len(left), len(right))), np.zeros((len(left), len(right)))
    for part in row_blocks(left.shape[1], DEPTH):
        some, others = left[:, part], right[:, part]
        sums += by_columns(some, others, TERMS.get(kind, gap))
        if kind in ("braycurtis", "ruzicka"):
            whole += by_columns(some, others, np.add)
    if kind == "ruzicka":
        whole, sums = sums + whole, 2 * sums
    return np.divide(sums, whole, out=sums, where=sums > 0) if kind in ("braycurtis", "ruzicka") else sums


def gap(own: Array, other: Array) -> Array:
    """Return |x - y|."""
    return np.abs(own - other)


TERMS: dict[str, Callable[[Array, Array], Array]] = {  # what a column adds, if not the gap
    "sqeuclidean": lambda own, other: np.square(own - other),
    "canberra": lambda own, other: gap(own, other) / np.maximum(
        np.abs(own) + np.abs(other), np.finfo(np.float64).tiny),  # zero where both are
}


def squared_at(rows: Array, points: Array, chosen: Indices) -> Array:
    """Return squared distances (m x c) of each row (m x d) to its `chosen` points (m x c indices into n x d points).

    They have the bits of `differences`.
    """
    if native.available():
        return native.squared_at(rows, points, chosen)
    found = np.zeros(chosen.shape)
    for part in row_blocks(rows.shape[1], DEPTH):
        sums = np.zeros_like(found)
        for own, others in zip(rows[:, part].T, points[:, part].T, strict=True):
            sums += np.square(own[:, None] - others[chosen])
        found += sums
    return found


def by_columns(left: Array, right: Array, term: Callable[[Array, Array], Array], join: np.ufunc = np.add) -> Array:
    """Return Σₖ term(xₖ, yₖ) (m x n) of two arrays of rows (m x d, n x d), column by column, or what else joins terms.
    """
    sums = np.zeros((len(left), len(right)))
    for own, other in zip(left.T, np.ascontiguousarray(right.T), strict=True):
        join(sums, term(own[:, None], other), out=sums)
    return sums


def unequal(left: Array, right: Array) -> Array:
    """Return the number of columns (m x n) in which two rows differ (m x d, n x d)."""
    if not left.shape[1]:
        return np.zeros((len(left), len(right)))
    from scipy.spatial.distance import cdist

    return np.rint(cdist(left, right, "hamming") * left.shape[1])


class Metric(Options, RowMetric):
    """The base of all metrics; Euclidean distances of represented rows unless a subclass compares them otherwise."""

    triangle: ClassVar[bool] = True  # whether no way over a third point is shorter
    # the columns of text that are taken, as numbers that stand for categories: none, those that options name, or all
    categories: ClassVar[TextColumns] = ""
    contrasts: ClassVar[bool] = False  # whether a table is refused whose represented rows are all alike
    presence: ClassVar[bool] = False  # whether it compares only which numbers are not zero
    amounts: ClassVar[bool] = False  # whether rows are amounts, as of species
    # of a metric of another package: the function, as MODULE:FUNCTION, that computes distances (m x n) of rows (m x d,
    # n x d) for the certificate by code of its own, and the part of their error that does not shrink with a distance
    definition: ClassVar[str]
    rounding: ClassVar[float] = 0.0  # in roundings
    if TYPE_CHECKING:  # every metric declares it itself
        name: str

    def require_contrast(self, gap: float, count: int) -> None:
        """Refuse a table of `count` rows if the metric tells none apart; raises MlcliError.

        `gap` is the largest difference of a represented number from the first row's.
        """

    def fitted(self, points: Array, categories: Mapping[int, Sequence[str]] = NO_CATEGORIES,
               ) -> RowMetric:
        """Return the comparison with its parameters from the training points (n x d); most metrics need none.

        `categories` are the texts of columns of text, by the columns' indices, for metrics that take them.
        """
        return self

    def represent(self, points: Array) -> Array:
        """Return represented rows (m x r) of points (m x d), each from its own point alone."""
        return points

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of represented rows (m x r, n x r): zero for equal rows, exactly symmetric."""
        return self.lengths(differences("sqeuclidean", left, right))

    def lengths(self, squared: Array) -> Array:
        """Return distances from squared Euclidean ones (m x n) of represented rows, in place, where `embeds`."""
        return np.sqrt(squared, out=squared)


@stored("euclidean-metric")
class Euclidean(Metric):
    """The length of the straight way between two points: √Σ (x - y)²; SciPy's `euclidean`."""

    name: Literal["euclidean"] = "euclidean"
    plain: ClassVar[bool] = True
    unit_power: ClassVar[int] = 1
    embeds: ClassVar[bool] = True
