"""`mlcli reconstruct`: from coordinates back to features."""

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

Embedding = Annotated[str, typer.Argument(metavar="EMBEDDING", show_default=False,
                                          help="Coordinates y1, y2, ... in the run's space; - is standard input.")]


@with_flags("id_column", "label_column", "threads", "memory_limit")
def reconstruct(run: Run, embedding: Embedding, *, output: Output = "-", format: Format = None,
                assignments: Assignments = None, force: behavior.Force = False, quiet: behavior.Quiet = False,
                progress: behavior.Progress = None, debug: behavior.Debug = False, **flags: Any) -> None:
    """Go from coordinates back to features, where possible.

    \b
    mlcli reconstruct runs/faces-pca runs/faces-pca/embedding.csv -o smooth.csv
    """
    from mlcli import reuse

    check_output(output, format, force)
    layer = reading(embedding, assignments or [], flags)
    config = build(layer)
    with located(layer), watching(mode_of(progress), quiet, tell=True):
        table = reuse.reconstruct(Path(run), config.input, config.compute)
        write_out(table, output, format)
