"""What is certified: a model and the data it came from, in the units in which it was computed."""

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.passes import all_parts
from mlcli.base.rows.scratch import by_rows, parts
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.scaling import Unit, largest_of
from mlcli.certify.plan import Plan
from mlcli.methods import Method, Model, Projector
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.similarities import require_projector

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
        """A model in plain numbers, taken back to the units of the computation by exact powers of two."""
        projector = model.projector
        model = replace(model, spectrum=model.spectrum and replace(model.spectrum, unit=Unit()))
        model = replace(model, embedding=projector.output_unit.measured(model.embedding),
                        projector=projector.in_units(Unit(), Unit()),
                        forecast=model.forecast and model.forecast.plain(projector.input_unit**-1))
        if given is not None:
            given = given.over(projector.input_unit)
        return cls(method, given, model, plan)

    @cached_property
    def data(self) -> Any:
        """The rows that were embedded."""
        if self.given is None or self.model.kept is None:
            return self.given
        return self.given.take(self.model.kept)

    @cached_property
    def chain(self) -> Any:
        """The stages that were asked for, where the method is a chain of them; else None."""
        return self.method.chain("features" if self.given is None else self.given.kind)

    @property
    def centered(self) -> bool:
        """Whether the kernel is centered, or its columns are."""
        return self.chain is None or self.chain.centering != "none"

    def sized(self, scale: str) -> "Subject":
        """The same with axes of another scale: as long as the roots of eigenvalues, or of variance one."""
        asked = "roots" if self.chain is None else self.chain.coordinates.scale
        if asked == scale or not self.places:
            return self
        sizes = {"roots": np.sqrt(self.values), "unit": np.ones(len(self.values)),
                 "variance": np.full(len(self.values), np.sqrt(len(self.model.ranks.vectors)))}
        factor = np.divide(sizes[scale], sizes[asked], out=np.zeros(len(self.values)), where=sizes[asked] > 0)
        projector, decoder = self.projector, self.projector.affine
        decoder = decoder and replace(decoder, directions=decoder.directions / np.where(factor > 0, factor, 1.0))
        projector = replace(projector, axes=projector.axes * factor, decoder=decoder)
        embedding = by_rows(lambda some: some * factor, self.embedding)
        return replace(self, model=replace(self.model, embedding=embedding, projector=projector))

    @property
    def places(self) -> bool:
        """Whether the model places points."""
        return isinstance(self.model.projector, Projector)

    @property
    def projector(self) -> Projector:
        """The way from points to coordinates, free of units."""
        return require_projector(self.model.projector)

    @property
    def spectrum(self) -> Spectrum:
        """The spectrum in the unit that it was solved in; an empty one where the method has none."""
        return self.model.ranks

    @property
    def similarity(self) -> Any:
        """How rows are compared, as the model holds it."""
        return self.projector.similarity

    @property
    def base(self) -> Any:
        """What finds the distances of a similarity that is a function of them; else the similarity."""
        return self.similarity.source

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
    def sizes(self) -> Array:
        """The largest size of a number in each column (d), NaN left out."""
        rows = rows_of(self.data.values)
        if rows is not None:
            return np.maximum(rows.max(axis=0), -rows.min(axis=0))
        return np.asarray(np.fmax.reduce(np.abs(self.data.values), axis=0, initial=0.0))

    @cached_property
    def values(self) -> Array:
        """The kernel's eigenvalues that the axes belong to (p), none below zero."""
        count, known = self.embedding.shape[1], np.maximum(self.spectrum.solved, 0.0)
        return np.append(known, np.zeros(count))[:count]

    @property
    def top(self) -> float:
        """The largest eigenvalue in size."""
        return most(self.spectrum.solved)

    @cached_property
    def rounding(self) -> float:
        """The rounding of an eigenproblem of this size: m eps."""
        columns = self.given.values.shape[1] if isinstance(self.given, Features) else 1
        return EPS * max(self.size, columns, 10)

    @property
    def precision(self) -> float:
        """The same plus the tolerance of an iterative solver."""
        return self.rounding + self.spectrum.tolerance

    @cached_property
    def ties(self) -> float:
        """How far apart eigenvalues are that count as equal: any rotation of their axes is as good."""
        solved = self.spectrum.solved
        return tied(solved[solved > 0], self.rounding * self.top, self.embedding.shape[1])

    @property
    def entry(self) -> float:
        """The rounding of a kernel's entries in the squares of landmarks' places, which come from centered rows."""
        return 0.0 if self.carried == self.size else EPS * self.carried * most(self.projector.centering.means)

    @cached_property
    def placing(self) -> float:
        """How much rounding grows where landmarks are placed as new points are, by axes over the roots of λ."""
        least = float(self.values[self.values > 0].min(initial=self.top))
        return 1.0 if self.carried == self.size or least <= 0 else float(np.sqrt(self.top / least))

    @cached_property
    def carried(self) -> int:
        """How many of the embedded rows carried the fit."""
        parts = self.similarity.parts
        points = parts.points if parts.landmarks is None else parts.landmarks
        return self.size if points is None else len(points)

    @property
    def astray(self) -> bool:
        """Whether it is not known which they are."""
        return self.carried != self.size and bool((self.fit < 0).any())

    @cached_property
    def fit(self) -> Indices:
        """Which of the embedded rows carried the fit: landmarks, or all; -1 where it is not known."""
        points, landmarks = self.similarity.parts.points, self.similarity.parts.landmarks
        if landmarks is not None:
            return np.asarray(landmarks)
        if points is None or len(points) == self.size:
            return np.arange(self.size)
        if not isinstance(self.data, Features):
            return _places(points, points[:0])
        rows = rows_of(self.data.values)
        return _places(points, self.data.values) if rows is None else _places_in_file(points, rows)

    @cached_property
    def carriers(self) -> Array:
        """The coordinates of the rows that carried the fit."""
        return self.embedding if self.carried == self.size else self.embedding[self.fit]


def most(values: Array) -> float:
    """The largest size of a number; NaN where there is one."""
    return float(np.max([np.abs(some).max(initial=0.0) for some in parts(values)]))


def tied(values: Array, rounding: float, kept: int, power: int = 1) -> float:
    """The widest range of a power of ordered values that count as equal, among groups with one of the first few."""
    edges = [0, *(np.flatnonzero(np.abs(np.diff(values)) > TIED * rounding) + 1).tolist(), len(values)]
    return max((abs(float(values[b - 1] ** power - values[a] ** power)) for a, b in pairwise(edges)
                if a < kept and b > a), default=0.0)


def _places_in_file(points: Array, rows: Rows) -> Indices:
    """The same where the other rows are read in blocks, of which those are looked at that begin like one of the points.
    """
    firsts, places, found = np.unique(points[:, :1]), [], []
    for first, part in all_parts(rows):
        alike = np.flatnonzero(np.isin(part[:, 0], firsts))
        places.append(first + alike)
        found.append(part[alike])
    inside = _places(points, np.concatenate(found))
    return np.where(inside < 0, -1, np.concatenate(places)[inside])


def _places(points: Array, among: Array) -> Indices:
    """The rows of one array found in another, equal ones in their order; -1 where there is none."""
    rows: dict[bytes, list[int]] = {}
    for i, row in enumerate(np.ascontiguousarray(among)):
        rows.setdefault(row.tobytes(), []).append(i)
    places_of = [rows.get(row.tobytes(), []) for row in np.ascontiguousarray(points)]
    return np.array([places.pop(0) if places else -1 for places in places_of], dtype=np.int64)
