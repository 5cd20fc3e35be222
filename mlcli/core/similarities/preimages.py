"""Decoders of nonlinear methods: maps from coordinates back to features, fitted to the training rows."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.core.euclidean_distances import BLOCK, squared_distances
from mlcli.core.graph.search import Lists, nearest_of_new
from mlcli.core.graph.weights import barycentric_weights
from mlcli.core.similarities.projector import Decoder

HALVINGS = 30  # of a step that lowers the similarity to the point sought


@stored("barycentric-decoder", coordinates="yp", points="yd", origin="d")
@frozen
class Barycentric(Decoder):
    """The weighted mean of the rows that are neighbors in the embedding, by weights that reproduce the coordinates.

    Source: Saul and Roweis, "Think globally, fit locally", 2003, section 6.1.
    """

    coordinates: Array  # m x p, of the training rows
    points: Array  # m x d, less the origin
    origin: Array  # d
    neighbors: int
    ridge: float  # over the trace of a local Gram matrix

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p): those of the first training row that lies there, if any."""
        lists = nearest_of_new(embedding, self.coordinates, self.neighbors)
        weights = barycentric_weights(embedding, self.coordinates, lists, ridge=self.ridge)
        equal = np.flatnonzero(lists.lengths[lists.starts[:-1]] == 0)
        weights[np.isin(lists.rows, equal)] = 0.0
        weights[lists.starts[equal]] = 1.0
        return self._means(weights, lists)

    def decode_left_out(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p) by others than the training rows that lie there, if any are
        near.
        """
        lists = without_equals(nearest_of_new(embedding, self.coordinates, self.neighbors + 1), self.neighbors)
        return self._means(barycentric_weights(embedding, self.coordinates, lists, ridge=self.ridge), lists)

    def _means(self, weights: Array, lists: Lists) -> Array:
        found = np.empty((len(lists.starts) - 1, len(self.origin)))
        widest = int(lists.counts.max(initial=1)) * len(self.origin)
        for rows in row_blocks(len(found), BLOCK, widest):
            entries = slice(*lists.starts[[rows.start, rows.stop]])
            terms = weights[entries, None] * self.points[lists.indices[entries]]
            found[rows] = np.add.reduceat(terms, lists.starts[rows] - entries.start, axis=0)
        return found + self.origin


def without_equals(lists: Lists, count: int) -> Lists:
    """Return lists of `count` entries at most without those at distance zero; all of a row whose entries are all such.
    """
    kept = (lists.lengths > 0) | np.isin(lists.rows, np.flatnonzero(lists.lengths[lists.starts[1:] - 1] == 0))
    rows = lists.rows[kept]
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(lists.starts) - 1))])
    first = np.arange(len(rows)) - ends[rows] < count
    starts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(ends), count))])
    return Lists(starts, lists.indices[kept][first], lists.lengths[kept][first])


@stored("kernel-ridge-decoder", coordinates="yp", weights="yd", mean="d")
@frozen
class KernelRidge(Decoder):
    """Kernel ridge regression of the features on the coordinates: x̂(y) = mean + Σ exp(-r ‖y - yᵢ‖²) aᵢ.

    A = (K + α I)⁻¹ (X - mean). Source: Bakır, Weston and Schölkopf, "Learning to find pre-images", 2004.
    """

    coordinates: Array  # m x p, of the training rows
    weights: Array  # m x d, A
    mean: Array  # d
    rate: float

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p)."""
        found = np.empty((len(embedding), len(self.mean)))
        for rows in row_blocks(len(embedding), BLOCK, len(self.coordinates)):
            found[rows] = gaussian(embedding[rows], self.coordinates, self.rate) @ self.weights
        return self.mean + found


