"""`mlcli collect`: runs made elsewhere as one table and one page."""

from pathlib import Path
from typing import Annotated

import typer

from mlcli.base.values.naming import listed
from mlcli.cli.line import behavior
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import print_json, refuse_existing
from mlcli.cli.screen.streams import require_standard_output
from mlcli.errors import UsageError
from mlcli.publication.publish import require_folder_name

Folders = Annotated[list[str], typer.Argument(metavar="DIR...", show_default=False,
                                              help="Directories of runs, or directories that hold them.")]
Output = Annotated[str | None, typer.Option("-o", "--output", metavar="DIR", show_default=False, help=(
    "Directory for runs.csv and runs.html (default: DIR, if only one is given)."))]
Label = Annotated[str | None, typer.Option("--label-column", show_default=False, help=(
    "Label column of the first run for the colors of the page (default: its first)."))]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random sample of rows that is shown, if there "
                                   "are many.")]


def collect(folders: Folders, *, output: Output = None, label_column: Label = None, seed: Seed = 0,
            force: behavior.Force = False,
            quiet: behavior.Quiet = False, json: behavior.Json = False, debug: behavior.Debug = False) -> None:
    """Make one table and one page of finished runs.

    \b
    mlcli collect runs/sweep
    mlcli collect runs/node-1 runs/node-2 -o runs/all --label-column pose

    runs.csv has a row for each run, with the options in which the runs differ; runs.html shows quality, the embeddings,
    aligned with each other, and the best run by each measure. A run that failed or is damaged has a row that says so.
    Both files are replaced without --force if DIR itself is where they are written.
    """
    from mlcli.runs import collect as collecting

    if output is None and len(folders) > 1:
        raise UsageError("COLLECT", f"{len(folders)} directories were given, but no output directory", where="-o",
                         hint="name a directory with -o")
    place = Path(output or folders[0])
    require_folder_name(place)
    if output is not None and place.resolve() not in {Path(folder).resolve() for folder in folders}:
        for name in collecting.FILES:
            refuse_existing(str(place / name), force)
    if json:
        require_standard_output()
    collected = collecting.collect([Path(folder) for folder in folders])
    paths = collecting.write_collected(collected, place, label=label_column, seed=seed)
    if json:
        print_json({"parameters": list(collected.parameters), "runs": [dict(row) for row in collected.rows],
                    "files": [str(path) for path in paths]})
    elif not quiet:
        failed = [str(row["run"]) for row in collected.rows if row["exit"]]
        said = f", {len(failed):,} of which failed or cannot be read: {listed(failed)}" if failed else ""
        say_written(f"wrote {' and '.join(map(str, paths))} of {len(collected.rows):,} runs{said}", *paths)
