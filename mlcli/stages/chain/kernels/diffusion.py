"""The kernel of diffusion maps: D^(-1/2) W D^(-1/2), similar to a random walk between points (Coifman, Lafon, 2006)."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio
from mlcli.base.values.inputs import Features, Spatial
from mlcli.base.values.options import Options, option
from mlcli.base.values.scaling import Unit
from mlcli.base.values.signs import leading_signs
from mlcli.errors import ConfigError
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.costs import BENT, FIRST, pass_cost
from mlcli.stages.algebra.distances import halve
from mlcli.stages.algebra.metrics.points import metric_of, seconds_of_squares, squares, training_points
from mlcli.stages.chain.chain_input import ChainInput, Fitted
from mlcli.stages.chain.kernels.diffusion_equations import (
    edge_epsilon_check,
    edge_walk_checks,
    epsilon_check,
    walk_checks,
)
from mlcli.stages.chain.scaling import solve_spectrum
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.graph.affinities import weights_step
from mlcli.stages.graph.graph import Graph, graph_of
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.graph.pieces import graph_steps
from mlcli.stages.graph.scales import LocalScale, local_scales
from mlcli.stages.kernels.corrections import correction_for
from mlcli.stages.kernels.forms import CACHED, Dense
from mlcli.stages.kernels.functions import median_length
from mlcli.stages.kernels.inverse import inverse_step
from mlcli.stages.kernels.pairwise import KernelOptions, Proof
from mlcli.stages.kernels.walk import Walk
from mlcli.stages.similarities.diffusion import EdgeTransitions, Transitions, local_widths
from mlcli.stages.similarities.kernels import Distances, GivenDistances
from mlcli.stages.similarities.projector import Projector

STILL = 1e-6  # distance from one of an eigenvalue whose eigenvector separates groups of points
REMEDY = "give fewer points, or {method.nearest=64} for a sparse kernel"


class Fixed(Options):
    """One width for all pairs: exp(-d²/ε)."""

    name: Literal["fixed"] = "fixed"
    epsilon: float | None = option(
        None, "ε of exp(-d²/ε) (default: the median of d² over all pairs of different points).", power=2, gt=0,
        synonyms={"sigma": "2 * sigma ** 2", "rate": "1 / rate", "gamma": "1 / gamma"})

    nearest: ClassVar[int] = 0

    def option_check(self, similarity: Transitions | EdgeTransitions, data: Spatial) -> Check:
        """Check ε: the option's value, or the median by default."""
        found = float(similarity.widths[0]) ** 2
        if self.epsilon is None and isinstance(similarity, EdgeTransitions):
            return edge_epsilon_check(similarity)
        return epsilon_check(found, data) if self.epsilon is None else ratio(
            "epsilon", abs((data.unit**2).number(self.epsilon) / found - 1), EPS, "the ε that was given")

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

    def option_check(self, similarity: Transitions | EdgeTransitions, data: Spatial) -> Check:
        """Check the rank of the neighbor whose distance is a point's width."""
        return count("nearest", int(similarity.nearest != self.nearest), "the neighbor that was asked for")

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
class DiffusionChain:
    """Diffusion maps: λ^t ψ with ψ = D^(-1/2) v of A v = λ v, A = D^(-1/2) W D^(-1/2), without the constant ψ."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps of the distances of all pairs in memory, or of neighbors, the kernel and its spectrum."""
        if self.chain.kernel.nearest is not None:
            return self._sparse_steps()
        chain, count, threads = self.chain, self.chain.size, self.chain.compute.thread_count()
        entries, held = count**2, 16.0 * count**2
        return [Step("distances", f"{count} x {count}, in memory",
                     seconds_of_squares(chain.data, count, threads) + FIRST * pass_cost(entries), held,
                     remedy=REMEDY, square=True),
                Step("kernel", "probabilities of a walk", (FIRST + 6) * pass_cost(entries)
                     + BENT * rates().bent * entries, held, remedy=REMEDY, square=True),
                chain.eigensolve.step(count, threads, held, REMEDY, square=True)]

    def fit(self) -> Fitted:
        """Return the fit: coordinates λ^t ψ, and axes λ^(t-1) ψ for new points (Nyström's formula)."""
        if self.chain.kernel.nearest is not None:
            return self._sparse_fit()
        chain, data, kernel = self.chain, self.chain.data, self.chain.kernel
        none = correction_for(np.zeros((0, 0)), "none", data.unit)
        base = Distances(data.values, none, metric_of(data)) if isinstance(data, Features) else GivenDistances(none)
        with running("distances"):
            squared = squares(data)
        with running("kernel"):
            halved = halve(squared)
            widths = kernel.bandwidth.widths(halved, data.unit)
            densities, first = walk_matrix(halved, widths, kernel.alpha)
        spectrum = solve_spectrum(chain, Dense(halved, uncentered(len(halved))), len(halved) - 1)
        return self._fitted(spectrum, first, Transitions(base, widths, densities, kernel.bandwidth.nearest),
                            "choose a larger epsilon")

    def _fitted(self, spectrum: Spectrum, first: Array, similarity: Transitions | EdgeTransitions,
                remedy: str) -> Fitted:
        """Return the fit of a spectrum without the first eigenvector (n), with a warning where the walk stands still.
        """
        still, time = int(np.count_nonzero(spectrum.solved >= 1 - STILL)), self.chain.kernel.time
        if still:
            note("W-WALK", f"{still} eigenvalues are nearly one: the random walk hardly leaves {still + 1} groups of "
                 f"points, and the first axes only separate these; {remedy}")
        steps = np.where(spectrum.axis_eigenvalues > 0, spectrum.axis_eigenvalues, 1.0)
        functions = orthogonal_to(first, spectrum.vectors) / first[:, None]  # ψ
        embedding = functions * steps**time
        signs = leading_signs(embedding)
        return Fitted(embedding=embedding * signs, spectrum=spectrum, projector=Projector(
            similarity, uncentered(len(first)), functions * steps**(time - 1) * signs))

    def _sparse_steps(self) -> list[Step]:
        """Return the steps of the neighbor graph, its affinities and one sparse factorization."""
        chain = self.chain
        neighbors = chain.kernel.neighborhood(chain.size)
        entries = chain.size * neighbors.count
        columns = chain.data.values.shape[1] if isinstance(chain.data, Features) else chain.size
        return [*graph_steps(chain.data, neighbors, chain.compute), weights_step(entries),
                inverse_step(chain.eigensolve, rows=chain.size, count=neighbors.count, columns=columns,
                             tall=entries * 2 // 3, numbers=entries * 4 // 3, fill=None, squared=False)]

    def _sparse_fit(self) -> Fitted:
        """Return the fit of affinities along the edges of the neighbor graph, and of each point with itself."""
        chain, data, kernel = self.chain, self.chain.data, self.chain.kernel
        neighbors = kernel.neighborhood(chain.size)
        lists = neighbors.lists(data)
        with running("graph"):
            graph = graph_of(lists, "union")
        with running("weights"):
            widths = kernel.bandwidth.widths_of_lists(lists, graph, data.unit)
            ends = np.repeat(np.arange(graph.size), np.diff(graph.starts))
            weights = np.exp(-graph.lengths**2 / (widths[ends] * widths[graph.indices]))
            densities = (1 + np.add.reduceat(weights, graph.starts[:-1])) ** kernel.alpha
            walk = Walk(graph, weights / (densities[ends] * densities[graph.indices]), densities**-2.0,
                        "choose a larger epsilon, or more neighbors")
        points, metric = training_points(data)
        similarity = EdgeTransitions(neighbors, graph, points, widths, densities, kernel.bandwidth.nearest, metric)
        return self._fitted(solve_spectrum(chain, walk, graph.size - 1), walk.first, similarity,
                            "choose more neighbors ({method.nearest}), or a larger epsilon")


def walk_matrix(halved: Array, widths: Array, alpha: float) -> tuple[Array, Array]:
    """Turn -d²/2 of all pairs (n x n), in place, into D^(-1/2) W D^(-1/2) less its first eigenpair; σ is `widths` (n).

    Returns q^alpha (n), with q the sums of exp(-d² / (σᵢ σⱼ)), and the first eigenvector (n), of eigenvalue one.
    Source: Coifman and Lafon, "Diffusion maps", 2006.
    """
    densities, sums, blocks = np.empty(len(halved)), np.empty(len(halved)), row_blocks(len(halved), CACHED)

    def weigh(rows: slice) -> None:
        part = halved[rows]
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
    densities **= alpha
    each(even, blocks)
    first = np.sqrt(sums / sums.sum())
    each(symmetrize, blocks)
    return densities, first


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
    way: ClassVar = DiffusionChain
    proof: ClassVar[Proof] = "own"
    makes: ClassVar[tuple[()]] = ()
    name: Literal["diffusion"] = "diffusion"
    bandwidth: Bandwidth = option(Fixed(), "Bandwidth of the affinities: one ε for all points (fixed), or a width σ "
                                  "for each point (adaptive).",
                                  adapts=True)
    alpha: float = option(1.0, "Exponent α of the normalization by the density of points. 0: none (graph Laplacian); "
                          "0.5: Fokker-Planck operator; 1: the density has no effect (Laplace-Beltrami operator).",
                          ge=0, le=1)
    nearest: int | None = option(None, "Number k of nearest neighbors for a sparse kernel: a point has affinities with "
                                 "itself, with its k nearest points and with those that it is among the k nearest of "
                                 "(default: with all points; 64 where these do not fit into memory).", ge=1)
    time: float = option(1.0, "Diffusion time t, the number of steps of the random walk: coordinates are eigenvectors "
                         "times λ^t.", ge=0)

    def neighborhood(self, size: int) -> Nearest:
        """Return the neighbors of the sparse kernel of `size` points; raises ConfigError for more than there are."""
        count = self.nearest or size - 1
        if count >= size:
            raise ConfigError("NEIGHBORS", f"{count} neighbors were requested, but each of {size} points has only "
                              f"{size - 1}", where="method.nearest", hint=f"ask for at most {size - 1}")
        return Nearest(count)

    def identities(self, similarity: Any, data: Spatial, embedding: Array, spectrum: Spectrum, coordinates: Any, *,
                   full: bool) -> list[Check]:
        """Check P ψ = λ ψ for an embedding (n x p), with probabilities computed again, and the option of the widths."""
        if isinstance(similarity, EdgeTransitions):
            return [*edge_walk_checks(similarity, data, embedding, spectrum, self, full=full),
                    self.bandwidth.option_check(similarity, data)]
        return [*walk_checks(similarity, data, embedding, spectrum, self.alpha, self.time, full=full),
                self.bandwidth.option_check(similarity, data)]
