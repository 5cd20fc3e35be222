"""Diffusion maps.

Their kernel D^(-1/2) W D^(-1/2) is similar to a random walk (Coifman and Lafon, 2006).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import FIRST_TOUCH, pass_cost, rates
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Input
from mlcli.base.values.options import Options, option, option_of
from mlcli.base.values.scaling import Unit
from mlcli.base.values.signs import leading_signs
from mlcli.core.centering import Centering, uncentered
from mlcli.core.chain.graphs import predict_cost
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import solve_spectrum
from mlcli.core.chain.stages import RowDecoder, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.eigen.solved import Closeness, Solved, rounding_floor
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.euclidean_distances import halve
from mlcli.core.graph.affinities import LocalScale, incidence, local_scales, weights_step
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.neighbors import (
    SEARCH,
    Nearest,
    Neighbors,
    Search,
    graph_bytes,
    nearest_by,
    require_search,
)
from mlcli.core.graph.pieces import graph_steps
from mlcli.core.graph.search import Lists
from mlcli.core.graph.weights import weight_rows
from mlcli.core.kernels.corrections import correction_for
from mlcli.core.kernels.forms import BENT, CACHED, Dense
from mlcli.core.kernels.functions import median_length
from mlcli.core.kernels.inverse import CostSize, Inverse, inverse_step
from mlcli.core.kernels.options import KernelOptions
from mlcli.core.metrics import EUCLIDEAN, AnyMetric, RowMetric
from mlcli.core.metrics.distances import metric_of, seconds_of_squares, squares, training_points
from mlcli.core.model import Model, Powers
from mlcli.core.similarities.base import OfOtherDistances, Parts, Similarity
from mlcli.core.similarities.kernels import Distances, GivenDistances
from mlcli.core.similarities.projector import Projector
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods.method import Method, peak
from mlcli.methods.trials import MANY, InputSummary, Trials, single_trial, variant


@stored("transitions", widths="c", densities="c")
@frozen
class Transitions(OfOtherDistances):
    """p(x, xⱼ) of a walk over the training points: w(x, xⱼ) / qⱼ, divided by their sum over j.

    w(x, y) = exp(-d² / (σ(x) σ(y))), and q is the density at a training point, to the power that removes its effect.
    Source: Coifman and Lafon, "Diffusion maps", 2006.
    """

    keeps_distances: ClassVar[bool] = False
    base: Distances | GivenDistances
    widths: Array  # n: σ of the training points
    densities: Array  # n: q
    nearest: int  # rank of the training neighbor whose distance is σ of a point; 0: one σ for all

    def rows(self, new: Array) -> Array:
        """Return probabilities that sum to one, an (m, n) array, for an (m, d) array of new points."""
        halved = self.base.rows(new)
        widths = self.widths[:1] if self.nearest == 0 else local_widths(halved, self.nearest)
        exponents = 2 * halved / (widths[:, None] * self.widths)
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True)) / self.densities  # no zero rows
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return len(self.widths)


@stored("edge-transitions", points="nd", widths="n", densities="n")
@frozen
class EdgeTransitions(Similarity):
    """p(x, xⱼ) of a walk to the nearest training points, as `Transitions` has it of all of them.

    A new point has affinities with its k + 1 nearest training points, as a training point has with itself and k others;
    one that equals a training point has that point's.
    """

    on_equals: ClassVar[bool] = True
    keeps_distances: ClassVar[bool] = False
    neighbors: Nearest
    graph: Graph
    points: Array | None  # n x d; None where dissimilarities are given
    widths: Array  # n: σ of the training points
    densities: Array  # n: q
    nearest: int  # rank of the training neighbor whose distance is σ of a point; 0: one σ for all
    metric: RowMetric = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return probabilities that sum to one, an (m, n) array, for an (m, d) array of new points."""
        lists = Nearest(self.neighbors.count + 1).of_new(new, self.points, self.metric)
        firsts = lists.starts[:-1]
        widths = (np.broadcast_to(self.widths[0], len(new)) if self.nearest == 0 else
                  local_scales(lists.starts, lists.lengths, self.nearest))
        exponents = -lists.lengths**2 / (widths[lists.rows] * self.widths[lists.indices])
        exponents -= np.maximum.reduceat(exponents, firsts)[lists.rows]  # no zero rows
        rows = weight_rows(np.exp(exponents) / self.densities[lists.indices], lists, self.graph.size)
        for row in np.flatnonzero(lists.lengths[firsts] == 0).tolist():
            point = int(lists.indices[firsts[row]])
            edges = slice(self.graph.starts[point], self.graph.starts[point + 1])
            ends = self.graph.indices[edges]
            rows[row] = 0.0
            rows[row, point] = 1 / self.densities[point]
            rows[row, ends] = np.exp(-self.graph.lengths[edges] ** 2 / (self.widths[point] * self.widths[ends])) / (
                self.densities[ends])
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    @property
    def parts(self) -> Parts:
        """The points and their metric."""
        return Parts(points=self.points, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return self.graph.size


def local_widths(halved: Array, nearest: int) -> Array:
    """Return distances (m) to the `nearest`-th training point from -d²/2 (m x n); points at distance zero count.

    Where that is zero, it is replaced by the least distance above zero, or by 1 where there is none.
    """
    place = halved.shape[1] - min(nearest, halved.shape[1])
    squares = -2 * np.partition(halved, place, axis=1)[:, place]
    for row in np.flatnonzero(squares == 0):
        apart = halved[row][halved[row] < 0]
        squares[row] = -2 * apart.max() if len(apart) else 1.0
    return np.sqrt(squares)


RESIDUAL = 1e-9  # that axes are allowed, as rounding of the inverse leaves more than that of a kernel in memory


@frozen
class NormalizedAffinities:
    """A = D^(-1/2) W D^(-1/2) of affinities W along edges and of points with themselves, without its first eigenpair.

    I - A is the normalized Laplacian of the edges, in which the affinities of points with themselves cancel but for
    their part in D. So eigenvalues of A near one are the smallest of a sparse cost, and come from one factorization
    or from filters.
    """

    graph: Graph
    weights: Array  # e: W along the edges
    own: Array  # n: the diagonal of W
    hint: str  # what to do where the cost cannot be factored
    filtered: bool = False  # whether filters find the eigenvalues, else a factorization

    definite, inverse, by_factor, tolerance, rank = False, False, False, 0.0, None
    name, remedy = "the walk's matrix", ""
    entries = 1.0  # the first eigenvalue, which is left out

    @cached_property
    def sums(self) -> Array:
        """D: the affinities of each point, its own included (n)."""
        return self.own + np.add.reduceat(self.weights, self.graph.starts[:-1])  # every point has an edge

    @property
    def first(self) -> Array:
        """The first eigenvector, of eigenvalue one: the root of the share of D (n)."""
        return np.sqrt(self.sums / self.sums.sum())

    @property
    def centering(self) -> Centering:
        """No centering: the first eigenpair is left out."""
        return uncentered(self.graph.size)

    @property
    def size(self) -> int:
        """The number n of points."""
        return self.graph.size

    def apply(self, vectors: Array) -> Array:
        """Return A V of vectors V (n x k)."""
        from scipy import sparse

        roots, first = np.sqrt(self.sums)[:, None], self.first[:, None]
        scaled = vectors / roots
        edges = sparse.csr_array((self.weights, self.graph.indices, self.graph.starts), shape=(self.size, self.size))
        return np.asarray((edges @ scaled + self.own[:, None] * scaled) / roots - first * (first.T @ vectors))

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues but the first."""
        return float((self.own / self.sums).sum()) - 1.0

    @property
    def frobenius(self) -> float:
        """The root of the sum of their squares."""
        ends = np.repeat(np.arange(self.graph.size), np.diff(self.graph.starts))
        squares = (self.weights**2 / (self.sums[ends] * self.sums[self.graph.indices])).sum()
        return float(np.sqrt(max(squares + ((self.own / self.sums) ** 2).sum() - 1.0, 0.0)))

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Compute the top of the spectrum, λ = 1 - μ of the smallest costs μ; or all of it for few points.

        Raises ConfigError for a share of the variance of many points, which needs all eigenvalues.
        """
        roots = np.sqrt(self.sums)
        cost = Inverse(incidence(self.graph, self.weights, roots), self.first, hint=self.hint, filtered=self.filtered)
        solved = cost.solve(demand, compute)
        if isinstance(demand.components, float) and not solved.complete:
            raise ConfigError("SHARE", "a share of the variance needs all eigenvalues, which are not computed here",
                              where=f"{demand.where}.components",
                              hint="give a count of axes, such as 2, or set method.eigensolve.solver to dense")
        found = solved.values[: self.graph.size - 1]
        values = 1 - 1 / found  # the first ones are in the order of the axes, and stand before the zero of the first
        if solved.complete:
            values = np.sort(np.append(values, 0.0))[::-1]
        return Solved(values, solved.take, solved.size, solved.complete, rounding_floor(np.ones(1), solved.size),
                      RESIDUAL, own_digits=True, iterative=solved.iterative,
                      at_least=1 - 1 / solved.at_least[solved.at_least > 0])

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues: rounding of one."""
        return Closeness.of(solved)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array:
        """Return the norms ‖A v - λ v‖, a (k,) array, for (k,) `values` and (n, k) `vectors`."""
        roots = np.sqrt(self.sums)[:, None]
        scaled = vectors / roots
        near = np.column_stack([np.add.reduceat(self.weights * axis[self.graph.indices], self.graph.starts[:-1])
                                for axis in scaled.T])
        images = (near + self.own[:, None] * scaled) / roots
        return np.asarray(np.linalg.norm(images - vectors * values, axis=0))


STILL = 1e-6  # distance from one of an eigenvalue whose eigenvector separates groups of points
REMEDY = "give fewer points, or {method.nearest=64} for a sparse kernel"


class Fixed(Options):
    """One width for all pairs: exp(-d²/ε)."""

    name: Literal["fixed"] = "fixed"
    epsilon: float | None = option(
        None, "ε of exp(-d²/ε) (default: the median of d² over all pairs of different points, with `nearest` over the "
        "edges).", power=2, gt=0,
        synonyms={"sigma": "2 * sigma ** 2", "rate": "1 / rate", "gamma": "1 / gamma"})

    nearest: ClassVar[int] = 0

    def widths(self, halved: Array, unit: Unit) -> Array:
        """Return √ε for each point (n), from -d²/2 of all pairs (n x n), in `unit`; notes a default."""
        return np.full(len(halved), self._root(lambda: median_length(halved, 2), "distance", unit))

    def widths_of_lists(self, lists: Lists, graph: Graph, unit: Unit) -> Array:
        """Return √ε for each point (n) from the lengths of the edges, in `unit`; notes a default."""
        apart = graph.lengths[graph.lengths > 0] ** 2
        return np.full(graph.size, self._root(lambda: float(np.median(apart)) if len(apart) else 0.0,
                                              "length of an edge", unit))

    def _root(self, median: Callable[[], float], what: str, unit: Unit) -> float:
        if self.epsilon is not None:
            return float(np.sqrt(self.epsilon))
        middle = median() or 1.0
        note("N-RATE", f"epsilon {(unit**2).shown(middle)}: the median squared {what}",
             epsilon=(unit**2).number(middle))
        return float(np.sqrt(middle))


class Adaptive(LocalScale):
    """A width of each point: exp(-d² / (σ(x) σ(y))) (Zelnik-Manor and Perona, 2004)."""

    name: Literal["adaptive"] = "adaptive"

    def widths(self, halved: Array, unit: Unit) -> Array:
        """Return σ of each point (n), from -d²/2 of all pairs (n x n)."""
        widths = np.empty(len(halved))

        def fill(rows: slice) -> None:
            widths[rows] = local_widths(halved[rows], self.nearest)

        each(fill, row_blocks(len(halved), CACHED))
        return widths

    def widths_of_lists(self, lists: Lists, graph: Graph, unit: Unit) -> Array:
        """Return σ of each point (n), from the lengths of the lists; raises ConfigError where these are too short."""
        if self.nearest > lists.counts[0] + 1:
            raise ConfigError("NEAREST", f"the width of a point is to be the distance to the point of rank "
                              f"{self.nearest}, but each has {lists.counts[0]} neighbors",
                              where="method.bandwidth.nearest", hint=f"ask for at most {lists.counts[0] + 1}, or for "
                              "more neighbors ({method.nearest})")
        return local_scales(lists.starts, lists.lengths, self.nearest - 1)


Bandwidth = Annotated[Fixed | Adaptive, Field(discriminator="name")]


@frozen
class DiffusionChain(Composition[Model]):
    """Diffusion maps: λ^t ψ with ψ = D^(-1/2) v of A v = λ v, A = D^(-1/2) W D^(-1/2), without the constant ψ."""

    chain: ChainInput

    @FitStage
    def squared(self) -> Array:
        """d² of all pairs (n x n), overwritten by the kernel."""
        with running("distances"):
            return squares(self.chain.spatial)

    @squared.cost
    def _(self) -> list[Step]:
        count = self.chain.size
        return [Step("distances", f"{count} x {count}, in memory",
                     seconds_of_squares(self.chain.spatial, count, self.chain.compute.thread_count())
                     + FIRST_TOUCH * pass_cost(count**2), 16.0 * count**2, remedy=REMEDY, square=True)]

    @FitStage
    def kernel(self) -> tuple[Array, Array, Transitions]:
        """A less its first eigenpair (n x n), the vector of that (n), and the probabilities of new points."""
        data, kernel = self.chain.spatial, self.chain.kernel
        with running("kernel"):
            halved = halve(self.squared)
            widths = kernel.bandwidth.widths(halved, data.unit)
            densities, first = walk_matrix(halved, widths, kernel.alpha)
        none = correction_for(np.zeros((0, 0)), "none", data.unit)
        base = Distances(data.values, none, metric_of(data)) if isinstance(data, Features) else GivenDistances(none)
        return halved, first, Transitions(base, widths, densities, kernel.bandwidth.nearest)

    @kernel.cost
    def _(self) -> list[Step]:
        entries = self.chain.size**2
        return [Step("kernel", "probabilities of a walk", (FIRST_TOUCH + 6) * pass_cost(entries)
                     + BENT * rates().bent * entries, 16.0 * entries, remedy=REMEDY, square=True)]

    @FitStage
    def spectrum(self) -> Spectrum:
        """λ and v."""
        walk, _, _ = self.kernel
        return solve_spectrum(self.chain, Dense(walk, uncentered(len(walk)), entries=1.0), len(walk) - 1)

    @spectrum.cost
    def _(self) -> list[Step]:
        chain, count = self.chain, self.chain.size
        return [chain.stages.eigensolve.step(count, chain.compute.thread_count(), 16.0 * count**2, REMEDY, square=True)]

    def result(self) -> Model:
        """Return the coordinates."""
        _, first, similarity = self.kernel
        return fit_of_walk(self.chain, self.spectrum, first, similarity, "choose a larger epsilon")


@frozen
class EdgeDiffusionChain(Composition[Model]):
    """Diffusion maps of affinities W along the edges of the neighbor graph, and of each point with itself."""

    chain: ChainInput

    @property
    def neighbors(self) -> Nearest:
        """The neighbors that points have affinities with."""
        neighbors: Nearest = self.chain.kernel.neighborhood(self.chain.size)
        return neighbors

    @FitStage
    def joined(self) -> tuple[Lists, Graph]:
        """The neighbor lists, and the graph."""
        lists = self.neighbors.lists(self.chain.spatial)
        with running("graph"):
            return lists, graph_of(lists, "union")

    @joined.cost
    def _(self) -> list[Step]:
        return graph_steps(self.chain.joined, self.neighbors, self.chain.compute)

    @FitStage
    def walk(self) -> tuple[NormalizedAffinities, EdgeTransitions]:
        """A, and the probabilities of new points."""
        data, kernel, (lists, graph) = self.chain.spatial, self.chain.kernel, self.joined
        with running("weights"):
            widths = kernel.bandwidth.widths_of_lists(lists, graph, data.unit)
            ends = np.repeat(np.arange(graph.size), np.diff(graph.starts))
            with np.errstate(over="ignore"):  # the affinity of so far a point is zero
                weights = np.exp(-graph.lengths**2 / (widths[ends] * widths[graph.indices]))
            sums = 1 + np.add.reduceat(weights, graph.starts[:-1])
            require_steps(sums)
            densities = sums**kernel.alpha
            walk = NormalizedAffinities(graph, weights / (densities[ends] * densities[graph.indices]), densities**-2.0,
                                        "choose a larger epsilon, or more neighbors")
        points, metric = training_points(data)
        return walk, EdgeTransitions(self.neighbors, graph, points, widths, densities, kernel.bandwidth.nearest, metric)

    @walk.cost
    def _(self) -> list[Step]:
        return [weights_step(self.entries)]

    @property
    def entries(self) -> int:
        """The number of entries of the neighbor lists."""
        return self.chain.size * self.neighbors.count

    @FitStage
    def spectrum(self) -> Spectrum:
        """λ and v, by filters or one sparse factorization of I - A."""
        filtered = self.cost_size.by_filters(self.chain.stages.eigensolve)
        return solve_spectrum(self.chain, replace(self.walk[0], filtered=filtered), self.chain.size - 1)

    @spectrum.cost
    def _(self) -> list[Step]:
        return [inverse_step(self.chain.stages.eigensolve, self.cost_size)]

    @property
    def cost_size(self) -> CostSize:
        """The predicted size of I - A."""
        chain, tall = self.chain, self.entries * 2 // 3
        columns = chain.data.values.shape[1] if isinstance(chain.data, Features) else chain.size
        return predict_cost(chain, self.neighbors, CostSize(
            rows=chain.size, count=self.neighbors.count, columns=columns, tall=tall, numbers=2 * tall, squared=False))

    def result(self) -> Model:
        """Return the coordinates."""
        walk, similarity = self.walk
        return fit_of_walk(self.chain, self.spectrum, walk.first, similarity,
                           "choose more neighbors ({method.nearest}), or a larger epsilon")


def fit_of_walk(chain: ChainInput, spectrum: Spectrum, first: Array, similarity: Transitions | EdgeTransitions,
                remedy: str) -> Model:
    """Return the coordinates λ^t ψ, and axes λ^(t-1) ψ for new points (Nyström's formula).

    The spectrum is without the first eigenvector (n). Warns with a remedy where the walk stands still.
    """
    still, time = int(np.count_nonzero(spectrum.solved >= 1 - STILL)), chain.kernel.time
    if still:
        note("W-WALK", f"{still} {'eigenvalue is' if still == 1 else 'eigenvalues are'} nearly one: the random walk "
             f"hardly leaves {still + 1} groups of points, and the first axes only separate these; {remedy}")
    steps = np.where(spectrum.axis_eigenvalues > 0, spectrum.axis_eigenvalues, 1.0)
    functions = orthogonal_to(first, spectrum.vectors) / first[:, None]  # ψ
    embedding = functions * steps**time
    signs = leading_signs(embedding)
    return Model(embedding=embedding * signs, spectrum=spectrum, projector=Projector(
        similarity, uncentered(len(first)), functions * steps**(time - 1) * signs))


def walk_matrix(halved: Array, widths: Array, alpha: float) -> tuple[Array, Array]:
    """Turn -d²/2 of all pairs (n x n), in place, into D^(-1/2) W D^(-1/2) less its first eigenpair; σ is `widths` (n).

    Returns q^alpha (n), with q the sums of exp(-d² / (σᵢ σⱼ)), and the first eigenvector (n), of eigenvalue one. Raises
    GeometryError where the walk leaves no point.
    Source: Coifman and Lafon, "Diffusion maps", 2006.
    """
    densities, sums, blocks = np.empty(len(halved)), np.empty(len(halved)), row_blocks(len(halved), CACHED)

    def weigh(rows: slice) -> None:
        part = halved[rows]
        with np.errstate(over="ignore"):  # the affinity of so far a point is zero
            part *= 2 / (widths[rows, None] * widths)
        np.exp(part, out=part)
        densities[rows] = part.sum(axis=1)

    def even(rows: slice) -> None:
        part = halved[rows]
        part /= densities[rows, None] * densities
        sums[rows] = part.sum(axis=1)

    def symmetrize(rows: slice) -> None:
        part = halved[rows]
        part /= np.sqrt(sums[rows, None] * sums)
        part -= first[rows, None] * first

    each(weigh, blocks)
    require_steps(densities)
    densities **= alpha
    each(even, blocks)
    first = np.sqrt(sums / sums.sum())
    each(symmetrize, blocks)
    return densities, first


def require_steps(sums: Array) -> None:
    """Raise GeometryError where a walk leaves no point, from the sums (n) of affinities, of each point with itself 1.

    All eigenvalues are within twice the largest probability of leaving a point from one (Gershgorin): where these are
    rounding, so are their differences, and no axis is determined. One point alone has no other.
    """
    if len(sums) > 1 and sums.max() <= 1 + EPS:
        raise GeometryError("NO-WEIGHT", f"the affinities of all {len(sums)} points with others are nearly zero: a "
                            "random walk leaves none of them", where="method.bandwidth.epsilon",
                            hint="choose a larger epsilon, or leave it out for the median squared distance")


def orthogonal_to(first: Array, vectors: Array) -> Array:
    """Return vectors (n x p) without their parts along a unit vector (n).

    The kernel is without its first eigenpair but for rounding, of which an eigenvector takes a share that grows as its
    own eigenvalue comes near zero.
    """
    return vectors - first[:, None] * (first @ vectors)


class DiffusionKernel(KernelOptions):
    """A random walk between points, likelier between near ones, in symmetric form."""

    centered: ClassVar[bool] = True
    variances: ClassVar[bool] = False
    sized: ClassVar[bool] = True
    unit_power: ClassVar[int] = 0
    checked_by: ClassVar[str] = "mlcli.methods.laplacian.check:diffusion_checks"
    makes: ClassVar[tuple[()]] = ()
    name: Literal["diffusion"] = "diffusion"
    bandwidth: Bandwidth = option(Fixed(), "Bandwidth of the affinities: one ε for all points (fixed), or a width σ "
                                  "for each point (adaptive).",
                                  adapts=True)
    alpha: float = option(1.0, "How much of the effect of the density of points is removed, the exponent α. 0: nothing "
                          "(graph Laplacian); 0.5: Fokker-Planck operator; 1: all (Laplace-Beltrami operator).",
                          ge=0, le=1)
    nearest: int | None = option(None, "Number k of nearest neighbors for a sparse kernel: a point has affinities with "
                                 "itself, with its k nearest points and with those that it is among the k nearest of "
                                 "(default: with all points; 64 where these do not fit into memory).", ge=1)
    search: Search = option("exact", f"{SEARCH} Needs `nearest`.")
    time: float = option(1.0, "Diffusion time t, the number of steps of the random walk: coordinates are eigenvectors "
                         "times λ^t.", ge=0)

    @property
    def of_cost(self) -> bool:
        """Whether its eigenvalues are those of a sparse cost."""
        return self.nearest is not None

    def for_data(self, data: Given, neighbors: Neighbors) -> Self:
        """Return the kernel; raises ConfigError for an approximate search without neighbors, or of other distances."""
        if self.search == "approximate" and self.nearest is None:
            raise ConfigError("NEEDS", "an approximate search needs a number of neighbors: without it, all pairs are "
                              "compared", where="method.search", hint="give {method.nearest=15}, or leave search out")
        require_search(self.search, data)
        return self

    def way(self, chain: ChainInput) -> DiffusionChain | EdgeDiffusionChain:
        """Return the computation of all pairs, or of neighbors where their number is chosen."""
        return DiffusionChain(chain) if self.nearest is None else EdgeDiffusionChain(chain)

    def neighborhood(self, size: int) -> Nearest:
        """Return the neighbors of the sparse kernel of `size` points; raises ConfigError for more than there are."""
        count = self.nearest or size - 1
        if count >= size:
            raise ConfigError("NEIGHBORS", f"{count} neighbors were requested, but each of {size} points has only "
                              f"{size - 1}", where="method.nearest", hint=f"ask for at most {size - 1}")
        return nearest_by(self.search, count)


SPARSE = 64  # neighbors of a sparse kernel, where all pairs do not fit into memory


class Diffusion(Method):
    """Coordinates that bring points together if a random walk connects them by many short paths.

    It keeps how easily a random walk gets from one point to another in many short steps. It fails if the squared width
    ε of a step (`bandwidth.epsilon`) is so small that the walk does not reach all points, or so large that all steps
    are equally likely. Set `bandwidth.epsilon` first: begin with its default, which a note of the run states, and
    divide it by about three as long as no warning says that the walk hardly leaves some groups of points (`W-WALK`).
    With `bandwidth.name: adaptive` there is no ε; every point has a width of its own. Then set the `time` of the walk,
    its number of steps.

    How it works: A walker steps from point to point, to near ones with a larger probability. Two points are alike if
    walks from them spread alike, so that many short paths bring points together and a single thin bridge does not.

    The affinity of two points i and j at distance d, also of a point with itself, is w = exp(-d² / ε), with one ε for
    all: the squared distance over which affinities fall by a factor e. With `bandwidth.name: adaptive` it is exp(-d² /
    (σᵢ σⱼ)), with a width σ of each point. Walks favor places where points are dense. `alpha`, for short α, says how
    much of this effect of the density is removed: 0 nothing, 1 all. For this, affinities are divided by qᵢ^α qⱼ^α,
    where qᵢ is the sum of the affinities of i. The affinities of a point divided by their sum are then the
    probabilities P of a step. Coordinates are λ^t ψ, with P ψ = λ ψ and t the `time`; the first ψ, which is constant,
    is left out.

    In the long run a walk is at each point with a certain probability, whatever its start: the stationary distribution.
    Weighted by it, ψ has variance one. The Euclidean distance of two points in all coordinates is their diffusion
    distance, which says how differently walks of t steps from the two points spread. With α = 0 and t = 0 the
    coordinates are the eigenvectors of the random-walk Laplacian of the same affinities. On a long strip the second
    axis is a function of the first, an arch, and says nothing new; a later axis may.

    With other metrics or with widths of the points, eigenvalues may be below zero. These stay in the spectrum and never
    become axes, so the time may be a fraction.

    Many points: By default, all pairs are held in memory. With `nearest` k the kernel is sparse: a point has affinities
    with itself, with its k nearest points, and with the points of which it is one of the k nearest. The eigenvalues
    near one then come from one sparse factorization, or from filters where that is predicted to take longer, and the
    default ε is the median squared length of an edge. With k = n - 1, for n points, it is the kernel of all pairs. If
    all pairs do not fit into memory, k is 64, and a note says so. A million rows take a third of the memory with k =
    15, as many neighbors as other programs take. With `search: approximate` these are most of the nearest ones.

    New points: A new point is placed at the mean of the training points' coordinates, weighted by its own probabilities
    and divided by λ (Nyström's formula). With `nearest` the mean is over its k + 1 nearest training points.

    Back to features: With `decoder`, `mlcli reconstruct` turns coordinates back into features: `barycentric` takes a
    weighted mean of the features of the rows whose coordinates are nearest, `ridge` a regression of the features on the
    coordinates.

    Source: Coifman and Lafon, "Diffusion maps", 2006; widths: Zelnik-Manor and Perona, "Self-tuning spectral
    clustering", 2004.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    judged_by: ClassVar = "neighbors"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    decodes: ClassVar = "method.decoder"
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    variants: ClassVar = (
        variant(), variant("adaptive", "permutation", bandwidth={"name": "adaptive"}),
        variant("plain", alpha=0.0, time=0.0, decoder={"name": "barycentric"}), variant("long", time=3.0),
        variant("sparse", nearest=11),
        variant("sparse adaptive", "permutation", nearest=11, bandwidth={"name": "adaptive"}),
        variant("cosine", "shift", metric="cosine"), variant("cityblock", "rotation", metric="cityblock"))
    later: ClassVar = ("decoder", "nearest", "search")
    axis: ClassVar = "Diffusion"
    name: Literal["diffusion"] = "diffusion"
    metric: AnyMetric = EUCLIDEAN
    bandwidth: Bandwidth = option_of(DiffusionKernel, "bandwidth")
    alpha: float = option_of(DiffusionKernel, "alpha")
    nearest: int | None = option_of(DiffusionKernel, "nearest")
    search: Search = option_of(DiffusionKernel, "search")
    time: float = option_of(DiffusionKernel, "time")
    eigensolve: Eigensolve = Eigensolve()
    decoder: RowDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return one width for all points, and adaptive widths; nothing for very many rows."""
        if seen.rows > MANY:
            return Trials(reason="all pairs of so many rows are held in memory")
        return Trials(({}, {"bandwidth": {"name": "adaptive"}})) if seen.rows > 8 else single_trial()

    def require(self, data: Input) -> None:
        """Raise ConfigError for a search that the kernel or the metric does not allow."""
        super().require(data)
        self.chain().kernel.for_data(data, Neighbors())

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of A = D^(-1/2) W D^(-1/2), W = exp(-d²/ε) / (q qᵀ)^α, D its sums; coordinates λ^t v/v₀."""
        return Stages(metric=self.metric, kernel=DiffusionKernel(
            bandwidth=self.bandwidth, alpha=self.alpha, nearest=self.nearest, search=self.search, time=self.time),
                      eigensolve=self.eigensolve, decoder=self.decoder)

    def solve(self, data: Any, compute: Compute) -> Model:
        """Compute the model of all pairs, or of neighbors where these were asked for or all pairs do not fit."""
        fitting = self._fitting(data, compute)
        if fitting is not self:
            note("N-SPARSE", f"affinities of all pairs of {len(data.values):,} points do not fit into memory: those of "
                 f"{SPARSE} nearest neighbors are used, as with {{method.nearest={SPARSE}}}", nearest=SPARSE)
        return super(Diffusion, fitting).solve(data, compute)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of all pairs, or of neighbors where these were asked for or all pairs do not fit."""
        return super(Diffusion, self._fitting(data, compute)).steps(data, compute, share)

    def searched(self, data: Input) -> int:
        """Return how many neighbors of each point an approximate search looks for; 0 where there is none."""
        return (self.nearest or 0) if self.search == "approximate" else 0

    def stored(self, data: Any) -> float:
        """Return the bytes of training rows, and of the graph of a sparse kernel."""
        return super().stored(data) + (0.0 if self.nearest is None else graph_bytes(self.nearest, data))

    def _fitting(self, data: Any, compute: Compute) -> Self:
        """Return this method, with a sparse kernel where the memory limit does not allow all pairs."""
        if self.nearest is not None or len(data.values) <= SPARSE:
            return self
        steps = super().steps(data, compute, None)
        return self if peak(steps, data, self, compute) <= compute.memory_bytes() else self.replace(nearest=SPARSE)
