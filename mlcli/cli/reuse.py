"""A finished run put to use by `project` and `reconstruct`: their second file read, their result written."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli.line.behavior import Mode
from mlcli.cli.restart import start_portably
from mlcli.cli.screen.failure import say, say_written
from mlcli.cli.screen.output import (
    drawn,
    format_of,
    print_json,
    refuse_existing,
    require_classes,
    require_own_file,
    require_picture,
    write_out,
)
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.config.build import build, outside_layer
from mlcli.config.explain import locate_errors
from mlcli.config.flags import layer_of
from mlcli.config.layers import Layer, assignment, from_assignments
from mlcli.engine.cluster.address import note_here
from mlcli.errors import UsageError

SECTIONS = ("input", "compute")
Assignments = Annotated[list[str] | None, typer.Option(
    "--set", metavar="KEY=VALUE", help="Set an option for reading the file, as in input.header=false; repeatable.")]


def reading(path: str, assignments: Sequence[str], flags: Mapping[str, Any]) -> Layer:
    """How to read a file: the sections `input` and `compute` of a configuration."""
    others = [key for key in from_assignments(assignments).values if key not in SECTIONS]
    if others:
        raise UsageError("SET", f"{others[0][:80]!r} cannot be used here", where="--set",
                         hint="only input and compute can be set; the rest is fixed by the run")
    given = layer_of(flags).over(assignment("input.path", path, "the file"))
    return outside_layer(os.environ, assignments, given)


def put_to_use(use: Callable[..., Any], run: str, path: str, output: str, format: str | None, *, force: bool,
               assignments: Sequence[str] | None, flags: Mapping[str, Any], progress: Mode | None, quiet: bool,
               picture: str | None = None, classes: str | None = None, json: bool = False,
               p_below: float | None = None, share: float | None = None, history: Path | None = None) -> None:
    """Has a finished run make a table of a file, and writes it; what cannot be written is refused before that.

    Says at the end what was written: as a line on standard error, or with `json` as a document on standard output.

    With a picture, the table's points are drawn there among the run's. With a file of classes, the run makes two
    tables, and the second one is written there. Of coordinates, rows with p `p_below` a bound are counted, their number
    is appended to a `history`, and more of them than a `share` raise DataError once all is written. NPY files, which
    name no columns, hold coordinates alone.
    """
    from mlcli.base.stages.stage import note
    from mlcli.engine.threads import threads_of
    from mlcli.publication.publish import append_line, require_lines
    from mlcli.rundir.journal import recording
    from mlcli.runs.off_manifold import HISTORY, USUAL, OffManifoldCount, mapped
    from mlcli.runs.project import coordinates_alone
    from mlcli.runs.project import picture as picture_of

    if json and output == "-":
        raise UsageError("ONE-OUTPUT", "standard output cannot hold both the table and the JSON document",
                         where="--json", hint="write the table to a file: -o FILE")
    unnamed = format_of(output, format) == "npy"
    count = OffManifoldCount(USUAL if p_below is None else p_below,
                             asked=(p_below, share, history) != (None, None, None))
    if (p_below, share) != (None, None):
        count.require_reach(Path(run))
    refuse_existing(output, force)
    if history is not None:
        require_own_file("--history", str(history), {"-o": output, "--picture": picture, "--classes": classes})
        require_lines(history, HISTORY)
    require_picture(picture, output, force)
    require_classes(classes, output, picture, force)
    layer = reading(path, assignments or [], flags)
    config = build(layer)
    start_portably([config.compute])
    with (locate_errors(layer), watching(mode_of(progress), quiet, tell=not json), recording() as journal,
          threads_of(config.compute)):
        note_here(config.compute.cluster)
        found = use(Path(run), config.input, config.compute)
        table, others = (found, None) if classes is None else found
        with nullcontext() if picture is None else drawn(picture_of(Path(run), table), picture, force=force):
            shown = count.watch(table)
            shown = mapped(coordinates_alone, shown) if unnamed else shown
            if classes is not None:
                write_out(others, classes, None, force=force)
            rows, columns = write_out(shown, output, format, force=force)
            if unnamed and count.known:
                note("N-NO-COLUMNS", "an NPY file names no columns and holds coordinates alone: scores off the "
                     "manifold are left out; csv and parquet hold both")
    if history is not None:
        append_line(history, count.line(run, path), HISTORY)
    files = [written for written in (picture, classes, output) if written not in (None, "-")]
    if json:
        print_json({"run": run, "input": path, "output": output, "rows": rows, "columns": list(columns),
                    **({} if picture is None else {"picture": picture}),
                    **({} if classes is None else {"classes": classes}), **count.facts(),
                    "notes": [*journal.noted("W-"), *journal.noted("N-")]})
    elif not quiet:
        for written in files:
            said = f": {rows:,} x {len(columns):,}" if written == output else ""
            say_written(f"wrote {written}{said}", written)
        if p_below is not None and share is None:
            say(count.sentence)
    if share is not None:
        count.require_share(share, path, None if unnamed else output)
