"""`mlcli project`: new points into a finished run's space."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.reuse import Assignments, put_to_use

Picture = Annotated[str | None, typer.Option("--picture", metavar="FILE", show_default=False, help=(
    "Also draw the new points among those of the run, in a .svg, .png or .pdf file."))]
Classes = Annotated[str | None, typer.Option("--classes", metavar="FILE", show_default=False, help=(
    "Also write each new row's class with posterior probabilities, of a run of lda, to a .csv or .parquet file."))]
New = Annotated[str, typer.Argument(metavar="NEW", show_default=False, help="The new points; - is standard input.")]


PBelow = Annotated[float | None, typer.Option("--p-below", metavar="P", min=0, max=1, show_default=False, help=(
    "Count the new rows with a smaller off_manifold_p (default: 0.05). --json names their number and share."))]
Share = Annotated[float | None, typer.Option("--share", metavar="SHARE", min=0, max=1, show_default=False, help=(
    "Largest share of the new rows that may be below it: of more, the table is written and exit code 65 is an alarm."))]
History = Annotated[Path | None, typer.Option("--history", metavar="FILE", show_default=False, help=(
    "Append the time, the number of new rows and the share below it as a line to this .csv file."))]
AsView = Annotated[list[int] | None, typer.Option("--as-view", metavar="NUMBER", show_default=False, help=(
    "The view of a run of several views that NEW has rows of, from 1 (default: 1). Repeatable: then that of each "
    "--view."))]
View = Annotated[list[str] | None, typer.Option("--view", metavar="FILE", show_default=False, help=(
    "Rows of a further view of the same points, for ibfa, and cca of three views and more, or of a further file of a "
    "run of mfa, famd or statis. Repeatable."))]


@with_flags("id_column", "label_column", "labels", "key", "missing_markers", "threads", "portable", "memory_limit")
def project(run: behavior.Run, new: New, *, as_view: AsView = None, view: View = None, output: behavior.Table = "-",
            format: behavior.TableFormat = None, picture: Picture = None, classes: Classes = None,
            p_below: PBelow = None, share: Share = None, history: History = None,
            assignments: Assignments = None, force: behavior.Force = False, quiet: behavior.Quiet = False,
            json: behavior.Json = False, progress: behavior.Progress = None, debug: behavior.Debug = False,
            **flags: Any) -> None:
    """Place new points in the space of a finished run.

    \b
    mlcli project runs/faces-isomap new_faces.csv -o new.csv
    mlcli project runs/distances-mds to_training_points.csv
    mlcli project runs/faces-isomap new_faces.csv -o new.csv --picture new.svg
    mlcli project runs/iris-lda new_flowers.csv -o new.csv --classes classes.csv
    mlcli project runs/faces-isomap new.csv --share 0.2 --history shares.csv
    mlcli project runs/genes-ibfa new_doses.csv --as-view 2
    mlcli project runs/genes-ibfa new_genes.csv --view new_doses.csv
    mlcli project runs/letters-bilinear letters.csv --label-column font

    Columns are matched by name, and others are ignored with a note. Rows without ids are called new1, new2 and so on.
    off_manifold tells how far a row is from what the run was fitted to, and off_manifold_p how usual that is: the
    share of rows like those of the fit that are as far. It is exact where the run held rows out (embed --calibrate).

    If the run was made from dissimilarities or a kernel, NEW has a row for each new point and a column for each
    training point.
    """
    from mlcli.runs import project

    if view:
        flags = {**flags, "view": view}
    use = project.project if classes is None else project.project_and_classify
    put_to_use(partial(use, views=as_view or ()), run=run, path=new, output=output, format=format, force=force,
               assignments=assignments, flags=flags, progress=progress, quiet=quiet,
               picture=picture, classes=classes, json=json, p_below=p_below, share=share, history=history)
