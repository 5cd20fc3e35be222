"""Numerical faults in costs on neighborhoods: tangent spaces, second derivatives, weights, and the costs as figures."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.values.quantity import Quantity
from mlcli.methods import Model
from mlcli.methods.local.mlle import Differences
from tests.faults.certificate.injected.chain_faults import instead
from tests.faults.certificate.injected.faults import DISTANCES, LLE, Fault, Inject, replacing, solving, wrong_neighbors

NINE: dict[str, Any] = {"neighbors": {"count": 9}}
LTSA, HLLE, MLLE = ({"name": name, **NINE} for name in ("ltsa", "hlle", "mlle"))
GIVEN: dict[str, Any] = {"input": {"kind": "dissimilarities"}}
OF_TANGENTS, OF_HESSIANS = "mlcli.methods.local.tangents", "mlcli.methods.local.hlle"


def another_cost(method: str, name: str) -> Inject:
    """A figure of the fit that is a thousandth too large."""

    def change(model: Model) -> Model:
        stated = model.fit[name]
        wrong = replace(stated, value=1.001 * stated.value) if isinstance(stated, Quantity) else 1.001 * stated
        return replace(model, fit={**model.fit, name: wrong})

    return solving(method, change)


WRONG_SPACE = replacing("mlcli.methods.local.ltsa.tangent_root", lambda whole, data, lists, axes, ridge: (
    whole(data, lists, axes + 1, ridge)))
LOCAL_FAULTS = {
    "tangent spaces have an axis too many": Fault(LTSA, WRONG_SPACE, {"residual", "costs"}),
    "tangent spaces of distances have an axis too many": Fault(
        LTSA, WRONG_SPACE, {"residual", "costs"}, DISTANCES, GIVEN),
    "tangent spaces have no constants": Fault(
        LTSA, replacing(f"{OF_TANGENTS}.with_constants", lambda whole, some: whole(some)[:, :, 1:]),
        {"residual", "costs", "centering"}),
    "one tangent space is another's": Fault(
        LTSA, replacing(f"{OF_TANGENTS}.affine_complements", lambda whole, some: whole(
            np.concatenate([some[1:2], some[1:]]))), {"residual", "costs"}),
    "a tangent space is of the wrong neighbors": Fault(
        LTSA, replacing("mlcli.core.graph.neighbors.nearest", wrong_neighbors), {"neighbors"}),
    "a second derivative is left out": Fault(
        HLLE, replacing(f"{OF_HESSIANS}.second_derivatives", lambda whole, some: whole(some)[:, :-1]),
        {"residual", "costs"}),
    "second derivatives are not of the unit length": Fault(
        HLLE, replacing(f"{OF_HESSIANS}.second_derivatives", lambda whole, some: 1.001 * whole(some)),
        {"residual", "costs"}),
    "second derivatives are those of products and not of what they add": Fault(
        HLLE, replacing(f"{OF_HESSIANS}.residuals", lambda whole, some, known: some - some.mean(axis=1, keepdims=True)),
        {"residual", "costs"}),
    "a weight vector is left out": Fault(
        MLLE, instead(Differences, "counts", lambda whole, self, most: np.maximum(whole(self, most) - 1, 1)),
        {"residual", "costs"}),
    "several weights are those of another ridge": Fault(
        MLLE, replacing("mlcli.methods.local.mlle.regular_weights", lambda whole, some, ridge: whole(
            some, 2 * ridge)), {"residual", "costs"}),
    "the cost of the weights is off by a thousandth": Fault(
        LLE, another_cost("lle", "cost_of_weights"), {"cost of weights"}),
    "the cost of the coordinates is off by a thousandth": Fault(
        LLE, another_cost("lle", "cost_of_coordinates"), {"cost of coordinates"}),
}
