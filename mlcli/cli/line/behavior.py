"""The options that commands share and that are not part of a run's configuration."""

from typing import Annotated, Literal

import typer

from mlcli.cli.line.completion import assignments
from mlcli.config.headings import COMPUTE, METHOD, OFTEN, OUTPUT

Mode = Literal["auto", "bar", "log", "json", "none"]  # how progress is shown
Run = Annotated[str, typer.Argument(metavar="RUN", show_default=False, help="The directory of a finished run.")]
Input = Annotated[str | None, typer.Option("--input", metavar="FILE", show_default=False,
                                           help="The run's input, if it was moved.")]
Labels = Annotated[str | None, typer.Option("--labels", show_default=False, metavar="FILE", help=(
    "A file with labels of the rows, joined by id, or row by row."))]
Table = Annotated[str, typer.Option("-o", "--output", metavar="FILE",
                                    help="A .csv, .parquet or .npy file; - is CSV on standard output.")]
TableFormat = Annotated[Literal["csv", "parquet", "npy"] | None, typer.Option(
    "--format", show_default=False, help="File format, if the ending of the file name does not give it.")]
Assignments = Annotated[list[str] | None, typer.Option(
    "--set", metavar="KEY=VALUE", autocompletion=assignments,
    help="Set any other option by its config path, as in method.graph=mutual (docs/config.md); repeatable.",
    rich_help_panel=METHOD)]
Force = Annotated[bool, typer.Option("--force", rich_help_panel=OFTEN, help=(
    "Replace an existing output (a run or a file)."))]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show errors only.", rich_help_panel=OUTPUT)]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help=(
    "Show all figures and notes at the end of a run, not only how good it is."), rich_help_panel=OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output at the end.")]
RunJson = Annotated[Literal["headline", "full"] | None, typer.Option(
    "--json", metavar="[full]", show_default=False, rich_help_panel=OUTPUT, help=(
        "Print a summary as one JSON document on standard output at the end; full: with all details."))]
Progress = Annotated[Mode | None, typer.Option("--progress", show_default=False, help=(
    "How progress is shown on standard error [default: MLCLI_PROGRESS, else auto]."), rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=COMPUTE)]
Network = Annotated[bool, typer.Option("--network", help=(
    "Open the input of the run on an object store, if it lies there; otherwise only files that are named here are."))]
NoCache = Annotated[bool, typer.Option("--no-cache", help=(
    "Do not use the cache: neither read intermediate results from it nor save them."), rich_help_panel=COMPUTE)]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, show_default=False, help=(
    "Do up to N runs at the same time; they share the threads and the memory [default: 1]."), rich_help_panel=COMPUTE)]
SkipExisting = Annotated[bool, typer.Option("--skip-existing", help=(
    "Skip runs that are already complete, with the same options and the same input."), rich_help_panel=OUTPUT)]
ShardText = Annotated[str | None, typer.Option("--shard", metavar="I/N", show_default=False, help=(
    "Do only every N-th run, beginning with the I-th; slurm: take I and N from the task of the job array."),
    rich_help_panel=COMPUTE)]
Strict = Annotated[bool, typer.Option("--strict", help=(
    "Treat warnings as errors: exit code 80 if an iteration did not converge, else 65."), rich_help_panel=COMPUTE)]
