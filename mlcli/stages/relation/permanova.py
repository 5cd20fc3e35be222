"""Permutational analysis of variance of dissimilarities: sums of squares of the terms of a model, with their tests."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.errors import DataError, GeometryError
from mlcli.stages.algebra.permutations import Permutations
from mlcli.stages.relation.formula import Term, droppable, label_of
from mlcli.stages.relation.model_terms import Variables, sequential_bases

By = Literal["terms", "margin", "none"]
AT_ONCE = 2**22  # numbers of the bases of the permutations that are held together
EXACT = 1e-12  # share of the whole up to which the residual is rounding


@frozen
class Row:
    """A row of the table: a term, the residual, or the whole."""

    term: str
    freedom: int
    squares: float
    share: float  # R²: of the whole
    ratio: float | None = None  # pseudo-F
    p_value: float | None = None


def inner_products(squared: Array) -> Array:
    """Return -H D² H / 2 (n x n) of squared dissimilarities (n x n), whose array is lost (Gower, 1966)."""
    squared *= -0.5
    squared -= squared.mean(axis=0)
    squared -= squared.mean(axis=1)[:, None]
    return squared


def permanova(products: Array, terms: Sequence[Term], variables: Variables, by: By, permutations: Permutations,
              strata: Indices | None = None) -> list[Row]:
    """Partition tr(G) of inner products G (n x n) among the terms of a model, as vegan's `adonis2`.

    `terms` are tested in their order, `margin` tests each after all others, `none` tests the model as a whole. The last
    two rows are the residual and the total. Raises DataError for a model without residuals and GeometryError where all
    dissimilarities are zero (McArdle and Anderson, 2001).
    """
    whole, sequence = float(np.trace(products)), sequential_bases(terms, variables)
    model = np.column_stack(sequence)
    left = len(products) - 1 - model.shape[1]
    if not model.shape[1]:
        raise DataError("MODEL-FREEDOM", "the variables of the formula do not vary in these rows", where="--formula",
                        hint="name others")
    if left < 1:
        raise DataError("MODEL-FREEDOM", f"the terms take all {left + model.shape[1]:,} degrees of freedom of "
                        f"{len(products):,} rows, and leave no residual", where="--formula",
                        hint="name fewer variables, or those with fewer levels")
    if not whole > 0:
        raise GeometryError("ALL-EQUAL", "all dissimilarities of the rows are zero", hint="nothing can be partitioned")
    tested = _tested(terms, variables, sequence, by)
    parts = [*([model] if by == "margin" else []), *(basis for _, basis in tested)]
    stacked, ends = np.column_stack(parts), np.cumsum([0, *(basis.shape[1] for basis in parts)])
    freedoms = np.array([basis.shape[1] for _, basis in tested])

    def sums(orders: Indices) -> Array:
        """Return the squares of the model and of each tested term (b x (1 + t)) for orders (b x n) of the data."""
        bases = stacked[np.argsort(orders, axis=1)].transpose(1, 0, 2).reshape(len(products), -1)
        each = (bases * (products @ bases)).sum(axis=0).reshape(len(orders), -1)
        found = np.add.reduceat(each, ends[:-1], axis=1)
        return found if by == "margin" else np.column_stack([found.sum(axis=1), found])

    def ratios(found: Array) -> Array:
        residual = whole - found[:, :1]
        residual = np.where(np.abs(residual) <= EXACT * whole, 0.0, residual)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((found[:, 1:] / freedoms) / (residual / left))

    observed = sums(np.arange(len(products))[None, :])
    statistics = ratios(observed)[0]
    p_values = permutations.p_values(
        statistics, lambda orders: ratios(sums(orders)), len(products), strata=strata,
        most=max(1, AT_ONCE // stacked.size))
    squares = observed[0].tolist()
    rows = [Row(name, int(freedom), size, size / whole, ratio=float(ratio), p_value=float(p_value))
            for (name, _), freedom, size, ratio, p_value in zip(
                tested, freedoms, squares[1:], statistics, p_values, strict=True)]
    rest = whole - squares[0]
    return [*rows, Row("Residual", left, rest, rest / whole), Row("Total", len(products) - 1, whole, 1.0)]


def _tested(terms: Sequence[Term], variables: Variables, sequence: Sequence[Array],
            by: By) -> list[tuple[str, Array]]:
    """Return the name and the basis of what each test is about; terms that add nothing are left out."""
    if by == "none":
        return [("Model", np.column_stack(list(sequence)))]
    found = list(zip(terms, sequence, strict=True))
    if by == "margin":
        found = [(term, sequential_bases([*(other for other in terms if other != term), term], variables)[-1])
                 for term in droppable(terms)]
    return [(label_of(term), basis) for term, basis in found if basis.shape[1]]
