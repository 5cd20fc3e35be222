"""Faults of metrics, transforms, and the stages of chains, and the checks that see them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mlcli.base.types import AnyArray, Array
from mlcli.core import rows
from mlcli.core.chain.stages import Coordinates
from mlcli.core.graph.affinities import Heat
from mlcli.core.kernels.functions import CosineKernel, Gaussian, LaplacianKernel, Polynomial, Sigmoid
from mlcli.core.metrics.counts import BrayCurtis
from mlcli.core.metrics.gower import Gower, RangedGower
from mlcli.core.metrics.haversine import Haversine
from mlcli.core.metrics.minkowski import Minkowski
from mlcli.core.metrics.shares import JensenShannon
from mlcli.data.prepare.transforms import TRANSFORMS, Transform
from tests.faults.certificate.injected.faults import (
    Fault,
    Inject,
    Patch,
    embedding,
    longer_edges,
    projector,
    replacing,
    solving,
    unguarded,
)

COUNTS = np.random.default_rng(6).integers(0, 40, (50, 6)) + 1.0
PLACES = np.random.default_rng(7).uniform(-80, 80, (50, 2))
GRAPH: dict[str, Any] = {"neighbors": {"count": 9}}
MDS, LAPLACIAN = {"name": "mds"}, {"name": "laplacian", **GRAPH}
RING = sparse.csr_array(sum(np.roll(np.eye(40), step, axis=side) * (1 + step) for step in (1, 3) for side in (0, 1)))
GIVEN = {"input": {"kind": "graph"}}


def chain(**stages: Any) -> dict[str, Any]:
    """A chain with some stages of its own."""
    return {"name": "chain", **stages}


def instead(owner: Any, name: str, other: Callable[..., Any]) -> Inject:
    """A fault in a class: one of its functions is another; `other` is given the whole one first."""
    def inject(patch: Patch) -> None:
        whole = getattr(owner, name)
        patch.setattr(owner, name, lambda *arguments, **named: other(whole, *arguments, **named))

    return inject


def transform(name: Any, **parts: Any) -> Inject:
    """A fault in a transform of features."""
    return lambda patch: patch.setitem(TRANSFORMS, name, Transform(**{**vars(TRANSFORMS[name]), **parts}))


def without_a_column(whole: Any, self: Any, points: Array, categories: Any = ()) -> RangedGower:
    """Gower's coefficient that takes a column of numbers for one of categories."""
    found = whole(self, points, categories)
    return replace(found, numeric=found.numeric[1:], nominal=np.append(found.nominal, found.numeric[0]),
                   lows=found.lows[1:], halves=found.halves[1:])


def halves(whole: Any, self: Any, values: AnyArray) -> AnyArray:
    """A function of halved squares that takes them for squares."""
    return whole(self, values / 2)


