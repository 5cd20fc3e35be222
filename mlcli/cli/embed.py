"""`mlcli embed`: the main job, as flags."""

import os
from typing import Annotated, Any

import typer

from mlcli.cli import behavior
from mlcli.cli.flags import FLAGS, layer_of, with_flags
from mlcli.cli.launch import Manner, launch
from mlcli.cli.output import print_json
from mlcli.cli.progress import mode_of
from mlcli.config.build import build, from_outside
from mlcli.config.explain import located
from mlcli.config.layers import assignment

Data = Annotated[str, typer.Argument(metavar="DATA", show_default=False,
                                         help="The file or finished run to read; - is standard input.")]


@with_flags(*FLAGS)
def embed(data: Data, *, assignments: behavior.Assignments = None, force: behavior.Force = False,
          quiet: behavior.Quiet = False, json: behavior.Json = False, progress: behavior.Progress = None,
          strict: behavior.Strict = False, debug: behavior.Debug = False, **flags: Any) -> None:
    """Embed the rows of a table, or of a dissimilarity matrix.

    \b
    mlcli embed --method isomap -k 8 data.csv
    mlcli embed -p 0.95 --scale standard --label-column species iris.csv
    mlcli embed --method mds --dissimilarities distances.csv -o - > embedding.csv
    mlcli embed --method isomap runs/iris-pca

    Values also come from the environment: MLCLI__COMPUTE__THREADS=4 sets compute.threads.
    """
    given = layer_of(flags).over(assignment("input.path", data, "DATA"))
    layer = from_outside(os.environ, assignments or [], given)
    config = build(layer)
    with located(layer):
        summary = launch(config, Manner(force=force, quiet=quiet, json=json, progress=mode_of(progress), strict=strict))
    if json:
        print_json(summary)
