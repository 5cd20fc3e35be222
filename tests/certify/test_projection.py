"""Projectors of methods that are no chains: what such a model holds of neighbors, weights and graph is compared too."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check, count
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import Axes
from mlcli.core.graph.affinities import Affinity, Binary, Heat
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Nearest, Neighbors
from mlcli.core.graph.pieces import connected_graph
from mlcli.core.kernels.corrections import Correction
from mlcli.core.metrics.distances import training_points
from mlcli.core.model import Powers
from mlcli.core.similarities.kernels import Distances
from mlcli.core.similarities.projector import Projector
from mlcli.core.similarities.weights import Affinities, Barycenters
from mlcli.methods import METHODS, Method, Model
from tests.faults.certificate.support import POINTS, configured, judged
from tests.support import checks_of, features

Change = Callable[[Any], Any]


class Averages(Method):
    """Two columns as coordinates; new points at the weighted mean of their neighbors, as Laplacian eigenmaps has it."""

    accepts: ClassVar = (Features,)
    powers: ClassVar = Powers(1, 2)
    ranked_by: ClassVar = None
    decodes: ClassVar = None
    rules: ClassVar = ()
    name: Literal["averages"] = "averages"
    neighbors: Neighbors = Neighbors(count=9)
    graph: Literal["union", "mutual"] = "union"
    weights: Affinity = Heat()
    axes: Axes = Axes()

    def limit(self, data: Input) -> int:
        """Two axes."""
        return 2

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """A copy."""
        return [Step("coordinates", "a copy", 1e-9 * data.values.size, 8.0 * data.values.size)]

    def similarity(self, data: Features) -> Any:
        """The weights of new points' neighbors."""
        graph, _ = connected_graph(data, self.neighbors.neighborhood(data), self.neighbors.pieces, self.graph)
        weights: Any = self.weights
        return Affinities(self.neighbors.neighborhood(data), weights.for_graph(graph, data.unit), graph,
                          *training_points(data), walking=False)

    def solve(self, data: Features, compute: Compute) -> Model:
        """Coordinates, which are the axes of the projector."""
        embedding = data.values[:, :2] - data.values[:, :2].mean(axis=0)
        return Model(embedding=embedding, projector=Projector(
            self.similarity(data), uncentered(len(embedding)), embedding))


class LocalAverages(Averages):
    """The same with weights that reproduce a new point."""

    name: Literal["local_averages"] = "local_averages"  # type: ignore[assignment]
    ridge: float = 1e-3

    def similarity(self, data: Features) -> Any:
        """The weights of new points' neighbors."""
        return Barycenters(self.neighbors.neighborhood(data), data.values, self.ridge)


class OwnNeighbors(Averages):
    """The same without options: neighbors and weights are its own."""

    name: Literal["own_neighbors"] = "own_neighbors"  # type: ignore[assignment]
    neighbors: ClassVar = Neighbors(count=9)  # type: ignore[misc]
    weights: ClassVar = Binary()  # type: ignore[misc]


class Interpolated(Averages):
    """The same with corrected distances as the rows of new points, which do not lead training rows to themselves."""

    name: Literal["interpolated"] = "interpolated"  # type: ignore[assignment]
    correction: Literal["none", "lingoes"] = "lingoes"

    def similarity(self, data: Features) -> Any:
        """Minus half the squared distances."""
        return Distances(data.values, Correction(self.correction, 0.5))

    def reproduces(self) -> bool:
        """They do not."""
        return False


class Silent(Averages):
    """The same with a check of its own in place of all others."""

    name: Literal["silent"] = "silent"  # type: ignore[assignment]

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check nothing else."""
        yield count("own", 0, "errors of its own")


@cache
def fitted(kind: type[Averages], **options: Any) -> tuple[Averages, Features, Model]:
    """A method, its data and its model."""
    data = features(1e3 * POINTS)
    method = kind(**options).resolve(data)
    return method, data, method.fit(data, Compute())


def failures(change: Change, kind: type[Averages] = Averages) -> set[str]:
    """The checks that a changed similarity fails."""
    method, data, model = fitted(kind)
    projector: Any = model.projector
    changed = replace(model, projector=replace(projector, similarity=change(projector.similarity)))
    return {check.name for check in checks_of(method, data, changed, full=True) if check.verdict == "fail"}


@pytest.mark.parametrize("kind", [Averages, LocalAverages, OwnNeighbors])
def test_a_layout_with_a_weighting_of_neighbors_has_a_certificate(
        kind: type[Averages], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(kind.model_fields["name"].default)
    monkeypatch.setitem(METHODS.own, name, f"{__name__}:{kind.__name__}")
    monkeypatch.setitem(METHODS.kinds, name, kind)
    found = judged(configured(tmp_path, {"name": name}))
    assert {check["verdict"] for check in found.values()} <= {"pass", "skipped"}, found
    assert {found[check]["verdict"] for check in ("parameters", "points", "projection")} == {"pass"}
    held = {Averages: "pass", OwnNeighbors: "skipped"}
    assert kind not in held or found["neighbors"]["verdict"] == held[kind]


@pytest.mark.parametrize("options", [
    {"graph": "mutual", "neighbors": Neighbors(count=20)}, {"weights": Heat(rate=1e-7)},
    {"neighbors": Neighbors(radius=5e3)}], ids=["mutual", "rate", "radius"])
def test_options_are_compared_in_their_units(options: dict[str, Any]) -> None:
    data = features(1e3 * POINTS)
    method = Averages(**options).resolve(data)
    checks = checks_of(method, data, method.fit(data, Compute()), full=True)
    assert {check.verdict for check in checks} == {"pass"}, checks


@pytest.mark.parametrize(("change", "seen_by"), [
    (lambda held: replace(held, neighbors=Nearest(8)), "parameters"),
    (lambda held: replace(held, affinity=Binary()), "parameters"),
    (lambda held: replace(held, affinity=held.affinity.replace(rate=2 * held.affinity.rate)), "rate"),
    (lambda held: replace(held, graph=without_an_edge(held.graph)), "neighbors"),
    (lambda held: replace(held, graph=replace(held.graph, lengths=1.01 * held.graph.lengths)), "edge lengths"),
    (lambda held: replace(held, points=held.points + 1e-9), "points")],
    ids=["count", "weights", "rate", "edge", "lengths", "points"])
def test_a_model_that_holds_other_options_is_seen(change: Change, seen_by: str) -> None:
    assert seen_by in failures(change)


def test_a_method_says_all_that_is_checked_of_its_models() -> None:
    assert [check.name for check in checks_of(*fitted(Silent), full=True)] == ["finite", "own"]


def test_another_ridge_or_correction_is_seen() -> None:
    assert "parameters" in failures(lambda held: replace(held, ridge=2e-3), LocalAverages)
    assert not failures(lambda held: held, Interpolated)
    assert failures(lambda held: replace(held, correction=Correction("none", 0.0)), Interpolated) == {"parameters"}


def without_an_edge(graph: Graph) -> Graph:
    """The graph without the longest of its edges."""
    from scipy.sparse import csr_array

    matrix: Any = csr_array((graph.lengths, graph.indices, graph.starts), shape=(graph.size, graph.size)).tolil()
    row = int(np.repeat(np.arange(graph.size), np.diff(graph.starts))[graph.lengths.argmax()])
    column = int(graph.indices[graph.lengths.argmax()])
    matrix[row, column] = matrix[column, row] = 0.0
    left = matrix.tocsr()
    return Graph(left.indptr.astype(np.int64), left.indices.astype(np.int64), left.data)
