"""Predictions of a run: its steps, choices, seconds, memory and disk space."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mlcli.base.context import set_context
from mlcli.base.machine.footprint import ARROW, BESIDE, LOADING, PLOT, after_fit, memory_after_fit
from mlcli.base.machine.limits import least
from mlcli.base.machine.rates import chosen_file, pass_cost, read
from mlcli.base.machine.rates import rates as rates_at_hand
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.units import duration
from mlcli.base.units import memory as bytes_in_words
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.config.run_config import RunConfig
from mlcli.core.graph.neighbors import ApproximateNearest, NeighborOptions
from mlcli.core.metrics.distances import metric_of
from mlcli.core.moments_pass import WIDE
from mlcli.data.options.formats import TEXTS
from mlcli.data.table.table import Table
from mlcli.engine.cluster.address import own_workers
from mlcli.engine.cluster.scaling import on_workers
from mlcli.engine.threads import threads_of
from mlcli.findings import FINDINGS
from mlcli.findings.frame.plan import FitPlan
from mlcli.findings.frame.result import ReducedInput, Start
from mlcli.methods import Method
from mlcli.methods.method import footprint, peak, remedy
from mlcli.pipeline.fit import plan_fit
from mlcli.pipeline.reading import preview
from mlcli.pipeline.run import as_parent
from mlcli.rundir.disk_space import disk_of, fits_on_disk, free_bytes, interactive_memory, numbers_written, output_bytes
from mlcli.rundir.kept import keep_step

COPIED = 10  # cost of a table's preparation in passes over memory, with the first use of that memory
HOUR = 3600.0  # seconds of an exact search beyond which the approximate one is named
AS_READ = 2  # the same where the method takes the table as it was read
# cost that does not depend on the size, in starts: imported code, small arrays, small files
SMALL = {"write": 0.025, "certify": 0.01}
OF_CLUSTER = ("passes", "spread")  # data of a step for other predictions, which the document does not say
OF_FINDING = 4  # numbers of the embedding that are written in the time of one in the table of a finding
CHECKED = 0.004  # seconds that the certificate's checks usually take, of those that they may (`certify/subject.py`)


def plan(config: RunConfig, measure: float | None, rates: Path | None = None,
         workers: int | None = None) -> dict[str, Any]:
    """Predict stages, choices with reasons, seconds and bytes; `measure` runs a share of the most expensive work.

    Seconds use the rates of the file `rates`, else of the one that MLCLI_RATES names, else of the reference
    machine. With `workers`, passes are predicted for a cluster of so many workers. Raises the errors of
    options that do not fit the method.
    """
    config = as_parent(config)
    config.require_fitting()
    measured_at = chosen_file(None if rates is None else str(rates))
    by, machine = (None, "the reference machine") if measured_at is None else read(measured_at)
    with (set_context(rates=by), threads_of(config.compute),
          set_context(local_workers=own_workers(config.compute))):
        return {**predict(config, measure, workers), "workers": workers,
                "rates": {"file": measured_at and str(measured_at), "machine": machine}}


def predict(config: RunConfig, measure: float | None, workers: int | None = None) -> dict[str, Any]:
    """Predict as `plan` does, with the current rates."""
    planned = plan_fit(config, *preview(config))
    with memory_after_fit(planned.after):
        return predict_fit(config, planned, measure, workers)


def predict_fit(config: RunConfig, planned: FitPlan, measure: float | None, workers: int | None) -> dict[str, Any]:
    """Predict the run of a planned fit."""
    start, method, data = planned.start, planned.method, planned.data
    table, first = start.prepared.table, start.reduced
    with table.rows_named():
        fit = with_offers(planned.steps(measure), method, planned.normalized, config.compute)
        instead = "" if peak(fit, data, method, config.compute) <= config.compute.memory_bytes() else remedy(
            fit, planned.normalized, method, config.compute)
    ahead = [] if first is None else fit_steps(first.method, first.given.table.data(), config.compute, None)
    rows, columns = data.values.shape
    parts, limit = footprint(fit, data, method, config.compute), config.compute.allowed_memory()
    if first is not None:  # its rows stay in memory
        wide = first.given.table
        parts = max({**parts, "rows before PCA": float(wide.bytes)},
                    footprint(ahead, wide.data(), first.method, config.compute), key=lambda one: sum(one.values()))
    memory = sum(parts.values())
    steps = [*steps_before_fit(config, start, ahead), *fit, *steps_after_fit(planned, fit)]
    steps = with_loading(steps if workers is None else [on_workers(step, workers) for step in steps])
    enforced = least(memory, config.compute.thread_count()) if config.compute.memory_enforce else None
    disk = output_bytes(config, method, table)
    free = free_bytes(disk_of(config))
    measured = [step.seconds if step.measured is None else step.measured for step in steps]
    on_disk = fits_on_disk(config, method, table)
    rows = 0 if data.kind == "covariance" else rows  # it has no points
    return {"method": config.method.name, "kind": data.kind, "rows": rows, "columns": columns,
            "steps": [{name: value for name, value in asdict(step).items() if name not in OF_CLUSTER}
                      for step in steps], "start": rates_at_hand().start,
            "seconds": sum(step.seconds for step in steps),
            "seconds_at_most": longest_seconds(steps), "seconds_between": usual_seconds(steps),
            "seconds_measured": None if measure is None else sum(measured),
            "memory": memory, "memory_parts": parts, "memory_least": enforced,
            "memory_limit": limit.bytes, "memory_source": limit.source,
            "disk": disk, "disk_free": free, "disk_fits": on_disk, "fits": on_disk and memory <= limit.bytes,
            "remedy": instead,
            "threads": config.compute.thread_count()}


def longest_seconds(steps: Sequence[Step]) -> float | None:
    """Return the seconds if iterations reach their limits; None if all numbers of iterations are known."""
    if not any(step.usual < step.most for step in steps):
        return None
    return sum(step.seconds + (step.each or 0.0) * (step.most - step.usual) for step in steps)


def usual_seconds(steps: Sequence[Step]) -> tuple[float, float] | None:
    """Return the least and the most seconds of usual data; None if they do not differ."""
    if all(step.spread == (1.0, 1.0) for step in steps):
        return None
    least, most = (sum(step.seconds * step.spread[side] for step in steps) for side in (0, 1))
    return least, most


def with_loading(steps: Sequence[Step]) -> list[Step]:
    """Return the steps, the first one that needs a library with the time to import it."""
    loaded, timed = {"": 0.0, ARROW: 0.0}, []
    for step in steps:
        already = 0.0 if step.needs in BESIDE else max(loaded.values())
        more = max(LOADING.get(step.needs, 0.0) - already, 0.0) if step.needs not in loaded else 0.0
        timed.append(replace(step, seconds=step.seconds + more * rates_at_hand().start))
        if step.needs not in BESIDE:
            loaded[step.needs] = LOADING[step.needs]
    return timed


def fit_steps(method: Method, data: Input, compute: Compute, measure: float | None) -> list[Step]:
    """Return the steps of a method's fit to data."""
    return method.steps(method.in_range(data), compute, measure)


