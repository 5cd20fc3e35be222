"""Several runs, in turn or at once, with a share of the threads each; the failure of one does not stop the others."""

import gc
import json
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mlcli.base.context import spelled
from mlcli.base.frozen import frozen
from mlcli.base.machine import blas
from mlcli.base.machine.resources import CHOSEN, forget_peak_memory
from mlcli.base.machine.scheduler import Threads
from mlcli.base.rows.memo import Memo
from mlcli.base.stages.stage import listening, note
from mlcli.base.values.compute import Compute
from mlcli.cli.batch.launch import Batch, Document, PlannedRun, Presentation, launched
from mlcli.cli.batch.workers import Lost, in_processes
from mlcli.cli.screen.failure import ErrorForm, attempt, say, tell, understood
from mlcli.cli.screen.lines import link, show
from mlcli.cli.screen.progress import Shown as Progress
from mlcli.cli.screen.progress import line_of, shown_as
from mlcli.cli.screen.summary import Outcome, table_of_runs
from mlcli.cli.supervisor import died_of
from mlcli.engine.cache import Folder
from mlcli.errors import ConfigError, DataError, GeometryError, MlcliError, NumericalError, RefusedByPlan, UsageError
from mlcli.process.shared_status import STATUS
from mlcli.publication.publish import vacant, write_whole
from mlcli.publication.recovery import recover
from mlcli.publication.staging import new_draft
from mlcli.rundir.journal import recording
from mlcli.rundir.runs_table import NAME, RunsTable, failed_row, finished_row

Result = tuple[Document, int]  # what is reported of a run, and its exit code
LATE = ("method.eigensolve.", "method.axes.", "report.")  # options of what comes after the costly stages
LEFT_OUT = "left_out"  # of a document: why there was no run
UNSUITED = (ConfigError, DataError, GeometryError, NumericalError, RefusedByPlan)  # a trial's: the setting is at fault


@frozen
class Division:
    """The number of concurrent runs, and the threads of each that sets none itself."""

    jobs: int
    threads: Threads


