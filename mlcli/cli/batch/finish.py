"""The end of a command: its runs carried out, their documents shown, its exit code."""

import os
from collections.abc import Sequence
from typing import NoReturn

import typer

from mlcli.cli.batch.launch import Batch, PlannedRun, Presentation, launched


def finish(runs: Sequence[PlannedRun], presentation: Presentation, *, jobs: int, skip_existing: bool,
           shard: str | None) -> NoReturn:
    """Carries out runs, or a `shard` of them, and ends the command with their documents and exit code.

    Raises what a single run does, and UsageError for what is no shard.
    """
    part = None
    if shard is not None:
        from mlcli.cli.batch.shard import shard_of

        part = shard_of(shard, os.environ)
    batch, alone = Batch(jobs, skip_existing, part), len(runs) == 1 and not runs[0].values
    if alone and part is None:
        documents, code = [launched(runs[0], presentation, batch)], 0
    else:
        from mlcli.cli.batch.runs import carry_out  # queues and processes, which a single run does without

        documents, code = carry_out(runs, presentation, batch)
    if presentation.json == "full":
        from mlcli.cli.screen.output import print_json

        print_json(documents[0] if alone else {"runs": documents})
    elif presentation.json:
        from mlcli.cli.screen.summary import print_headlines

        print_headlines(documents, alone=alone)
    raise typer.Exit(code)
