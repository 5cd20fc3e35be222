"""The base of all methods: what a class says of its input, its results and its laws, and the frame of a fit.

The class comes first. Below it stands the memory that a run of a method takes, from `peak` on: a fit refuses by it what
is over the limit, and it asks the method for its sizes, so that neither of them does without the other. `mlcli plan`
shows it. The figures besides the steps' own were measured as resident memory of whole processes (`benchmarks/plan.py`).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from mlcli.base.allocators import WORTH
from mlcli.base.context import context, set_context
from mlcli.base.machine.footprint import (
    ARROW,
    ARROW_COLUMN,
    COLUMN,
    DASK,
    MIB,
    WORKER,
    after_fit,
    memory_after_fit,
    resident,
    workers_fitting,
)
from mlcli.base.machine.rates import rates
from mlcli.base.rows.scratch import bytes_in_memory
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.composition import Composition
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.units import percent
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Input, Viewed, WeightedGraph
from mlcli.base.values.naming import list_in_words
from mlcli.base.values.options import Options
from mlcli.base.values.products import Name
from mlcli.base.values.sample_size import EXACT, FEW_COLUMNS, anchors_in_group, automatic
from mlcli.core.chain.compose import compose
from mlcli.core.chain.stages import Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.options import Axes
from mlcli.core.graph.neighbors import SAME_BOTH_WAYS, Neighbors, graph_bytes
from mlcli.core.metrics import EUCLIDEAN, Metric
from mlcli.core.metrics.distances import with_metric
from mlcli.core.model import Model, Powers
from mlcli.errors import ConfigError, MlcliError
from mlcli.methods.trials import InputSummary, Trials, Variant, variant
from mlcli.process.signals import stop_at_once

if TYPE_CHECKING:
    from mlcli.certify.chains import Checks
    from mlcli.certify.contributions import WeightedRows
    from mlcli.certify.subject import Subject
    from mlcli.core.layouts.anchors import Anchors


class Method(Options):
    """A method: a frozen declaration of its stages, and `solve`, which computes them."""

    accepts: ClassVar[tuple[type[Given], ...]]
    unscaled: ClassVar[int] = 0  # data of a size from 2**-unscaled to 2**unscaled is used without a scaled copy
    powers: ClassVar[Powers] = Powers(1, 2)  # of the data's unit in coordinates and spectrum
    missing: ClassVar[bool] = False  # whether it takes features with missing cells
    ordered: ClassVar[bool] = False  # whether rows are a sequence in the order of time
    domain: ClassVar[Literal["numbers", "amounts", "answers"]] = "numbers"  # amounts: zero or more; answers: categories
    ranked_by: ClassVar[str | None] = "eigenvalues"  # the numbers in spectrum.csv; None: there is no spectrum
    judged_by: ClassVar[str] = "variance"  # the measure of a good result, of those in `findings/quality/judgement.py`
    axis: ClassVar[str] = "Axis"  # the field's name of an axis, before its number
    decodes: ClassVar[str | None] = ""  # the condition of a decoder to features; empty: always; None: never
    decodes_second_view: ClassVar[bool] = False  # whether its decoder leads to a second view, where there is one
    in_blocks: ClassVar[str | None] = None  # the condition of reading features in blocks; empty: always; None: never
    decoder_variance: ClassVar[bool] = False  # whether its decoder gives variances
    follows_rows: ClassVar[bool] = False  # whether rows of the fit are decoded much nearer than any others can be
    rules: ClassVar[tuple[str, ...]] = ("broken_stick", "elbow", "two_nn")  # for the number of axes, best first
    # the linear-Gaussian model of the columns: with equal noise in all, or noise of its own in each
    columns_model: ClassVar[Literal["none", "equal noise", "own noise"]] = "none"
    scaleless: ClassVar[bool] = False  # whether coordinates have no scale, and eigenvalues are not variances
    keeps_order: ClassVar[bool] = False  # whether only the order of dissimilarities counts
    has_loadings: ClassVar[bool] = True  # whether columns have loadings on the axes; for a chain its kernel decides
    # what the rows of loadings.csv are of: the columns of the table (loadings, or their shares in each cluster), or
    # each category of those that hold texts, the columns of all views, the columns in each class, or the columns and
    # the terms of the constraints
    loads: ClassVar[Literal["columns", "shares", "levels", "views", "classes", "terms"]] = "columns"
    variance_shares: ClassVar[bool] = True  # whether an eigenvalue over the trace is a share of variance
    loses: ClassVar[str] = ""  # what its pictures do not show although they seem to, as a sentence of the report
    isometric: ClassVar[bool] = False  # whether all axes together keep the distances of features
    can_resample: ClassVar[bool] = False  # whether rows have no order; for a method without chain and columns' model
    unit_free: ClassVar[bool] = False  # whether another unit of a column changes no coordinates
    most_views: ClassVar[float] = 2  # views that it takes, where it takes more than one
    joins_views: ClassVar[bool] = False  # whether further tables of features are columns beside those of the first one
    views_match: ClassVar[bool] = False  # whether views of a matrix of dissimilarities are such matrices as well
    variants: ClassVar[tuple[Variant, ...]] = (variant(),)  # variants of options that compute something else
    baseline: ClassVar[bool] = False  # whether it is the linear baseline of `mlcli explore`
    beside_baseline: ClassVar[bool] = False  # whether its quality is shown beside that of PCA or classical scaling
    takes_anchors: ClassVar[bool] = False  # whether rows can be tied to former places by a penalty of its objective
    later: ClassVar[tuple[str, ...]] = ()  # options of later versions, which count in fingerprints only if chosen
    checked_tables: ClassVar[float] = 0.0  # arrays of the data's size that its checks hold
    repeat_tolerance: ClassVar[float] = 1e-9  # relative difference of coordinates between runs that agree by a law
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        name: str
        neighbors: Neighbors = Neighbors()  # of a method on neighbors
        eigensolve: Eigensolve = Eigensolve()  # or, of a method without an eigenproblem:
        axes: Axes = Axes()

    @classmethod
    def holds(cls) -> str:
        """Return a sentence about the content of spectrum.csv."""
        return f"spectrum.csv holds {cls.ranked_by}." if cls.ranked_by else "There is no spectrum.csv."

    def loss(self) -> str:
        """Return the sentence on what its pictures do not show, with these options."""
        return self.loses

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return the settings that `mlcli explore` tries on such an input; none by default."""
        return Trials()

    def fit(self, data: Input, compute: Compute) -> Model:
        """Fit the model, in units that keep squares in range; raises DataError and RefusedByPlan."""
        with running("prepare"):
            normalized = self.in_range(data)
        return self.fit_in_range(normalized, self.steps_before_fit(normalized, compute), compute)

    def fit_in_range(self, normalized: Any, steps: Sequence[Step], compute: Compute) -> Model:
        """Fit the model to data from `in_range`, of which the `steps_before_fit` are known; raises RefusedByPlan."""
        require_memory(steps, normalized, self, compute)
        model = self.measured_in(normalized.unit).solve(normalized, compute)
        return model.in_units(normalized, self.powers_of(normalized))

    def place_among(self, data: Input, places: Array, moving: Indices, model: Model, compute: Compute) -> Model:
        """Return the model of rows that are added to the map of a fitted `model`, whose other rows stay where they are.

        `places` (n x p) are the coordinates of all rows, of which those of the rows `moving` (m) are not known. By
        default these are placed by the model's projector, which stays, as do spectrum and figures of the fit.
        """
        found = np.array(places)
        if len(moving):
            found[moving] = model.required_projector.place(data.values[moving], data.labels_at(moving))
        return replace(model, embedding=found, added=True,
                       spectrum=model.spectrum and replace(model.spectrum, vectors=found))

    def steps_among(self, data: Any, count: int, compute: Compute) -> list[Step]:
        """Return the steps by which so many of the rows of `data` are placed among the others."""
        size, columns = data.values.shape
        return [Step("project", f"{count:,} rows among {size - count:,}",
                     float(count) * size * columns * rates().paired / compute.thread_count() + rates().called,
                     8.0 * min(count, 4096) * size)]

    def checks_among(self, subject: "Subject", moving: Indices) -> Iterator[Check]:
        """Yield the checks of rows (m) that were placed among others: by default where the projector places them."""
        from mlcli.certify.onto import placement_checks

        yield from placement_checks(subject, moving)

    def checks_tied(self, subject: "Subject", anchors: "Anchors") -> Iterator[Check]:
        """Yield the checks of a fit whose rows are tied to former places, of a method that takes these."""
        raise NotImplementedError

    def in_range(self, data: Input) -> Any:
        """Return the data with the method's metric, in units that keep squares in range; raises DataError."""
        compared = self.with_metric(data)
        compared.require_scales()
        return compared.normalized(self.unscaled)

    def with_metric(self, data: Input) -> Input:
        """Return features with the method's metric, other data as it is; raises DataError outside of its domain."""
        return with_metric(self.distance, data)

    def compared(self, data: Input, model: Model) -> Input:
        """Return data with the metric by which a fitted `model` compares it, where a fit changes that of the method."""
        return self.with_metric(data)

    def axis_name(self, place: int, constrained: int | None) -> str:
        """Return the name of an axis, by its place from 1."""
        return f"{self.axis} {place}"

    @property
    def free_scale(self) -> bool:
        """Whether distances of coordinates are in another unit than those of the data."""
        return self.scaleless or self.powers.coordinates == 0

    def axis_names(self, proportions: Sequence[float | None], count: int, constrained: int | None = None) -> list[str]:
        """Return labels for `count` axes, some `constrained`: names, and the share of variance if known."""
        known = [*(proportions if self.variance_shares and not self.scaleless else ()), *[None] * count]
        return [self.axis_name(place, constrained) + ("" if share is None else f" ({percent(share)})")
                for place, share in enumerate(known[:count], start=1)]

    @property
    def distance(self) -> Metric:
        """The metric of features: Euclidean where the method has no such option."""
        return getattr(self, "metric", EUCLIDEAN)

    @property
    def weighs_columns(self) -> bool:
        """Whether columns count by their variances: in coordinates, and in distances by differences of columns."""
        return not self.unit_free and self.distance.unit_power > 0

    @property
    def neighbor_count(self) -> int | None:
        """The number of neighbors that it searches for; None for a radius, and without such an option."""
        return self.neighbors.count if "neighbors" in type(self).model_fields else None

    def resolve(self, data: Input) -> Self:
        """Return the method with defaults clipped to the data; raises ConfigError for a chosen value out of range."""
        self.require(data)
        resolved = self.axes_options.resolved(self.limit(data), self.eigenvalues(data))
        return self.replace(**{self.axes_section(): resolved}, **self.resolved_stages(data))

    def require_kind(self, kind: str, missing: str = "error") -> None:
        """Raise ConfigError where the method does not take this kind of input, or missing cells."""
        kinds = list(dict.fromkeys(accepted.kind for accepted in self.accepts))
        if kind not in kinds:
            raise ConfigError("KIND", f"{self.name} takes {' or '.join(kinds)}, not {kind}", where="input.kind",
                              hint="choose another method, or give the data in another form")
        if missing == "model" and not self.missing:
            raise ConfigError("NO-MODEL", f"{self.name} has no model of missing cells", where="prepare.missing",
                              hint="ppca, fa, lgssm, mfa, famd and statis have one; or choose error, drop or mean")

    @classmethod
    def inputs(cls) -> list[str]:
        """Return what the method takes, in words: kinds of input with their further needs, each once."""
        described = [
            f"{accepted.kind} in one table or in several (`{{input.view.path}}`)" if cls.joins_views and (
                accepted is Features) else
            f"{accepted.kind} in several matrices (`{{input.view.path}}`)" if cls.views_match and (
                issubclass(accepted, Viewed) and accepted.kind == "dissimilarities") else
            accepted.description() for accepted in cls.accepts]
        return list(dict.fromkeys(described))

    def require(self, data: Input) -> None:
        """Raise ConfigError where the data lacks something that the method needs, or has a view that it cannot use."""
        self.require_kind(data.kind)
        if (chain := self.chain_of(data.kind)) is not None:
            chain.require_decoder(data.kind)
        if getattr(self.axes_options, "solver", "auto") == "filter" and not (chain and chain.kernel.of_cost):
            raise ConfigError("FILTER", f"filters find eigenvalues of a sparse cost, which {self.name} does not have "
                              "with these options", where=f"{self.axes_options.where}.solver",
                              hint="choose auto; laplacian and lle have one, and diffusion with {method.nearest=64}")
        views = any(issubclass(accepted, Viewed) and accepted.kind == data.kind for accepted in self.accepts)
        most = self.most_views if views else 1
        if isinstance(data, Viewed) and len(data.views) > most:
            raise ConfigError("VIEW", f"{self.name} does not use a {'second' if most == 1 else 'third'} view",
                              where="input.view", hint="leave it out, or choose cca or ibfa, or mfa, famd or statis, "
                              "of which each file is a group; of dissimilarities dbrda (with a table) or statis (with "
                              "further matrices)")
        if not (self.distance.plain or isinstance(data, Features)):
            raise ConfigError("METRIC", f"the metric {self.distance.name} was chosen, and it compares features, not "
                              f"{data.kind}", where="method.metric", hint="leave it out, or give features")
        if not isinstance(data, self.accepts):
            needs = next(accepted.needs for accepted in self.accepts if accepted.kind == data.kind)
            raise ConfigError("NEEDS", f"{self.name} needs {needs.partition(';')[0]}", where="input",
                              hint=needs.partition(";")[2].strip())

    def with_components(self, count: int) -> Self:
        """Return the method with the number of axes that a fit kept; a share of variance stays a share."""
        chosen = self.axes_options.components
        return self.with_axes(count) if isinstance(chosen, int) and chosen != count else self

    def with_axes(self, count: int) -> Self:
        """Return the method with `count` axes, in place of its option."""
        return self.replace(**{self.axes_section(): self.axes_options.replace(components=count)})

    @classmethod
    def axes_section(cls) -> str:
        """Return the section with the number of axes: `axes` where there is no eigenproblem, else `eigensolve`."""
        return "axes" if "axes" in cls.model_fields else "eigensolve"

    @property
    def axes_options(self) -> Eigensolve | Axes:
        """The options with the number of axes."""
        return self.axes if self.axes_section() == "axes" else self.eigensolve

    def makes(self, kind: str = "features") -> tuple[Name, ...]:
        """Return the intermediate results of a fit of such an input that a run may keep."""
        chain = self.chain_of(kind)
        return () if chain is None else chain.makes(kind)

    def makes_none(self, name: Name) -> str:
        """Return in words that the fit makes no such intermediate result: with these options, or with none."""
        able = any(name in type(self)(**variant.options).makes() for variant in self.variants)
        return f"{self.name} makes none{' with these options' if able else ''}"

    def for_products(self) -> Self:
        """Return the method without the work that its intermediate results do not depend on; by default itself."""
        return self

    def require_products(self, wanted: Sequence[Name], kind: str, where: str) -> None:
        """Raise ConfigError for a wanted intermediate result that the fit does not make."""
        made = self.makes(kind)
        for name in wanted:
            if name not in made:
                raise ConfigError("KEEP", f"{name} cannot be kept: {self.makes_none(name)}", where=where,
                                  hint=f"it makes {list_in_words(made)}" if made else "leave it out")

    def resampling(self, kind: str) -> Literal["bootstrap", "subsample"] | None:
        """Return how rows are resampled to measure stability; None where they cannot be.

        By bootstrap, or with a neighbor graph, where repeated rows would be neighbors, by a sample without repetition.
        """
        chain = self.chain_of(kind)
        free = chain is not None or self.columns_model != "none" or self.can_resample
        if kind not in (Features.kind, Dissimilarities.kind) or not free:
            return None
        return "bootstrap" if chain is None or chain.graph is None else "subsample"

    def leads_back(self, kind: str) -> bool:
        """Whether coordinates of such an input have a decoder to features, with these options."""
        chain = self.chain_of(kind)
        return self.decodes is not None and kind == Features.kind and (chain is None or chain.has_decoder)

    def require_loadings(self, kind: str, where: str) -> None:
        """Raise ConfigError for an option at `where` that needs loadings of columns if there are none."""
        chain = self.chain_of(kind)
        if kind != Features.kind or not (self.has_loadings if chain is None else chain.by_columns):
            raise ConfigError("NO-LOADINGS", f"{self.name} has no loadings of columns here", where=where,
                              hint="leave it out, or choose a linear method of features, as pca, fa or lda")

    def require_decoder(self, kind: str, where: str) -> None:
        """Raise ConfigError for an option at `where` that needs a decoder to features if there is none."""
        if not self.leads_back(kind):
            condition = f"; {self.name} has one with: {self.decodes}" if self.decodes else ""
            raise ConfigError("NO-DECODER", f"{self.name} cannot reconstruct features from coordinates here",
                              where=where, hint=f"leave it out{condition}")

    def streams(self, kind: str) -> bool:
        """Whether it takes such an input in blocks of rows; methods with conditions override this."""
        return kind == "features" and self.in_blocks == ""

    def requires(self) -> tuple[str, ...]:
        """Return the extras of the distribution that these options need."""
        return ()

    def tables(self) -> tuple[str, ...]:
        """Return the names of options that write a file of their own."""
        return ()

    def weighs_rows(self, kind: str) -> bool:
        """Whether axes of such an input are principal axes of rows with weights, in which rows and columns have shares.
        """
        return False

    def row_weights(self, points: Array) -> Array:
        """Return the weights (n) of rows of features (n x d), of a method whose axes are principal ones: 1 / n."""
        return np.full(len(points), 1 / max(len(points), 1))

    def weighted_rows(self, subject: "Subject") -> "WeightedRows":
        """Return rows whose principal axes are those of the method, by its definition, for the certificate."""
        raise NotImplementedError

    def reproduces(self) -> bool:
        """Whether projecting a training row gives its coordinates."""
        return True

    def checks(self, subject: "Subject") -> Iterator[Check]:
        """Yield the certificate's checks of a model: by default those of its chain, or of its projector.

        Data and model are in the computation's units. What needs no input comes first, as the certificate ends where
        the input is asked for and not at hand. With `subject.plan.full`, all rows are checked, however long that takes.
        """
        if subject.chain is not None:
            module, _, name = subject.chain.kernel.checked_by.partition(":")
            checks: Checks = getattr(import_module(module), name)
            return checks(subject, subject.chain)
        from mlcli.certify.projection import projector_checks

        return projector_checks(subject, reproduces=self.reproduces())

    def certified_seconds(self, data: Any, steps: Sequence[Step]) -> float:
        """Predict the seconds of the fit's steps that the certificate repeats; none by default."""
        return 0.0

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return options whose defaults depend on the data, as neighbors do; raises ConfigError for unused options."""
        if "neighbors" not in type(self).model_fields:
            return {}
        if isinstance(data, WeightedGraph):
            searching = "neighbors.radius", "neighbors.count", "graph"
            return self.refuse_unused("the graph is given", *(path for path in searching if path.partition(
                ".")[0] in type(self).model_fields))
        if self.neighbors.radius is not None and "graph" in type(self).model_fields:
            self.refuse_unused(SAME_BOTH_WAYS, "graph")
        return {"neighbors": self.neighbors.resolved(len(data.values))}

    def limit(self, data: Input) -> int:
        """Return the largest number of axes for data of this shape."""
        return (self.landmark_count(data) or len(data.values)) - 1

    def eigenvalues(self, data: Input) -> int:
        """Return the number of eigenvalues, zeros included."""
        return self.landmark_count(data) or len(data.values)

    def landmark_count(self, data: Input) -> int | None:
        """Return the number of landmarks, or None; raises ConfigError where there are more than points."""
        count: int | None = getattr(self, "landmarks", None)
        if count is not None and count > len(data.values):
            raise ConfigError("LANDMARKS", f"{count} landmarks were requested, but there are {len(data.values)} points",
                              where="method.landmarks", hint="ask for fewer, or leave landmarks out")
        return count

    def stored(self, data: Input) -> float:
        """Return the bytes of training rows in the model, all or the landmarks, and of a graph that places new points.

        A method of columns has none.
        """
        chain, size = self.chain_of(data.kind), len(data.values)
        if chain is None or (chain.kernel.by_columns and chain.centering != "double"):
            return 0.0
        placed = chain.paths is not None or chain.kernel.of_weights
        used = size if placed else self.landmark_count(data) or size
        rows = 0.0 if data.points is None else 8.0 * data.points.size * used / max(size, 1)
        return rows + (graph_bytes(chain.graph.neighbors, data) if placed and chain.graph is not None else 0.0)

    @property
    def squares(self) -> int:
        """The number of arrays of all pairs of rows that its model's file holds besides what is `stored`."""
        return 0

    def axes_of(self, data: Input) -> int:
        """Return the number of axes; for a share of the variance, the largest."""
        kept = self.axes_options.components
        return kept if isinstance(kept, int) else self.limit(data)

    def powers_of(self, data: Input) -> Powers:
        """Return the powers of the data's unit in coordinates and spectrum, with these options."""
        return self.powers

    def ranks_by(self) -> str | None:
        """Return what the numbers in spectrum.csv are, with these options."""
        return self.ranked_by

    def steps_before_fit(self, data: Any, compute: Compute) -> list[Step]:
        """Return the steps whose memory the data alone determines; those that a graph determines `solve` checks."""
        chain = self.chain_of(data.kind)
        searching = None if chain is None else chain.search_steps(data, compute)
        return self.steps(data, compute, None) if searching is None else searching

    def chain(self, kind: str = "features") -> Stages | None:
        """Return the chain of stages of this method for such an input; None where it is not a chain."""
        return None

    def chain_of(self, kind: str) -> Stages | None:
        """Return the chain for such an input, which is made and validated once."""
        if kind not in self._chains:
            self._chains[kind] = self.chain(kind)
        return self._chains[kind]

    @cached_property
    def _chains(self) -> dict[str, Stages | None]:
        """The chains that were made, by kind of input."""
        return {}

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of a fit with costs; with a share, that part of the most expensive work is measured."""
        return self.composition(data, compute, share).steps()

    def solve(self, data: Any, compute: Compute) -> Model:
        """Compute the model by the method's formula."""
        found: Model = self.composition(data, compute).fit()
        return found if self.chain_of(data.kind) is None else found.with_loadings(data)

    def composition(self, data: Any, compute: Compute, share: float | None = None) -> Composition[Any]:
        """Return the stages of a fit, each with its cost: by default those of its chain, which give the coordinates.

        A method without a chain has its own, which give the model, or `steps` and `solve`.
        """
        chain = self.chain_of(data.kind)
        if chain is None:
            raise NotImplementedError
        return compose(chain, data, compute, lambda steps, rows: require_memory(steps, rows, self, compute), share)


