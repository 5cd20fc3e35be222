"""Standard output, JSON documents, and tables written to a file of their own."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from os.path import realpath
from pathlib import Path
from typing import Any, BinaryIO

from mlcli.cli.screen.streams import require_standard_output
from mlcli.errors import UsageError
from mlcli.publication import publish
from mlcli.rundir.json_values import json_value

PICTURES = (".svg", ".png", ".pdf")
PAGES = (".html", ".htm")
FORMATS = {".csv": "csv", ".parquet": "parquet", ".npy": "npy"}


def standard_output() -> BinaryIO:
    """Standard output for bytes."""
    return sys.stdout.buffer


def print_json(document: Any) -> None:
    """One JSON document on standard output; numbers that JSON lacks become null."""
    text = json.dumps(json_value(document), indent=2, allow_nan=False)
    standard_output().write(f"{text}\n".encode())


def write_out(table: Any, output: str, format: str | None, *, force: bool) -> tuple[int, Sequence[str]]:
    """Writes a table to standard output as CSV (`-`), or to a file, whole or not at all; parts as they are made.

    Returns the number of rows that were written, and the names of their columns of numbers.
    """
    from mlcli.data.read.new_rows import MappedTable
    from mlcli.data.write.table import write_csv, write_mapped, write_table, write_when_complete

    chosen, parts, written = format_of(output, format), isinstance(table, MappedTable), list[Any]()
    if parts:
        place = table.place

        def placed(some: Any) -> Any:
            made = place(some)
            written.append((len(made.ids), made.columns))
            return made

        table = replace(table, place=placed)
    if output == "-":
        (write_when_complete if parts else write_csv)(table, standard_output())
    else:
        write = write_mapped if parts else write_table
        publish.write_whole(Path(output), lambda draft: write(table, draft, chosen), force=force)
    if not parts:
        return len(table.ids), table.columns
    return sum(rows for rows, _ in written), written[0][1] if written else ()


def drawn(figure: Any, output: str, *, force: bool) -> AbstractContextManager[None]:
    """A figure in a file, in the format that its ending names, which appears when the block ends well."""
    from mlcli.report.page.figure_files import render

    path = Path(output)
    content = render(figure, path.suffix[1:].lower())
    return publish.publish_file(path, lambda draft: draft.write_bytes(content), force=force)


def require_page(page: str | Path, where: str, others: Sequence[str] = ()) -> None:
    """Refuses a page whose ending is that of another format; raises UsageError.

    It may have one of the `others`, which the command writes as well.
    """
    if Path(page).suffix.lower() not in (*PAGES, *others):
        raise UsageError("FORMAT", "a page is an HTML file", where=where[:80],
                         hint=f"give a name that ends with {' or '.join(('.html', *others))}")


def require_picture(picture: str | None, output: str, force: bool) -> None:
    """Refuses a picture that could not be drawn, before anything is computed; raises UsageError and OutputRefused.

    Its ending must name a format of pictures, and its name must not be the table's.
    """
    if picture is None:
        return
    require_own_file("--picture", picture, {"-o": output})
    if Path(picture).suffix.lower() not in PICTURES:
        raise UsageError("FORMAT", f"{Path(picture).suffix[:40]!r} is not a picture format", where="--picture",
                         hint=f"the endings are {', '.join(PICTURES)}")
    refuse_existing(picture, force)


def require_classes(classes: str | None, output: str, picture: str | None, force: bool) -> None:
    """Refuses a file of classes that could not be written; raises UsageError and OutputRefused."""
    if classes is None:
        return
    require_own_file("--classes", classes, {"-o": output, "--picture": picture})
    if format_of(classes, None) == "npy":
        raise UsageError("FORMAT", "an NPY file has no names of classes", where="--classes",
                         hint="the endings are .csv and .parquet")
    refuse_existing(classes, force)


def require_own_file(flag: str, path: str, others: Mapping[str, str | None]) -> None:
    """Refuse a file that is also that of another flag, which may lead there over links; raises UsageError."""
    for other, name in others.items():
        if name is not None and realpath(path) == realpath(name):
            raise UsageError("ONE-FILE", f"{flag} and {other} name the same file", where=f"{flag} {path}"[:80],
                             hint="give each a file of its own")


def format_of(output: str, format: str | None) -> str:
    """The format asked for, else the one that the file's ending names; raises UsageError."""
    ending = Path(output).suffix.lower()
    chosen = format or ("csv" if output == "-" else FORMATS.get(ending, ""))
    if chosen not in FORMATS.values():
        raise UsageError("FORMAT", f"{(format or ending)[:40]!r} is not an output format", where=output[:80],
                         hint="the formats are csv, parquet and npy")
    if output == "-" and chosen != "csv":
        raise UsageError("FORMAT", f"standard output takes csv, not {chosen}", where="-o -", hint="give a file with -o")
    return chosen


def refuse_existing(output: str, force: bool) -> None:
    """Refuses what could not be written, before anything is computed; raises OutputRefused."""
    if output == "-":
        require_standard_output()
    else:
        publish.refuse_existing(Path(output), None, force=force)
