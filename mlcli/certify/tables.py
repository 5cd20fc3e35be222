"""The certificate of sums of several tables' kernels: norms and weights, and what each table says about the axes."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import parts
from mlcli.base.types import AnyArray, Array, Indices
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


@frozen
class AppliedBlock:
    """Some rows of K F / s for the kernel K of each table, of norm s, and coordinates F."""

    rows: Indices | slice
    coordinates: Array  # m x p, F
    moved: Array  # g x m x p, K F / s


@frozen
class AppliedKernels:
    """The kernels K of several tables over their norms s, applied to coordinates F of n rows."""

    own: Array  # g x p: F'K F / (n s)
    blocks: Callable[[], Iterable[AppliedBlock]]  # of all rows, or of those that are looked at
    exact: bool = True  # whether these are all

    @classmethod
    def of(cls, kernels: Kernels, norms: Array, coordinates: Array) -> "AppliedKernels":
        """Return the kernels in memory applied to coordinates (n x p)."""
        moved = np.array([kernels.apply(number, coordinates) / norm for number, norm in enumerate(norms)])
        own = np.einsum("gnp,np->gp", moved, coordinates) / max(len(coordinates), 1)
        return cls(own, lambda: [AppliedBlock(slice(None), coordinates, moved)])


def values_of(model: Model) -> Array:
    """Return the eigenvalues of the axes (p), zero on one without extent."""
    count = model.embedding.shape[1]
    return np.maximum(np.pad(model.ranks.solved, (0, count))[:count], 0.0)


def kernel_checks(kernels: Kernels, model: Model, active: AnyArray, rounding: float, *, norm: Norm, averaged: bool,
                  apply: Callable[[Array], AppliedKernels] | None = None) -> Iterator[Check]:
    """Check axes, weights and what each table says against the kernels of the tables.

    Where these are not those of the rows, but have the same products, `apply` applies the rows' own with their norms.
    """
    norms, coordinates, values = kernels.norms(norm), model.embedding, values_of(model)
    size, numbers = max(len(coordinates), 1), range(len(active))
    stated = model.groups.weights if model.groups is not None else weights_in(model, len(active))
    products = kernels.products
    wrong, how = weights_error(products, stated, active, averaged=averaged)
    yield ratio("weights", wrong, rounding * len(active), how)
    top = float(values.max(initial=0.0))
    means = sum((some.sum(axis=0) for some in parts(coordinates)), np.zeros(len(values))) / size
    yield ratio("centering", max_abs(means), rounding * np.sqrt(top or 1.0), "the mean of every axis is zero")
    applied = AppliedKernels.of(kernels, norms, coordinates) if apply is None else apply(norms)
    apart = max(max_abs(np.tensordot(stated, block.moved, axes=1) - block.coordinates * values)
                for block in applied.blocks())
    yield ratio("axes", apart, rounding * (top + 1) * max(max_abs(coordinates), EPS),
                "K F = F Λ for the sum K of the tables' kernels, each over its norm and times its weight",
                exact=applied.exact)
    moments = sum((some.T @ some for some in parts(coordinates)), np.zeros((len(values), len(values)))) / size
    yield ratio("inertias", max_abs(moments - np.diag(values)), rounding * (top + EPS),
                "axes are uncorrelated, and their variances are the eigenvalues")
    whole = float(sum(kernels.trace(number) * stated[number] / norms[number] for number in numbers))
    yield ratio("total inertia", abs(whole - model.ranks.solved_trace), rounding * (abs(whole) + EPS),
                "the eigenvalues add up to the trace of the sum")
    if model.groups is not None:
        yield from group_checks(applied, products / np.outer(norms, norms), values=values, groups=model.groups,
                                rounding=rounding)


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


def group_checks(applied: AppliedKernels, products: Array, *, values: Array, groups: TableGroups,
                 rounding: float) -> Iterator[Check]:
    """Check what each group says about the axes: contributions, RV coefficients, and partial points.

    `products` are the traces of products of the kernels over their norms (g x g), `values` the variances of axes (p).
    """
    drawn = values > 0
    variances = np.where(drawn, values, 1.0)
    own = applied.own / variances
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
        total, wrong, largest = float(groups.weights.sum()), 0.0, 0.0
        for block in applied.blocks():
            stated, placed = groups.partial[:, block.rows], block.moved * (total / variances)
            mean = np.tensordot(groups.weights / total, stated, axes=1)
            wrong = max(wrong, max_abs(mean - block.coordinates * drawn), max_abs(stated - placed))
            largest = max(largest, max_abs(placed))
        yield ratio("partial points", wrong, rounding * spread * (1 + largest),
                    "a row lies at the weighted mean of its partial points, which each group's kernel places",
                    exact=applied.exact)
