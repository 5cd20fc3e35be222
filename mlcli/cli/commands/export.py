"""`mlcli export`: a finished run as a file that other programs read."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mlcli.cli.line import behavior
from mlcli.cli.reuse_options import Run
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import refuse_existing, standard_output
from mlcli.errors import UsageError

ENDINGS = {".h5ad": "h5ad", ".txt": "ordination", ".ordination": "ordination"}
Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE",
                                     help="A .h5ad, .txt or .ordination file; - is ordination on standard output.")]
Format = Annotated[Literal["h5ad", "ordination"] | None, typer.Option(
    "--format", show_default=False, help="File format, if the ending of the file name does not give it.")]
Labels = Annotated[str | None, typer.Option("--labels", show_default=False, metavar="FILE", help=(
    "A file with labels of the rows, joined by id, or row by row."))]


def export(run: Run, *, output: Output = "-", format: Format = None, labels: Labels = None,
           force: behavior.Force = False, quiet: behavior.Quiet = False, debug: behavior.Debug = False) -> None:
    """Write a finished run in the format of another program.

    \b
    mlcli export runs/cells-isomap -o cells.h5ad
    mlcli export runs/sites-mds -o ordination.txt

    AnnData (h5ad, for scanpy and anndata) holds coordinates in obsm, labels in obs, spectrum and options
    in uns. Ordination results (txt) are the text format of scikit-bio, QIIME 2 and Emperor.
    """
    from mlcli.runs import export as exporting

    chosen = format_of(output, format)
    refuse_existing(output, force)
    if output == "-":
        for line in exporting.ordination_of(exporting.exported(Path(run), labels)):
            standard_output().write(line.encode("utf-8", "replace"))
        return
    exporting.export(Path(run), Path(output), chosen, labels=labels, force=force)
    if not quiet:
        say_written(f"wrote {output}", output)


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
