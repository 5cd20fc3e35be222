"""`mlcli explore`: one data set by many methods and settings."""

import os
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcli.base.machine import blas
from mlcli.base.values.compute import Compute, parse_seconds
from mlcli.cli.batch.launch import Batch, PlannedRun, Presentation, TimeBudget, existing, planned
from mlcli.cli.batch.runs import LEFT_OUT, UNSUITED, carry_out, overview
from mlcli.cli.batch.workers import Lost, in_processes
from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.restart import start_portably
from mlcli.cli.screen.failure import attempt, say, say_written
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.progress import mode_of, shown_as, watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.config.build import outside_layer
from mlcli.config.flags import READING, command_line, layer_of, require_annotated
from mlcli.config.layers import Layer, assignment
from mlcli.config.sweep import SweepVariant, directory_names, flatten, without
from mlcli.data.files.formats import file_name
from mlcli.engine.cache import Folder
from mlcli.engine.cluster.address import address_of, note_here
from mlcli.errors import MlcliError, OutOfMemory, OutputRefused, RefusedByPlan, TimeUp, UsageError, escaped
from mlcli.publication.publish import require_folder_name, write_whole
from mlcli.publication.staging import new_draft
from mlcli.rundir.runs_table import NAME as TABLE

if TYPE_CHECKING:
    from mlcli.explore.contents import Exploration
    from mlcli.explore.examine import Examination
    from mlcli.explore.settings import Exclusion

NAME, PAGE = "explore.json", "explore.html"
EXAMINING = 0.7  # share of the budget that reading, the checkup and plans may take
# exit codes of a trial that the setting is at fault for; one that crashed or took too much memory is left out as well
OF_A_SETTING = {1, *(kind.exit_code for kind in (*UNSUITED, OutOfMemory, TimeUp))}
SAID = 3  # trials that failed, of which an error says why
LEAST = 10.0  # seconds that the checkup and the first trial have each, whatever the budget
Data = Annotated[str, typer.Argument(metavar="DATA", show_default=False, help="The file or finished run to read.")]
Output = Annotated[str | None, typer.Option("-o", "--output", metavar="DIR", show_default=False,
                                            help="Directory to write [default: runs/DATA-explore].")]
Budget = Annotated[str, typer.Option("--budget", metavar="TIME", help=(
    "Time budget, as 90s, 5m or 1h; settings that would take longer are left out. The checkup and the first trial "
    "have 10 s each in any case."))]
Components = Annotated[int | None, typer.Option("-p", "--components", min=1, show_default=False, help=(
    "Number of axes at which methods are compared [default: the intrinsic dimension, from 2 to 8]."))]


@with_flags(*READING, "seed", "threads", "portable", "memory_limit",
            "time_limit")
def explore(data: Data, *, output: Output = None, budget: Budget = "5m", components: Components = None,
            assignments: behavior.Assignments = None, force: behavior.Force = False, quiet: behavior.Quiet = False,
            json: behavior.Json = False, progress: behavior.Progress = None, jobs: behavior.Jobs = 1,
            skip_existing: behavior.SkipExisting = False, debug: behavior.Debug = False, **flags: Any) -> None:
    """Try methods and settings on a data set, and recommend one.

    \b
    mlcli explore data.csv
    mlcli explore --label-column species --scale standard --budget 1m iris.csv
    mlcli explore --metric braycurtis --id-column site species.csv
    mlcli explore --dissimilarities distances.csv -o runs/explored

    The directory holds the runs, the table runs.csv, explore.json and the page explore.html, which docs/explore.md
    explains.
    """
    begun = time.monotonic()
    require_annotated(flags, [data])
    layer = input_layer(data, outside_layer(os.environ, assignments or [], layer_of({**flags, "output": output})))
    with watching("none", quiet, tell=not json):
        layer = here(layer)
    chosen = dict(flatten(layer.values))
    start_portably([Compute(portable=chosen.get("compute.portable") is True)])
    folder = Path(layer.values.get("output") or f"runs/{file_name(data)}-explore")
    refuse_existing(folder, replaces=force or skip_existing)
    require_standard_output()
    presentation = Presentation(force=force, quiet=quiet, json="full" if json else "", progress=mode_of(progress),
                                debug=debug)
    seconds = parse_seconds(budget, "--budget")
    again = partial(command_line, data, flags, assignments or [], os.environ, output=folder / "chosen")
    with new_draft(folder / "cache", "folder") as draft:
        cache = Folder(draft.path)
        examined = examine(layer, components, (begun, seconds), cache, presentation)
        layer = examined.trial_layer(layer)
        found, code = explored(layer, examined, folder, replace(presentation, cache=cache),
                               Batch(jobs, skip_existing=not force), (begun, seconds), again)
    write(found, folder, layer)
    if json:
        print_json(found.document())
    else:
        tell(found, folder, quiet=quiet)
    recommended = found.recommendation.chosen is not None or found.recommendation.verdict.name == "none"
    raise typer.Exit(code if recommended else max(code, RefusedByPlan.exit_code))


