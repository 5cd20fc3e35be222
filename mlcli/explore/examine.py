"""Before an exploration: the data examined, the settings that are worth a trial, and what each would take."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import threads_limited
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import unheard
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Spatial
from mlcli.checkup.examine import LARGEST, check
from mlcli.checkup.report import Report
from mlcli.config.build import build
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_config import RunConfig
from mlcli.data.options.wording import counted
from mlcli.engine.cache import Folder
from mlcli.errors import ConfigError, DataError, GeometryError, MlcliError
from mlcli.explore.report.verdict import Structure
from mlcli.explore.settings import (
    AXES,
    COUNTS,
    LeftOut,
    Setting,
    axes_of,
    counts_of,
    fitting,
    layer_of,
    settings_of,
    with_axes,
)
from mlcli.explore.structure import structure_of
from mlcli.methods import METHODS
from mlcli.methods.frame.memory import peak
from mlcli.methods.frame.trials import InputSummary
from mlcli.pipeline.shared_input import reading_once
from mlcli.pipeline.start import Start, begin, is_run
from mlcli.planning.plan import after
from mlcli.planning.plan import fitting as steps_of
from mlcli.rundir.cached import caching
from mlcli.stages.algebra.metrics.points import metric_of
from mlcli.stages.graph.neighborhoods import Nearest, searching_for
from mlcli.stages.similarities.spaces import input_space

SAMPLE = 500  # points whose distances say how wide kernels are tried
CHECKED, FEWEST_CHECKED = 0.05, 1_000  # share of the budget that the checkup's search may take, and rows that it sees
SEARCH = 0.25  # share of the budget that the search for neighbors may take
EXAMINING = 0.4  # share of the budget from which on no more settings are planned
PROBES = 100, 1_000  # points whose neighbors are searched for, to know how long it takes for all
TRIALS = 0.8  # share of the budget until which trials go on; the rest is for measuring and fits to parts of the rows
ROWS = 1_000  # rows on which several methods are tried within a second, four times as many within sixteen
FEWEST_SAMPLED = 500
LEAST_ROWS = 3  # below which no neighborhood is smaller than all other points
LEAST = 5.0  # seconds that this may take whatever the budget
NEIGHBORS = ("neighbors", "fewer neighbors")


@frozen
class Sampled:
    """Rows that settings are tried on, where the budget does not allow all of them."""

    rows: int
    of: int


@frozen
class Examined:
    """What is known before the first trial."""

    report: Report
    axes: int  # that methods are compared with
    why: str  # so many
    asked: bool  # whether the user did
    most: int  # axes that embeddings of nested axes are made with
    settings: Sequence[Setting]  # in the order of their trials
    left: Sequence[LeftOut]
    neighbors: int  # that the trials need, at most
    structure: Structure | None  # of columns that are compared by Euclidean distances
    sampled: Sampled | None = None

    def tried(self, layer: Layer) -> Layer:
        """The layer of what is explored with the rows that settings are tried on."""
        return layer if self.sampled is None else of_rows(layer, self.sampled.rows)

    @property
    def fixed(self) -> bool:
        """Whether the number of axes is that of the user, of groups or of factors."""
        known = self.structure
        return self.asked or (known is not None and (
            known.factors is not None or (known.groups is not None and not known.groups.inside)))


def examine(layer: Layer, folder: Folder | None, asked: int | None, budget: float) -> Examined:
    """Examines the data of a layer and plans the trials; raises what reading and the checkup raise.

    Neighbors that are found here stay in the folder for the runs.
    """
    config = base_config(layer)
    if config.input.stream == "always":
        raise ConfigError("STREAM", "an exploration compares embeddings of a table in memory", where="input.stream",
                          hint="leave input.stream out; --rows N takes some of the rows")
    with reading_once(), threads_limited(config.compute.thread_count()):
        begun = time.perf_counter()
        with _points_wanted(config.input.path):
            start = begin(config)
        data = start.prepared.table.data()
        clock = Clock(begun, time.perf_counter() - begun, budget)
        require_points(data, config.input.kind, config.input.path)
        require_comparable(data, config.input.path)
        few = rows_in(budget) if can_be_sampled(config, data) else len(data.values)
        with searching_for(max(COUNTS)), caching(folder, config.compute.thread_count()):
            if few >= len(data.values) or search_seconds(config, data) <= SEARCH * budget:
                found = of_table(layer, start, asked, clock)
                if few >= len(data.values) or compares(found, clock):
                    return found
            chosen = of_rows(layer, few)
            some = begin(base_config(chosen))
            return of_table(chosen, some, asked, clock, Sampled(len(some.prepared.table.ids), len(data.values)))


@frozen
class Clock:
    """The time that there is, and what reading has taken."""

    begun: float
    reading: float  # seconds
    budget: float  # seconds

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.begun


def rows_in(budget: float) -> int:
    """Rows that several methods are tried on within a budget (s): pairs of rows take the time."""
    return max(int(ROWS * budget**0.5), FEWEST_SAMPLED)


def can_be_sampled(config: RunConfig, data: Input) -> bool:
    """Whether a run can take some of the rows: those of a file of features."""
    return data.kind == "features" and not (is_run(config.input.path) or config.input.transpose
                                            or config.input.view.path is not None)


def of_rows(layer: Layer, rows: int) -> Layer:
    """The layer with so many rows, drawn by the seed."""
    return assignment("input.rows", rows, "explore").over(layer)


def compares(found: Examined, clock: Clock) -> bool:
    """Whether the budget allows a trial besides those that others have to beat."""
    fits = fitting(found.settings, TRIALS * clock.budget - clock.elapsed)
    return any(fit and not METHODS[setting.method].baseline
               for setting, (_, fit) in zip(found.settings, fits, strict=True))


def of_table(layer: Layer, start: Start, asked: int | None, clock: Clock, sampled: Sampled | None = None) -> Examined:
    """What is known of a table, or of a sample of its rows."""
    config, data, budget = base_config(layer), start.prepared.table.data(), clock.budget
    report = check(config, rows_to_check(config, data, budget),
                   start.source if start.source.kind == "features" else None)  # else as the file holds it
    seen = seen_of(config, data, report, sampled)
    structure = structure_of(data, config.compute.generator()) if seen.euclidean else None
    axes, why = axes_of(asked, report, most_axes(data), structure)
    most = max(axes, AXES)
    settings, left = settings_of(data, seen, structure)
    settings = [setting.with_axes(axes) for setting in settings]
    search = search_seconds(config, data)
    planned = [predicted(setting, layer, start, most, 0.0 if place else clock.reading, (search, budget))
               if place == 0 or clock.elapsed < max(EXAMINING * budget, LEAST) else
               LeftOut(setting.name, "too much of the budget was used up before it could be planned")
               for place, setting in enumerate(settings)]
    timed = [part for part in planned if isinstance(part, Setting)]
    left += [part for part in planned if isinstance(part, LeftOut)]
    return Examined(report, axes, why, asked is not None, most, timed, left, max(seen.counts), structure, sampled)


def rows_to_check(config: RunConfig, data: Input, budget: float) -> int:
    """All rows, or as many as the checkup's search for neighbors takes a small share of the budget for."""
    count = len(data.values)
    if data.kind != "features" or not isinstance(data, Spatial):
        return count
    compared = config.method.with_metric(data)
    assert isinstance(compared, Spatial)
    seconds = Nearest(max(COUNTS)).step(compared, config.compute).seconds
    share = CHECKED * budget / seconds if seconds > 0 else 1.0
    return count if share >= 1 else min(count, max(FEWEST_CHECKED, int(count * share**0.5)))


