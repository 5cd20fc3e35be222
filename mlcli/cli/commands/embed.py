"""`mlcli embed`: the main job, as flags."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli.batch.finish import finish
from mlcli.cli.batch.launch import Presentation, planned
from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.screen.progress import mode_of
from mlcli.config.build import outside_layer
from mlcli.config.flags import FLAGS, flag_sweep, layer_of, require_annotated, several_values
from mlcli.config.layers import assignment
from mlcli.config.sweep import INPUT, SweepVariant, directory_names
from mlcli.data.files.formats import file_name
from mlcli.errors import UsageError

Data = Annotated[list[str], typer.Argument(metavar="DATA...", show_default=False, help=(
    "The file or finished run to read; - is standard input. Each of several files gets a run of its own, named after "
    "it."))]


@with_flags(*FLAGS)
def embed(data: Data, *, assignments: behavior.Assignments = None, force: behavior.Force = False,
          quiet: behavior.Quiet = False, verbose: behavior.Verbose = False, json: behavior.RunJson = None,
          progress: behavior.Progress = None, strict: behavior.Strict = False, jobs: behavior.Jobs = 1,
          skip_existing: behavior.SkipExisting = False, shard: behavior.ShardText = None,
          no_cache: behavior.NoCache = False, debug: behavior.Debug = False, **flags: Any) -> None:
    """Embed the rows of a table, or of a dissimilarity matrix.

    \b
    mlcli embed --method isomap -k 8 data.csv
    mlcli embed -p 0.95 --scale standard --label-column species iris.csv
    mlcli embed --method mds --dissimilarities distances.csv -o - > embedding.csv
    mlcli embed --method isomap runs/iris-pca
    mlcli embed -m pca,isomap,laplacian -k 8,12 data.csv

    Several values of an option of a method, of --scale or of --seed, separated by commas, make a run for each.
    Values also come from the environment: MLCLI__COMPUTE__THREADS=4 sets compute.threads.
    """
    require_annotated(flags, data)
    outer = partial(outside_layer, os.environ, assignments or [])
    if several := several_values(flags):
        settings = flag_sweep(flags, several, outer)
    else:
        settings = [SweepVariant(outer(layer_of(flags)), {})]
    runs = planned(runs_of(data, settings, flags["output"]))
    presentation = Presentation(force=force, quiet=quiet, json=json or "", progress=mode_of(progress), strict=strict,
                                cache="none" if no_cache else "chosen", debug=debug, verbose=verbose)
    finish(runs, presentation, jobs=jobs, skip_existing=skip_existing, shard=shard)


def runs_of(files: Sequence[str], settings: Sequence[SweepVariant], output: str | None) -> list[SweepVariant]:
    """Return a run of each file in each setting.

    Several are written to OUTPUT/NAME. Without an output those of a sweep are written to runs/DATA-sweep/NAME, and
    those of several files where each would be written alone. Raises UsageError for several runs to standard output.
    """
    runs = [SweepVariant(setting.layer.over(assignment("input.path", file, "DATA")),
                         {**({INPUT: file} if len(files) > 1 else {}), **setting.values})
            for file in files for setting in settings]
    if len(runs) == 1 or (output is None and len(settings) == 1):
        return runs
    if output == "-":
        raise UsageError("ONE-OUTPUT", f"{len(runs)} embeddings cannot share standard output", where="-o -",
                         hint="give a directory with -o")
    if output is None:
        names = [str(Path(f"runs/{file_name(file)}-sweep", name)) for file in files
                 for name in directory_names([setting.values for setting in settings])]
    else:
        names = [str(Path(output, name)) for name in directory_names([run.values for run in runs])]
    return [SweepVariant(assignment("output", name, "-o").over(run.layer), run.values)
            for run, name in zip(runs, names, strict=True)]
