"""A run directory read back: what its report shows, and what `compare` sets side by side."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mlcli.base.types import Indices
from mlcli.base.values.scaling import all_finite
from mlcli.config.build import build
from mlcli.config.describe import TAG
from mlcli.config.layers import Layer, from_file
from mlcli.config.run_config import RunConfig
from mlcli.data.options.input import Input
from mlcli.data.options.label_file import LabelFile
from mlcli.data.read.labels import labels_of, read_labels
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.findings.contents import Contents, Embedding, Rows
from mlcli.findings.decoded.decoded import Decoded
from mlcli.findings.images.thumbnails import Thumbnails
from mlcli.report.interactive.page import interactive_page
from mlcli.report.page.figure_files import figures
from mlcli.report.page.page import page
from mlcli.report.page.tables import tables_of
from mlcli.report.tables.names import Form, Name
from mlcli.report.tables.table import FORMS
from mlcli.rundir import names
from mlcli.rundir.embedding import listed as embeddings
from mlcli.rundir.embedding import read_embedding
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.names import MANIFEST
from mlcli.rundir.parts import require_shape, require_within
from mlcli.rundir.reading import arrays_of, csv_of, damaged, json_of, own_file
from mlcli.storage.fields import require_types

Drawn = TypeVar("Drawn", Decoded, Thumbnails)
WHOLE = Layer()  # nothing said: as the run was made
TABLES: Mapping[str, tuple[tuple[str, ...], int]] = {  # columns, and how many of the first are not numbers
    names.SPECTRUM: (("component", "eigenvalue", "proportion", "cumulative"), 0),
    names.SHEPARD: (("distance", "embedded"), 0), names.TRACE: (("iteration", "objective"), 0),
    names.LOADINGS: (("column",), 1), names.STABILITY_TABLE: (("resamples", "y1"), 1)}


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
                    stability=document(folder / names.STABILITY, "Stability"),
                    moves=moves_of(folder / names.STABILITY_TABLE, table),
                    thumbnails=thumbnails_of(folder / names.THUMBNAILS, table, config),
                    edges=edges_of(folder / names.KEPT["graph"], len(table.values)) if config.report.draw_graph
                    else None,
                    interactive=config.report.interactive or names.INTERACTIVE in manifest.get("files", ()))


def moves_of(path: Path, table: Embedding) -> Rows | None:
    """How far points move in fits to rows drawn again, where a run measured it; raises UnsafeFile."""
    found = rows_of(path)
    if found is None:
        return None
    names_of = ("y1", "y2", "correlation") if table.values.shape[1] > 1 else ("y1",)
    if tuple(found.columns)[2:] != names_of or len(found.columns["y1"]) != len(table.values):
        raise damaged(path, f"it does not have the columns {', '.join(names_of)} and {len(table.values)} rows")
    spreads = np.array([found.numbers(name) for name in names_of])
    if np.isinf(spreads).any() or (spreads[:2] < 0).any() or (np.abs(spreads[2:]) > 1).any():
        raise damaged(path, "a deviation is below zero or infinite, or a correlation beyond one")
    return found


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
    known = {"n": len(table.values), "a": min(table.values.shape[1], 2)}
    return drawn_of(path, Decoded, known, config.report.draws)


def thumbnails_of(path: Path, table: Embedding, config: RunConfig) -> Thumbnails | None:
    """The rows that the report shows as images, where the run has them; raises UnsafeFile."""
    return drawn_of(path, Thumbnails, {"n": len(table.values)},
                    lambda columns: config.report.image is not None and config.report.draws(columns))


def drawn_of(path: Path, kind: type[Drawn], known: dict[str, int], fits: Callable[[int], bool]) -> Drawn | None:
    """The arrays of a file as a value whose rows have so many columns as `fits`; None where there is no file."""
    if not path.is_file():
        return None
    name = path.name.removesuffix(".npz")
    try:
        found = kind(**arrays_of(path))
        require_types(found, name)
        require_shape(found, name, known)
        require_within(found, name, known)
        found.require_sense()
    except TypeError as error:
        raise damaged(path, "an array is missing, or one is there that no run writes") from error
    except ValueError as error:
        raise damaged(path, str(error)[:100]) from error
    if not fits(known["d"]):
        raise damaged(path, f"its rows have {known['d']} columns, which are not those of report.image")
    return found


def show(folder: Path, run: Contents) -> None:
    """Writes what a run shows of itself: its figures and its report."""
    for name, content in figure_files(run).items():
        (folder / name).write_bytes(content)
    (folder / names.REPORT).write_bytes(encoded(page(run)))
    if run.config.report.interactive:
        (folder / names.INTERACTIVE).write_bytes(encoded(interactive_page(run)))


def figure_files(run: Contents) -> dict[str, bytes]:
    """The figures of a run in its formats, by the names of their files."""
    return {names.figure(name, format): drawn(format) for name, drawn in figures(run).items()
            for format in run.config.report.figures}


def encoded(text: str) -> bytes:
    """A page in bytes; characters of names that are not text become question marks."""
    return text.encode("utf-8", "replace")


def embedding_of(table: Table) -> Embedding:
    """A table as the report takes it."""
    return Embedding(table.values, table.ids, table.labels)


def without_rows(manifest: Mapping[str, Any]) -> Embedding:
    """The embedding of a run on a covariance matrix: axes, without points."""
    return Embedding(np.zeros((0, int(manifest["embedding"]["components"]))), (), {})


def finished(folder: Path, drawing: Layer = WHOLE) -> Contents:
    """A complete run, from its files alone, drawn as it was made unless `drawing` says otherwise.

    Raises InputMissing and UnsafeFile, and ConfigError for a drawing that is none.
    """
    manifest = read_manifest(folder)
    listed, kept = manifest["files"], embeddings(manifest)
    small = [name for name in (names.CONFIG, names.SPECTRUM, names.QUALITY, names.DIMENSION, names.CERTIFICATE,
                               names.SHEPARD, names.TRACE, names.LOADINGS, names.KEPT["graph"],
                               names.DECODED, names.THUMBNAILS, names.STABILITY,
                               names.STABILITY_TABLE) if name in listed]
    require_intact(folder, manifest, (*kept[:1], *small))
    rows = manifest["embedding"]["rows"]
    lacks_spectrum = bool(manifest.get("spectrum")) != (names.SPECTRUM in listed)
    if (rows and not kept) or names.CONFIG not in listed or lacks_spectrum:
        raise damaged(folder / MANIFEST, "it names no embedding, no configuration or no spectrum", "files")
    config = config_of(folder, drawing)
    table = embedding_of(read_embedding(folder / kept[0], manifest)) if rows else without_rows(manifest)
    if not all_finite(table.values):
        wrong = np.flatnonzero(~np.isfinite(table.values).all(axis=1))
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


def table_of(folder: Path, name: Name, form: Form, cutoff: float | None) -> str:
    """A table of a finished run as text; raises ConfigError where it has none of this name."""
    return "\n".join(map(FORMS[form], tables_of(finished(folder), name, form, cutoff)))


def config_of(folder: Path, drawing: Layer = WHOLE) -> RunConfig:
    """The configuration that a run wrote, under another drawing where one is given.

    Raises UnsafeFile, and DependencyMissing for what is not installed here.
    """
    path = folder / names.CONFIG
    with own_file(path):
        layer = from_file(path)
        written = build(layer, fits=False)
    if not drawing.values:
        return written
    if TAG in drawing.values.get("report", {}).get("outlines", {}):  # other outlines have other options
        layer.values.get("report", {}).pop("outlines", None)
    return build(drawing.over(layer), fits=False)


def document(path: Path, shape: str) -> dict[str, Any] | None:
    """A JSON file that may not be there, of one of the shapes."""
    from mlcli.rundir import shapes

    return json_of(path, getattr(shapes, shape)) if path.is_file() else None


def rows_of(path: Path) -> Rows | None:
    """A small CSV file that may not be there."""
    return Rows(csv_of(path, TABLES[path.name][0], texts=TABLES[path.name][1])) if path.is_file() else None
