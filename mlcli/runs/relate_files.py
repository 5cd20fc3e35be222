"""The output of `mlcli relate`: tables, figure, page and relate.json in one directory, whole or not at all."""

from pathlib import Path

from mlcli import __version__
from mlcli.findings.frame.contents import Contents
from mlcli.pipeline.read_run import encoded
from mlcli.publication.publish import publishing, refuse_existing
from mlcli.publication.replaceable import FORMAT, RELATION
from mlcli.report.relation.contents import Relation
from mlcli.report.relation.figure import drawings
from mlcli.report.relation.page import page
from mlcli.report.relation.tables import tables_of
from mlcli.report.tables.table import as_csv
from mlcli.rundir.manifest import hashed
from mlcli.rundir.plain import json_text

PAGE = "relate.html"


def require_output(output: Path, *, force: bool) -> None:
    """Refuse, before anything is computed, a directory that could not be written; raises OutputRefused."""
    refuse_existing(output, RELATION, force=force)


def write_relation(found: Relation, run: Contents, output: Path, *, force: bool) -> None:
    """Write all files of a relation; raises OutputRefused and StorageError."""
    title, report = run.config.report.title or f"{run.name}: environment", run.config.report
    drawn = drawings(found, report, title)
    files = {PAGE: encoded(page(found, report, title, drawn["svg"]))}
    files |= {name: encoded_cells(as_csv(table)) for name, table in tables_of(found).items()}
    files |= {f"relate.{format}": content for format, content in drawn.items() if format in report.figures}
    with publishing(Path.cwd() / output, RELATION, force=force) as draft:
        for name, content in files.items():
            (draft.path / name).write_bytes(content)
        document = {"format": FORMAT, "mlcli": __version__, **found.document(), "notes": list(found.notes),
                    "files": hashed(draft.path)}
        (draft.path / RELATION.name).write_text(json_text(document), encoding="utf-8")


def encoded_cells(text: str) -> bytes:
    """Return a CSV file in bytes, with ids as the files of the user have them."""
    return text.encode("utf-8", "surrogateescape")