def input_layer(data: str, outside: Layer) -> Layer:
    """Return the options with the input path; raises UsageError for input that cannot be explored."""
    from mlcli.explore.settings import require_explorable

    if data == "-":
        raise UsageError("STDIN", "the data is read more than once, but standard input can be read only once",
                         where="DATA",
                         hint="write it to a file")
    require_explorable(outside)
    return assignment("input.path", data, "DATA").over(outside)


def here(layer: Layer) -> Layer:
    """Return the layer without a cluster: trials are short, and their times are predicted for this machine.

    Raises ConfigError for what is no cluster.
    """
    cluster = dict(flatten(layer.values)).get("compute.cluster")
    if cluster is not None:
        address_of(str(cluster), layer.origin(("compute", "cluster")))
    note_here(cluster)
    return without(layer, "compute.cluster")


def refuse_existing(folder: Path, *, replaces: bool) -> None:
    """Refuse to write over an exploration, or a folder named like a file; raises OutputRefused."""
    require_folder_name(folder)
    if (folder / NAME).exists() and not replaces:
        raise OutputRefused("OUTPUT-EXISTS", "the output already holds an exploration", where=str(folder),
                            hint="replace it with --force, reuse its runs with --skip-existing, or choose another with "
                            "-o")


def examine(layer: Layer, components: int | None, time_of: tuple[float, float], cache: Folder,
            presentation: Presentation) -> "Examination":
    """Examine the data before the first trial, in a process of its own: readers start threads, and forks follow.

    Raises RefusedByPlan where the budget allows no trial after it.
    """
    from mlcli.explore.examine import Examination
    from mlcli.explore.examine import examine as examined

    begun, budget = time_of

    def work(number: int) -> tuple[Examination | None, int]:
        results: list[Examination] = []
        with watching("none", quiet=True):
            code = attempt(lambda: results.append(examined(layer, cache, components, budget)),
                           presentation.form)
        return (results[0] if results else None), code

    until = begun + max(EXAMINING * budget, LEAST)
    running = in_processes(work, [0], 1, settle=partial(blas.allow, blas.environment_threads()), until=until)
    progress = shown_as(presentation.progress, presentation.quiet)
    with closing(running), overview(progress, "checkup and plan"):  # forked before the overview starts a thread
        ended = next(running, None)
    if ended is None:
        raise RefusedByPlan("EXPLORE", f"reading and checking the data took more than {until - begun:.0f} s, which "
                            "leaves no time for trials", where="--budget",
                            hint="raise --budget, or use fewer rows (--rows)")
    if ended.said:
        say(ended.said.removesuffix("\n"))
    if isinstance(ended.result, Lost):
        raise MlcliError("CRASH", f"the process that examined the data ended unexpectedly, with {ended.result.code}")
    found, code = ended.result
    if code:
        raise typer.Exit(code)
    return found


