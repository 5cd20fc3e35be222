"""`mlcli export`: a finished run as a file that other programs read."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mlcli.base.context import set_context
from mlcli.cli.line import behavior
from mlcli.cli.line.behavior import Mode
from mlcli.cli.line.parsing import first_given
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import refuse_existing, standard_output
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.data.options.formats import ANNDATA
from mlcli.errors import UsageError

ENDINGS = {ANNDATA: "h5ad", ".txt": "ordination", ".ordination": "ordination"}
Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE",
                                     help="A .h5ad, .txt or .ordination file, or CSV of --kept; - is "
                                          "standard output (ordination, or CSV of --kept).")]
Format = Annotated[Literal["h5ad", "ordination"] | None, typer.Option(
    "--format", show_default=False, help="File format, if the ending of the file name does not give it.")]
Into = Annotated[str | None, typer.Option("--into", show_default=False, metavar="FILE", help=(
    "A copy of the run's input (.h5ad) to write, with the results where scanpy looks for them."))]
Kept = Annotated[Literal["graph", "distances", "weights", "kernel", "uncentered"] | None, typer.Option(
    "--kept", show_default=False, help="A result that the run kept (--keep of mlcli embed), to write as CSV instead: a "
    "square table of distances or of the kernel, a list of edges or of weights.")]
Given = Annotated[str | None, typer.Option("--input", show_default=False, metavar="FILE", help=(
    "The run's input, if it was moved; for --into."))]


def export(run: behavior.Run, *, output: Output = "-", format: Format = None, labels: behavior.Labels = None,
           kept: Kept = None, into: Into = None, given: Given = None, network: behavior.Network = False,
           force: behavior.Force = False, quiet: behavior.Quiet = False, progress: behavior.Progress = None,
           debug: behavior.Debug = False) -> None:
    """Write a finished run in the format of another program.

    \b
    mlcli export runs/cells-isomap -o cells.h5ad
    mlcli export runs/sites-mds -o ordination.txt
    mlcli export runs/cells-umap --into cells-umap.h5ad
    mlcli export runs/roll-isomap --kept kernel -o kernel.csv

    AnnData (h5ad, for scanpy and anndata) holds coordinates in obsm, labels in obs, spectrum and options
    in uns. Ordination results (txt) are the text format of scikit-bio, QIIME 2 and Emperor. With --into everything in
    the run's input (.h5ad) is copied, and coordinates, loadings, spectrum and neighbor graph are added to it.
    """
    if into is not None:
        if (flag := first_given({"-o": output != "-", "--format": format, "--labels": labels,
                                 "--kept": kept})) is not None:
            raise UsageError("EXPORT-OPTION", f"--into cannot be combined with {flag}", where=flag,
                             hint="leave one of the two out")
        with set_context(network=network):
            return export_into(run, into, given, force=force, quiet=quiet, progress=progress)
    if (flag := first_given({"--input": given, "--network": network})) is not None:
        raise UsageError("EXPORT-OPTION", f"{flag} was given without --into", where=flag,
                         hint="leave it out: only a copy of the input needs it")
    from mlcli.runs import export as exporting

    if kept is not None:
        if (flag := first_given({"--format": format, "--labels": labels})) is not None:
            raise UsageError("EXPORT-OPTION", f"--kept cannot be combined with {flag}", where=flag,
                             hint="leave it out: what a run kept is written as CSV, without labels")
        if output != "-" and not output.endswith(".csv"):
            raise UsageError("EXPORT-OPTION", "what a run kept is written as CSV", where=output[:80],
                             hint="give a name that ends with .csv, or - for standard output")
        refuse_existing(output, force)
        if output == "-":
            for line in exporting.kept_lines(Path(run), kept):
                standard_output().write(line.encode("utf-8", "replace"))
            return
        exporting.export_kept(Path(run), kept, Path(output), force=force)
        if not quiet:
            say_written(f"wrote {output}", output)
        return
    chosen = format_of(output, format)
    refuse_existing(output, force)
    if output == "-":
        for line in exporting.ordination_of(exporting.exported(Path(run), labels)):
            standard_output().write(line.encode("utf-8", "replace"))
        return
    exporting.export(Path(run), Path(output), chosen, labels=labels, force=force)
    if not quiet:
        say_written(f"wrote {output}", output)


def export_into(run: str, into: str, given: str | None, *, force: bool, quiet: bool, progress: Mode | None) -> None:
    """Write a copy of the run's input with its results; raises UsageError for the name of another format."""
    if Path(into).suffix.lower() != ANNDATA:
        raise UsageError("COPY-NAME", f"{into[:80]!r} is not the name of an AnnData file, as the copy is",
                         where="--into", hint=f"give another, as in --into copy{ANNDATA}")
    from mlcli.runs.export_copy import export_copy

    with watching(mode_of(progress), quiet, tell=True):
        export_copy(Path(run), Path(into), given, force=force)
    if not quiet:
        say_written(f"wrote {into}", into)


def format_of(output: str, format: str | None) -> str:
    """The format asked for, else the one that the file's ending names; raises UsageError."""
    ending = Path(output).suffix.lower()
    chosen = format or ("ordination" if output == "-" else ENDINGS.get(ending, ""))
    if not chosen:
        raise UsageError("FORMAT", f"{ending[:40]!r} is not an export format", where=output[:80],
                         hint="the formats are h5ad and ordination: choose with --format")
    if output == "-" and chosen != "ordination":
        raise UsageError("FORMAT", f"standard output takes ordination, not {chosen}", where="-o -",
                         hint="give a file with -o")
    return chosen
