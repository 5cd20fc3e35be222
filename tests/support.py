"""Short ways to make inputs and fit methods in tests."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features, Input, Similarities
from mlcli.base.stage import Note, listening
from mlcli.base.types import Array
from mlcli.methods import METHODS, Model

EPS = float(np.finfo(float).eps)


def features(values: Any) -> Features:
    values = np.asarray(values, dtype=float)
    return Features(values, names(len(values)), columns=[f"x{j + 1}" for j in range(values.shape[1])])


def dissimilarities(values: Any) -> Dissimilarities:
    values = np.asarray(values, dtype=float)
    return Dissimilarities(values, names(len(values)))


def similarities(values: Any) -> Similarities:
    values = np.asarray(values, dtype=float)
    return Similarities(values, names(len(values)))


def names(count: int) -> list[str]:
    return [str(i + 1) for i in range(count)]


def fit(method: str, data: Input | Array, **options: Any) -> Model:
    """The model of a method with options as they would stand in YAML."""
    if isinstance(data, np.ndarray):
        data = features(data)
    if "components" in options:
        options["eigensolve"] = {**options.get("eigensolve", {}), "components": options.pop("components")}
    if isinstance(options.get("neighbors"), int):
        options["neighbors"] = {"count": options["neighbors"]}
    return METHODS[method](**options).settle(data).fit(data, Compute())


def distances(points: Array) -> Array:
    return cdist(points, points)


def gram(embedding: Array) -> Array:
    """Inner products: what an embedding is, up to rotation and sign."""
    return embedding @ embedding.T


class Notes:
    """Collects the notes of a `with` block."""

    def __enter__(self) -> "Notes":
        self.notes: list[Note] = []
        self._context = listening(self)
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    @property
    def codes(self) -> set[str]:
        return {note.code for note in self.notes}

    def begin(self, stage: str) -> None: ...
    def end(self, stage: str) -> None: ...
    def advance(self, stage: str, done: int, total: int) -> None: ...

    def note(self, note: Note) -> None:
        self.notes.append(note)
