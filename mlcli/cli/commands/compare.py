"""`mlcli compare`: finished runs side by side."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from mlcli.cli.line import behavior
from mlcli.cli.screen.columns import tell
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import print_json, refuse_existing
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.cli.screen.terminal import WIDTH, columns_of
from mlcli.errors import UsageError
from mlcli.publication.publish import write_whole

Runs = Annotated[list[str], typer.Argument(metavar="RUN RUN...", show_default=False,
                                           help="Directories of finished runs of the same rows.")]
Output = Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", show_default=False,
                                            help="HTML page to write, with the embeddings side by side.")]
Neighbors = Annotated[int, typer.Option("-k", "--neighbors", min=1, help="Size of the neighborhoods compared.")]
ColorBy = Annotated[list[str] | None, typer.Option("--color-by", "--label-column", metavar="NAMES",
                                                   show_default=False, help=(
    "Columns for the colors of the page, with commas between or repeated, plots for each: label columns of the first "
    "run, or any column of its input, which is read again (default: its first label column)."))]
Given = Annotated[str | None, typer.Option("--input", metavar="FILE", show_default=False,
                                           help="The first run's input, if it was moved.")]
Orientation = Annotated[Literal["aligned", "own"], typer.Option("--orientation", help=(
    "Embeddings on the page: aligned with the first by a Procrustes rotation, or each in its own orientation."))]
Labels = Annotated[str | None, typer.Option("--labels", show_default=False, metavar="FILE", help=(
    "A file with labels of the rows, joined by id, or row by row."))]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random sample of rows that is compared, if "
                                   "there are many.")]


def compare(runs: Runs, *, output: Output = None, neighbors: Neighbors = 12, color_by: ColorBy = None,
            labels: Labels = None, given: Given = None, orientation: Orientation = "aligned", seed: Seed = 0,
            force: behavior.Force = False, quiet: behavior.Quiet = False, json: behavior.Json = False,
            progress: behavior.Progress = None, debug: behavior.Debug = False) -> None:
    """Compare finished runs: shapes, spans, neighbors, spectra.

    \b
    mlcli compare runs/faces-pca runs/faces-isomap
    mlcli compare runs/k-* -o side-by-side.html --color-by pose,light
    mlcli compare runs/cells-umap runs/cells-pca -o page.html --orientation own

    Rows are matched by id. m2 is the symmetric Procrustes statistic of the centered and scaled embeddings (0: the same
    shape), as in scipy.spatial.procrustes and vegan's protest; angles are the principal angles between their spans, in
    degrees; shared is the mean share of nearest neighbors in common.
    """
    from mlcli.runs import compare as comparing

    if len(runs) < 2:
        raise UsageError("ONE-RUN", "only one run was given, and a comparison needs two", where=runs[0][:80],
                         hint="name two runs or more")
    require_standard_output()
    if output is not None:
        refuse_existing(output, force)
    else:
        refuse_without_page({"--color-by": color_by, "--labels": labels, "--input": given,
                             "--orientation": None if orientation == "aligned" else orientation})
    options = comparing.PageOptions(tuple(color_by or ()), labels, given, orientation == "own")
    with watching(mode_of(progress), quiet, tell=not json):
        comparison = comparing.compare(runs, neighbors=neighbors, seed=seed, options=options)
        document = comparison.document()
    if output is not None:
        from mlcli.pipeline.read_run import encoded
        from mlcli.report.comparison.page import page

        content = encoded(page(comparison, seed=seed))
        write_whole(Path(output), lambda draft: draft.write_bytes(content), force=force)
    if json:
        print_json(document)
    elif not quiet:
        from mlcli.cli.screen.comparison_table import table

        tell(table(document, columns_of(sys.stdout) or WIDTH))
    if output is not None and not (quiet or json):
        say_written(f"wrote {output}", output)


def refuse_without_page(given: Mapping[str, object]) -> None:
    """Raise UsageError for an option of the page that was given where none is written."""
    for flag, value in given.items():
        if value is not None:
            raise UsageError("NO-PAGE", f"{flag} needs a page", where=flag, hint="give -o FILE")
