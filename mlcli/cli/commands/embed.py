"""`mlcli embed`: the main job, as flags."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli.batch.finish import finish
from mlcli.cli.batch.launch import Presentation
from mlcli.cli.batch.planned import Batch, planned
from mlcli.cli.line import behavior
from mlcli.cli.line.flags import FLAGS, layer_of, with_flags
from mlcli.cli.screen.progress import mode_of
from mlcli.config.build import outside_layer
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_names import INPUT, directory_names
from mlcli.config.sweep import Variant
from mlcli.errors import UsageError

Data = Annotated[list[str], typer.Argument(metavar="DATA...", show_default=False, help=(
    "The file or finished run to read; - is standard input. Each of several files gets a run of its own, named after "
    "it."))]


@with_flags(*FLAGS)
def embed(data: Data, *, assignments: behavior.Assignments = None, force: behavior.Force = False,
          quiet: behavior.Quiet = False, json: behavior.RunJson = None, progress: behavior.Progress = None,
          strict: behavior.Strict = False, jobs: behavior.Jobs = 1,
          skip_existing: behavior.SkipExisting = False, shard: behavior.ShardText = None,
          no_cache: behavior.NoCache = False, debug: behavior.Debug = False, **flags: Any) -> None:
    """Embed the rows of a table, or of a dissimilarity matrix.

    \b
    mlcli embed --method isomap -k 8 data.csv
    mlcli embed -p 0.95 --scale standard --label-column species iris.csv
    mlcli embed --method mds --dissimilarities distances.csv -o - > embedding.csv
    mlcli embed --method isomap runs/iris-pca

    Values also come from the environment: MLCLI__COMPUTE__THREADS=4 sets compute.threads.
    """
    outside = outside_layer(os.environ, assignments or [], layer_of(flags))
    runs = planned(inputs(data, outside, flags["output"]))
    presentation = Presentation(force=force, quiet=quiet, json=json or "", progress=mode_of(progress), strict=strict,
                                cache="none" if no_cache else "chosen")
    part = None
    if shard is not None:
        from mlcli.cli.batch.shard import shard_of

        part = shard_of(shard, os.environ)
    batch = Batch(jobs, skip_existing, part)
    finish(runs, presentation, batch, debug=debug)


def inputs(files: Sequence[str], outside: Layer, output: str | None) -> list[Variant]:
    """A run of each file; several are written to OUTPUT/NAME, or where each would be written alone."""
    given = [outside.over(assignment("input.path", file, "DATA")) for file in files]
    if len(files) == 1:
        return [Variant(given[0], {})]
    values = [{INPUT: file} for file in files]
    if output is None:
        return [Variant(layer, value) for layer, value in zip(given, values, strict=True)]
    if output == "-":
        raise UsageError("ONE-OUTPUT", f"{len(files)} embeddings cannot share standard output", where="-o -",
                         hint="give a directory with -o")
    return [Variant(assignment("output", str(Path(output) / name), "-o").over(layer), value)
            for layer, name, value in zip(given, directory_names(values), values, strict=True)]
