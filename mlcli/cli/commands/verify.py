"""`mlcli verify`: a finished run checked again, here or on another machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.base.context import set_context
from mlcli.cli.line import behavior
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.terminal import tell
from mlcli.errors import NumericalError, UnsafeFile

View = Annotated[list[str] | None, typer.Option("--view", metavar="FILE", show_default=False,
                                                help="The run's second view, if it was moved. Repeatable: "
                                                "then its third, and so on.")]
Full = Annotated[bool, typer.Option("--full", help="Check every row and path, and count eigenvalues by inertia; may "
                                    "take longer than the run.")]


def verify(run: behavior.Run, *, given: behavior.Input = None, view: View = None, full: Full = False,
           network: behavior.Network = False, quiet: behavior.Quiet = False, json: behavior.Json = False,
           debug: behavior.Debug = False) -> None:
    """Check a finished run again: its files and its numbers.

    \b
    mlcli verify runs/faces-isomap
    mlcli verify runs/faces-isomap --input copies/faces.csv --json
    mlcli verify runs/genes-cca --input copies/genes.csv --view copies/doses.csv

    All files are compared with the hashes that the run wrote. If the input is unchanged, the numbers are checked
    against it again; without the input, the files are only compared with each other, and an input on an object store
    counts as absent unless --network is given. With --full, all rows are checked
    instead of a sample. Exit code 80: a number is wrong; 83: a file was changed.
    """
    from mlcli.runs import verify as verification

    with set_context(network=network):
        verified = verification.verify(Path(run), given, view or [], full=full)
    document = verified.document(Path(run))
    if json:
        print_json(document)
    elif not quiet:
        tell(lines_of(document))
    if verified.changed:
        raise UnsafeFile("HASH", f"{', '.join(verified.changed)} is not what the run wrote", where=run,
                         hint="make the run again")
    if verified.certificate.failed:
        names = ", ".join(check.name for check in verified.certificate.failed)
        raise NumericalError("VERIFY", f"the run's numbers are wrong: {names}", where=run, hint="make the run again")


def lines_of(document: dict[str, Any]) -> list[str]:
    """Format the verification as lines of text."""
    lines = [f"{document['run']}: {document['verdict']}; the input is {document['input']}"]
    for check in document["certificate"]["checks"]:
        figure = "" if check["verdict"] == "skipped" else f" {check['value']:.3g} (allowed {check['tolerance']:.3g})"
        share = "" if check["exact"] or check["verdict"] == "skipped" else ", on a sample"
        lines.append(f"  {check['verdict']:8}{check['name']}{figure}{share}: {check['how']}")
    return lines
