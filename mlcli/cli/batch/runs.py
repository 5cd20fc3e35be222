"""Several runs, in turn or at once; the failure of one does not stop the others."""

import gc
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from mlcli.base.context import spelled
from mlcli.base.machine.resources import forget_peak_memory
from mlcli.base.rows.memo import Memo
from mlcli.cli.batch.jobs import DisplayOptions, Result, announce_division, run_in_parallel
from mlcli.cli.batch.launch import Document, Presentation
from mlcli.cli.batch.planned import Batch, PlannedRun, launched, output_of
from mlcli.cli.screen.failure import ErrorForm, attempt, say_written, understood
from mlcli.engine.cache import Folder
from mlcli.errors import ConfigError, DataError, GeometryError, NumericalError, RefusedByPlan, UsageError
from mlcli.process.shared_status import STATUS
from mlcli.publication.publish import vacant, write_whole
from mlcli.publication.staging import new_draft
from mlcli.rundir.runs_table import NAME, Row, RunsTable, failed_row, finished_row

LATE = ("method.eigensolve.", "method.axes.", "report.")  # options of what comes after the costly stages
LEFT_OUT = "left_out"  # of a document: why there was no run
UNSUITED = (ConfigError, DataError, GeometryError, NumericalError, RefusedByPlan)  # a trial's: the setting is at fault


def carry_out(runs: Sequence[PlannedRun], presentation: Presentation, form: ErrorForm, batch: Batch,
              ) -> tuple[list[Document], int]:
    """The documents of all runs of this share, and the worst exit code: the largest.

    Runs of a sweep, and those of several inputs, have a `runs.csv` beside them, which grows as they end.
    """
    documents: dict[int, Document] = {}
    codes: list[int] = []
    parameters, name = _parameters(runs), NAME
    paged = batch.shard is None and batch.time_budget is None
    if batch.shard is not None:
        runs, name = batch.shard.of(runs), batch.shard.named(NAME)
    tables = {output_of(run).parent: RunsTable(output_of(run).parent / name, parameters) for run in runs if run.values}
    try:
        with (sharing(runs, presentation) as with_shared_input,
              closing(results(runs, with_shared_input, form, batch)) as ended):
            for place, (document, code) in ended:
                if presentation.json or batch.time_budget:  # else nobody reads them, and thousands take memory
                    documents[place] = document
                codes.append(code)
                if not code and len(codes) == 1 < len(runs) and tables and paged:
                    import mlcli.runs.collect  # noqa: F401 - for the page, while processes carry out the other runs
                if batch.skip_existing and not code and not document.get("skipped"):
                    STATUS.post(done=True)  # the same command goes on after it
                if LEFT_OUT not in document and runs[place].values:
                    output = output_of(runs[place])
                    row = _row(output.name, runs[place], document)
                    codes.append(attempt(partial(tables[output.parent].add, place, row), form))
    finally:
        codes += [attempt(table.write, form) for table in tables.values()]
    if paged:
        codes += [attempt(partial(write_page, folder, table, presentation), form) for folder, table in tables.items()]
    return [documents.get(place) or skipped_document(run) for place, run in enumerate(runs)], max(codes, default=0)


def results(runs: Sequence[PlannedRun], presentation: Presentation, form: ErrorForm,
            batch: Batch) -> Generator[tuple[int, Result]]:
    """Yield place and result of each run as the runs end: one after another, or several at once."""
    division = announce_division(batch.jobs, [run.config.compute for run in runs], presentation.progress,
                                 presentation.quiet)
    if division.jobs == 1 and batch.time_budget is None:
        from mlcli.engine.cluster.connect import Connections

        with Connections() as connections:
            presentation = replace(presentation, process=replace(presentation.process, connections=connections))
            for place, run in enumerate(runs):
                yield place, result(run, presentation, form, batch)
        return
    if any(run.config.output == "-" for run in runs):
        raise UsageError("STDOUT", "an embedding on standard output and --jobs do not go together", where="--jobs",
                         hint="give a directory with -o")
    inside = replace(presentation, progress=presentation.progress if presentation.progress == "json" else "none")
    names, shown = [str(output_of(run)) for run in runs], DisplayOptions(presentation.progress, presentation.quiet,
                                                                         form)
    families = [family(run) for run in runs]
    if batch.time_budget is None:
        yield from run_in_parallel(lambda place: result(runs[place], inside, form, batch), names, division, shown,
                                   families)
    else:
        yield from run_in_parallel(partial(trial, runs, replace(inside, quiet=True), form, batch), names, division,
                                   shown, families, batch.time_budget.end)