def divide_threads(asked: int, runs: Sequence[Compute]) -> Division:
    """So many runs at once as the threads suffice for: each has those that it asks for, else an equal share.

    Threads are those of MLCLI_THREADS, else what job, quota and affinity allow; of a share OMP_NUM_THREADS is the most.
    """
    allowed = blas.environment_threads()
    whole = allowed if allowed.source == CHOSEN else min(
        (limit for limit in blas.environment_limits() if limit.source != "OMP_NUM_THREADS"), key=lambda one: one.count)
    chosen = max((run.threads for run in runs if isinstance(run.threads, int)), default=1)
    jobs = max(1, min(asked, len(runs), whole.count // chosen))
    if jobs < min(asked, len(runs)):
        each = f" and a run asks for {chosen}" if chosen > 1 else ""
        note("N-JOBS", f"{jobs} instead of {min(asked, len(runs))} runs are done at the same time: {whole.source} "
             f"allows {whole.count} thread{'s' * (whole.count > 1)}{each}")
    if jobs == 1:
        return Division(1, allowed)
    share = Threads(whole.count // jobs, f"{whole.source} / {jobs} jobs")
    return Division(jobs, min(share, allowed, key=lambda one: one.count))


def announce_division(asked: int, runs: Sequence[Compute], presentation: Presentation) -> Division:
    """Divide the threads among jobs as `divide_threads` does, and show its notes to the user."""
    with listening(shown_as(presentation.progress, presentation.quiet)), recording() as journal:
        division = divide_threads(asked, runs)
    for item in journal.noted("N-") if not presentation.quiet and presentation.progress != "json" else ():
        say(line_of(item["code"], item["message"]))
    return division


def run_in_parallel(work: Callable[[int], Result], names: Sequence[str], division: Division,
                    presentation: Presentation, families: Sequence[Any], until: float) -> Iterator[tuple[int, Result]]:
    """Yield number and result of each run as it ends; the messages of a run are shown together at its end.

    Runs of one family go to one process where they can. What goes on at the time `until` is stopped.

    With progress as JSON its lines are shown at once, each with the name of its run.
    """
    from mlcli.pipeline import run as pipeline  # noqa: F401 - once, for all workers

    def live(number: int, text: str) -> None:  # lines of JSON name their run
        say("\n".join(json.dumps({**json.loads(line), "run": names[number]}) if line[:1] == "{" else line
                      for line in text.removesuffix("\n").split("\n")))

    progress = shown_as(presentation.progress, presentation.quiet)
    # forked before the overview starts a thread; processes in the place of dead ones, while it has none
    running = in_processes(work, range(len(names)), division.jobs, settle=partial(blas.allow, division.threads),
                           live=live if presentation.progress == "json" else None, until=until,
                           family=families.__getitem__, alone=progress.without_thread)
    with closing(running), overview(progress) as moved:
        for done, ended in enumerate(running):
            if ended.said:
                say(ended.said.removesuffix("\n"))
            if isinstance(ended.result, Lost):
                yield ended.number, lost(names[ended.number], ended.result, presentation.form)
            else:
                yield ended.number, ended.result
            moved(done + 1, len(names))


def lost(name: str, what: Lost, form: ErrorForm) -> Result:
    """Return the result of a run whose process died, after its remains are removed."""
    recover(Path.cwd() / name)
    error = (died_of(-what.code, what.doing, what.memory, kept=what.kept, kills=what.kills) if what.code < 0 else
             MlcliError("CRASH", f"the process of the run ended unexpectedly, with {what.code}",
                        hint="this is a bug; please report it with the run's config.yaml"))
    tell(error, replace(form, run=name))
    return {"run": name, "exit": error.exit_code, "error": spelled(error).fields()}, error.exit_code


@contextmanager
def overview(shown: Progress, name: str = "runs") -> Iterator[Callable[[int, int], None]]:
    """Shows how many of the runs, or of other work, have ended, as the progress of one run is shown."""
    shown.start()
    shown.begin(name)
    try:
        yield lambda done, total: shown.advance(name, "", done, total)
    except BaseException:
        shown.stop(failed=True)
        raise
    shown.end(name)
    shown.stop()


def carry_out(runs: Sequence[PlannedRun], presentation: Presentation, batch: Batch) -> tuple[list[Document], int]:
    """The documents of all runs of this share, and the worst exit code: the largest.

    Runs of a sweep, and those of several inputs, have a `runs.csv` beside them, which grows as they end.
    """
    documents: dict[int, Document] = {}
    outcomes: dict[Path, dict[int, Outcome]] = {}
    codes: list[int] = []
    presentation = replace(presentation, one_of_several=len(runs) > 1)
    parameters, name = list(dict.fromkeys(path for run in runs for path in run.values)), NAME
    paged = batch.shard is None and batch.time_budget is None
    if batch.shard is not None:
        runs, name = batch.shard.of(runs), batch.shard.named(NAME)
    tables = {run.output.parent: RunsTable(run.output.parent / name, parameters) for run in runs if run.values}
    try:
        with (sharing(runs, presentation) as with_shared_input,
              closing(results(runs, with_shared_input, batch)) as ended):
            for place, (document, code) in ended:
                if presentation.json or batch.time_budget:  # else nobody reads them, and thousands take memory
                    documents[place] = document
                codes.append(code)
                if not code and len(codes) == 1 < len(runs) and tables and paged:
                    import mlcli.runs.collect  # noqa: F401 - for the page, while processes carry out the other runs
                if batch.skip_existing and not code and not document.get("skipped"):
                    STATUS.post(done=True)  # the same command goes on after it
                if LEFT_OUT not in document and runs[place].values:
                    output, values = runs[place].output, runs[place].values
                    row = (failed_row(output.name, values, document["error"]) if "error" in document else
                           finished_row(output.name, values, document))
                    codes.append(attempt(partial(tables[output.parent].add, place, row), presentation.form))
                    if presentation.for_people and batch.time_budget is None:
                        outcomes.setdefault(output.parent, {})[place] = Outcome.of(output.name, document)
    finally:
        codes += [attempt(table.write, presentation.form) for table in tables.values()]
    if paged:
        codes += [attempt(partial(write_page, folder, table), presentation.form) for folder, table in tables.items()]
    for folder, found in outcomes.items():
        show_table([found[place] for place in sorted(found)], tables[folder].path, paged=paged)
    return [documents.get(place) or skipped_document(run) for place, run in enumerate(runs)], max(codes, default=0)


def results(runs: Sequence[PlannedRun], presentation: Presentation, batch: Batch) -> Generator[tuple[int, Result]]:
    """Yield place and result of each run as the runs end: one after another, or several at once."""
    division = announce_division(batch.jobs, [run.config.compute for run in runs], presentation)
    if division.jobs == 1 and batch.time_budget is None:
        from mlcli.engine.cluster.connect import Connections

        with Connections() as connections:
            presentation = replace(presentation, process=replace(presentation.process, connections=connections))
            for place, run in enumerate(runs):
                yield place, result(run, presentation, batch)
        return
    if any(run.config.output == "-" for run in runs):
        raise UsageError("STDOUT", "an embedding on standard output and --jobs do not go together", where="--jobs",
                         hint="give a directory with -o")
    budget = batch.time_budget
    inside = replace(presentation, progress=presentation.progress if presentation.progress == "json" else "none",
                     quiet=presentation.quiet or budget is not None)
    yield from run_in_parallel(partial(trial, runs, inside, batch), [str(run.output) for run in runs], division,
                               presentation, [family(run) for run in runs], math.inf if budget is None else budget.end)


def family(run: PlannedRun) -> tuple[str, ...]:
    """Return the option values that determine the computation of a run; runs with equal ones share results."""
    return tuple(value for path, value in run.values.items() if not path.startswith(LATE))


def trial(runs: Sequence[PlannedRun], presentation: Presentation, batch: Batch, place: int) -> Result:
    """Return the result of a run that exists already or is expected to end in time; else that of one left out."""
    there = batch.skip_existing and not vacant(runs[place].output, "folder")
    if there or batch.time_budget is None or batch.time_budget.admits(place):
        return result(runs[place], presentation, batch)
    return skipped_document(runs[place]), 0


def skipped_document(run: PlannedRun) -> Document:
    """Return the document of a trial for which there was no time."""
    return {"run": run.config.output, LEFT_OUT: "the budget ended before it did"}


def show_table(outcomes: Sequence[Outcome], path: Path, *, paged: bool) -> None:
    """Show the end of several runs: a table of them, and the page over them, or `path` where there is no page."""
    from mlcli.runs.collect import PAGE

    done = sum(not one.error for one in outcomes)
    show([*table_of_runs(outcomes, str(path)),
          link("open", path.with_name(PAGE)) if paged and done > 1 else link("wrote", path)])


def write_page(folder: Path, table: RunsTable) -> None:
    """Writes the page over the runs of a table beside it; raises what `page_of` and `write_whole` do."""
    from mlcli.pipeline.read_run import encoded
    from mlcli.runs.collect import PAGE, gather, page_of

    rows = [table.rows[place] for place in sorted(table.rows)]
    if sum(not row["exit"] for row in rows) > 1:
        page = encoded(page_of(gather(table.parameters, rows, [folder / str(row["run"]) for row in rows])))
        write_whole(folder / PAGE, lambda draft: draft.write_bytes(page), force=True)


def result(run: PlannedRun, presentation: Presentation, batch: Batch) -> Result:
    """Carry out a run; returns its document and exit code."""
    documents: list[Document] = []
    forget_peak_memory()
    code = attempt(partial(carry_out_one, run, presentation, batch, documents),
                   replace(presentation.form, run=run.config.output or ""))
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
    most, folder = max(run.config.method.neighbor_count or 1 for run in runs), runs[0].output.parent
    process = replace(presentation.process, input=SharedInput(), memo=Memo(shared=True), neighbors=most)
    with new_draft(folder / "cache", "folder") as draft:
        yield replace(presentation, cache=Folder(draft.path), process=process)


def carry_out_one(run: PlannedRun, presentation: Presentation, batch: Batch, documents: list[Document]) -> None:
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