def with_offers(steps: Sequence[Step], method: Method, data: Input, compute: Compute) -> list[Step]:
    """Return the steps of a fit, where a long exact search for neighbors says what an approximate one would take."""
    neighbors = getattr(method, "neighbors", None)
    if not isinstance(data, Features):
        return [*steps]
    if getattr(method, "search", "") == "exact":
        other: Any = method.replace(search="approximate")
        count, option = min(other.searched(data), len(data.values) - 1), "method.search"  # 0: there is no search
    elif isinstance(neighbors, NeighborOptions) and neighbors.search == "exact" and neighbors.count is not None:
        count, option = min(neighbors.count, len(data.values) - 1), "method.neighbors.search"
    else:
        return [*steps]
    return [with_offer(step, count, option, data, compute) if step.stage == "neighbors" else step for step in steps]


def with_offer(step: Step, count: int, option: str, data: Features, compute: Compute) -> Step:
    """Return the step of an exact search, with the seconds of an approximate one where it takes over an hour."""
    metric = metric_of(data)
    if step.seconds <= HOUR or not count or not (metric.plain or metric.embeds):
        return step
    other = ApproximateNearest(count).step(data, compute).seconds
    return step if other >= step.seconds else replace(
        step, how=f"{step.how}; {option}=approximate takes about {duration(other)}")


