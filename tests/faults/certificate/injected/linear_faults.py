"""Faults of linear versions of graph methods, and of adaptive weights, and the checks that see them."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.core.graph.affinities import AdaptiveHeat
from mlcli.methods import Model
from tests.faults.certificate.injected.chain_faults import LAPLACIAN, instead
from tests.faults.certificate.injected.faults import Fault, embedding, replacing, solving, wrong_neighbors

NINE: dict[str, Any] = {"neighbors": {"count": 9}}
LPP, NPE, LLTSA = ({"name": name, **NINE} for name in ("lpp", "npe", "lltsa"))
HEAT = {**LPP, "weights": {"name": "heat", "rate": 0.1}}
ADAPTIVE = {"weights": {"name": "adaptive"}}
FRAME, STAGE = "mlcli.methods.linearization", "mlcli.methods.linearization"


def turned(model: Model) -> Model:
    """Two axes turned by a thousandth, in coordinates, map and loadings alike."""
    turn = np.array([[np.cos(1e-3), -np.sin(1e-3)], [np.sin(1e-3), np.cos(1e-3)]])
    return replace(model, embedding=model.embedding @ turn,
                   projector=replace(model.projector, axes=model.projector.axes @ turn),
                   loadings=replace(model.loadings, values=model.loadings.values @ turn))


def longer(model: Model) -> Model:
    """The first axis a millionth longer, in coordinates, map and loadings alike."""
    size = np.array([1 + 1e-6, 1.0])
    return replace(model, embedding=model.embedding * size,
                   projector=replace(model.projector, axes=model.projector.axes * size),
                   loadings=replace(model.loadings, values=model.loadings.values * size))


def without_first(whole: Any, matrix: Array) -> tuple[Array, Array]:
    sizes, directions = whole(matrix)
    return sizes[1:], directions[:, 1:]


LINEAR_FAULTS: dict[str, Fault] = {
    "a point of a linear map has the wrong neighbors": Fault(
        LPP, replacing("mlcli.core.graph.neighbors.nearest", wrong_neighbors), {"neighbors"}),
    "weights of edges are not those of the degrees": Fault(
        HEAT, replacing("mlcli.methods.laplacian.lpp.incidence", lambda whole, graph, weights, scale: whole(
            graph, weights**1.001, scale)), {"residual", "costs"}),
    "means of columns are not weighted": Fault(
        LPP, replacing(f"{FRAME}.whiten", lambda whole, points, roots, **more: whole(points, **more)), {"centering"}),
    "axes of least cost are turned": Fault(HEAT, solving("lpp", turned), {"residual"}),
    "an axis is longer than its variance": Fault(NPE, solving("npe", longer), {"covariance"}),
    "the direction of least cost is left out": Fault(
        NPE, replacing(f"{STAGE}.lowest_directions", without_first), {"count"}),
    "costs are off by a thousandth": Fault(
        LLTSA, replacing(f"{STAGE}.lowest_directions", lambda whole, matrix: (
            lambda found: (found[0] * 1.001, found[1]))(whole(matrix))), {"costs"}),
    "weights of a linear map do not sum to one": Fault(
        NPE, replacing("mlcli.methods.local.lle.reconstruction_weights",
                       lambda whole, *a, **more: 1.01 * whole(*a, **more)), {"residual", "costs"}),
    "tangent spaces of a linear map have a dimension less": Fault(
        LLTSA, replacing("mlcli.methods.local.ltsa.tangent_root",
                         lambda whole, data, lists, dimension, *more: whole(data, lists, dimension - 1, *more)),
        {"residual", "costs"}),
    "loadings are not the coefficients": Fault(
        LPP, solving("lpp", lambda m: replace(m, loadings=m.loadings.directions)), {"loadings"}),
    "rows of a linear map are permuted": Fault(
        NPE, solving("npe", embedding(lambda y: np.roll(y, 1, axis=0))), {"projection"}),
    "scales of points are those of another rank": Fault(
        {**LAPLACIAN, **ADAPTIVE}, replacing("mlcli.core.graph.affinities.local_scales", (
            lambda whole, starts, lengths, place: whole(starts, lengths, place - 1))), {"residual", "costs"}),
    "the rank of scales is another than was asked for": Fault(
        {**LAPLACIAN, **ADAPTIVE}, instead(
            AdaptiveHeat, "for_graph", lambda whole, self, *a: self.replace(nearest=7)), {"parameters"}),
    "one scale is for all points": Fault(
        {**LPP, **ADAPTIVE}, replacing("mlcli.core.graph.affinities.local_scales", lambda whole, *a: np.full_like(
            whole(*a), np.median(whole(*a)))), {"residual", "costs"}),
}
