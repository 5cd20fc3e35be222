"""The subject of a certificate: a model and its data, in the units of the fit, and the extent of the checks."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks, parts
from mlcli.base.rows.source import Rows, all_parts, rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import Options
from mlcli.base.values.scaling import Unit, largest_of
from mlcli.core.chain.stages import Stages
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.neighbors import Neighborhood, Neighbors
from mlcli.core.kernels.corrections import Rule
from mlcli.core.kernels.options import KernelOptions
from mlcli.core.model import Model
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Projector, require_projector

Scale = Literal["roots", "unit", "variance"]  # of axes: see Coordinates.scale
WORK = 0.016  # seconds on an idle machine; each check may take a share of them


@frozen
class Plan:
    """A plan that depends on sizes alone: the same input is checked in the same places, however busy the machine is."""

    full: bool = False  # whether everything is checked, however long it takes
    seed: int = 0
    rows: Rows | None = None  # the rows of a table read in blocks, some of them in memory

    def allows(self, share: float, seconds: float) -> bool:
        """Whether work of `seconds` fits into a share of `WORK`; always where everything is checked."""
        return self.full or seconds <= share * WORK

    def sample(self, share: float, cost: float, size: int, least: int = 8) -> Indices:
        """Return sorted indices of the items to check out of `size`, at `cost` seconds each: all, or a seeded sample.
        """
        few = max(least, int(share * WORK / cost))
        if self.rows is not None and not self.full and size == len(self.rows):  # a sample of rows, not of landmarks
            return self.rows.some(few)
        if self.full or few >= size:
            return np.arange(size)
        return np.sort(np.random.default_rng(self.seed).choice(size, few, replace=False))

    def sample_in_memory(self, share: float, cost: float, size: int, least: int = 8) -> Indices:
        """Return `sample`, but for a table in blocks under a full plan the rows that are in memory.

        For checks that need their rows in memory all at once.
        """
        if self.full and self.rows is not None:
            return self.rows.at_hand
        return self.sample(share, cost, size, least)


TIED = 200  # eigenvalues fewer roundings apart count as equal: twice the fit's number, which may compare roots


class NoInput(Exception):  # the end of a certificate, and no error of a run
    """Raised where a check asks for the input, and that is not at hand."""


@frozen
class ComparedOptions:
    """The options of a method that its model may hold as well; None where the method has no such option."""

    neighbors: Neighbors | None = None
    rule: Literal["union", "mutual"] = "union"
    weights: Options | None = None  # of the edges of a neighbor graph: one of those of `core.graph.affinities`
    ridge: float | None = None  # of local systems
    kernel: KernelOptions | None = None
    correction: Rule = "none"

    @classmethod
    def of_chain(cls, chain: Stages) -> "ComparedOptions":
        """Return the options of a chain's stages."""
        options, graph = dict(chain.kernel), chain.graph
        return cls(None if graph is None else graph.neighbors, "union" if graph is None else graph.rule,
                   options.get("weights"), options.get("ridge"), chain.kernel, chain.correction)

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> "ComparedOptions":
        """Return those of a method's options, by their names in all methods."""
        neighbors, weights, kernel, correction = map(options.get, ("neighbors", "weights", "kernel", "correction"))
        return cls(neighbors if isinstance(neighbors, Neighbors) else None,
                   "mutual" if options.get("graph") == "mutual" else "union",
                   weights if isinstance(weights, Options) else None, options.get("ridge"),
                   kernel if isinstance(kernel, KernelOptions) else None, correction or "none")


