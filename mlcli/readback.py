"""A run directory read back: what its report shows, and what `compare` sets side by side."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.types import Indices
from mlcli.config.build import build
from mlcli.config.layers import from_file
from mlcli.config.report_options import Report
from mlcli.config.run_config import RunConfig
from mlcli.data.input import Input
from mlcli.data.label_file import LabelFile
from mlcli.data.labels import labels_of, read_labels
from mlcli.data.read import read
from mlcli.data.table import Table
from mlcli.errors import ConfigError
from mlcli.report.contents import Contents, Embedding, Rows
from mlcli.report.decoder.decoded import Decoded
from mlcli.report.figures import drawn_as, figures
from mlcli.report.page import page
from mlcli.rundir import names
from mlcli.rundir.embedding import listed as embeddings
from mlcli.rundir.embedding import read_embedding
from mlcli.rundir.manifest import manifest_bytes, read_manifest, replace_listed, require_intact
from mlcli.rundir.names import MANIFEST
from mlcli.rundir.parts import require_shape, require_within
from mlcli.rundir.reading import arrays_of, csv_of, damaged, json_of, own_file
from mlcli.storage.fields import require_types

TABLES: Mapping[str, tuple[tuple[str, ...], int]] = {  # columns, and how many of the first are not numbers
    names.SPECTRUM: (("component", "eigenvalue", "proportion", "cumulative"), 0),
    names.SHEPARD: (("distance", "embedded"), 0), names.TRACE: (("iteration", "objective"), 0),
    names.LOADINGS: (("column",), 1)}


def contents(folder: Path, manifest: Mapping[str, Any], config: RunConfig, table: Embedding) -> Contents:
    """What the small files of a run hold, besides what is in memory already."""
    return Contents(manifest=manifest, config=config,
                    config_text=(folder / names.CONFIG).read_text(encoding="utf-8", errors="replace"), embedding=table,
                    spectrum=rows_of(folder / names.SPECTRUM),
                    quality=document(folder / names.QUALITY, "Quality"),
                    dimension=document(folder / names.DIMENSION, "Dimension"),
                    certificate=document(folder / names.CERTIFICATE, "Certificate"),
                    shepard=rows_of(folder / names.SHEPARD), trace=rows_of(folder / names.TRACE),
                    loadings=rows_of(folder / names.LOADINGS),
                    decoded=decoded_of(folder / names.DECODED, table, config),
                    edges=edges_of(folder / names.KEPT["graph"], len(table.values)) if config.report.draw_graph
                    else None)


def edges_of(path: Path, rows: int) -> Indices:
    """The edges of the graph that a run kept, each once, by the places of rows (m x 2)."""
    with own_file(path):
        graph = read(Input(path=str(path), kind="graph")).graph
    if graph is None or len(graph.values) != rows:
        raise damaged(path, f"it does not join {rows} points")
    left = np.repeat(np.arange(rows), np.diff(graph.starts))
    return np.column_stack([left, graph.indices])[left < graph.indices]


def decoded_of(path: Path, table: Embedding, config: RunConfig) -> Decoded | None:
    """What the report shows of a decoder, where the run has it; raises UnsafeFile."""
    if not path.is_file():
        return None
    try:
        found = Decoded(**arrays_of(path))
        require_types(found, "decoded")
        known = {"n": len(table.values), "a": min(table.values.shape[1], 2)}
        require_shape(found, "decoded", known)
        require_within(found, "decoded", known)
        found.require_sense()
    except TypeError as error:
        raise damaged(path, "an array is missing, or one is there that no run writes") from error
    except ValueError as error:
        raise damaged(path, str(error)[:100]) from error
    if not config.report.draws(known["d"]):
        raise damaged(path, f"its rows have {known['d']} columns, which are not those of report.image")
    return found


def show(folder: Path, run: Contents) -> None:
    """Writes what a run shows of itself: its figures and its report."""
    for name, figure in figures(run).items():
        for format in run.config.report.figures:
            (folder / names.figure(name, format)).write_bytes(drawn_as(figure, format))
    (folder / names.REPORT).write_bytes(encoded(page(run)))


def encoded(text: str) -> bytes:
    """A page in bytes; characters of names that are not text become question marks."""
    return text.encode("utf-8", "replace")


def embedding_of(table: Table) -> Embedding:
    """A table as the report takes it."""
    return Embedding(table.values, table.ids, table.labels)


def without_rows(manifest: Mapping[str, Any]) -> Embedding:
    """The embedding of a run on a covariance matrix: axes, without points."""
    return Embedding(np.zeros((0, int(manifest["embedding"]["components"]))), (), {})


def finished(folder: Path) -> Contents:
    """A complete run, from its files alone; raises InputMissing and UnsafeFile."""
    manifest = read_manifest(folder)
    listed, kept = manifest["files"], embeddings(manifest)
    small = [name for name in (names.CONFIG, names.SPECTRUM, names.QUALITY, names.DIMENSION, names.CERTIFICATE,
                               names.SHEPARD, names.TRACE, names.LOADINGS, names.KEPT["graph"],
                               names.DECODED) if name in listed]
    require_intact(folder, manifest, (*kept[:1], *small))
    rows = manifest["embedding"]["rows"]
    lacks_spectrum = bool(manifest.get("spectrum")) != (names.SPECTRUM in listed)
    if (rows and not kept) or names.CONFIG not in listed or lacks_spectrum:
        raise damaged(folder / MANIFEST, "it names no embedding, no configuration or no spectrum", "files")
    config = config_of(folder)
    table = embedding_of(read_embedding(folder / kept[0], manifest)) if rows else without_rows(manifest)
    wrong = np.flatnonzero(~np.isfinite(table.values).all(axis=1))
    if len(wrong):
        raise damaged(folder / kept[0], "a coordinate is not a number", int(wrong[0]) + 2)
    return contents(folder, manifest, config, table)


def with_labels(run: Contents, path: str | None) -> Contents:
    """A finished run with the labels of a file before its own, where one is given."""
    if path is None:
        return run
    table = run.embedding
    found = labels_of(table.ids, "", read_labels(LabelFile(path=path)))
    others = {name: texts for name, texts in table.labels.items() if name not in found}
    return replace(run, embedding=replace(table, labels={**found, **others}))


def render_again(folder: Path, *, title: str | None, label: str | None, image: str | None = None,
                 labels: str | None = None) -> Path:
    """Writes a finished run's report.html anew and returns its path; with `labels`, colored by those of a file.

    Raises ConfigError for an unknown label or a shape that no row has, what reading the file does, and OutputRefused
    where another run takes its place meanwhile.
    """
    listed = manifest_bytes(folder)
    run = with_labels(finished(folder), labels)
    if label is not None and label not in run.embedding.labels:
        known = ", ".join(list(run.embedding.labels)[:10]) or "none"
        raise ConfigError("REPORT-LABEL", f"the run has no label column {label[:80]!r}", where="--label-column",
                          hint=f"its label columns are: {known[:200]}")
    shape = None if image is None else shape_of(image, run)
    replace_listed(folder, names.REPORT, encoded(page(run, title=title, label=label, image=shape)), known=listed)
    return folder / names.REPORT


def shape_of(text: str, run: Contents) -> tuple[int, ...] | None:
    """The shape of images that a command names, as in 28,28; raises ConfigError unless decoded rows have it."""
    try:
        chosen = Report(image=tuple(map(int, text.split(","))))
    except ValueError as error:
        raise ConfigError("REPORT-IMAGE", f"{text[:40]!r} is no shape of images that are drawn", where="--image",
                          hint="give rows and columns, as in 28,28, and 3 for colors") from error
    if run.decoded is None:
        raise ConfigError("REPORT-IMAGE", "the run has no decoded rows to draw", where="--image",
                          hint="choose report.image when the run is made, with a method that leads back to features")
    chosen.require_image(run.decoded.plane.shape[1], "--image")
    return chosen.image


def config_of(folder: Path) -> RunConfig:
    """The configuration that a run wrote; raises UnsafeFile, and DependencyMissing for what is not installed here."""
    path = folder / names.CONFIG
    with own_file(path):
        return build(from_file(path), fits=False)


def document(path: Path, shape: str) -> dict[str, Any] | None:
    """A JSON file that may not be there, of one of the shapes."""
    from mlcli.rundir import shapes

    return json_of(path, getattr(shapes, shape)) if path.is_file() else None


def rows_of(path: Path) -> Rows | None:
    """A small CSV file that may not be there."""
    return Rows(csv_of(path, TABLES[path.name][0], texts=TABLES[path.name][1])) if path.is_file() else None
