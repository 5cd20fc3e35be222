"""Expectations of kernels over Gaussian points with full covariances, and their gradients.

For r = v exp(-(x - z)ᵀ D⁻¹ (x - z) / 2), with D the squared length scales, and x ~ N(μ, P), with W = (D + P)⁻¹,

    E r = v |1 + D⁻¹ P|^-½ exp(-(z - μ)ᵀ W (z - μ) / 2),      E ∂r/∂x = W (z - μ) E r,      E r (x - μ) = P E ∂r/∂x,

and of two, with z̄ the middle of z and z' and W₂ = (D/2 + P)⁻¹,

    E r r' = v² |1 + 2 D⁻¹ P|^-½ exp(-(z - z')ᵀ D⁻¹ (z - z') / 4 - (z̄ - μ)ᵀ W₂ (z̄ - μ) / 2).

The other terms of a kernel are affine functions A x̂ of x̂ = (x, 1), so that their products follow from these and from
moments of x. Source: Girard, Rasmussen, Quiñonero-Candela and Murray-Smith, "Gaussian process priors with uncertain
inputs", 2003; the second equation with the third is Stein's lemma.
"""

from collections.abc import Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array, Indices
from mlcli.core.euclidean_distances import BLOCK
from mlcli.methods.processes.process import Bias, CovarianceFunction, Linear, Rbf, Term


@frozen
class GaussianPoints:
    """Points that are normal, each with a mean and a covariance of its own; or derivatives by these."""

    means: Array  # n x p
    covariances: Array  # n x p x p

    @property
    def lifted(self) -> Array:
        """The means of (x, 1), n x (p + 1)."""
        return np.column_stack([self.means, np.ones(len(self.means))])

    @property
    def products(self) -> Array:
        """Σ E (x, 1) (x, 1)ᵀ, (p + 1) x (p + 1)."""
        products, size = self.lifted.T @ self.lifted, self.means.shape[1]
        products[:size, :size] += self.covariances.sum(axis=0)
        return np.asarray(products)

    def take(self, chosen: slice) -> "GaussianPoints":
        """Return some of the points."""
        return GaussianPoints(self.means[chosen], self.covariances[chosen])


@frozen
class KernelMoments:
    """Expectations of a kernel between Gaussian points x and m places Z; or what a function's derivatives by them are.
    """

    total: float  # Σ E k(x, x)
    crossed: Array  # n x m, E k(x, Z)
    slopes: Array  # n x m x p, E of the derivative of k(x, Z) by x
    squared: Array  # m x m, Σ E k(Z, x) k(x, Z)


@frozen
class KernelGradient:
    """Derivatives by points, by places (m x p), and by the logarithms of the kernel's parameters without the noise."""

    points: GaussianPoints
    places: Array
    logs: Array


@frozen
class Terms:
    """A kernel as smooth functions, and affine ones."""

    rbf: Rbf | None
    linear: float  # variance
    bias: float  # variance

    @classmethod
    def of(cls, covariance: CovarianceFunction) -> "Terms":
        """Return the terms of a kernel, in which each occurs once at most."""
        found = {type(term): term for term in covariance.terms}
        linear, bias, rbf = found.get(Linear), found.get(Bias), found.get(Rbf)
        return cls(rbf if isinstance(rbf, Rbf) else None, linear.variance if linear else 0.0,
                   bias.variance if bias else 0.0)

    def affine(self, places: Array) -> Array:
        """Return A (m x (p + 1)) for places (m x p)."""
        return np.column_stack([self.linear * places, np.full(len(places), self.bias)])

    def squares(self, axes: int) -> Array:
        """Return D, the squared length scales (p)."""
        return np.broadcast_to(np.ones(1) if self.rbf is None else self.rbf.lengths**2, axes)


def kernel_moments(covariance: CovarianceFunction, points: GaussianPoints, places: Array) -> KernelMoments:
    """Return the expectations of a kernel for places (m x p)."""
    terms, lifted, products = Terms.of(covariance), points.lifted, points.products
    affine, count, size = terms.affine(places), len(points.means), places.shape[1]
    total = count * terms.bias + terms.linear * float(np.trace(products[:size, :size]))
    crossed, squared = lifted @ affine.T, affine @ products @ affine.T
    slopes = np.broadcast_to(affine[:, :size], (count, *places.shape))
    if terms.rbf is None:
        return KernelMoments(total, crossed=crossed, slopes=slopes, squared=squared)
    near = SmoothMoments.of(terms.rbf, points, places)
    mixed = near.raised(points) @ affine.T
    return KernelMoments(total + count * terms.rbf.variance, crossed=crossed + near.values, slopes=slopes + near.slopes,
                         squared=squared + mixed + mixed.T + smooth_products(terms.rbf, points, places))