def steps_before_fit(config: RunConfig, start: Start, ahead: Sequence[Step]) -> list[Step]:
    """Return the steps before the fit: reading, preparation (often a copy of the table), and PCA if chosen."""
    source, first = start.source, start.reduced
    table = (start.prepared if first is None else first.given).table
    size, threads = float(table.bytes), config.compute.thread_count()
    files = [part.source for part in source.parts if part.source is not None]
    streamed = rows_of(table.values) is not None
    numbers = 8.0 * table.values.size if streamed else size  # bytes, of which blocks hold few
    seconds = sum(file.bytes * rates_at_hand().parsed / threads if file.format in TEXTS
                  else max(file.bytes, numbers / len(files)) * rates_at_hand().loaded for file in files)
    if table.categories and streamed:
        from mlcli.methods.tables.combine import TEXT_CELL  # one pass finds the categories, and the next one reads them

        seconds += 2.0 * table.rows * len(table.categories) * TEXT_CELL * rates_at_hand().parsed / threads
    how = ", ".join(f"{file.format}, {bytes_in_words(file.bytes)}" for file in files)
    prepared = start.prepared.preparation
    as_read = table.kind == "features" and prepared.unscaled and not prepared.transform and config.method.unscaled > 0
    passes = AS_READ if as_read else COPIED
    said = [f"scale: {config.prepare.scale}, missing cells: {config.prepare.missing}"] * (source.kind == "features")
    return [Step("read", how, seconds, size, passes=first_pass(table, seconds)),
            Step("prepare", "; ".join([*said, "units of a power of two"]), passes * pass_cost(table.values.size), size),
            *([] if first is None else [reduce_step(first, ahead)])]


def first_pass(table: Table, seconds: float) -> Passes | None:
    """Return the workers' share of reading a table in blocks: they sum it while the command hashes the file."""
    rows = rows_of(table.values)
    if rows is None:
        return None
    columns = rows.shape[1]
    sums = 8.0 * columns * (columns if columns <= WIDE else 1)
    return Passes(1, seconds, rows.blocks, sent=8.0 * columns, returned=rows.blocks * sums,
                  working=float(rows.nbytes))


def reduce_step(first: ReducedInput, ahead: Sequence[Step]) -> Step:
    """Return PCA ahead of the method as one step."""
    kept, columns = first.model.embedding.shape[1], first.given.table.values.shape[1]
    return Step("reduce", f"pca: {kept} axes of {columns} columns", sum(step.seconds for step in ahead),
                max(step.memory for step in ahead))


def steps_after_fit(plan: FitPlan, fit: Sequence[Step]) -> list[Step]:
    """Return the steps after the fit: dimension rules, quality, files and certificate."""
    config, method, table, data = plan.config, plan.method, plan.table, plan.data
    report, start_up, held, model = config.report, rates_at_hand().start, plan.memory_after, method.stored(data)
    onto = plan.start.onto
    if report.certify == "full":  # it takes about as long as the fit
        again = sum(step.seconds for step in fit)
    else:  # of rows placed among others few pairs are checked
        again = 0.0 if onto is not None and onto.is_fixed else method.certified_seconds(data, fit)
    kept, numbers, drawn = report.products_to_keep(), numbers_written(config, method, table), PLOT in after_fit().needs
    cells = 0.0 if config.output == "-" else sum(finding.cells(method, table) for finding in report.wanted())
    wanted = [finding for finding in FINDINGS.values() if finding.wanted(report) or finding.precedes_fit(config)]
    return [
        *(step for finding in wanted if (step := finding.step(plan, fit)) is not None),
        Step("write", f"{', '.join(report.formats) if plan.points else 'loadings'}, model and figures"
             f"{' by Matplotlib' * drawn}", (SMALL["write"] + after_fit().starts) * start_up
             + (numbers + OF_FINDING * cells) * rates_at_hand().written + model * rates_at_hand().kept,
             held + interactive_memory(config, method, table), needs=PLOT if drawn else ""),
        *([keep_step(kept, table.rows, sum(step.seconds for step in fit))] if kept else []),
        Step("certify", "everything" if report.certify == "full" else "what a fixed amount of work allows",
             SMALL["certify"] * start_up + CHECKED + model * rates_at_hand().kept + again, held)]
