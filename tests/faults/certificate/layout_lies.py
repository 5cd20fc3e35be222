"""Fits of layouts in this process, what their certificates say, and lies about coordinates and figures."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given
from mlcli.methods import METHODS, Model
from tests.support import checks_of


def fit_of(name: str, data: Given, **options: Any) -> tuple[Any, Any, Model]:
    """The method, its data with the metric, and its model."""
    method: Any = METHODS[name](**options).resolve(data)
    return method, method.with_metric(data), method.fit(data, Compute())


def checked(method: Any, data: Any, model: Model) -> list[Check]:
    return list(checks_of(method, data, model))


def moved(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    """The model at other coordinates, of which its similarity knows as well."""
    def at_others(model: Model) -> Model:
        points = change(np.array(model.embedding))
        projector: Any = model.projector
        return replace(model, embedding=points, projector=replace(
            projector, similarity=replace(projector.similarity, coordinates=points)))

    return at_others


def with_goodness(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    """The model with another stress of its points."""
    def of_others(model: Model) -> Model:
        assert model.goodness is not None
        return replace(model, goodness=replace(model.goodness, points=change(np.array(model.goodness.points))))

    return of_others


def worse(stresses: Array) -> Array:
    stresses[2] *= 1.001
    return stresses


GOODNESS: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "another stress of a point": (with_goodness(worse), {"goodness"}),
    "stress of points in another order": (with_goodness(lambda stresses: np.roll(stresses, 1)), {"goodness"})}


def turned(points: Array) -> Array:
    cosine, sine = np.cos(1e-6), np.sin(1e-6)
    return points @ np.array([[cosine, -sine], [sine, cosine]])


def stated(**figures: Callable[[Any], Any]) -> Callable[[Model], Model]:
    return lambda model: replace(model, fit={**model.fit, **{
        name: change(model.fit[name]) for name, change in figures.items()}})
