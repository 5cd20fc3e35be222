"""Before an exploration: examines the data, and chooses and times the settings that are worth a trial."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shlex import quote

import numpy as np

from mlcli.base.context import set_context
from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import after_fit
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Spatial
from mlcli.base.values.sample_size import sample_of
from mlcli.checkup.examine import LARGEST, check
from mlcli.checkup.report import Report
from mlcli.config.build import build
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_config import RunConfig
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.metrics.distances import metric_of
from mlcli.core.similarities.spaces import input_space
from mlcli.data.options.wording import counted
from mlcli.engine.cache import Folder
from mlcli.engine.threads import threads_of
from mlcli.errors import ConfigError, DataError, GeometryError, MlcliError
from mlcli.explore.settings import (
    AXES,
    COUNTS,
    Clock,
    Exclusion,
    Setting,
    choose_axes,
    layer_of,
    neighbor_counts,
    settings_of,
    with_axes,
    within_budget,
)
from mlcli.explore.structure import structure_of
from mlcli.explore.verdict import Structure
from mlcli.findings.frame.plan import FitPlan
from mlcli.findings.frame.result import Start
from mlcli.methods import METHODS
from mlcli.methods.method import peak
from mlcli.methods.trials import InputSummary
from mlcli.pipeline.process import Process, SharedInput
from mlcli.pipeline.start import begin
from mlcli.planning.plan import fit_steps as steps_of
from mlcli.planning.plan import steps_after_fit
from mlcli.rundir.output import caching
from mlcli.rundir.reading import is_run

SAMPLE = 500  # points whose distances give the widths of kernels to try
CHECKED, FEWEST_CHECKED = 0.05, 1_000  # share of the budget for the checkup's search, and its fewest rows
SEARCH = 0.25  # share of the budget for the search for neighbors
EXAMINING = 0.4  # share of the budget after which no more settings are planned
PROBES = 100, 1_000  # numbers of points whose search times give the time for all points
TRIALS = 0.8  # share of the budget for trials; the rest is for scores and fits to parts of the rows
ROWS = 1_000  # rows for a budget of one second; four times as many for sixteen
FEWEST_SAMPLED = 500
LEAST_ROWS = 3  # with fewer rows every neighborhood contains all other points
LEAST = 5.0  # seconds allowed here whatever the budget
NEIGHBORS = ("neighbors", "fewer neighbors")


@frozen
class TrialRows:
    """A sample of the rows for the trials, where the budget does not allow all of them."""

    rows: int
    of: int


@frozen
class Examination:
    """The data and the planned settings, before the first trial."""

    report: Report
    axes: int  # number of axes that methods are compared with
    why: str  # the reason for that number
    asked: bool  # whether the user chose that number
    most: int  # number of axes of embeddings with nested axes
    settings: Sequence[Setting]  # in the order of their trials
    left: Sequence[Exclusion]
    neighbors: int  # largest number of neighbors in a trial
    structure: Structure | None  # statistics of columns in a Euclidean space
    sampled: TrialRows | None = None

    def trial_layer(self, layer: Layer) -> Layer:
        """Return the explored layer with the rows of the sample, where there is one."""
        return layer if self.sampled is None else with_rows(layer, self.sampled.rows)

    @property
    def fixed(self) -> bool:
        """Whether the number of axes was chosen by the user, or is that of groups or factors."""
        known = self.structure
        return self.asked or (known is not None and (
            known.factors is not None or (known.groups is not None and not known.groups.inside)))


def examine(layer: Layer, folder: Folder | None, asked: int | None, budget: float) -> Examination:
    """Examine the data of a layer and plan the trials; raises the errors of reading and of the checkup.

    The neighbors are kept in `folder` for the runs.
    """
    config = base_config(layer)
    if config.input.stream == "always":
        raise ConfigError("STREAM", "an exploration compares embeddings of a table in memory", where="input.stream",
                          hint="leave {input.stream} out; {input.rows=N} takes some of the rows")
    process = Process(SharedInput())
    with threads_of(config.compute):
        start_time = time.monotonic()
        with _hint_for_matrices(config.input.path):
            start = begin(config, process)
        data = start.prepared.table.data()
        clock = Clock(start_time, budget, reading=time.monotonic() - start_time)
        require_points(data, config.input.kind, config.input.path)
        require_comparable(data, config.input.path)
        few = sample_size(budget) if allows_sampling(config, data) else len(data.values)
        with set_context(neighbors=max(COUNTS)), caching(folder, config.compute.thread_count()):
            if few >= len(data.values) or search_seconds(config, data) <= SEARCH * budget:
                found = examine_table(layer, start, asked, clock)
                if few >= len(data.values) or allows_comparison(found, clock):
                    return found
            chosen = with_rows(layer, few)
            some = begin(base_config(chosen), process)
            return examine_table(chosen, some, asked, clock, TrialRows(len(some.prepared.table.ids), len(data.values)))


def sample_size(budget: float) -> int:
    """Return the number of rows for a budget (s), by its square root: the work grows with pairs of rows."""
    return max(int(ROWS * budget**0.5), FEWEST_SAMPLED)


def allows_sampling(config: RunConfig, data: Input) -> bool:
    """Whether a run can use some of the rows: those of a file of features."""
    return data.kind == "features" and not (is_run(config.input.path) or config.input.transpose
                                            or config.input.view.path is not None)


def with_rows(layer: Layer, rows: int) -> Layer:
    """Return the layer with a number of rows, drawn by the seed."""
    return assignment("input.rows", rows, "explore").over(layer)


def allows_comparison(found: Examination, clock: Clock) -> bool:
    """Whether the budget allows a trial of a method besides the linear baselines."""
    fits = within_budget(found.settings, TRIALS * clock.budget - clock.elapsed)
    return any(fit and not METHODS[setting.method].baseline
               for setting, (_, fit) in zip(found.settings, fits, strict=True))


def examine_table(layer: Layer, start: Start, asked: int | None, clock: Clock,
                  sampled: TrialRows | None = None) -> Examination:
    """Examine a table, or a sample of its rows."""
    config, data, budget = base_config(layer), start.prepared.table.data(), clock.budget
    report = check(config, rows_to_check(config, data, budget),
                   start.source if start.source.kind == "features" else None, curves=False)  # features as in the file
    summary = summary_of(config, data, report, sampled)
    structure = structure_of(data, config.compute.generator()) if summary.euclidean else None
    rows, columns = data.values.shape
    fewer = rows - 1 if data.kind != "features" else min(rows - 1, columns)  # than points, and no more than columns
    axes, why = choose_axes(asked, report, max(fewer, 1), structure)
    most = max(axes, AXES)
    settings, left = settings_of(data, summary, structure)
    settings = [setting.with_axes(axes) for setting in settings]
    search = search_seconds(config, data)
    planned = [predict(setting, layer, start, most, 0.0 if place else clock.reading, (search, budget))
               if place == 0 or clock.elapsed < max(EXAMINING * budget, LEAST) else
               Exclusion(setting.name, "too little of the budget was left to plan it")
               for place, setting in enumerate(settings)]
    timed = [part for part in planned if isinstance(part, Setting)]
    left += [part for part in planned if isinstance(part, Exclusion)]
    return Examination(report, axes, why, asked is not None, most, timed, left, max(summary.counts), structure, sampled)


def rows_to_check(config: RunConfig, data: Input, budget: float) -> int:
    """Return the number of rows whose neighbors the checkup can search for in a small share of the budget."""
    count = len(data.values)
    if data.kind != "features" or not isinstance(data, Spatial):
        return count
    compared = config.method.with_metric(data)
    assert isinstance(compared, Spatial)
    seconds = Nearest(max(COUNTS)).step(compared, config.compute).seconds
    share = CHECKED * budget / seconds if seconds > 0 else 1.0
    return count if share >= 1 else min(count, max(FEWEST_CHECKED, int(count * share**0.5)))


def base_config(layer: Layer) -> RunConfig:
    """Return the configuration for reading and preparing the data: that of a method with all metrics."""
    return build(layer_of(Setting("isomap", {}), layer))


def require_points(data: Input, kind: str, path: str) -> None:
    """Refuse an input without points, such as a covariance; raises ConfigError."""
    if not data.apart:
        raise ConfigError("NO-ROWS", f"{kind} has no points, so there are no embeddings to compare",
                          where="input.kind", hint=without_points(kind, path))


def require_comparable(data: Input, path: str) -> None:
    """Refuse points whose embeddings cannot differ; raises DataError for few points, GeometryError for equal ones."""
    count = len(data.values)
    if count < LEAST_ROWS:
        raise DataError("TOO-FEW", f"{counted(count, 'row')} cannot be explored: comparing neighborhoods needs at "
                        f"least {LEAST_ROWS} rows", where=path,
                        hint=f"give {LEAST_ROWS} rows or more ({{input.rows}} and {{input.where}} choose rows)")
    if isinstance(data, Features | Dissimilarities) and (data.values == data.values[0]).all():
        raise GeometryError("ALL-EQUAL", f"all {count:,} points are equal, so there is nothing to embed", where=path,
                            hint="see the findings of mlcli check")


def without_points(kind: str, path: str) -> str:
    """Return the hint for a matrix without points."""
    return f"give features or dissimilarities; for axes of the columns: mlcli embed --kind {kind} {quote(path)}"


@contextmanager
def _hint_for_matrices(path: str) -> Iterator[None]:
    """Point errors that ask for a correlation or covariance to the command that takes it."""
    try:
        yield
    except MlcliError as error:
        if error.kind not in ("correlation", "covariance"):
            raise
        raise error.changed(hint=f"it holds no points to compare: {without_points(error.kind, path)}") from None


def summary_of(config: RunConfig, data: Input, report: Report, sampled: TrialRows | None) -> InputSummary:
    """Return the facts of the data by which methods choose their settings; of a sample with the number of all rows."""
    counts, pieces = neighbor_counts(len(data.values), report, whole=sampled is None)
    features = data.kind == "features"
    rows = sample_of(len(data.values), SAMPLE, config.compute.generator())
    compared = config.method.with_metric(data) if features else data
    space = input_space(compared, rows)
    apart = space.between(rows, rows)[np.triu_indices(len(rows), 1)]
    rows_in_all = len(data.values) if sampled is None else sampled.of
    median = (space.unit**2).number(np.median(apart[apart > 0] ** 2)) if (apart > 0).any() else 0.0
    return InputSummary(data.kind, rows_in_all, data.values.shape[1], features and config.method.distance.plain, counts,
                        pieces, median if 0 < median < np.inf else None)


def predict(setting: Setting, layer: Layer, start: Start, axes: int, reading: float,
            time_of: tuple[float, float]) -> Setting | Exclusion:
    """Return a setting with its predicted seconds, or an exclusion with the reason."""
    data, (search, budget) = start.prepared.table.data(), time_of
    try:
        config = with_axes(build(layer_of(setting, layer)), axes)
        config.require_fitting()
        with no_listeners():  # its notes appear when the trial runs
            method = config.method.resolve(data)
        if search > SEARCH * budget and isinstance(data, Spatial) and hasattr(method, "neighbors"):
            reason = "the search for neighbors alone would take more than a quarter of the budget"
            return Exclusion(setting.name, reason, search)
        steps = steps_of(method, data, config.compute, None)
    except MlcliError as error:
        return Exclusion(setting.name, error.what)
    needed, limit = peak(steps, data, method, config.compute), config.compute.memory_bytes()
    later = steps_after_fit(FitPlan(config, start, data, method, after_fit()), steps)
    seconds = reading + sum(step.seconds for step in (*steps, *later) if step.stage not in NEIGHBORS)
    if needed > limit:
        return Exclusion(setting.name, "it does not fit in memory", seconds)
    return Setting(setting.method, setting.options, seconds)


def search_seconds(config: RunConfig, data: Input) -> float:
    """Return the seconds of a search for the neighbors of all points, predicted or, for very many rows, timed.

    Search trees visit few points or nearly all, which depends on the data: some of the rows are searched for and timed.
    """
    if not isinstance(data, Spatial):
        return 0.0
    compared = config.method.with_metric(data)
    assert isinstance(compared, Spatial)
    nearest, size = Nearest(min(max(COUNTS), len(data.values) - 1)), len(data.values)
    if size <= LARGEST or not isinstance(compared, Features) or rows_of(compared.values) is not None:
        return nearest.step(compared, config.compute).seconds
    few, more = (time_search(nearest, compared, count, config) for count in PROBES)
    return size * max(more - few, 0.0) / (PROBES[1] - PROBES[0])


def time_search(nearest: Nearest, data: Features, count: int, config: RunConfig) -> float:
    """Return the seconds of a search for the neighbors of `count` points among all."""
    rows = sample_of(len(data.values), count, config.compute.generator())
    start_time = time.perf_counter()
    nearest.of_new(data.values[rows], data.values, metric_of(data))
    return time.perf_counter() - start_time
