"""What is certified: a model and the data it came from, in the units in which it was computed."""

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mlcli.base.check import EPS
from mlcli.base.frozen import frozen
from mlcli.base.inputs import Features, Input
from mlcli.base.scaling import largest_of, scaled
from mlcli.base.types import Array, Indices
from mlcli.certify.plan import Plan
from mlcli.methods import Method, Model, Projector
from mlcli.methods.model import existing

TIED = 200  # roundings apart that eigenvalues may be and count as equal: twice the fit's, for it may compare roots


@frozen
class Subject:
    """A method, the data it was given and the model it returned."""

    method: Any  # a Method
    given: Any  # an Input, all prepared rows; None where the input is gone
    model: Model  # scaled to the units of the computation
    plan: Plan

    @classmethod
    def of(cls, method: Method, given: Input | None, model: Model, plan: Plan) -> "Subject":
        """A model in its own units, taken back to those of the computation by exact powers of two."""
        projector, model = model.projector, replace(model, spectrum=replace(model.spectrum, exponent=0))
        if projector is None:
            return cls(method, given, model, plan)
        exponent, plain = projector.exponent_in, replace(projector, exponent_in=0, exponent_out=0)
        model = replace(model, embedding=scaled(model.embedding, -projector.exponent_out), projector=plain)
        if given is not None:
            given = given.divided(exponent)
        return cls(method, given, model, plan)

    @cached_property
    def data(self) -> Any:
        """The rows that were embedded."""
        if self.given is None or self.model.kept is None:
            return self.given
        return self.given.take(self.model.kept)

    @property
    def projector(self) -> Projector:
        """The way from points to coordinates, free of units."""
        return existing(self.model.projector)

    @property
    def similarity(self) -> Any:
        """How rows are compared, as the model holds it."""
        return self.projector.similarity

    @property
    def embedding(self) -> Array:
        """The coordinates (n x p)."""
        return self.model.embedding

    @property
    def size(self) -> int:
        """The number of rows embedded."""
        return len(self.model.embedding)

    @cached_property
    def largest(self) -> float:
        """The size of the largest number of the data."""
        return largest_of(self.data.values)

    @cached_property
    def values(self) -> Array:
        """The kernel's eigenvalues that the axes belong to (p), none below zero."""
        count, known = self.embedding.shape[1], np.maximum(self.model.spectrum.solved, 0.0)
        return np.append(known, np.zeros(count))[:count]

    @property
    def top(self) -> float:
        """The largest eigenvalue in size."""
        return most(self.model.spectrum.solved)

    @cached_property
    def rounding(self) -> float:
        """The rounding of an eigenproblem of this size: m eps."""
        columns = self.given.values.shape[1] if isinstance(self.given, Features) else 1
        return EPS * max(self.size, columns, 10)

    @property
    def precision(self) -> float:
        """The same plus the tolerance of an iterative solver."""
        return self.rounding + self.model.spectrum.tolerance

    @cached_property
    def ties(self) -> float:
        """How far apart eigenvalues are that count as equal: any rotation of their axes is as good."""
        solved = self.model.spectrum.solved
        return tied(solved[solved > 0], self.rounding * self.top, self.embedding.shape[1])

    @cached_property
    def placing(self) -> float:
        """How much rounding grows where landmarks are placed as new points are, by axes over the roots of λ."""
        least = float(self.values[self.values > 0].min(initial=self.top))
        return 1.0 if len(self.fit) == self.size or least <= 0 else float(np.sqrt(self.top / least))

    @cached_property
    def fit(self) -> Indices:
        """Which of the embedded rows carried the fit: landmarks, or all; -1 where it is not known."""
        similarity = self.similarity
        chosen = getattr(similarity, "landmarks", None)
        if chosen is not None:
            return np.asarray(chosen)
        points = getattr(similarity, "points", None)
        if points is None or len(points) == self.size:
            return np.arange(self.size)
        return _places(points, self.data.values if isinstance(self.data, Features) else points[:0])

    @cached_property
    def carriers(self) -> Array:
        """The coordinates of the rows that carried the fit."""
        return self.embedding if len(self.fit) == self.size else self.embedding[self.fit]


def most(values: Array) -> float:
    """The largest size of a number; NaN where there is one."""
    return float(np.abs(values).max(initial=0.0))


def tied(values: Array, rounding: float, kept: int, power: int = 1) -> float:
    """The widest range of a power of ordered values that count as equal, among groups with one of the first few."""
    edges = [0, *(np.flatnonzero(np.abs(np.diff(values)) > TIED * rounding) + 1).tolist(), len(values)]
    return max((abs(float(values[b - 1] ** power - values[a] ** power)) for a, b in pairwise(edges)
                if a < kept and b > a), default=0.0)


def _places(points: Array, among: Array) -> Indices:
    """The rows of one array found in another, equal ones in their order; -1 where there is none."""
    rows: dict[bytes, list[int]] = {}
    for i, row in enumerate(np.ascontiguousarray(among)):
        rows.setdefault(row.tobytes(), []).append(i)
    found = [rows.get(row.tobytes(), []) for row in np.ascontiguousarray(points)]
    return np.array([places.pop(0) if places else -1 for places in found], dtype=np.int64)
