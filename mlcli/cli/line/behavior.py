"""The options that commands share and that are not part of a run's configuration."""

from typing import Annotated, Literal

import typer

from mlcli.cli.line.completion import assignments

Mode = Literal["auto", "bar", "log", "json", "none"]  # how progress is shown
Assignments = Annotated[list[str] | None, typer.Option(
    "--set", metavar="KEY=VALUE", autocompletion=assignments,
    help="Any other option by its config path, as in method.graph=mutual; repeatable.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists: a run, or a file.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output at the end.")]
RunJson = Annotated[Literal["headline", "full"] | None, typer.Option(
    "--json", metavar="[full]", show_default=False, help=(
        "Print the headline as one JSON document on standard output at the end; full: all that is known."))]
Progress = Annotated[Mode | None, typer.Option("--progress", show_default=False, help=(
    "How progress is shown on standard error [default: MLCLI_PROGRESS, else auto]."))]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help=(
    "Neither take results of stages from a cache nor keep them there."))]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, show_default=False, help=(
    "Make up to N of several runs at the same time; they share the threads and the memory [default: 1]."))]
SkipExisting = Annotated[bool, typer.Option("--skip-existing", help=(
    "Skip runs that are complete already, with the same options and the same input."))]
ShardText = Annotated[str | None, typer.Option("--shard", metavar="I/N", show_default=False, help=(
    "Make every N-th of the runs, beginning with the I-th; slurm: the share of this task of a job array."))]
Strict = Annotated[bool, typer.Option("--strict", help=(
    "Make warnings errors: exit code 80 where an iteration did not converge, else 65."))]