def kernel_gradient(covariance: CovarianceFunction, points: GaussianPoints, places: Array,
                    weights: KernelMoments) -> KernelGradient:
    """Return the derivatives of a function of the expectations, given its derivatives by these (`squared` symmetric).

    `places` is an (m, p) array.
    """
    terms, lifted, products = Terms.of(covariance), points.lifted, points.products
    affine, size, count = terms.affine(places), places.shape[1], len(points.means)
    drawn = weights.squared @ affine
    by_affine = weights.crossed.T @ lifted + 2 * drawn @ products
    by_affine[:, :size] += weights.slopes.sum(axis=0)
    by_products = affine.T @ drawn
    by_products[:size, :size] += weights.total * terms.linear * np.eye(size)
    means = weights.crossed @ affine[:, :size] + 2 * lifted @ by_products[:, :size]
    covariances = np.broadcast_to(by_products[:size, :size], points.covariances.shape).copy()
    found: dict[type[Term], Array] = {
        Linear: np.array([weights.total * terms.linear * float(np.trace(products[:size, :size]))]),
        Bias: np.array([weights.total * terms.bias * count])}
    by_places = np.zeros_like(places)
    if terms.rbf is not None:
        near = SmoothMoments.of(terms.rbf, points, places)
        by_affine += 2 * weights.squared @ near.raised(points)
        means += near.values @ (2 * drawn[:, :size])
        bent = drawn[:, :size].T @ near.slopes
        covariances += bent + bent.transpose(0, 2, 1)
        first = near.gradient(weights.crossed + 2 * lifted @ drawn.T,
                              weights.slopes + 2 * drawn[:, :size] @ points.covariances)
        second = smooth_products_gradient(terms.rbf, points, places, weights.squared)
        means += first.points.means + second.points.means
        covariances += first.points.covariances + second.points.covariances
        by_places += first.places + second.places
        logs = first.logs + second.logs
        lengths = logs[1:] if len(terms.rbf.lengths) > 1 else logs[1:].sum(keepdims=True)
        found[Rbf] = np.append(logs[0] + weights.total * count * terms.rbf.variance, lengths)
    by_places += terms.linear * by_affine[:, :size]
    found[Linear] += terms.linear * float(np.sum(by_affine[:, :size] * places))
    found[Bias] += terms.bias * float(by_affine[:, size].sum())
    return KernelGradient(GaussianPoints(means, covariances), by_places,
                          np.concatenate([found[type(term)] for term in covariance.terms]))