@frozen
class Subject:
    """A model, its input, and the options of the method that are compared with it."""

    chain: Stages | None  # the stages that were fitted, with their options; None where the method is no chain
    asked: ComparedOptions
    known: Input | None  # all prepared rows; None where the input is not at hand
    model: Model  # scaled to the units of the computation
    plan: Plan

    @classmethod
    def of(cls, chain: Stages | None, options: Mapping[str, Any], given: Input | None, model: Model, plan: Plan,
           ) -> "Subject":
        """Return the subject with the model in the units of the computation, by exact powers of two.

        `options` are the method's, by name.
        """
        projector = model.projector
        model = replace(model, spectrum=model.spectrum and replace(model.spectrum, unit=Unit()))
        model = replace(model, embedding=projector.output_unit.measured(model.embedding),
                        projector=projector.in_units(Unit(), Unit()),
                        forecast=model.forecast and model.forecast.plain(projector.input_unit**-1))
        if given is not None:
            given = given.over(projector.input_unit)
        asked = ComparedOptions.of_options(options) if chain is None else ComparedOptions.of_chain(chain)
        return cls(chain, asked, given, model, plan)

    @property
    def given(self) -> Any:
        """The input, of a kind that the method accepts; raises NoInput where it is not at hand."""
        if self.known is None:
            raise NoInput
        return self.known

    @cached_property
    def data(self) -> Any:
        """The rows that were embedded, of the input; raises NoInput where it is not at hand."""
        return self.given if self.model.kept is None else self.given.take(self.model.kept)

    @property
    def neighbors(self) -> Neighbors:
        """The option of the neighbors, of a method that has one."""
        assert self.asked.neighbors is not None
        return self.asked.neighbors

    @property
    def neighborhood(self) -> Neighborhood:
        """The neighbor search: the model's, or that of the option where new points need none."""
        held = self.similarity.parts.neighbors if self.places else None
        return held or self.neighbors.neighborhood(self.given)

    @property
    def centered(self) -> bool:
        """Whether the kernel is centered, or its columns are."""
        return self.chain is None or self.chain.centering != "none"

    def rescale_axes(self, scale: Scale) -> "Subject":
        """Return a subject whose axes have another scale: `roots` of eigenvalues, `unit` length, or `variance` one."""
        asked = "roots" if self.chain is None else self.chain.coordinates.scale
        if asked == scale or not self.places:
            return self
        sizes = {"roots": np.sqrt(self.values), "unit": np.ones(len(self.values)),
                 "variance": np.full(len(self.values), np.sqrt(len(self.model.ranks.vectors)))}
        factor = np.divide(sizes[scale], sizes[asked], out=np.zeros(len(self.values)), where=sizes[asked] > 0)
        projector, decoder = self.projector, self.projector.affine
        decoder = decoder and replace(decoder, directions=decoder.directions / np.where(factor > 0, factor, 1.0))
        projector = replace(projector, axes=projector.axes * factor, decoder=decoder)
        embedding = map_blocks(lambda some: some * factor, self.embedding)
        return replace(self, model=replace(self.model, embedding=embedding, projector=projector))

    @property
    def places(self) -> bool:
        """Whether the model can project new points."""
        return isinstance(self.model.projector, Projector)

    @property
    def projector(self) -> Projector:
        """The projector, free of units."""
        return require_projector(self.model.projector)

    @property
    def spectrum(self) -> Spectrum:
        """The spectrum in the unit in which it was solved; an empty one where the method has none."""
        return self.model.ranks

    @property
    def similarity(self) -> Similarity:
        """The model's similarity: how rows are compared."""
        return self.projector.similarity

    @property
    def linear(self) -> bool:
        """Whether the kernel is that of inner products of the features, centered by their means."""
        return self.places and isinstance(self.known, Features) and self.similarity.in_features

    @property
    def base(self) -> Similarity:
        """The similarity that computes the distances, for one that is a function of distances; else the similarity."""
        return self.similarity.source

    @property
    def embedding(self) -> Array:
        """The coordinates, an (n, p) array."""
        return self.model.embedding

    @property
    def size(self) -> int:
        """The number of embedded rows."""
        return len(self.model.embedding)

    @cached_property
    def largest(self) -> float:
        """The largest absolute value in the data."""
        return largest_of(self.data.values)

    @cached_property
    def sizes(self) -> Array:
        """The largest absolute value of each column, a (d,) array; NaN is left out."""
        rows = rows_of(self.data.values)
        if rows is not None:
            return np.maximum(rows.max(axis=0), -rows.min(axis=0))
        return np.asarray(np.fmax.reduce(np.abs(self.data.values), axis=0, initial=0.0))

    @cached_property
    def values(self) -> Array:
        """The kernel's eigenvalues of the axes, a (p,) array, none below zero."""
        count, known = self.embedding.shape[1], np.maximum(self.spectrum.solved, 0.0)
        return np.append(known, np.zeros(count))[:count]

    @property
    def top(self) -> float:
        """The largest absolute eigenvalue."""
        return max_abs(self.spectrum.solved)

    @cached_property
    def rounding(self) -> float:
        """The rounding of an eigenproblem of this size: m eps."""
        columns = self.known.values.shape[1] if isinstance(self.known, Features) else 1
        return EPS * max(self.size, columns, 10)

    @property
    def precision(self) -> float:
        """The rounding of the eigenproblem plus the tolerance of an iterative solver."""
        return self.rounding + self.spectrum.tolerance

    @cached_property
    def ties(self) -> float:
        """The widest range of eigenvalues that count as equal: any rotation of their axes is as good."""
        solved = self.spectrum.solved
        return tie_width(solved[solved > 0], self.rounding * self.top, self.embedding.shape[1])

    @property
    def entry(self) -> float:
        """The rounding of a kernel entry in squares of landmarks' coordinates, which come from centered rows."""
        return 0.0 if self.fit_size == self.size else EPS * self.fit_size * max_abs(self.projector.centering.means)

    @cached_property
    def landmark_growth(self) -> float:
        """The growth of rounding where rows are projected from landmarks: the root of the largest λ over the least."""
        least = float(self.values[self.values > 0].min(initial=self.top))
        return 1.0 if self.fit_size == self.size or least <= 0 else float(np.sqrt(self.top / least))

    @cached_property
    def fit_size(self) -> int:
        """The number of embedded rows in the fit: landmarks, or all."""
        parts = self.similarity.parts
        points = parts.points if parts.landmarks is None else parts.landmarks
        return self.size if points is None else len(points)

    @property
    def fit_rows_unknown(self) -> bool:
        """Whether it is not known which embedded rows are those of the fit."""
        return self.fit_size != self.size and bool((self.fit < 0).any())

    @cached_property
    def fit(self) -> Indices:
        """The embedded rows of the fit, an (m,) array: landmarks, or all; -1 where a row is not known."""
        points, landmarks = self.similarity.parts.points, self.similarity.parts.landmarks
        if landmarks is not None:
            return np.asarray(landmarks)
        if points is None or len(points) == self.size:
            return np.arange(self.size)
        if not isinstance(self.known, Features):
            return np.full(len(points), -1)
        rows = rows_of(self.data.values)
        return _places(points, self.data.values) if rows is None else _places_in_file(points, rows)

    @cached_property
    def fit_coordinates(self) -> Array:
        """The coordinates of the rows of the fit, an (m, p) array."""
        return self.embedding if self.fit_size == self.size else self.embedding[self.fit]