def base_config(layer: Layer) -> RunConfig:
    """The configuration that the data is read and prepared with: that of a method which takes all metrics."""
    return build(layer_of(Setting("isomap", {}), layer))


def require_points(data: Input, kind: str, path: str) -> None:
    """Refuses what has no points to be placed; raises ConfigError."""
    if not data.apart:
        raise ConfigError("NO-ROWS", f"{kind} has no points, so there are no embeddings to compare",
                          where="input.kind", hint=without_points(kind, path))


def require_comparable(data: Input, path: str) -> None:
    """Refuses points whose embeddings cannot differ; raises DataError for few points, GeometryError for equal ones."""
    count = len(data.values)
    if count < LEAST_ROWS:
        raise DataError("TOO-FEW", f"{counted(count, 'row')} cannot be explored: a neighborhood that is smaller than "
                        f"the rest takes {LEAST_ROWS} rows at least", where=path,
                        hint=f"give {LEAST_ROWS} rows or more (--rows and --where choose rows)")
    if isinstance(data, Features | Dissimilarities) and (data.values == data.values[0]).all():
        raise GeometryError("ALL-EQUAL", f"all {count:,} points are equal, so there is nothing to embed", where=path,
                            hint="see what mlcli check says of the data")


def without_points(kind: str, path: str) -> str:
    """What to do with a matrix that holds no points."""
    return f"give features or dissimilarities; for axes of the columns: mlcli embed --kind {kind} {path}"