@stored("fixed-point-decoder", points="cd", axes="cp", origin="d")
@frozen
class FixedPoint(Decoder):
    """The pre-image under a gaussian kernel of the point in feature space with given coordinates, P = Σ γᵢ φ(xᵢ).

    z -> Σ γᵢ k(z, xᵢ) xᵢ / Σ γᵢ k(z, xᵢ), started from the training row nearest to P; the denominator is ⟨P, φ(z)⟩,
    which a halved step never lowers. Source: Mika and others, "Kernel PCA and de-noising in feature spaces", 1999.
    """

    points: Array  # m x d, less the origin
    axes: Array  # m x p, V / √λ: γ = axes y, and the mean's share
    origin: Array  # d
    rate: float
    share: float  # of each training row in the mean of the feature space: 1 / m, or 0 for a kernel that is not centered
    limit: int
    tolerance: float  # length of the last step, over 1 / √rate

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p)."""
        found = np.empty((len(embedding), len(self.origin)))
        for rows in row_blocks(len(embedding), BLOCK, len(self.points)):
            found[rows] = self._preimages(self.weights(embedding[rows]))
        return found + self.origin

    def weights(self, embedding: Array) -> Array:
        """Return γ (m x training rows) of coordinates (m x p)."""
        return np.asarray(embedding @ self.axes.T + self.share)

    def lengths(self, embedding: Array, features: Array) -> Array:
        """Return the length of a further step from features (m x d) at coordinates (m x p), over 1 / √rate (m)."""
        places = features - self.origin
        return np.asarray(np.sqrt(self.rate) * np.linalg.norm(
            self._step(places, self.weights(embedding))[1] - places, axis=1))

    def nearest(self, weights: Array) -> Indices:
        """Return the training row nearest in feature space (m), by weights γ (m x training rows)."""
        best, places = np.full(len(weights), -np.inf), np.zeros(len(weights), dtype=np.int64)
        for some in row_blocks(len(self.points), BLOCK, len(self.points)):
            found = weights @ gaussian(self.points, self.points[some], self.rate)
            columns = found.argmax(axis=1)
            values = found[np.arange(len(found)), columns]
            places = np.where(values > best, columns + (some.start or 0), places)
            best = np.maximum(best, values)
        return places

    def _preimages(self, weights: Array) -> Array:
        """Return the fixed points (m x d) of weights γ (m x training rows), less the origin."""
        places = self.points[self.nearest(weights)]
        moving, sizes = np.arange(len(places)), np.ones(len(places))
        values, targets = self._step(places, weights)
        for _ in range(self.limit):
            steps = sizes[moving, None] * (targets[moving] - places[moving])
            there = places[moving] + steps
            after, beyond = self._step(there, weights[moving])
            risen = after >= values[moving] * (1 - 8 * EPS)
            climbed = moving[risen]
            places[climbed], values[climbed], targets[climbed] = there[risen], after[risen], beyond[risen]
            sizes[moving] = np.where(risen, 1.0, sizes[moving] / 2)
            lengths = np.sqrt(self.rate) * np.linalg.norm(targets[moving] - places[moving], axis=1)
            going = (lengths > self.tolerance) & (sizes[moving] > 0.5**HALVINGS) & (values[moving] > 0)
            moving = moving[going]
            if not len(moving):
                break
        return places

    def _step(self, places: Array, weights: Array) -> tuple[Array, Array]:
        """Return ⟨P, φ(z)⟩ (m) at places z (m x d), and the next places."""
        shares = weights * gaussian(places, self.points, self.rate)
        values = shares.sum(axis=1)
        above = values > 0
        targets = np.divide(shares @ self.points, values[:, None], out=places.copy(), where=above[:, None])
        return values, targets


def gaussian(left: Array, right: Array, rate: float) -> Array:
    """Return exp(-rate d²) of all pairs of (m, p) and (n, p) rows, an (m, n) array."""
    squares = squared_distances(left, right)
    with np.errstate(over="ignore"):  # to -inf, whose exponential is zero
        squares *= -rate
    return np.exp(squares, out=squares)
