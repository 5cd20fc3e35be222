"""Kernels of several tables of the same rows: how alike they are, their norms and weights, and what each says of axes.

K = Σ w_g K_g / s_g with the norm s_g and the weight w_g of a table g.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.steps import Step
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.core.linalg import solve_cost, symmetric_eigen, symmetric_eigenvalues
from mlcli.core.model import TableGroups
from mlcli.errors import DataError

Norm = Literal["eigenvalue", "frobenius", "none"]  # that a table's kernel is divided by
ROUNDING = 1e-10  # of RV coefficients and of the weights' unit vector


@result("table-products")
@frozen
class TableProducts:
    """Kernels of several tables compared: K_g = Z_g Z_g' / n."""

    products: Array  # g x g: traces of K_g K_h
    eigenvalues: Array  # g: the first of each K_g

    @property
    def cosines(self) -> Array:
        """The RV coefficients of the tables (g x g)."""
        roots = np.sqrt(np.diag(self.products))
        roots = np.where(roots > 0, roots, 1.0)
        return np.asarray(self.products / np.outer(roots, roots))


def compare_kernels(kernels: Sequence[Array]) -> TableProducts:
    """Compare kernels (n x n each) by the traces of their products."""
    products = np.array([[np.sum(one * other) for other in kernels] for one in kernels])
    return TableProducts(products, np.array([symmetric_eigenvalues(kernel)[0] for kernel in kernels]))


def comparison_step(count: int, size: int, threads: int, how: str) -> Step:
    """Return the cost of comparing so many kernels (n x n each) of `size` points, which is described by `how`."""
    seconds = 2.0 * count**2 * size**2 / product_rate(threads) + count * solve_cost(size, threads) / 2
    return Step("groups", how, seconds, 8.0 * (count + 3) * size**2, remedy="give fewer points", square=True)


def norms_of(compared: TableProducts, norm: Norm) -> Array:
    """Return what each kernel is divided by (g): its first eigenvalue, or the root of the sum of its squared entries.

    It is one for a kernel of zeros.
    """
    if norm == "none":
        return np.ones(len(compared.products))
    found = compared.eigenvalues if norm == "eigenvalue" else np.sqrt(np.diag(compared.products))
    return np.where(found > 0, found, 1.0)


def weights_by_rv(compared: TableProducts, active: AnyArray, where: str = "input.view") -> Array:
    """Return the weights (g) of kernels of which some are `active`, from their RV coefficients; zero for the others.

    They are the first eigenvector of the coefficients over its sum (Lavit et al., 1994). Raises DataError, for the
    option at `where`, where it has entries of both signs.
    """
    cosines = compared.cosines[np.ix_(active, active)]
    first = symmetric_eigen(cosines)[1][:, :1]
    first = (first * leading_signs(first))[:, 0]
    if cosines.min() < -ROUNDING and first.min() < -ROUNDING:
        one, other = sorted(np.flatnonzero(active)[list(np.unravel_index(int(cosines.argmin()), cosines.shape))])
        raise DataError("OPPOSED-TABLES", f"tables {one + 1} and {other + 1} are opposed: their RV coefficient is "
                        f"{compared.cosines[one, other]:.3g}, and no weights of one sign make a compromise of all "
                        "tables", where=where, hint="leave one of the two out, or give dissimilarities that are "
                        "Euclidean, whose RV coefficients are never negative")
    weights = np.zeros(len(active))
    weights[active] = np.abs(first)  # an eigenvector too where no coefficient is negative
    return weights / weights.sum()


def figures_of(groups: TableGroups) -> dict[str, Any]:
    """Return the figures of a fit to groups: their number, weights, and first eigenvalues."""
    return {"groups": len(groups.names), "weights": Quantity(groups.weights, names=groups.names),
            "first_eigenvalues": Quantity(groups.eigenvalues, names=groups.names)}


def unit_vectors(coordinates: Array, values: Array) -> Array:
    """Return coordinates (n x p) of variances λ (p) as vectors of length one; zeros on an axis without extent."""
    return np.asarray(coordinates / np.sqrt(np.where(values > 0, values, 1.0) * max(len(coordinates), 1)))


def describe_groups(applied: Iterable[Array], coordinates: Array, values: Array, *, compared: TableProducts,
                    norms: Array, weights: Array, eigenvalues: Array, groups: Sequence[tuple[str, bool, int]],
                    partial: bool) -> TableGroups:
    """Return what each group, with its name, whether it is active, and its columns, says about the axes.

    `applied` are K u / s (n x p) of each for the unit vectors u of the axes, the kernels K and their norms s. They are
    kept where rows are placed by each group alone, as `partial` says. `coordinates` (n x p) are those of rows, with
    variances `values` (p), and `eigenvalues` the first ones of the kernels, in the columns' units (g). A group places
    the rows at √n W K u / (s √λ), whose mean with the weights w / W is F, W being the sum of all weights (Escofier and
    Pagès, 1994; Abdi et al., 2012).
    """
    size, units = max(len(coordinates), 1), unit_vectors(coordinates, values)
    own, spread = np.zeros((len(groups), units.shape[1])), np.zeros((len(groups), units.shape[1]))
    kept = np.zeros((len(groups) if partial else 0, *units.shape))
    for number, moved in enumerate(applied):
        own[number], spread[number] = np.sum(moved * units, axis=0), np.sqrt(np.sum(moved**2, axis=0))
        if partial:
            kept[number] = moved
    scaled = compared.products / np.outer(norms, norms)
    first = float(values[0]) if len(values) and values[0] > 0 else 1.0  # else there are no axes
    summed = scaled @ weights / first
    last = float(weights @ scaled @ weights) / first**2
    stretch = float(weights.sum()) * np.sqrt(size) / np.sqrt(np.where(values > 0, values, 1.0))
    names, active, widths = zip(*groups, strict=True)
    return TableGroups(
        names=names, active=np.array(active), widths=np.array(widths, dtype=np.int64), weights=weights,
        eigenvalues=eigenvalues, coordinates=own, correlations=own / np.where(spread > 0, spread, 1.0),
        products=np.block([[scaled, summed[:, None]], [summed[None, :], np.array([[last]])]]),
        partial=kept * stretch if partial else None)
