"""The end of a command: its runs carried out, their documents shown, its exit code."""

from collections.abc import Sequence
from typing import NoReturn

import typer

from mlcli.cli.batch.launch import Presentation
from mlcli.cli.batch.planned import Batch, PlannedRun, launched
from mlcli.cli.screen.failure import ErrorForm


def finish(runs: Sequence[PlannedRun], presentation: Presentation, batch: Batch, *, debug: bool) -> NoReturn:
    """Carries out runs and ends the command with their documents and exit code; raises what a single run does."""
    alone = len(runs) == 1 and not runs[0].values
    if alone and batch.shard is None:
        documents, code = [launched(runs[0], presentation, batch)], 0
    else:
        from mlcli.cli.batch.runs import carry_out  # queues and processes, which a single run does without

        form = ErrorForm(bool(presentation.json) or presentation.progress == "json", debug)
        documents, code = carry_out(runs, presentation, form, batch)
    if presentation.json == "full":
        from mlcli.cli.screen.output import print_json

        print_json(documents[0] if alone else {"runs": documents})
    elif presentation.json:
        from mlcli.cli.screen.headline import print_headlines

        print_headlines(documents, alone=alone)
    raise typer.Exit(code)