@contextmanager
def _points_wanted(path: str) -> Iterator[None]:
    """Errors that ask for a kind of input that holds no points lead to the command that takes it."""
    try:
        yield
    except MlcliError as error:
        if error.kind not in ("correlation", "covariance"):
            raise
        raise error.changed(hint=f"it holds no points to compare: {without_points(error.kind, path)}") from None


def seen_of(config: RunConfig, data: Input, report: Report, sampled: Sampled | None) -> InputSummary:
    """What methods are told of the data; of a sample how many rows there are in all, as the settings are for these."""
    counts, pieces = counts_of(len(data.values), report, whole=sampled is None)
    features = data.kind == "features"
    rows = np.sort(config.compute.generator().choice(len(data.values), min(len(data.values), SAMPLE), replace=False))
    compared = config.method.with_metric(data) if features else data
    apart = input_space(compared).between(rows, rows)[np.triu_indices(len(rows), 1)]
    rows_in_all = len(data.values) if sampled is None else sampled.of
    return InputSummary(data.kind, rows_in_all, data.values.shape[1], features and config.method.distance.plain, counts,
                pieces, float(np.median(apart[apart > 0] ** 2)) if (apart > 0).any() else None)


def most_axes(data: Input) -> int:
    """The most axes that a comparison can ask for: fewer than points, and no more than columns."""
    rows, columns = data.values.shape
    return max(min(rows - 1, columns if data.kind == "features" else rows - 1), 1)


def predicted(setting: Setting, layer: Layer, start: Start, axes: int, reading: float,
              time_of: tuple[float, float]) -> Setting | LeftOut:
    """A setting with the seconds that it would take, or why it cannot be tried."""
    data, (search, budget) = start.prepared.table.data(), time_of
    try:
        config = with_axes(build(layer_of(setting, layer)), axes)
        config.require_fitting()
        with unheard():  # its notes are those of a run
            method = config.method.resolve(data)
        if search > SEARCH * budget and isinstance(data, Spatial) and hasattr(method, "neighbors"):
            return LeftOut(setting.name, "the search for neighbors alone would take more than a quarter of the budget",
                           search)
        steps = steps_of(method, data, config.compute, None)
    except MlcliError as error:
        return LeftOut(setting.name, error.what)
    needed, limit = peak(steps, data, method, config.compute), config.compute.memory_bytes()
    later = after(config, method, start, steps)
    seconds = reading + sum(step.seconds for step in (*steps, *later) if step.stage not in NEIGHBORS)
    if needed > limit:
        return LeftOut(setting.name, "it does not fit in memory", seconds)
    return Setting(setting.method, setting.options, seconds)


def search_seconds(config: RunConfig, data: Input) -> float:
    """The seconds of a search for the neighbors of all points: as predicted, of very many rows as some of them take.

    Trees look at few points or at nearly all, which only the data decides.
    """
    if not isinstance(data, Spatial):
        return 0.0
    compared = config.method.with_metric(data)
    assert isinstance(compared, Spatial)
    nearest, size = Nearest(min(max(COUNTS), len(data.values) - 1)), len(data.values)
    if size <= LARGEST or not isinstance(compared, Features) or rows_of(compared.values) is not None:
        return nearest.step(compared, config.compute).seconds
    few, more = (seconds_of(nearest, compared, count, config) for count in PROBES)
    return size * max(more - few, 0.0) / (PROBES[1] - PROBES[0])


def seconds_of(nearest: Nearest, data: Features, count: int, config: RunConfig) -> float:
    """The seconds in which the neighbors of so many points are found among all."""
    rows = np.sort(config.compute.generator().choice(len(data.values), count, replace=False))
    begun = time.perf_counter()
    nearest.of_new(data.values[rows], data.values, metric_of(data))
    return time.perf_counter() - begun
