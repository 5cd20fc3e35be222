"""`mlcli verify`: a finished run checked again, here or on another machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.base.context import set_context
from mlcli.cli.line import behavior
from mlcli.cli.restart import start_portably
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.terminal import tell
from mlcli.errors import NumericalError, UnsafeFile, UsageError

View = Annotated[list[str] | None, typer.Option("--view", metavar="FILE", show_default=False,
                                                help="The run's second view, if it was moved. Repeatable: "
                                                "then its third, and so on.")]
Full = Annotated[bool, typer.Option("--full", help="Check every row and path, and count eigenvalues by inertia; may "
                                    "take longer than the run.")]
SAID = {"same": "repeated here, with the same bytes", "agrees": "repeated here, with the digits that are promised",
        "open": "repeated here; of the coordinates nothing is promised", "differs": "repeated here, with other results"}
Here = Annotated[bool, typer.Option("--here", help="Carry the run out again on this machine instead, and compare every "
                                    "file: its bytes, else the digits that agree.")]


def verify(run: behavior.Run, *, given: behavior.Input = None, view: View = None, full: Full = False,
           here: Here = False, network: behavior.Network = False, quiet: behavior.Quiet = False,
           json: behavior.Json = False, progress: behavior.Progress = None, debug: behavior.Debug = False) -> None:
    """Check a finished run again: its files and its numbers.

    \b
    mlcli verify runs/faces-isomap
    mlcli verify runs/faces-isomap --input copies/faces.csv --json
    mlcli verify runs/genes-cca --input copies/genes.csv --view copies/doses.csv
    mlcli verify runs/faces-isomap --here

    All files are compared with the hashes that the run wrote. If the input is unchanged, the numbers are checked
    against it again; without the input, the files are only compared with each other, and an input on an object store
    counts as absent unless --network is given. With --full, all rows are checked
    instead of a sample. With --here, the run is carried out again, and its files are compared with the new ones
    (docs/reproducibility.md). Exit code 80: a number is wrong; 83: a file was changed, or with --here fewer digits
    agree than are promised.
    """
    if here:
        if full:
            raise UsageError("HERE", "--here compares files and makes none of the checks that --full makes thorough",
                             where="--full", hint="leave one of the two out")
        with set_context(network=network):
            repeat_here(Path(run), given, view or [], quiet=quiet, json=json, progress=progress)
        return
    from mlcli.runs import verify as verification

    with set_context(network=network), watching(mode_of(progress), quiet):
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


def repeat_here(run: Path, given: str | None, views: list[str], *, quiet: bool, json: bool,
                progress: behavior.Mode | None) -> None:
    """Carry a run out again, and show how its files compare; raises UnsafeFile where less agrees than is promised."""
    from mlcli.runs.repetition import repeat, repeated_config

    config = repeated_config(run, given, views)
    start_portably([config.compute])
    with watching(mode_of(progress), quiet):
        found = repeat(run, config)
    document = found.document(run)
    if json:
        print_json(document)
    elif not quiet:
        tell(comparison_lines(document))
    if found.differing:
        what = ", ".join(f"{one.file} ({one.difference.place})" for one in found.differing if one.difference)
        other = f"; this machine has {', '.join(found.surroundings)}" if found.surroundings else ""
        raise UnsafeFile("REPEAT", f"the run gives other results here: {what}{other}", where=str(run),
                         hint="make the run again")


def comparison_lines(document: dict[str, Any]) -> list[str]:
    """Format the comparison of a run with its repetition as lines of text."""
    other = f"; this machine has {', '.join(document['surroundings'])}" if document["surroundings"] else ""
    lines = [f"{document['run']}: {SAID[document['verdict']]}{other}"]
    for file in document["files"]:
        said = [f"  {file['verdict']:8}  {file['file']}"]
        if "place" in file:
            size = "" if file["largest"] is None else f" by {file['largest']:.2g}"
            bound = {None: "nothing is promised", 0.0: "the same bytes are promised"}.get(
                file["allowed"], f"allowed {file['allowed'] or 0:.2g}")
            said.append(f"{file['place']} differs{size} ({bound})")
        lines.append(": ".join([*said, *([file["why"]] if "why" in file else [])]))
    return lines


def lines_of(document: dict[str, Any]) -> list[str]:
    """Format the verification as lines of text."""
    onto = f", the run whose map it adds rows to is {document['onto']}" if "onto" in document else ""
    files = ", ".join(file["path"] if file["state"] == document["input"] else f"{file['path']} ({file['state']})"
                      for file in document["input_files"])
    alone = ", by the files of the run alone" if document["verdict"] == "pass" and (
        files or document.get("onto", "unchanged") != "unchanged") else ""
    which = f" ({files})" if files else ""
    lines = [f"{document['run']}: {document['verdict']}{alone}; the input is {document['input']}{which}{onto}"]
    for check in document["certificate"]["checks"]:
        figure = "" if check["verdict"] == "skipped" else f" {check['value']:.3g} (allowed {check['tolerance']:.3g})"
        share = "" if check["exact"] or check["verdict"] == "skipped" else ", on a sample"
        lines.append(f"  {check['verdict']:8}{check['name']}{figure}{share}: {check['how']}")
    return lines
