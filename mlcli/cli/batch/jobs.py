"""Runs that are carried out at once: how many, with how many threads each, and what is shown of them meanwhile."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mlcli.base.context import spelled
from mlcli.base.frozen import frozen
from mlcli.base.machine import blas
from mlcli.base.machine.resources import CHOSEN
from mlcli.base.machine.scheduler import Threads
from mlcli.base.stages.stage import listening, note
from mlcli.base.values.compute import Compute
from mlcli.cli.batch.launch import Document
from mlcli.cli.batch.workers import Lost, in_processes
from mlcli.cli.line.behavior import Mode
from mlcli.cli.screen.failure import ErrorForm, say, tell
from mlcli.cli.screen.progress import Shown as Progress
from mlcli.cli.screen.progress import line_of, shown_as
from mlcli.cli.supervisor import died_of
from mlcli.errors import MlcliError
from mlcli.publication.recovery import recover
from mlcli.rundir.journal import recording

Result = tuple[Document, int]  # what is reported of a run, and its exit code


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


@frozen
class DisplayOptions:
    """Options of the display of several runs."""

    mode: Mode
    quiet: bool
    form: ErrorForm


def announce_division(asked: int, runs: Sequence[Compute], mode: Mode, quiet: bool) -> Division:
    """Divide the threads among jobs as `divide_threads` does, and show its notes to the user."""
    with listening(shown_as(mode, quiet)), recording() as journal:
        division = divide_threads(asked, runs)
    for item in journal.noted("N-") if not quiet and mode != "json" else ():
        say(line_of(item["code"], item["message"]))
    return division


def run_in_parallel(work: Callable[[int], Result], names: Sequence[str], division: Division,
                    shown: DisplayOptions, families: Sequence[Any],
                    until: float = math.inf) -> Iterator[tuple[int, Result]]:
    """Yield number and result of each run as it ends; the messages of a run are shown together at its end.

    Runs of one family go to one process where they can. What goes on at the time `until` is stopped.

    With progress as JSON its lines are shown at once, each with the name of its run.
    """
    from mlcli.pipeline import run as pipeline  # noqa: F401 - once, for all workers

    def live(number: int, text: str) -> None:
        say(named_lines(text, names[number]).removesuffix("\n"))

    progress = shown_as(shown.mode, shown.quiet)
    # forked before the overview starts a thread; processes in the place of dead ones, while it has none
    running = in_processes(work, range(len(names)), division.jobs, settle=partial(blas.allow, division.threads),
                           live=live if shown.mode == "json" else None, until=until, family=families.__getitem__,
                           alone=progress.without_thread)
    with closing(running), overview(progress) as moved:
        for done, ended in enumerate(running):
            if ended.said:
                say(ended.said.removesuffix("\n"))
            if isinstance(ended.result, Lost):
                yield ended.number, lost(names[ended.number], ended.result, shown.form)
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


def named_lines(text: str, run: str) -> str:
    """Lines of JSON, each with the run that it is about; others as they are."""
    return "".join(json.dumps({**json.loads(line), "run": run}) + "\n" if line[:1] == "{" else line
                   for line in text.splitlines(keepends=True))