# The memory of a run: what it takes and of what, the refusal of what is over the limit, and its remedy.

PAIRS = 2.0  # arrays of all pairs that quality has in memory at once
SAMPLED = 18 * MIB  # memory of measures of a sample besides the distances from it: mostly ranks of pairs
COPIES, ROOM = 3.0, 2**20  # arrays of the rows that rules examine, and numbers of these where there are many rows
FITTED, ASSESSED = 2.0, 4.0  # arrays of the size of the coordinates while they are computed, and checked and written
WEIGHED = 8.0  # of the loadings or weights of columns
WRITING = 3.0  # arrays of the size of a model while it is written and checked
SAFE, LESS, TRIES, FEWEST = 0.97, 0.85, 20, 10  # of the search for a number of rows that fits
CHEAP = 2e9  # multiplications of a neighbor search that a refusal may take
READ_IN_BLOCKS = {  # by kind of input
    "features": "a Parquet, Arrow, NPY or plain CSV file is read in blocks (input.stream)",
    "dissimilarities": "an NPY file of the matrix is read in blocks (input.stream)"}
ROW = 160  # bytes of a row's name and its cells in the table that is written


def peak(steps: Sequence[Step], data: Given, method: Method, compute: Compute) -> float:
    """Return the peak memory, in bytes, of a process that reads the data, runs the steps, checks and writes results."""
    return sum(footprint(steps, data, method, compute).values())


