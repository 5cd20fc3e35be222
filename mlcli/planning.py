"""What a run would do, and what it would take, without doing it."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlcli.ahead import Reduced, Start, begin
from mlcli.base.compute import Compute
from mlcli.base.inputs import Input
from mlcli.base.steps import Step
from mlcli.base.threads import threads_limited
from mlcli.base.units import memory as bytes_in_words
from mlcli.config.run_config import RunConfig
from mlcli.data.table import Table
from mlcli.engine.scaling import on_workers
from mlcli.methods import Method
from mlcli.methods.memory import checks_memory, peak
from mlcli.report.quality.sampling import PAIR, automatic
from mlcli.rundir.kept import bytes_of, free_bytes, kept_step
from mlcli.stages.algebra.costs import pass_cost

BINARY = ("npy", "npz", "parquet", "arrow")  # formats whose numbers need not be parsed
TEXT_RATE, BINARY_RATE = 7e7, 6e8  # bytes a second of a core that are read, and their hash computed
COMPARED = 1.3e9  # multiplications a second of a core while quality is measured
CELL = 1e-7  # seconds for a number to be written
# seconds whatever the size
SMALL = {"dimension": 0.05, "quality": 0.03, "reconstruct": 0.02, "write": 0.02, "certify": 0.03}


def plan(config: RunConfig, measure: float | None, workers: int | None = None) -> dict[str, Any]:
    """Stages, choices and reasons, predicted seconds and bytes; `measure` runs a share of the most expensive work.

    With `workers`, passes are predicted as they would run on a cluster of so many.
    """
    config.require_fitting()
    with threads_limited(config.compute.thread_count()):
        start = begin(config)
        table, first = start.prepared.table, start.reduced
        config.report.require_image(start.features)
        data = table.data()
        with table.rows_named():
            method = config.method.resolve(data)
            fit = fitting(method, data, config.compute, measure)
        if workers is not None:
            fit = [on_workers(step, workers) for step in fit]
        ahead = [] if first is None else fitting(first.method, first.given.table.data(), config.compute, None)
    rows, columns = data.values.shape
    memory, limit = peak(fit, data, method, config.compute), config.compute.allowed_memory()
    if first is not None:  # whose rows stay in memory
        wide = first.given.table
        memory = max(memory + wide.bytes, peak(ahead, wide.data(), first.method, config.compute))
    steps = [*before(config, start, ahead), *fit, *after(config, method, start, fit)]
    disk = bytes_of(config.report.kept(), len(data.values))
    free = free_bytes(Path(config.output or "")) if disk else None
    measured = [step.seconds if step.measured is None else step.measured for step in steps]
    rows = 0 if data.kind == "covariance" else rows  # its points are not at hand
    return {"method": config.method.name, "kind": data.kind, "rows": rows, "columns": columns,
            "steps": [shown(step) for step in steps], "seconds": sum(step.seconds for step in steps),
            "seconds_measured": None if measure is None else sum(measured),
            "memory": memory, "memory_limit": limit.bytes, "memory_source": limit.source,
            "disk": disk, "disk_free": free, "fits": memory <= limit.bytes and (free is None or disk <= free),
            "threads": config.compute.thread_count(), "workers": workers}


def shown(step: Step) -> dict[str, Any]:
    """A step as plain values, without what the prediction for a cluster rests on."""
    return {name: value for name, value in asdict(step).items() if name != "passes"}


def fitting(method: Method, data: Input, compute: Compute, measure: float | None) -> list[Step]:
    """The stages of a fit to data as the method has them."""
    normalized: Any = method.compared(data).normalized(method.unscaled)  # of a kind that the method takes
    return method.steps(normalized, compute, measure)


def before(config: RunConfig, start: Start, ahead: Sequence[Step]) -> list[Step]:
    """What comes before the fit: reading, preparing, a copy of the table at a time, and PCA where it is asked for."""
    source, first = start.source, start.reduced
    table = (start.prepared if first is None else first.given).table
    size, threads = float(table.bytes), config.compute.thread_count()
    files = [part.source for part in (source, source.view) if part is not None and part.source is not None]
    seconds = sum(file.bytes / (BINARY_RATE if file.format in BINARY else TEXT_RATE) for file in files) / threads
    how = ", ".join(f"{file.format}, {bytes_in_words(file.bytes)}" for file in files)
    said = [f"scale: {config.prepare.scale}, missing cells: {config.prepare.missing}"] * (source.kind == "features")
    return [Step("read", how, seconds, size),
            Step("prepare", "; ".join([*said, "units of a power of two"]), 2 * pass_cost(table.values.size), size),
            *([] if first is None else [reduce_step(first, ahead)])]


def reduce_step(first: Reduced, ahead: Sequence[Step]) -> Step:
    """What PCA ahead of the method costs: all its stages in one."""
    kept, columns = first.model.embedding.shape[1], first.given.table.values.shape[1]
    return Step("reduce", f"pca: {kept} axes of {columns} columns", sum(step.seconds for step in ahead),
                max(step.memory for step in ahead))


def after(config: RunConfig, method: Method, start: Start, fit: Sequence[Step]) -> list[Step]:
    """What comes after the fit: rules, quality, files and certificate."""
    table, report = start.prepared.table, config.report
    held = checks_memory(method, table.rows, float(table.bytes))
    full = sum(step.seconds for step in fit) if report.certify == "full" else 0.0  # as long as the fit, about
    points = table.kind != "covariance"
    return [
        *([Step("dimension", "rules for the number of axes", SMALL["dimension"], held)] if report.rules else []),
        *([Step("reconstruct", "some rows and a grid of the latent plane", SMALL["reconstruct"], held)]
          if points and report.writes("report") and config.draws_decoder(start.features) else []),
        *([quality_step(report.measures.sample, table, config.compute.thread_count(), held)]
          if report.measures is not None and points else []),
        Step("write", f"{', '.join(report.formats) if points else 'loadings'}, model and figures",
             SMALL["write"] + points * written(config, method, table) * CELL, float(table.bytes)),
        *([kept_step(report.kept(), table.rows, sum(step.seconds for step in fit))] if report.kept() else []),
        Step("certify", "everything" if full else "what a fixed amount of work allows", SMALL["certify"] + full, held)]


def quality_step(sample: int | str, table: Table, threads: int, held: float) -> Step:
    """What measuring the embedding would cost, from all points or from a sample."""
    rows, columns = table.values.shape
    count = min(automatic(rows, columns) if sample == "auto" else int(sample), rows)
    return Step("quality", f"from {'all' if count == rows else count} of {rows} points",
                SMALL["quality"] + float(count) * rows * (columns + PAIR) / (COMPARED * threads), held)


def written(config: RunConfig, method: Method, table: Table) -> int:
    """Cells of the embedding in all its files; of a share of the variance, as if all axes were kept."""
    kept = method.axes_options.components
    axes = kept if isinstance(kept, int) else method.limit(table.data())
    return len(config.report.formats) * table.rows * (axes + 1 + len(table.labels))
