"""A run directory read back: what its report shows, and what `compare` sets side by side."""

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.config.build import build
from mlcli.config.layers import from_file
from mlcli.config.run_config import RunConfig
from mlcli.data.input import Input
from mlcli.data.read import read
from mlcli.data.table import Table
from mlcli.errors import ConfigError, UnsafeFile
from mlcli.report.contents import Contents, Embedding, Rows
from mlcli.report.figures import drawn_as, figures
from mlcli.report.page import page
from mlcli.rundir import names
from mlcli.rundir.manifest import read_manifest, replace_listed, require_intact

TEXT_FORMATS = ("csv", "parquet", "npy")  # in the order of what they hold: ids and labels first


def contents(folder: Path, manifest: Mapping[str, Any], config: RunConfig, table: Embedding) -> Contents:
    """What the small files of a run hold, beside what is in memory already."""
    return Contents(
        manifest, config, (folder / names.CONFIG).read_text(encoding="utf-8", errors="replace"), table,
        rows_of(folder / names.SPECTRUM) or Rows({}), document(folder / names.QUALITY),
        document(folder / names.DIMENSION), document(folder / names.CERTIFICATE), rows_of(folder / names.SHEPARD),
        rows_of(folder / names.TRACE), rows_of(folder / names.LOADINGS))


def show(folder: Path, run: Contents) -> None:
    """Writes what a run shows of itself: its figures and its report."""
    for name, figure in figures(run).items():
        for format in run.config.report.figures:
            (folder / names.figure(name, format)).write_bytes(drawn_as(figure, format))
    (folder / names.REPORT).write_bytes(encoded(page(run)))


def encoded(text: str) -> bytes:
    """A page in bytes; what is left of names that are no text becomes question marks."""
    return text.encode("utf-8", "replace")


def embedding_of(table: Table) -> Embedding:
    """A table as the report takes it."""
    return Embedding(table.values, table.ids, table.labels)


def without_rows(manifest: Mapping[str, Any]) -> Embedding:
    """What a run on a covariance matrix has for an embedding: axes, and no points."""
    return Embedding(np.zeros((0, int(manifest["embedding"]["components"]))), (), {})


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Turns what is missing from a run's files, or of another kind there, into UnsafeFile."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise UnsafeFile("RUN-FILES", f"the run's files do not hold what a run writes: {type(error).__name__} "
                         f"{str(error)[:80]}", where=str(folder), hint="make the run again") from error


def finished(folder: Path) -> Contents:
    """A complete run, from its files alone; raises InputMissing, UnsafeFile or ConfigError."""
    manifest = read_manifest(folder)
    listed = manifest.get("files", {})
    kept = [name for name in map(names.embedding, TEXT_FORMATS) if name in listed]
    small = [name for name in (names.CONFIG, names.SPECTRUM, names.QUALITY, names.DIMENSION, names.CERTIFICATE,
                               names.SHEPARD, names.TRACE, names.LOADINGS) if name in listed]
    require_intact(folder, manifest, (*kept[:1], *small))
    rows = manifest["embedding"]["rows"]
    if (rows and not kept) or names.CONFIG not in listed or names.SPECTRUM not in listed:
        raise UnsafeFile("RUN-FILES", "run.json names no embedding, no configuration or no spectrum",
                         where=str(folder), hint="make the run again")
    config = build(from_file(folder / names.CONFIG))
    table = embedding_of(read_embedding(folder / kept[0])) if rows else without_rows(manifest)
    return contents(folder, manifest, config, table)


def render_again(folder: Path, *, title: str | None, label: str | None) -> Path:
    """Writes a finished run's report.html anew and returns its path; raises ConfigError for an unknown label."""
    with readable(folder):
        run = finished(folder)
    if label is not None and label not in run.embedding.labels:
        known = ", ".join(list(run.embedding.labels)[:10]) or "none"
        raise ConfigError("REPORT-LABEL", f"the run has no label column {label[:80]!r}", where="--label-column",
                          hint=f"its label columns are: {known[:200]}")
    with readable(folder):
        content = encoded(page(run, title=title, label=label))
    replace_listed(folder, names.REPORT, content)
    return folder / names.REPORT


def read_embedding(path: Path) -> Table:
    """The embedding that a run wrote: ids first, then labels, then y1..yp; numbers of rows for NPY."""
    header = columns_of(path)
    axes = [name for name in header if name.startswith("y") and name[1:].isdecimal()]
    count = next((i for i in range(len(axes), 0, -1) if header[-i:] == [f"y{j + 1}" for j in range(i)]), 0)
    if not header or not count:
        return read(Input(path=str(path)))
    return read(Input(path=str(path), id_column=header[0], label_columns=tuple(header[1:-count]),
                      columns=tuple(header[-count:])))


def columns_of(path: Path) -> list[str]:
    """The names of the columns of an embedding's file; none for NPY."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return next(csv.reader(file), [])
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(path).names)
    return []


def document(path: Path) -> dict[str, Any] | None:
    """A JSON file that may not be there."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def rows_of(path: Path) -> Rows | None:
    """A small CSV file that may not be there."""
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        lines = list(csv.reader(file))
    head, body = lines[0] if lines else [], lines[1:]
    return Rows({name: [line[i] for line in body] for i, name in enumerate(head)})
