"""The certificate of sums of several tables' kernels: norms and weights, and what each table says about the axes."""

from collections.abc import Iterator, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.certify.subject import max_abs
from mlcli.core.chain.tables import Norm
from mlcli.core.model import Model, TableGroups


@frozen
class Kernels:
    """The kernels of several tables, as blocks Z of Z Z', or as matrices."""

    blocks: Sequence[Array]  # n x c, or n x n
    square: bool  # whether they are matrices

    def apply(self, number: int, vectors: Array) -> Array:
        """Return K u (n x p) of vectors u (n x p)."""
        block = self.blocks[number]
        return np.asarray(block @ vectors if self.square else block @ (block.T @ vectors))

    def product(self, one: int, other: int) -> float:
        """Return the trace of the product of two kernels."""
        left, right = self.blocks[one], self.blocks[other]
        return float(np.sum(left * right) if self.square else np.sum((left.T @ right) ** 2))

    def trace(self, number: int) -> float:
        """Return the trace of a kernel."""
        block = self.blocks[number]
        return float(np.trace(block) if self.square else np.sum(block**2))

    @property
    def products(self) -> Array:
        """The traces of all products (g x g)."""
        numbers = range(len(self.blocks))
        return np.array([[self.product(one, other) for other in numbers] for one in numbers])

    def norms(self, norm: Norm) -> Array:
        """Return the norms of the kernels (g); one for a kernel of zeros."""
        if norm == "none":
            return np.ones(len(self.blocks))
        sizes = [np.linalg.eigvalsh(block) if self.square else np.linalg.svd(block, compute_uv=False) ** 2
                 for block in self.blocks]
        found = np.array([some.max(initial=0.0) if norm == "eigenvalue" else np.sqrt(np.sum(some**2))
                          for some in sizes])
        return np.where(found > 0, found, 1.0)


def values_of(model: Model) -> Array:
    """Return the eigenvalues of the axes (p), zero on one without extent."""
    count = model.embedding.shape[1]
    return np.maximum(np.pad(model.ranks.solved, (0, count))[:count], 0.0)


def kernel_checks(kernels: Kernels, model: Model, active: AnyArray, rounding: float, *, norm: Norm,
                  averaged: bool) -> Iterator[Check]:
    """Check axes, weights and what each table says against the kernels of the tables."""
    norms, coordinates, values = kernels.norms(norm), model.embedding, values_of(model)
    size, numbers = max(len(coordinates), 1), range(len(active))
    stated = model.groups.weights if model.groups is not None else weights_in(model, len(active))
    products = kernels.products
    wrong, how = weights_error(products, stated, active, averaged=averaged)
    yield ratio("weights", wrong, rounding * len(active), how)
    top = float(values.max(initial=0.0))
    yield ratio("centering", max_abs(coordinates.mean(axis=0)), rounding * np.sqrt(top or 1.0),
                "the mean of every axis is zero")
    moved = np.array([kernels.apply(number, coordinates) / norms[number] for number in numbers])
    yield ratio("axes", max_abs(np.tensordot(stated, moved, axes=1) - coordinates * values),
                rounding * (top + 1) * max(max_abs(coordinates), EPS),
                "K F = F Λ for the sum K of the tables' kernels, each over its norm and times its weight")
    yield ratio("inertias", max_abs(coordinates.T @ coordinates / size - np.diag(values)), rounding * (top + EPS),
                "axes are uncorrelated, and their variances are the eigenvalues")
    whole = float(sum(kernels.trace(number) * stated[number] / norms[number] for number in numbers))
    yield ratio("total inertia", abs(whole - model.ranks.solved_trace), rounding * (abs(whole) + EPS),
                "the eigenvalues add up to the trace of the sum")
    if model.groups is not None:
        yield from group_checks(moved, products / np.outer(norms, norms), coordinates=coordinates, values=values,
                                groups=model.groups, rounding=rounding)


def weights_in(model: Model, count: int) -> Array:
    """Return the weights that run.json has of so many groups."""
    found = model.fit["weights"]
    found = dict(found) if isinstance(found, dict) else dict(zip(found.names, found.value, strict=True))
    weights = np.array([float(weight) for weight in found.values()])
    return weights if len(weights) == count else np.full(count, np.nan)


def weights_error(products: Array, stated: Array, active: AnyArray, *, averaged: bool) -> tuple[float, str]:
    """Return how far stated weights (g) are from those of the method, by traces of products of kernels (g x g)."""
    if not averaged:
        return max_abs(stated - active), "the weight of a group is one, and that of a supplementary one zero"
    roots = np.sqrt(np.diag(products))
    among = (products / np.outer(roots, roots))[np.ix_(active, active)]
    own = stated[active]
    largest = float(own @ among @ own) / max(float(own @ own), EPS)
    first = float(np.linalg.eigvalsh(among).max(initial=0.0)) if np.isfinite(among).all() else np.inf
    apart = max(max_abs(among @ own - largest * own), abs(first - largest), abs(float(stated.sum()) - 1),
                max_abs(stated[~active]), max(0.0, -float(stated.min(initial=0.0))))
    return apart, "the weights are the first eigenvector of the RV coefficients, and their sum is one"


def group_checks(moved: Array, products: Array, *, coordinates: Array, values: Array, groups: TableGroups,
                 rounding: float) -> Iterator[Check]:
    """Check what each group says about the axes: contributions, RV coefficients, and partial points.

    `moved` are K F of each table's kernel over its norm (g x n x p), `products` the traces of their products (g x g).
    """
    drawn, size = values > 0, max(len(coordinates), 1)
    variances = np.where(drawn, values, 1.0)
    own = np.einsum("gnp,np->gp", moved, coordinates) / (variances * size)
    growth = 1 + max_abs(own)
    least = float(values[drawn].min(initial=1.0)) / max(float(values.max(initial=1.0)), EPS)
    spread = 1 / max(least, EPS)
    yield ratio("group coordinates", max_abs(groups.coordinates - own), rounding * growth * spread,
                "u'Ku of each group's kernel over its norm, and of the unit vector u of an axis")
    yield ratio("group contributions", max_abs((groups.coordinates * groups.weights[:, None]).sum(axis=0) - values),
                rounding * growth * spread * max(float(groups.weights.sum()), 1.0),
                "the groups' coordinates, times their weights, add up to the eigenvalues")
    yield ratio("group products", max_abs(groups.products[:-1, :-1] - products), rounding * (1 + max_abs(products)),
                "traces of products of the groups' kernels")
    if groups.partial is not None:
        total = float(groups.weights.sum())
        mean = np.tensordot(groups.weights / total, groups.partial, axes=1)
        placed = moved * (total / variances)
        scale = rounding * spread * (1 + max_abs(placed))
        yield ratio("partial points", max(max_abs(mean - coordinates * drawn), max_abs(groups.partial - placed)), scale,
                    "a row lies at the weighted mean of its partial points, which each group's kernel places")