def family(run: PlannedRun) -> tuple[str, ...]:
    """Return the option values that determine the computation of a run; runs with equal ones share results."""
    return tuple(value for path, value in run.values.items() if not path.startswith(LATE))


def trial(runs: Sequence[PlannedRun], presentation: Presentation, form: ErrorForm, batch: Batch, place: int) -> Result:
    """Return the result of a run that exists already or is expected to end in time; else that of one left out."""
    there = batch.skip_existing and not vacant(output_of(runs[place]), "folder")
    if there or batch.time_budget is None or batch.time_budget.admits(place):
        return result(runs[place], presentation, form, batch)
    return skipped_document(runs[place]), 0


def skipped_document(run: PlannedRun) -> Document:
    """Return the document of a trial for which there was no time."""
    return {"run": run.config.output, LEFT_OUT: "the budget ended before it did"}


def write_page(folder: Path, table: RunsTable, presentation: Presentation) -> None:
    """Writes the page over the runs of a table beside it; raises what `page_of` and `write_whole` do."""
    from mlcli.pipeline.read_run import encoded
    from mlcli.runs.collect import PAGE, gather, page_of

    rows = [table.rows[place] for place in sorted(table.rows)]
    if sum(not row["exit"] for row in rows) > 1:
        page = encoded(page_of(gather(table.parameters, rows, [folder / str(row["run"]) for row in rows])))
        write_whole(folder / PAGE, lambda draft: draft.write_bytes(page), force=True)
        if presentation.for_people:
            say_written(f"wrote {table.path} and {folder / PAGE}", table.path, folder / PAGE)


def result(run: PlannedRun, presentation: Presentation, form: ErrorForm, batch: Batch) -> Result:
    """Carry out a run; returns its document and exit code."""
    documents: list[Document] = []
    forget_peak_memory()
    code = attempt(partial(_one, run, presentation, batch, documents), replace(form, run=run.config.output or ""))
    gc.collect(1)  # what a run leaves behind in circles, which the program's own threshold reaches after many runs
    return documents[-1], code


@contextmanager
def sharing(runs: Sequence[PlannedRun], presentation: Presentation) -> Iterator[Presentation]:
    """Share the table of one input among runs, and results of stages in a hidden folder beside them.

    The folder vanishes at the end. Neighbors are searched for once, for the run that needs the most of them.
    """
    from mlcli.pipeline.process import SharedInput

    alike = len(runs) > 1 and all(run.config.input == runs[0].config.input and run.values for run in runs)
    if not alike or presentation.cache == "none" or isinstance(presentation.cache, Folder):  # shared already
        yield presentation
        return
    most, folder = max(run.config.method.neighbor_count or 1 for run in runs), output_of(runs[0]).parent
    process = replace(presentation.process, input=SharedInput(), memo=Memo(shared=True), neighbors=most)
    with new_draft(folder / "cache", "folder") as draft:
        yield replace(presentation, cache=Folder(draft.path), process=process)


def _one(run: PlannedRun, presentation: Presentation, batch: Batch, documents: list[Document]) -> None:
    """Carry out one run, and add its summary or its error to `documents`."""
    try:
        documents.append(launched(run, presentation, batch))
    except BrokenPipeError:
        raise
    except Exception as error:
        known = understood(error)
        documents.append({"run": run.config.output, "exit": known.exit_code, "error": spelled(known).fields()})
        if batch.time_budget is None or not isinstance(known, UNSUITED):
            raise known from error


def _row(name: str, run: PlannedRun, document: Document) -> Row:
    """The row of a run in `runs.csv`."""
    if "error" in document:
        return failed_row(name, run.values, document["error"])
    return finished_row(name, run.values, document)


def _parameters(runs: Sequence[PlannedRun]) -> list[str]:
    """Return the paths of the options that differ among runs."""
    return list(dict.fromkeys(path for run in runs for path in run.values))
