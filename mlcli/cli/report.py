"""`mlcli report`: the page of a finished run, rendered again."""

from pathlib import Path
from typing import Annotated

import typer

from mlcli.cli import behavior
from mlcli.cli.failure import escaped, say
from mlcli.cli.output import print_json
from mlcli.cli.reuse_options import Run
from mlcli.cli.streams import require_standard_output

Title = Annotated[str | None, typer.Option("--title", show_default=False, help="The page's title.")]
Label = Annotated[str | None, typer.Option("--label-column", show_default=False,
                                           help="The label column for colors (default: a plot for each).")]
Labels = Annotated[str | None, typer.Option("--labels", show_default=False, metavar="FILE", help=(
    "A file with labels of the rows, joined by id, or row by row."))]
Image = Annotated[str | None, typer.Option("--image", show_default=False, metavar="ROWS,COLUMNS[,3]",
                                           help="Shape of the images that decoded rows are (default: report.image).")]


def report(run: Run, *, label_column: Label = None, labels: Labels = None, title: Title = None, image: Image = None,
           quiet: behavior.Quiet = False, json: behavior.Json = False, debug: behavior.Debug = False) -> None:
    """Render the report of a finished run again.

    \b
    mlcli report runs/iris-pca
    mlcli report runs/cells-isomap --label-column batch --title "Cells by batch"
    mlcli report runs/cells-isomap --labels metadata.csv
    mlcli report runs/digits-pca --image 28,28

    The page is drawn from the files of the run, whose hashes are checked first.
    """
    from mlcli import readback

    if json:
        require_standard_output()
    path = readback.render_again(Path(run), title=title, label=label_column, image=image, labels=labels)
    if json:
        print_json({"run": run, "report": str(path)})
    elif not quiet:
        say(escaped(f"mlcli: wrote {path}"))
