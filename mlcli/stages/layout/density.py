"""The density term of a layout by sampled forces: the correlation of local radii in data and layout (densMAP)."""

from collections.abc import Callable

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import note, stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.options import Options, option
from mlcli.native.sampling import Edges, density_rows, radii_rows
from mlcli.stages.graph.graph import Graph
from mlcli.stages.layout.forces import WORD, due_of, kept_edges

LEAST = 1e-8  # is added to a radius: in the data relative to the median, in the layout as in umap-learn
ALIKE = 1e-6  # deviation of log radii up to which they are equal
BLOCK = 8192  # rows of a block


class Density(Options):
    """A term that keeps local densities: the correlation of the log radii of points in data and layout (densMAP)."""

    weight: float = option(2.0, "Weight of the correlation of local radii, relative to the attraction of all edges.",
                           gt=0, le=1000)
    share: float = option(0.3, "Share of the epochs, the last ones, that follow it.", gt=0, le=1)
    shift: float = option(0.1, "Number that is added to the variance of log radii in the layout.", ge=0)

    def acts(self, epoch: int, epochs: int) -> bool:
        """Whether an epoch, from 0, follows the term: the last always does."""
        return epoch + 1 > (1 - self.share) * epochs


@frozen
class DensityTerm:
    """The density term of a graph: its edges that move points, both ways, and the log radii in the data."""

    options: Density
    starts: Indices  # n + 1
    columns: AnyArray  # int32
    shares: float  # sum of memberships over the largest
    radii: Array  # n, relative to the median; NaN for a point without edges

    @property
    def joined(self) -> Array:
        """A mask (n) of the points that have edges."""
        return np.isfinite(self.radii)

    def pulls(self, points: Array, curve: Array, kernel: Callable[..., Array] | None = None) -> Array:
        """Return what the changes of φ d² and of φ of a pair weigh at each of its ends (n x 2), at positions (n x p).

        They are those of the gradient of the correlation r = cov(R, S) / √(var S + shift), with R the log radii of the
        data, of mean zero and variance one, and S those of the layout, times the weight and the sum of memberships. A
        kernel takes the place of that of the machine.
        """
        logs, memberships, sizes = self.layout_radii(points, curve, kernel).T[:, self.joined]
        standard = standardized(self.radii[self.joined])
        centered = logs - logs.mean()
        variance = float(np.mean(centered**2)) + self.options.shift
        slopes = standard - np.mean(standard * centered) / variance * centered if variance > 0 else 0.0 * standard
        factor = self.options.weight * self.shares * WORD / (len(logs) * np.sqrt(variance or 1.0))
        found = np.zeros((len(points), 2))
        found[self.joined, 0] = factor * slopes / (memberships * sizes)
        found[self.joined, 1] = factor * slopes / memberships * (1 - LEAST / sizes)
        return found

    def layout_radii(self, points: Array, curve: Array, kernel: Callable[..., Array] | None = None) -> Array:
        """Return log ρ, Σ φ and ρ of each point at positions (n x p), an (n, 3) array."""
        work = kernel or (radii_rows if native.available() else local_radii)
        return np.concatenate(list(in_order(
            lambda rows: work(self.starts[rows.start : rows.stop + 1], self.columns, rows.start, points, curve, LEAST),
            row_blocks(len(points), BLOCK))))

    def correlation(self, points: Array, curve: Array) -> tuple[Array, float | None]:
        """Return the log radii of data and layout (n x 2), relative to their medians, and their correlation.

        It is None where all radii in the layout are equal.
        """
        radii = np.where(self.joined, self.layout_radii(points, curve)[:, 0], np.nan)
        radii -= np.nanmedian(radii)
        placed = radii[self.joined]
        known = None if placed.std() <= ALIKE else float(np.mean(
            standardized(placed) * standardized(self.radii[self.joined])))
        return np.column_stack([self.radii, radii]), known


def standardized(values: Array) -> Array:
    """Return numbers (m) with mean zero and variance one."""
    return (values - values.mean()) / values.std()


