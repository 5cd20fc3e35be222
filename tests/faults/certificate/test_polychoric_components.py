"""Lies about principal components of polychoric correlations are found, and an honest run passes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.methods import METHODS, Model
from tests.support import checks_of

ITEMS = np.digitize(np.random.default_rng(4).standard_normal((300, 1)) * [0.9, 0.8, -0.8, 0.7, 0.0]
                    + np.random.default_rng(5).standard_normal((300, 5)) * 0.6, [-1.0, 0.1, 0.9]) + [0, 0, 0, 0, 7.0]
Change = Callable[[Model], Model]


def verdicts(change: Change = lambda model: model, loadings: str = "scaled") -> dict[str, str]:
    data = Features(ITEMS, [str(row) for row in range(300)], tuple("abcde"))
    options: Any = {"correlations": "polychoric", "loadings": loadings, "eigensolve": {"components": 3}}
    method = METHODS["pca"](**options).resolve(data)
    model = change(method.fit(data, Compute()))
    return {check.name: check.verdict for check in checks_of(method, data, model, full=True)}


def turned(values: np.ndarray, size: float = 1e-3) -> np.ndarray:
    """The first two columns turned by an angle."""
    rotation = np.eye(values.shape[1])
    rotation[:2, :2] = [[np.cos(size), -np.sin(size)], [np.sin(size), np.cos(size)]]
    return values @ rotation


def of_columns(model: Model) -> Model:
    """The components of the columns' own correlations, as a whole."""
    codes = (ITEMS - ITEMS.mean(axis=0)) / ITEMS.std(axis=0)
    values, vectors = np.linalg.eigh(codes.T @ codes / len(codes))
    values, vectors = values[::-1], vectors[:, ::-1][:, :3]
    projector: Any = model.projector
    deviations = ITEMS.std(axis=0)[:, None]
    return replace(model, embedding=codes @ vectors, spectrum=replace(model.spectrum, solved=values),
                   projector=replace(projector, axes=vectors / deviations, decoder=replace(
                       projector.decoder, directions=vectors * deviations)),
                   loadings=replace(model.loadings, values=vectors * np.sqrt(values[:3])))


def moved(values: np.ndarray, size: float) -> np.ndarray:
    """The values, the first one larger."""
    found = np.array(values)
    found.flat[0] += size
    return found


LIES: dict[str, tuple[Change, set[str]]] = {
    "components of the columns' own correlations": (of_columns, {"residual", "eigenvalues"}),
    "a turned embedding": (lambda model: replace(model, embedding=turned(model.embedding)), {"scores"}),
    "turned axes, with their coordinates": (lambda model: replace(
        model, embedding=turned(model.embedding), projector=replace(
            model.projector, axes=turned(model.axes))), {"residual"}),
    "longer axes": (lambda model: replace(model, embedding=model.embedding * 1.001, projector=replace(
        model.projector, axes=model.axes * 1.001)), {"directions"}),
    "an eigenvalue": (lambda model: replace(model, spectrum=replace(
        model.spectrum, solved=moved(model.spectrum.solved, 1e-6))), {"residual", "eigenvalues"}),
    "an eigenvalue after those of the axes": (lambda model: replace(model, spectrum=replace(
        model.spectrum, solved=model.spectrum.solved - [0, 0, 0, 0, 1e-6])), {"eigenvalues"}),
    "a loading": (lambda model: replace(model, loadings=replace(
        model.loadings, values=moved(model.loadings.values, 1e-6))), {"loadings"}),
    "a decoder's direction": (lambda model: replace(model, projector=replace(model.projector, decoder=replace(
        model.projector.decoder, directions=moved(model.projector.decoder.directions, 1e-6)))), {"decoder"}),
    "a correlation": (lambda model: replace(model, fit={**model.fit, "polychoric": (
        np.array(model.fit["polychoric"]) + 1e-3 * (1 - np.eye(5))).tolist()}), {"correlations", "residual"})}


@pytest.mark.parametrize("loadings", ["scaled", "unit"])
def test_an_honest_run_passes(loadings: str) -> None:
    found = verdicts(loadings=loadings)
    assert {verdict for name, verdict in found.items() if name != "points"} == {"pass"}
    assert {"scores", "thresholds", "correlations", "residual", "eigenvalues", "loadings", "projection"} < set(found)


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(lie: str) -> None:
    change, seen_by = LIES[lie]
    failed = {name for name, verdict in verdicts(change).items() if verdict == "fail"}
    assert seen_by <= failed, failed
