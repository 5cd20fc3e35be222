"""`mlcli report`: the page and the figures of a finished run, drawn again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.base.context import set_context
from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.line.parsing import first_given
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import print_json, standard_output
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.config.flags import DRAWING, layer_of
from mlcli.errors import UsageError
from mlcli.report.tables import Form, Name

ColorBy = Annotated[list[str] | None, typer.Option("--color-by", "--label-column", metavar="NAMES",
                                                   show_default=False, help=(
    "Columns for the colors, with commas between or repeated, a plot for each: label columns of the run, or any column "
    "of its input, which is read again (default: every label column)."))]
QualityLabel = Annotated[str | None, typer.Option("--quality-label", show_default=False, metavar="NAME", help=(
    "The label column of 1-NN error and silhouette (default: the first of those for the colors that has classes)."))]
Image = Annotated[str | None, typer.Option("--image", show_default=False, metavar="ROWS,COLUMNS[,3]",
                                           help="Shape of the images (default: report.image).")]
Interactive = Annotated[bool, typer.Option("--interactive", help=(
    "Also write interactive.html, an interactive scatter plot."))]
ImageOrder = Annotated[str | None, typer.Option("--image-order", show_default=False, metavar="row|column", help=(
    "Order of the cells of these images: row by row, or column by column (default: report.image_order)."))]

Wanted = Annotated[Name | None, typer.Option("--table", show_default=False, help=(
    "Print this table instead of making the page."))]
As = Annotated[Form | None, typer.Option("--as", show_default=False, help=(
    "Format of the table [default: markdown]; csv has all digits."))]
Cutoff = Annotated[float | None, typer.Option("--cutoff", min=0.0, show_default=False, help=(
    "Leave smaller loadings blank (default: report.cutoff)."))]


@with_flags(*DRAWING)
def report(run: behavior.Run, *, color_by: ColorBy = None, labels: behavior.Labels = None,
           quality_label: QualityLabel = None, given: behavior.Input = None, network: behavior.Network = False,
           image: Image = None, image_order: ImageOrder = None, interactive: Interactive = False, table: Wanted = None,
           form: As = None, cutoff: Cutoff = None, quiet: behavior.Quiet = False, json: behavior.Json = False,
           debug: behavior.Debug = False, **flags: Any) -> None:
    """Make the report of a finished run again.

    \b
    mlcli report runs/iris-pca
    mlcli report runs/cells-isomap --color-by batch,CD3D --title "Cells"
    mlcli report runs/iris-pca --figures pdf --size 3.5,3 --font-size 8 --arrows 4
    mlcli report runs/sites --labels meta.csv --point-labels ids --outlines hulls
    mlcli report runs/digits-pca --image 28,28
    mlcli report runs/cells-isomap --interactive
    mlcli report runs/survey --table loadings --as latex --cutoff 0.3 > table.tex

    The page, or the chosen table, is made from the files of the run, whose hashes are checked first. The figures are
    drawn again too, in the formats of the run or of --figures.
    """
    from mlcli.pipeline import read_run
    from mlcli.runs import redraw

    if table is not None or json:
        require_standard_output()
    if table is not None:
        refuse_for_tables({**{DRAWING[name].names[0]: value for name, value in flags.items()},
                           "--color-by": color_by, "--labels": labels, "--quality-label": quality_label,
                           "--input": given, "--network": network, "--image": image, "--image-order": image_order,
                           "--interactive": interactive, "--json": json, "--quiet": quiet}, "--table prints a table")
        if table != "loadings" or form == "csv":
            refuse_for_tables({"--cutoff": cutoff}, "it is for loadings in markdown and latex: csv holds all numbers")
        standard_output().write(read_run.table_of(Path(run), table, form or "markdown", cutoff).encode(
            "utf-8", "surrogateescape"))
        return
    refuse_for_tables({"--as": form}, "it is the form of a --table")
    colors = redraw.ColorOptions(tuple(color_by or ()), labels=labels, quality=quality_label, input=given)
    with watching(mode_of(None), quiet, tell=not json), set_context(network=network):
        drawn = redraw.render_again(Path(run), layer_of(flags), colors=colors, image=image, order=image_order,
                                    interactive=interactive, cutoff=cutoff)
    if json:
        print_json({"run": run, **{page.stem: str(page) for page in drawn.pages},
                    "figures": list(map(str, drawn.figures)), "removed": list(map(str, drawn.removed))})
    elif not quiet:
        for path in (*drawn.pages, *drawn.figures):
            say_written(f"wrote {path}", path)
        for path in drawn.removed:
            say_written(f"removed {path}, a former drawing", path)


def refuse_for_tables(given: Mapping[str, object], because: str) -> None:
    """Raises UsageError for an option that was given and has no use."""
    if (flag := first_given(given)) is not None:
        raise UsageError("TABLE", f"{flag} cannot be used here: {because}", where=flag,
                         hint="leave one of the two out")