def footprint(steps: Sequence[Step], data: Given, method: Method, compute: Compute) -> dict[str, float]:
    """Return the bytes of a process at its peak, by purpose.

    Workers that it started on this machine are included. During the fit there is a copy of the data in other units,
    unless its size is within the method's `unscaled`.
    """
    columns = data.values.shape[1] if data.kind == "features" else 0
    most = max(steps, key=lambda step: step.memory)
    needs = [*(step.needs for step in steps), *after_fit().needs]
    copies = 1 if rows_of(data.values) is not None or data.held_once(method.unscaled) else 2
    moments = {"reading": reading_memory(data, compute),
               most.stage: {**table_memory(data, copies), most.stage: most.memory,
                            "the coordinates": FITTED * coordinates_memory(method, data)},
               "checks": {**table_memory(data, blocks=0),
                          "kept of the fit": max(kept_of_fit(data, most.memory) - distances_memory(data), 0.0),
                          "rules, quality, files and certificate": checks_memory(method, data)}}
    return {"program, libraries and threads": float(resident(compute.thread_count(), needs)),
            "figures": after_fit().memory,
            "workers": DASK + context().local_workers * worker_memory(steps) if context().local_workers else 0.0,
            "ids and labels": after_fit().texts,
            "names of columns": (COLUMN + ARROW_COLUMN * (ARROW in sys.modules)) * columns,
            **max(moments.values(), key=lambda parts: sum(parts.values()))}