def max_abs(values: Array) -> float:
    """Return the largest absolute value of an array of any shape; NaN if it contains NaN."""
    return float(np.max([np.abs(some).max(initial=0.0) for some in parts(values)]))


def tie_width(values: Array, rounding: float, kept: int, power: int = 1) -> float:
    """Return the widest range of a power of values that count as equal, in groups with one of the first `kept`.

    `values` is an ordered (m,) array; values within `TIED` times `rounding` of the next count as equal.
    """
    edges = [0, *(np.flatnonzero(np.abs(np.diff(values)) > TIED * rounding) + 1).tolist(), len(values)]
    return max((abs(float(values[b - 1] ** power - values[a] ** power)) for a, b in pairwise(edges)
                if a < kept and b > a), default=0.0)


def _places_in_file(points: Array, rows: Rows) -> Indices:
    """Return `_places` where rows are read in blocks; compare only rows with the same first number as a point."""
    firsts, places, found = np.unique(points[:, :1]), [], []
    for first, part in all_parts(rows):
        alike = np.flatnonzero(np.isin(part[:, 0], firsts))
        places.append(first + alike)
        found.append(part[alike])
    inside = _places(points, np.concatenate(found))
    return np.where(inside < 0, -1, np.concatenate(places)[inside])


def _places(points: Array, among: Array) -> Indices:
    """Return the row numbers of points in another array, equal rows in their order; -1 where there is none."""
    rows: dict[bytes, list[int]] = {}
    for i, row in enumerate(np.ascontiguousarray(among)):
        rows.setdefault(row.tobytes(), []).append(i)
    places_of = [rows.get(row.tobytes(), []) for row in np.ascontiguousarray(points)]
    return np.array([places.pop(0) if places else -1 for places in places_of], dtype=np.int64)