UNDER_GAUSSIAN = chain(graph=GRAPH, paths={}, kernel={"name": "gaussian"})
CHAIN_FAULTS: dict[str, Fault] = {
    "Bray-Curtis distances are of shares": Fault(
        {**MDS, "metric": "braycurtis"}, instead(BrayCurtis, "represent", lambda whole, self, x: rows.shares(x)),
        {"residual", "means"}, COUNTS),
    "Jensen-Shannon distances lack their root": Fault(
        {**MDS, "metric": "jensenshannon"}, instead(JensenShannon, "compare", lambda whole, *a: whole(*a) ** 2),
        {"residual", "means"}, COUNTS),
    "Minkowski's sums have the root of another power": Fault(
        {"name": "isomap", **GRAPH, "metric": {"name": "minkowski", "p": 3.0}}, instead(
            Minkowski, "compare", lambda whole, self, *a: whole(self.replace(p=3.001), *a)), {"edge lengths"}),
    "longitude is taken for latitude": Fault(
        {**MDS, "metric": "haversine"}, instead(
            Haversine, "represent", lambda whole, self, x: whole(self, x[:, ::-1])),
        {"residual", "means"}, PLACES),
    "Gower's ranges are those of other rows": Fault(
        {**MDS, "metric": "gower"}, instead(Gower, "fitted", lambda whole, self, x, *a: whole(self, x[:20], *a)),
        {"ranges"}, COUNTS),
    "Gower takes numbers for categories": Fault(
        {**MDS, "metric": "gower"}, instead(Gower, "fitted", without_a_column), {"ranges"}, COUNTS),
    "logarithms are to base two": Fault(
        {"name": "pca"}, transform("log1p", apply=lambda x: np.log2(1 + x)), {"prepared"}, COUNTS,
        {"prepare": {"transform": ["log1p"]}}),
    "log-ratios are not centered": Fault(
        {"name": "pca"}, transform("clr", apply=np.log), {"prepared"}, COUNTS, {"prepare": {"transform": ["clr"]}}),
    "a million is a thousand": Fault(
        {"name": "pca"}, transform("cpm", apply=lambda x: rows.shares(x) * 1e3), {"prepared"}, COUNTS,
        {"prepare": {"transform": ["cpm"]}}),
    "sizes of columns are those of means": Fault(
        {"name": "pca"}, transform("wisconsin", sizes=lambda x: x.mean(axis=0)), {"prepared"}, COUNTS,
        {"prepare": {"transform": ["wisconsin"]}}),
    "a chi-square distance takes masses for their roots": Fault(
        {"name": "pca"}, transform("chisquare", sizes=lambda x: x.sum(axis=0) / x.sum()), {"prepared"}, COUNTS,
        {"prepare": {"transform": ["chisquare"]}}),
    "transforms are applied in another order": Fault(
        {"name": "pca"}, replacing("mlcli.data.prepare.prepare.apply_transforms",
                                   lambda whole, x, names, *a: whole(x, names[::-1], *a)),
        {"prepared"}, COUNTS, {"prepare": {"transform": ["sqrt", "unit"]}}),
    "a sigmoid's offset is left out": Fault(
        chain(kernel={"name": "sigmoid", "gamma": 0.05, "coef0": 0.5}), instead(
            Sigmoid, "finish", lambda whole, self, x: whole(self.replace(coef0=0.0), x)), {"residual", "means"}),
    "a polynomial's power is left out": Fault(
        chain(kernel={"name": "polynomial", "gamma": 0.1}), instead(
            Polynomial, "__call__", lambda whole, self, *a: whole(self.replace(degree=2), *a)), {"residual", "means"}),
    "a cosine is divided by one length only": Fault(
        chain(kernel={"name": "cosine"}), unguarded(instead(
            CosineKernel, "__call__", lambda whole, self, left, right: left @ whole(self, np.eye(5), right))),
        {"residual", "means"}),
    "a laplacian kernel is of halved distances": Fault(
        chain(kernel={"name": "laplacian", "rate": 0.2}, graph=GRAPH, paths={}), instead(
            LaplacianKernel, "of_halved", halves), {"residual", "means"}),
    "a gaussian of geodesics is of halved squares": Fault(
        UNDER_GAUSSIAN, instead(Gaussian, "of_halved", halves), {"residual", "means"}),
    "geodesics are used where a function of them is asked for": Fault(
        UNDER_GAUSSIAN, instead(Gaussian, "of_halved", lambda whole, self, values: values), {"residual", "means"}),
    "axes of variance one have length one": Fault(
        chain(coordinates={"scale": "variance"}), instead(
            Coordinates, "sizes", lambda whole, self, spectrum: whole(self.replace(scale="unit"), spectrum)),
        {"orthogonality"}),
    "axes of a root's length have length one": Fault(
        chain(coordinates={"scale": "roots"}), solving("chain", embedding(lambda y: y / np.linalg.norm(y, axis=0))),
        {"orthogonality"}),
    "axes of length one of a graph have variance one": Fault(
        chain(graph=GRAPH, kernel={"name": "reconstruction"}, coordinates={"scale": "unit"}), instead(
            Coordinates, "sizes", lambda whole, self, spectrum: whole(self.replace(scale="variance"), spectrum)),
        {"orthogonality"}),
    "eigenvalues are divided by one row too many": Fault(
        chain(coordinates={"divisor": "n-1"}), instead(
            Coordinates, "over", lambda whole, self, count: whole(self, count + 1)), {"parameters"}),
    "heat is of lengths that are not squared": Fault(
        {**LAPLACIAN, "weights": {"name": "heat", "rate": 0.1}}, instead(
            Heat, "__call__", lambda whole, self, lengths: whole(self, np.sqrt(lengths))), {"residual", "costs"}),
    "weights of the edges are one edge off": Fault(
        {**LAPLACIAN, "weights": {"name": "heat", "rate": 0.1}}, replacing(
            "mlcli.core.graph.affinities.incidence", lambda whole, graph, weights, scale: whole(
                graph, np.roll(weights, 1), scale)), {"residual", "costs"}),
    "heat has another rate than was asked for": Fault(
        {**LAPLACIAN, "weights": {"name": "heat", "rate": 0.1}}, instead(
            Heat, "for_graph", lambda whole, self, *a: self.replace(rate=1.01 * self.rate)), {"weights", "parameters"}),
    "heat's default rate is not the median's": Fault(
        {**LAPLACIAN, "weights": {"name": "heat"}}, instead(
            Heat, "for_graph", lambda whole, self, *a: (
                lambda heat: heat.replace(rate=1.5 * heat.rate))(whole(self, *a))),
        {"weights", "rate"}),
    "a point counts by its number of neighbors, not their weights": Fault(
        {**LAPLACIAN, "weights": {"name": "heat", "rate": 0.1}}, replacing(
            "mlcli.core.graph.affinities.degrees", lambda whole, graph, weights, *more: whole(
                graph, np.ones_like(weights), *more)),
        {"residual", "orthogonality"}),
    "a mutual graph joins points of one side's choice": Fault(
        {"name": "isomap", "neighbors": {"count": 20}, "graph": "mutual"}, replacing(
            "mlcli.core.graph.pieces.graph_of", lambda whole, lists, rule: whole(lists, "union")), {"neighbors"}),
    "an edge of a given graph is longer": Fault(
        {"name": "isomap"}, solving("isomap", projector(similarity=lambda s: replace(s, graph=longer_edges(s.graph)))),
        {"edges", "graph"}, RING, GIVEN),
    "landmarks place points without centering": Fault(
        {"name": "chain", "landmarks": 20}, replacing(
            "mlcli.core.chain.distance_chains.place_features", lambda whole, fit, points: (
                replace(whole(fit, points), embedding=fit.projector.similarity.rows(points) @ fit.projector.axes))),
        {"projection"}),
}
