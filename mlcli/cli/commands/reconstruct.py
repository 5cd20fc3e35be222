"""`mlcli reconstruct`: from coordinates back to features."""

from typing import Annotated, Any

import typer

from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.reuse import Assignments, put_to_use
from mlcli.errors import UsageError

Variance = Annotated[str | None, typer.Option(
    "--variance", metavar="FILE", show_default=False, help="Also write the predicted variance of each row's features, "
    "in the squared unit of the prepared features; for methods with a Gaussian process only.")]
Embedding = Annotated[str, typer.Argument(metavar="EMBEDDING", show_default=False,
                                          help="Coordinates y1, y2, ... in the run's space; - is standard input.")]


@with_flags("id_column", "label_column", "threads", "portable", "memory_limit")
def reconstruct(run: behavior.Run, embedding: Embedding, *, output: behavior.Table = "-",
                format: behavior.TableFormat = None, variance: Variance = None, assignments: Assignments = None,
                force: behavior.Force = False, quiet: behavior.Quiet = False, json: behavior.Json = False,
                progress: behavior.Progress = None, debug: behavior.Debug = False, **flags: Any) -> None:
    """Compute features from coordinates, for methods that can.

    \b
    mlcli reconstruct runs/faces-pca runs/faces-pca/embedding.csv -o smooth.csv
    mlcli reconstruct runs/letters-bilinear new_letters.csv --label-column font
    """
    from mlcli.runs import project

    if variance is not None:
        if embedding == "-":
            raise UsageError("VARIANCE", "standard input can be read only once", where="--variance",
                             hint="give the coordinates as a file")
        put_to_use(project.variance, run=run, path=embedding, output=variance, format=None, force=force,
                   assignments=assignments, flags=flags, progress=progress, quiet=quiet or json)
    put_to_use(project.reconstruct, run=run, path=embedding, output=output, format=format, force=force,
               assignments=assignments, flags=flags, progress=progress, quiet=quiet, json=json)