def kept_of_fit(data: Given, largest: float) -> float:
    """Return the bytes that allocators keep of a stage that held so many; of parts of rows in blocks they keep none."""
    return min(largest, float(WORTH)) if rows_of(data.values) is None else 0.0


def reading_memory(data: Given, compute: Compute) -> dict[str, float]:
    """Return the memory of the table during reading: all of it and its format's overhead, or a block per thread."""
    rows = rows_of(data.values)
    if rows is None:
        return {"the table": float(data.bytes), "reading it": after_fit().reading}
    from mlcli.core.moments_pass import pass_bytes

    lanes = rows.at_once(compute.thread_count())
    return {f"{lanes} block{'s' * (lanes > 1)} of the table": lanes * float(data.bytes),
            "sums over it": pass_bytes(rows.shape[1], lanes), "a sample of its rows": sample_memory(rows)}


def table_memory(data: Given, copies: int = 1, blocks: int = 1) -> dict[str, float]:
    """Return the memory of the table after reading, with allocators' remains, or of some of its blocks."""
    rows = rows_of(data.values)
    if rows is None:
        return {"the table": copies * float(data.bytes), "kept of reading it": after_fit().kept}
    return {"a block of the table": blocks * float(data.bytes), "a sample of its rows": sample_memory(rows)}


