"""Lies about rows that were added to a map: each fails its check, and the map as it was computed passes."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.certify.onto import kept_check, registration_check
from mlcli.certify.subject import Plan, Subject
from mlcli.core.similarities.registration import Registration
from mlcli.methods import METHODS, Model
from mlcli.rundir.onto import hash_of
from tests.support import features

GENERATOR = np.random.default_rng(6)
POINTS = GENERATOR.standard_normal((50, 4)) * [3, 2, 1, 0.5]
MOVING = np.arange(40, 50)
OPTIONS: dict[str, dict[str, Any]] = {
    "pca": {}, "smacof": {}, "sammon": {}, "nmds": {"starts": 1}, "phate": {},
    "umap": {"epochs": 40, "neighbors": {"count": 8}},
    "tsne": {"perplexity": 6.0, "descent": {"early_steps": 20, "steps": 30}}}


@cache
def before(name: str) -> tuple[Any, Model]:
    """A method, and its model of the first 40 rows."""
    former = features(POINTS[:40])
    method = METHODS[name].model_validate({"name": name, **OPTIONS[name]}).resolve(former)
    return method, method.fit(former, Compute())


@cache
def added(name: str) -> tuple[Any, Features, Model]:
    """A method, all rows, and the model of the last ten added to the map of the others."""
    data = features(POINTS)
    method, fitted = before(name)
    places = np.full((50, fitted.embedding.shape[1]), np.nan)
    places[:40] = fitted.embedding
    return method, data, method.place_among(data, places, MOVING, fitted, Compute())


def failed(name: str, model: Model) -> set[str]:
    method, data, _ = added(name)
    subject = Subject.of(method.chain_of("features"), dict(method), method.with_metric(data), model, Plan(full=True))
    return {check.name for check in method.checks_among(subject, MOVING) if check.verdict == "fail"}


def moved(row: int) -> Callable[[Model], Model]:
    """The model with one row a little aside."""
    def change(model: Model) -> Model:
        points = model.embedding.copy()
        points[row, 0] += 1e-2 * np.abs(points).max()
        return replace(model, embedding=points)
    return change


def stated(name: str) -> Callable[[Model], Model]:
    """The model with a figure a little larger."""
    return lambda model: replace(model, fit={**model.fit, name: model.fit[name] * 1.001 + 1e-4})


LIES: dict[str, tuple[str, Callable[[Model], Model], str]] = {
    "pca, a new row aside": ("pca", moved(44), "placed"), "phate, a new row aside": ("phate", moved(44), "placed"),
    "smacof, a new row aside": ("smacof", moved(44), "stationarity"),
    "smacof, another stress": ("smacof", stated("stress"), "stress"),
    "sammon, a new row aside": ("sammon", moved(44), "stationarity"),
    "nmds, a new row aside": ("nmds", moved(44), "stationarity"),
    "umap, a new row aside": ("umap", moved(44), "seed"),
    "umap, a fixed row aside": ("umap", moved(4), "seed"),
    "umap, another scale": ("umap", stated("scale"), "seed"),
    "umap, another membership": ("umap", stated("membership"), "graph"),
    "umap, another curve": ("umap", stated("a"), "curve"),
    "tsne, a new row aside": ("tsne", moved(44), "slope"),
    "tsne, another divergence": ("tsne", stated("divergence"), "divergence"),
    "tsne, another slope": ("tsne", stated("slope"), "slope")}


@pytest.mark.parametrize("name", OPTIONS)
def test_rows_as_they_were_placed_pass(name: str) -> None:
    assert not failed(name, added(name)[2])


@pytest.mark.parametrize("lie", LIES)
def test_lies_about_added_rows_are_seen(lie: str) -> None:
    name, change, seen = LIES[lie]
    assert seen in failed(name, change(added(name)[2]))


@pytest.mark.parametrize("name", ["smacof", "sammon", "nmds"])
def test_added_rows_that_equal_each_other_pull_others_as_often_and_a_place_of_both_aside_is_seen(name: str) -> None:
    method, fitted = before(name)
    twice = POINTS.copy()
    twice[[47, 49]] = twice[42]
    data, places = features(twice), np.full((50, 2), np.nan)
    places[:40] = fitted.embedding
    model = method.place_among(data, places, MOVING, fitted, Compute())
    subject = Subject.of(method.chain_of("features"), dict(method), method.with_metric(data), model, Plan(full=True))
    assert {check.name: check.verdict for check in method.checks_among(subject, MOVING)}["stationarity"] == "pass"
    same = [42, 47, 49]
    assert (model.embedding[same] == model.embedding[42]).all()
    points = model.embedding.copy()
    points[same, 0] += 1e-2 * np.abs(points).max()
    lied = replace(subject, model=replace(model, embedding=points))
    assert {check.name: check.verdict for check in method.checks_among(lied, MOVING)}["stationarity"] == "fail"


def test_a_precision_of_an_added_row_is_checked() -> None:
    model = added("tsne")[2]
    similarity: Any = model.required_projector.similarity
    precisions = similarity.precisions.copy()
    precisions[45] *= 1.01
    lied = replace(model, projector=replace(model.projector, similarity=replace(similarity, precisions=precisions)))
    assert "perplexity" in failed("tsne", lied)


def test_the_last_bit_of_a_kept_row_counts() -> None:
    known = GENERATOR.standard_normal((5, 2))
    aside = known.copy()
    aside[3, 1] = np.nextafter(aside[3, 1], np.inf)
    assert kept_check(known, known, hash_of(known)).verdict == "pass"
    assert kept_check(aside, known, hash_of(aside)).verdict == "fail"
    assert kept_check(aside, None, hash_of(known)).verdict == "fail"


def turned(points: Array, angle: float) -> Array:
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def test_a_map_that_could_be_turned_nearer_is_seen() -> None:
    known = GENERATOR.standard_normal((20, 2)) * [3, 1]
    other = turned(known, 2.0) * [1, -1] + [5, 1] + 0.1 * GENERATOR.standard_normal((20, 2))
    onto = Registration.of(other, known, 0.0, scaled=False)
    placed = onto(other)
    assert registration_check(placed, known, onto).verdict == "pass"
    assert np.allclose(onto.undo(placed), other)
    center = placed.mean(axis=0)
    assert registration_check(turned(placed - center, 1e-3) + center, known, onto).verdict == "fail"
    assert registration_check(placed + 1e-6, known, onto).verdict == "fail"
    assert registration_check(placed, known, replace(onto, turn=onto.turn * 1.001)).verdict == "fail"
