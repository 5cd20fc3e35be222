"""`mlcli project`: new points into a finished run's space."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli import behavior
from mlcli.cli.flags import with_flags
from mlcli.cli.output import write_out
from mlcli.cli.progress import mode_of, watching
from mlcli.cli.reuse_options import Assignments, Format, Output, Run, check_output, reading
from mlcli.config.build import build
from mlcli.config.explain import located

New = Annotated[str, typer.Argument(metavar="NEW", show_default=False, help="The new points; - is standard input.")]


@with_flags("id_column", "label_column", "threads", "memory_limit")
def project(run: Run, new: New, *, output: Output = "-", format: Format = None, assignments: Assignments = None,
            force: behavior.Force = False, quiet: behavior.Quiet = False, progress: behavior.Progress = None,
            debug: behavior.Debug = False, **flags: Any) -> None:
    """Place new points in the space of a finished run.

    \b
    mlcli project runs/faces-isomap new_faces.csv -o new.csv
    mlcli project runs/distances-mds to_training_points.csv

    Columns are matched by name. For a run of dissimilarities or of a kernel, give one row for each
    new point and one column for each training point.
    """
    from mlcli import reuse

    check_output(output, format, force)
    layer = reading(new, assignments or [], flags)
    config = build(layer)
    with located(layer), watching(mode_of(progress), quiet, tell=True):
        table = reuse.project(Path(run), config.input, config.compute)
        write_out(table, output, format)
