"""Models of styles and contents, and of information bottlenecks, whose parts do not follow from the data fail."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled, Features, TwoViews
from mlcli.methods import METHODS, Model
from tests.support import checks_of, features

Lie = Callable[[Model], Model]
RANDOM = np.random.default_rng(6)
STYLE, CONTENT = (part.ravel() for part in np.mgrid[:4, :5])
TABLE = features(np.einsum("nq,qdp,np->nd", RANDOM.standard_normal((4, 3))[STYLE], RANDOM.standard_normal((3, 6, 3)),
                           RANDOM.standard_normal((5, 3))[CONTENT]) + 0.1 * RANDOM.standard_normal((20, 6)))
CROSSED = CrossLabeled(TABLE.values, TABLE.ids, TABLE.columns, [f"s{place}" for place in STYLE],
                       [f"c{place}" for place in CONTENT])
SHARED = RANDOM.standard_normal((60, 2))
FIRST, SECOND = (features(SHARED @ RANDOM.standard_normal((2, size)) + 0.5 * RANDOM.standard_normal((60, size)))
                 for size in (4, 3))
VIEWED = TwoViews(FIRST.values, FIRST.ids, FIRST.columns, view=Features(SECOND.values, FIRST.ids, SECOND.columns))
CASES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "styles": (CROSSED, "bilinear", {}), "symmetric": (CROSSED, "bilinear", {"style_axes": 2}),
    "gib": (VIEWED, "gib", {}), "vib": (VIEWED, "vib", {})}


@cache
def fitted(case: str) -> tuple[Any, Any, Model]:
    """A method, its data and its model."""
    data, name, options = CASES[case]
    method = METHODS[name](**options).resolve(data)
    return method, data, method.fit(data, Compute())


def failed(case: str, model: Model) -> set[str]:
    """The checks that a model fails."""
    method, data, _ = fitted(case)
    return {check.name for check in checks_of(method, data, model) if check.verdict == "fail"}


def bumped(values: Any) -> Array:
    """An array of which the first entry is a millionth larger, or as much over zero."""
    changed = np.array(values, dtype=np.float64)
    changed.flat[0] += 1e-6 * max(abs(float(changed.flat[0])), 1e-3)
    return changed


def of_projector(name: str) -> Lie:
    """Another array among those that place rows."""
    def changed(model: Model) -> Model:
        projector: Any = model.projector
        return replace(model, projector=replace(projector, **{name: bumped(getattr(projector, name))}))
    return changed


def of_fit(name: str, change: Callable[[Any], Any] = lambda value: value * (1 + 1e-4)) -> Lie:
    """Another figure of the fit."""
    return lambda model: replace(model, fit={**model.fit, name: change(model.fit[name])})


def of_spectrum(model: Model) -> Model:
    """Axes that are ranked by larger numbers."""
    return replace(model, spectrum=replace(model.ranks, solved=model.ranks.solved * (1 + 1e-6)))


def of_loadings(model: Model) -> Model:
    """A loading that is larger."""
    loadings: Any = model.loadings
    return replace(model, loadings=replace(loadings, values=bumped(loadings.values)))


def of_row(model: Model) -> Model:
    """A row at another place."""
    return replace(model, embedding=bumped(model.embedding))


def of_encoder(part: str) -> Lie:
    """Another array of the encoder: the map of the second view to white columns, or the weights of its network."""
    def changed(model: Model) -> Model:
        projector: Any = model.projector
        encoder = projector.similarity
        if part == "into":
            other = replace(encoder, into=bumped(encoder.into))
        else:
            layer, *rest = encoder.network.layers
            other = replace(encoder, network=replace(encoder.network, layers=(
                replace(layer, weights=bumped(layer.weights)), *rest)))
        return replace(model, projector=replace(projector, similarity=other))
    return changed


def falling(model: Model) -> Model:
    """An alternation whose share of the squares fell on the way."""
    objective: Any = model.objective
    return replace(model, objective=replace(objective, value=np.array([*objective.value, objective.value[-1] - 1e-6])))


STYLES: dict[str, tuple[Lie, set[str]]] = {
    "a row": (of_row, {"contents"}), "a factor": (of_loadings, {"factors", "singular", "maps"}),
    "a map of a style": (of_projector("maps"), {"maps"}), "a singular value": (of_spectrum, {"spectrum"}),
    "what is left": (of_fit("residual_share"), {"residual"})}
SYMMETRIC: dict[str, tuple[Lie, set[str]]] = {
    **STYLES, "a style": (of_projector("style_vectors"), {"orthonormal", "interaction"}),
    "a content": (of_projector("content_vectors"), {"orthonormal", "interaction"}),
    "the interaction": (of_projector("interaction"), {"interaction", "style shares"}),
    "what is explained": (of_fit("explained_share"), {"explained"}), "a fall": (falling, {"explained"}),
    "a share of an axis": (of_fit("style_shares", lambda values: bumped(values).tolist()), {"style shares"})}
GAUSSIAN: dict[str, tuple[Lie, set[str]]] = {
    "a row": (of_row, {"information"}), "β": (of_fit("beta"), {"beta"}),
    "what is kept": (of_fit("kept_information"), {"information"}),
    "what is told": (of_fit("relevant_information"), {"information"}), "a correlation": (of_spectrum, {"correlations"})}
NETWORKS: dict[str, tuple[Lie, set[str]]] = {
    "a row": (of_row, {"codes"}), "β": (of_fit("beta"), {"beta"}),
    "what is kept": (of_fit("kept_information"), {"parts", "optimum"}),
    "what an axis keeps": (of_fit("axis_information", lambda values: bumped(values).tolist()), {"kept", "parts"}),
    "what is told": (of_fit("relevant_information"), {"relevant", "optimum"}),
    "what there is to tell": (of_fit("total_information"), {"optimum"}),
    "a weight": (of_encoder("weights"), {"codes"}), "the white view": (of_encoder("into"), {"white"})}
LIES = [(case, name) for case, lies in (
    ("styles", STYLES), ("symmetric", SYMMETRIC), ("gib", GAUSSIAN), ("vib", NETWORKS)) for name in lies]


@pytest.mark.parametrize("case", CASES)
def test_an_honest_fit_passes(case: str) -> None:
    assert failed(case, fitted(case)[2]) == set()


@pytest.mark.parametrize(("case", "name"), LIES, ids=[f"{case}-{name}" for case, name in LIES])
def test_lies_are_seen(case: str, name: str) -> None:
    lie, seen = {"styles": STYLES, "symmetric": SYMMETRIC, "gib": GAUSSIAN, "vib": NETWORKS}[case][name]
    assert seen <= failed(case, lie(fitted(case)[2]))