def inverses(wide: Array) -> Array:
    """Return the inverses of covariances (n x p x p); NaN, and so for all, where rounding made one of them singular.

    A step of a search may lead to states so wide that it does. Their objective is then no number, as that of states
    beyond the range of numbers, and the search takes a shorter step.
    """
    try:
        return np.asarray(np.linalg.inv(wide), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(wide, np.nan)


@frozen
class SmoothMoments:
    """Expectations of one smooth function for each of m places, over n Gaussian points."""

    squares: Array  # D, p
    inverse: Array  # W, n x p x p
    pulls: Array  # W (z - μ), n x m x p
    values: Array  # n x m

    @classmethod
    def of(cls, rbf: Rbf, points: GaussianPoints, places: Array) -> "SmoothMoments":
        """Return the expectations for places (m x p)."""
        squares = np.broadcast_to(rbf.lengths**2, places.shape[1])
        wide = points.covariances + np.diag(squares)
        inverse = inverses(wide)
        off = places - points.means[:, None, :]
        pulls = off @ inverse
        exponents = -0.5 * (np.sum(off * pulls, axis=2) + (np.linalg.slogdet(wide)[1] - np.log(squares).sum())[:, None])
        return cls(squares, inverse=inverse, pulls=pulls, values=rbf.variance * np.exp(exponents))

    @property
    def slopes(self) -> Array:
        """The expected derivatives, n x m x p."""
        return self.values[:, :, None] * self.pulls

    def raised(self, points: GaussianPoints) -> Array:
        """Return Σ E r (x, 1)ᵀ over the points (m x (p + 1))."""
        moved = self.values.T @ points.means + np.tensordot(self.slopes, points.covariances, ((0, 2), (0, 1)))
        return np.column_stack([moved, self.values.sum(axis=0)])

    def gradient(self, values: Array, slopes: Array) -> KernelGradient:
        """Return the derivatives of a function of values and slopes, given those by them (n x m, n x m x p)."""
        pulls, inverse = self.pulls, self.inverse
        grown = self.values * (values + np.sum(slopes * pulls, axis=2))
        pushed = (self.values[:, :, None] * slopes) @ inverse
        moved, rows = grown[:, :, None] * pulls - pushed, grown.sum(axis=1)
        bent = np.swapaxes(0.5 * grown[:, :, None] * pulls - pushed, 1, 2) @ pulls
        covariances = 0.5 * (bent + bent.transpose(0, 2, 1)) - 0.5 * rows[:, None, None] * inverse
        squares = np.einsum("tpp->p", bent) - 0.5 * (np.einsum("t,tpp->p", rows, inverse) - rows.sum() / self.squares)
        return KernelGradient(GaussianPoints(moved.sum(axis=1), covariances), -moved.sum(axis=0),
                              np.append(rows.sum(), 2 * self.squares * squares))


@frozen
class PairMoments:
    """Expectations of products of two smooth functions, for all pairs of m places on and above the diagonal."""

    one: Indices  # the numbers of the places of each pair
    other: Indices
    middles: Array  # with their products and a one, pairs x (1 + p + p²)
    gaps: Array  # pairs x p
    offsets: Array  # pairs

    @classmethod
    def of(cls, rbf: Rbf, places: Array) -> "PairMoments":
        """Return the pairs of places (m x p)."""
        one, other = (place.astype(np.int64) for place in np.triu_indices(len(places)))
        middles, gaps = 0.5 * (places[one] + places[other]), places[one] - places[other]
        products = (middles[:, :, None] * middles[:, None, :]).reshape(len(middles), -1)
        return cls(one, other=other, middles=np.column_stack([np.ones(len(middles)), middles, products]), gaps=gaps,
                   offsets=2 * np.log(rbf.variance) - 0.25 * np.sum((gaps / rbf.lengths) ** 2, axis=1))

    def values(self, rbf: Rbf, points: GaussianPoints) -> tuple[Array, Array]:
        """Return the expectations (n x pairs), and W₂ (n x p x p)."""
        size = self.gaps.shape[1]
        squares = np.broadcast_to(rbf.lengths**2, size) / 2
        wide = points.covariances + np.diag(squares)
        inverse = inverses(wide)
        means = points.means
        drawn = np.einsum("tpq,tq->tp", inverse, means)
        level = np.linalg.slogdet(wide)[1] - np.log(squares).sum() + np.sum(means * drawn, axis=1)
        factors = np.column_stack([-0.5 * level, drawn, -0.5 * inverse.reshape(len(means), -1)])
        return np.exp(factors @ self.middles.T + self.offsets), inverse

    def blocks(self, points: GaussianPoints) -> Iterator[tuple[slice, GaussianPoints]]:
        """Yield slices of the points, small enough for memory."""
        for block in row_blocks(len(points.means), BLOCK, len(self.gaps)):
            yield block, points.take(block)


def smooth_products(rbf: Rbf, points: GaussianPoints, places: Array) -> Array:
    """Return Σ E r r' over the points for all pairs of places (m x m), which are m x p."""
    pairs, squared = PairMoments.of(rbf, places), np.zeros((len(places), len(places)))
    for _, some in pairs.blocks(points):
        squared[pairs.one, pairs.other] += pairs.values(rbf, some)[0].sum(axis=0)
    return np.triu(squared) + np.triu(squared, 1).T


def smooth_products_gradient(rbf: Rbf, points: GaussianPoints, places: Array, weights: Array) -> KernelGradient:
    """Return the derivatives of Σ w E r r' for symmetric weights (m x m) and places (m x p)."""
    pairs, size = PairMoments.of(rbf, places), places.shape[1]
    squares = np.broadcast_to(rbf.lengths**2, size)
    both = np.where(pairs.one == pairs.other, 1.0, 2.0) * weights[pairs.one, pairs.other]
    means, covariances = np.empty_like(points.means), np.empty_like(points.covariances)
    columns, by_middles, by_squares = np.zeros(len(both)), np.zeros_like(pairs.gaps), np.zeros(size)
    for block, some in pairs.blocks(points):
        values, inverse = pairs.values(rbf, some)
        values *= both
        sums = values @ pairs.middles
        rows, first, second = sums[:, 0], sums[:, 1:size + 1], sums[:, size + 1:].reshape(-1, size, size)
        mean = some.means
        means[block] = np.einsum("tpq,tq->tp", inverse, first - mean * rows[:, None])
        crossed = first[:, :, None] * mean[:, None, :]
        spread = second - crossed - crossed.transpose(0, 2, 1) + (rows[:, None] * mean)[:, :, None] * mean[:, None, :]
        spread = inverse @ spread @ inverse
        covariances[block] = 0.5 * (spread - rows[:, None, None] * inverse)
        by_squares += 0.25 * np.einsum("tpp->p", spread) + 0.5 * rows.sum() / squares
        by_squares -= 0.25 * np.einsum("t,tpp->p", rows, inverse)
        columns += values.sum(axis=0)
        pulled = values.T @ np.column_stack([inverse.reshape(len(mean), -1), np.einsum("tpq,tq->tp", inverse, mean)])
        turned = pulled[:, :size**2].reshape(-1, size, size)
        by_middles += pulled[:, size**2:] - np.einsum("jpq,jq->jp", turned, pairs.middles[:, 1:size + 1])
    by_squares += 0.25 * columns @ pairs.gaps**2 / squares**2
    by_gaps, by_places = -0.5 * columns[:, None] * pairs.gaps / squares, np.zeros_like(places)
    np.add.at(by_places, pairs.one, 0.5 * by_middles + by_gaps)
    np.add.at(by_places, pairs.other, 0.5 * by_middles - by_gaps)
    return KernelGradient(GaussianPoints(means, covariances), by_places,
                          np.append(2 * columns.sum(), 2 * squares * by_squares))