def sample_memory(rows: Rows) -> float:
    """Return the bytes of the sample of a table that is read in blocks."""
    return 8.0 * len(rows.at_hand) * rows.shape[1]


def coordinates_memory(method: Method, data: Any) -> float:
    """Return the bytes of the coordinates in memory."""
    return bytes_in_memory(1, len(data.values) * method.axes_of(data)) if rows_of(data.values) is not None else (
        8.0 * len(data.values) * method.axes_of(data))


def weights_memory(method: Method, data: Any) -> float:
    """Return the bytes of the matrix that maps rows, or their similarities, to coordinates."""
    side = data.values.shape[-1] if data.kind in ("features", "covariance") and not method.stored(data) else 0
    return 8.0 * side * method.axes_of(data)


def worker_memory(steps: Sequence[Step]) -> float:
    """Return the bytes of a worker on this machine that takes part in these steps."""
    return WORKER + max((step.passes.worker_bytes for step in steps if step.passes is not None), default=0.0)


def checks_memory(method: Method, data: Any) -> float:
    """Return the bytes of rules, quality, and the model while it is written and checked, without the data."""
    rows, columns = len(data.values), data.values.shape[-1]
    of_columns, stored, table = method.columns_model != "none", method.stored(data), float(data.bytes)
    in_file = rows_of(data.values)
    there = rows if in_file is None else len(in_file.at_hand)  # rules examine a sample
    compared_rows = min(there, max(ROOM // max(columns, 1), EXACT)) if of_columns and after_fit().rules else 0
    looked = 8.0 * COPIES * compared_rows * columns
    compared = distances_memory(data)
    if rows > EXACT and in_file is None:
        compared += SAMPLED * after_fit().quality
    written = WRITING * stored + table * method.checked_tables
    named = in_file is None or isinstance(data.ids, tuple)  # row numbers become text when they are written
    results = ASSESSED * coordinates_memory(method, data) + WEIGHED * weights_memory(method, data)
    return max(looked, max(compared, after_fit().baseline) + stored, written) + ROW * rows * named + results


def distances_memory(data: Any) -> float:
    """Return the bytes of distances that quality is measured from; they take the place of what allocators keep."""
    rows, columns, in_file = len(data.values), data.values.shape[-1], rows_of(data.values)
    if rows <= EXACT or in_file is not None:
        few = min(rows if in_file is None else len(in_file.at_hand), EXACT)
        found = 8.0 * (PAIRS * few**2 + few * columns)
    else:
        wide = data.kind == "features" and columns > FEW_COLUMNS
        found = 8.0 * rows * min(automatic(rows, columns), anchors_in_group(rows)) * wide
    return found * after_fit().quality


def admit(needed: float, limit: Callable[[], float]) -> None:
    """Wait at the gate of the context, where it has one, until a fit may take so many bytes of the limit."""
    gate = context().gate
    if gate is not None:
        with stop_at_once():
            gate(needed, limit())


def require_memory(steps: Sequence[Step], data: Given, method: Method, compute: Compute) -> None:
    """Refuse a fit that does not fit in memory, or wait for memory that other runs of a sweep use.

    Raises RefusedByPlan with the remedy of the step that takes most.
    """
    needed = peak(steps, data, method, compute)
    workers = f" by {context().local_workers} workers" if context().local_workers else ""
    hint = remedy(steps, data, method, compute) if needed > compute.memory_bytes() else ""
    compute.require(needed, f"{method.name} of {len(data.values):,} rows{workers}", hint)
    admit(needed, compute.memory_bytes)


def remedy(steps: Sequence[Step], data: Given, method: Method, compute: Compute) -> str:
    """Return how to need less memory: fewer rows, if some fit, and the remedy of the largest step, if it can help.

    `data` is that of the steps, in their units. Where only the work after the fit is too large, its remedy is returned.
    """
    with memory_after_fit(replace(after_fit(), needs=(), memory=0.0)):
        alone = peak(steps, data, method, compute) <= compute.memory_bytes()
    if alone and after_fit().instead:
        return after_fit().instead
    if context().local_workers and (fewer := fewer_workers(steps, data, method, compute)):
        return fewer
    most, rows = max(steps, key=lambda step: step.memory), fitting_rows(steps, data, method, compute)
    least = resident(compute.thread_count()) + float(data.bytes) + checks_memory(method, data)
    instead = most.remedy if least < compute.memory_bytes() else ""
    whole = rows_of(data.values) is None and method.streams(data.kind)  # not read in blocks, though the method could
    ways = f"about {rows:,} rows fit" if rows else "", instead, READ_IN_BLOCKS[data.kind] if whole else ""
    return "; ".join(filter(None, ways)) or "give more memory"


def fewer_workers(steps: Sequence[Step], data: Given, method: Method, compute: Compute) -> str:
    """Return the remedy of fewer workers on this machine; empty where the run would not fit without any."""
    with set_context(local_workers=0):
        left = compute.memory_bytes() - peak(steps, data, method, compute)
    return workers_fitting(left, worker_memory(steps)) if left >= 0 else ""


def fitting_rows(steps: Sequence[Step], data: Given, method: Method, compute: Compute) -> int:
    """Return how many rows, evenly spaced, fit in memory; 0 where that is not known.

    The first guess follows from the sizes of the steps. It is planned where planning is cheap, and where there is room
    for that, as a refusal takes no more than it allows; else a smaller number is said.
    """
    if rows_of(data.values) is not None:  # their number matters little, and planning would read some of them
        return 0
    if data.kind == "covariance":  # its rows are columns of a table
        return 0
    whole, limit = len(data.values), compute.memory_bytes()
    alone = resident(compute.thread_count(), [step.needs for step in steps])
    share = (limit - alone) / max(peak(steps, data, method, compute) - alone, 1.0)
    square = whole <= EXACT or max(steps, key=lambda step: step.memory).square
    rows = int(whole * SAFE * (np.sqrt(share) if square else share)) if 0 < share < 1 else 0
    stages, room = {step.stage for step in steps}, alone + 2.0 * data.bytes <= limit
    if "paths" in stages and not room:  # the graph of fewer rows chooses their algorithm, and so their memory
        return 0
    planned = room and not ("neighbors" in stages and float(rows) ** 2 * data.values.shape[-1] > CHEAP)
    for _ in range(TRIES):
        if rows < FEWEST:
            break
        some: Any = data
        with suppress(MlcliError):
            some = some.take(np.linspace(0, whole - 1, rows).astype(np.int64)) if planned else first_rows(data, rows)
            fewer = method.steps(some, compute, None) if planned else scaled_steps(steps, rows / whole)
            if peak(fewer, some, method, compute) <= limit:
                return rows if planned else int(rows * LESS)
        rows = int(rows * LESS)
    return 0


def first_rows(data: Given, rows: int) -> Given:
    """Return the first rows of features or of a square, without a copy, for what only their number matters to."""
    values = data.values[:rows] if data.kind == "features" else data.values[:rows, :rows]
    return replace(data, values=values, ids=data.ids[:rows])


def scaled_steps(steps: Sequence[Step], share: float) -> list[Step]:
    """Return the steps with the memory that a share of the rows would take."""
    return [replace(step, memory=step.memory * (share**2 if step.square else share)) for step in steps]