@stage("weights")
def density_term(options: Density, graph: Graph, lengths: Array, epochs: int) -> DensityTerm | None:
    """Return the density term of a graph of memberships whose edges have lengths (e) in the data.

    Edges that are due in no epoch have no part in it. It is None, with a note, where all radii are equal.
    """
    kept = kept_edges(graph.lengths, epochs)
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))[kept]
    weights = graph.lengths[kept] / graph.lengths.max(initial=0.0)
    radii = data_radii(rows, weights, lengths[kept], graph.size)
    if not np.isfinite(radii).any() or np.nanstd(radii) <= ALIKE:
        note("N-DENSITY", "the local radii of all points are equal, so there are no densities to keep")
        return None
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=graph.size))])
    return DensityTerm(options, starts, graph.indices[kept].astype(np.int32), float(weights.sum()), radii)


def data_radii(rows: Indices, weights: Array, lengths: Array, size: int) -> Array:
    """Return the log of the mean squared length of each point's edges by membership (n), relative to the median.

    `rows`, memberships and lengths are those of the edges, both ways (e each). A point without edges is NaN. Source:
    Narayan, Berger and Cho, "Assessing single-cell transcriptomic variability through density-preserving data
    visualization", 2021.
    """
    sums, totals = np.bincount(rows, weights * lengths**2, size), np.bincount(rows, weights, size)
    squares = np.divide(sums, totals, out=np.full(size, np.nan), where=totals > 0)
    median = np.median(squares[squares > 0]) if (squares > 0).any() else 1.0
    return np.log(squares / median + LEAST)


def local_radii(starts: Indices, columns: AnyArray, first: int, points: Array, curve: Array, least: float) -> Array:
    """Return log ρ, Σ φ and ρ of rows (m x 3) by NumPy, as `native.sampling.radii_rows`."""
    counts = np.diff(starts)
    rows = np.repeat(np.arange(len(counts)), counts)
    squares, bent = _bent(points[first + rows] - points[columns[starts[0] : starts[-1]]], curve)
    memberships = 1 / (1 + bent)
    sums, totals = (np.bincount(rows, values, len(counts)) for values in (memberships * squares, memberships))
    found = np.zeros((len(counts), 3))
    there = totals > 0
    found[there, 1], found[there, 2] = totals[there], sums[there] / totals[there] + least
    found[there, 0] = np.log(found[there, 2])
    return found


def density_moves(edges: Edges, first: int, points: Array, *, pulls: Array, curve: Array, epoch: int, rate: float,
                  moved: Array) -> None:
    """Add to positions (m x p) a step that keeps local radii, by NumPy, as `native.sampling.density_rows`.

    An edge of share w of the largest membership moves a point along the difference of its ends by [(1 - b (1 - φ)) u +
    b (1 - φ) / d² v] φ / w, with u and v the sums of both ends' pulls, and no further on an axis than a force may.
    """
    _, b, _, _, most = curve
    inside = slice(int(edges.starts[0]), int(edges.starts[-1]))
    due = due_of(edges.rates[inside], epoch)
    rows = np.repeat(np.arange(len(moved)), np.diff(edges.starts))[due]
    here, there, rates = first + rows, edges.columns[inside][due], edges.rates[inside][due]
    gaps = points[here] - points[there]
    squares, bent = _bent(gaps, curve)
    memberships = 1 / (1 + bent)
    falls = b * bent * memberships
    both = (pulls[here] + pulls[there]) / rates[:, None]
    strengths = memberships * ((1 - falls) * both[:, 0] + falls / (squares + 1e-300) * both[:, 1])
    np.add.at(moved, rows, rate * np.clip(strengths[:, None] * gaps, -most, most))


def move_by_density(edges: Edges, first: int, points: Array, *, pulls: Array, curve: Array, epoch: int, rate: float,
                    moved: Array) -> None:
    """Add a step that keeps local radii to positions (m x p) of rows, points (n x p) from `first` on."""
    work = density_rows if native.available() else density_moves
    work(edges, first, points, pulls=pulls, curve=curve, epoch=epoch, rate=rate, moved=moved)


def _bent(gaps: Array, curve: Array) -> tuple[Array, Array]:
    """Return d² and a d^2b (e each) of the differences of pairs (e x p); both are zero for points that are equal."""
    squares = np.sum(gaps**2, axis=1)
    distinct = squares > 1e-300
    return squares * distinct, np.where(distinct, curve[0] * np.where(distinct, squares, 1.0) ** curve[1], 0.0)