def explored(layer: Layer, examined: "Examination", folder: Path, presentation: Presentation, batch: Batch,
             time_of: tuple[float, float], again: Any) -> tuple["Exploration", int]:
    """Carries out the trials that fit into the budget, and concludes; with the worst exit code."""
    from mlcli.explore.conclude import conclude
    from mlcli.explore.examine import TRIALS
    from mlcli.explore.settings import Clock, Exclusion, within_budget
    from mlcli.explore.trials import Trial, read_trial
    from mlcli.pipeline.process import Process, SharedInput
    from mlcli.publication.output_lock import discard

    clock = Clock(*time_of)
    room = (TRIALS * clock.budget - clock.elapsed) * batch.jobs
    fits = [fit for _, fit in within_budget(examined.settings, room)]
    settings = [setting for setting, fit in zip(examined.settings, fits, strict=True) if fit]
    left = [*examined.left, *(Exclusion(setting.name, "it does not fit into the budget", setting.seconds)
                              for setting, fit in zip(examined.settings, fits, strict=True) if not fit)]
    runs = trials(settings, layer, folder, examined)
    until = clock.begun + TRIALS * clock.budget
    time_budget = TimeBudget(until, max(until, time.monotonic() + LEAST), [setting.seconds for setting in settings])
    if batch.skip_existing:
        for run in runs:  # before the first trial: none is lost to a folder that another exploration wrote
            existing(run, replace(presentation, quiet=True))
    presentation = replace(presentation, process=Process(SharedInput(), neighbors=examined.neighbors))
    documents, code = carry_out(runs, presentation, replace(batch, time_budget=time_budget)) if runs else ([], 0)
    if any("error" in document and document["error"]["exit"] not in OF_A_SETTING for document in documents):
        raise typer.Exit(code)  # the error was told; given again, the command goes on from what has finished
    made, tried = list[Trial](), list[Exclusion]()
    for setting, run, document in zip(settings, runs, documents, strict=True):
        if LEFT_OUT in document or "error" in document:
            discard(run.output)  # its checkpoint: the exploration is over without it
            reason = document.get(LEFT_OUT) or document["error"]["what"]
            tried.append(Exclusion(setting.name, reason, setting.seconds))
        else:
            made.append(read_trial(setting, run.output, run.config, document))
    if not made:
        raise nothing_made(folder, tried)
    with nullcontext() if presentation.quiet else watching(presentation.progress, presentation.quiet):
        return conclude(layer, examined, made, [*left, *tried], clock, again), code


def nothing_made(folder: Path, tried: Sequence["Exclusion"]) -> MlcliError:
    """The error where no trial finished, whose table of runs is removed."""
    (folder / TABLE).unlink(missing_ok=True)
    with suppress(OSError):  # an earlier exploration's runs stay
        folder.rmdir()
    reasons = "; ".join(f"{one.name}: {one.reason}" for one in tried[:SAID])
    return RefusedByPlan("EXPLORE", "no trial finished" + (f": {reasons}" if reasons else ""), where="--budget",
                         hint="raise --budget, or see the findings of mlcli check")


def trials(settings: Sequence[Any], layer: Layer, folder: Path, examined: "Examination") -> list[PlannedRun]:
    """The runs of some settings, below a folder, named by their values."""
    from mlcli.explore.settings import layer_of as trial_layer
    from mlcli.explore.settings import with_axes

    names = directory_names([setting.values for setting in settings])
    variants = [SweepVariant(assignment("output", str(folder / name), "-o").over(trial_layer(setting, layer)),
                             setting.values) for setting, name in zip(settings, names, strict=True)]
    runs = planned(variants) if variants else []
    return [replace(run, config=with_axes(run.config, examined.most)) for run in runs]


def write(found: "Exploration", folder: Path, layer: Layer) -> None:
    """Writes explore.json and explore.html, each whole and in the place of an earlier one."""
    from mlcli.explore.page import page
    from mlcli.pipeline.read_run import encoded
    from mlcli.rundir.json_values import json_text

    content, text = encoded(page(found, seed=found.facts["seed"])), json_text(found.document())
    write_whole(folder / PAGE, lambda draft: draft.write_bytes(content), force=True)
    write_whole(folder / NAME, lambda draft: draft.write_text(text, encoding="utf-8"), force=True)


def tell(found: "Exploration", folder: Path, *, quiet: bool) -> None:
    """The ranking as a table, the recommendation and its command on standard output."""
    from mlcli.cli.screen import terminal
    from mlcli.explore.scores import MEASURES, figures

    rows: list[tuple[str, ...]] = [("", "method", "mean rank", *MEASURES)]
    for place, one in enumerate(found.candidates):
        known = figures(one.entry.judged)
        mark = "->" if place == found.recommendation.chosen else "=" if one.place.tied else ""
        rows.append((mark, escaped(one.entry.name), f"{one.place.mean_rank:.1f}",
                     *(f"{known[name]:.3f}" for name in MEASURES)))
    terminal.tell([f"{found.axes} axes: {found.why}", *terminal.aligned(rows), "", *found.recommendation.sentences, ""])
    if found.command:
        typer.echo(found.command)
    if not quiet:
        counted = f"; {len(found.left)} left out" if found.left else ""
        tried = f"{len(found.entries)} setting{'s' * (len(found.entries) > 1)}"
        paths = folder / PAGE, folder / NAME, folder / "runs.csv"
        say_written(f"{tried} in {found.seconds:.1f} s{counted}; wrote {paths[0]}, {paths[1]} and {paths[2]}", *paths)
