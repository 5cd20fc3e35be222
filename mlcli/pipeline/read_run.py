"""A run directory read back: what its report shows, and what `compare` sets side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.types import Indices
from mlcli.base.values.naming import shown
from mlcli.base.values.options import TAG
from mlcli.base.values.plugins import require_installed
from mlcli.base.values.scaling import all_finite
from mlcli.config import build
from mlcli.config.layers import Layer, from_file
from mlcli.config.run_config import RunConfig
from mlcli.data.files.formats import file_name
from mlcli.data.options.input import Input, LabelFile
from mlcli.data.options.wording import counted, place
from mlcli.data.read.labels import labels_of, read_labels
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError
from mlcli.findings import FINDINGS
from mlcli.findings.finding import Finding
from mlcli.findings.frame.finished_run import Embedding, FinishedRun, files_in
from mlcli.findings.frame.result import Result
from mlcli.findings.spectrum import TABLE as SPECTRUM
from mlcli.report.tables import Form, Name
from mlcli.rundir import names
from mlcli.rundir.embedding import embedding_files, read_embedding
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.names import MANIFEST
from mlcli.rundir.reading import damaged, is_there, json_of, own_file

WHOLE = Layer()  # nothing said: as the run was made


def finished_run_of(result: Result, manifest: Mapping[str, Any], findings: Mapping[str, Any],
                    certificate: Mapping[str, Any], folder: Path) -> FinishedRun:
    """Return a run that has just ended, from memory but for the texts and the graph that it wrote into its folder."""
    run = FinishedRun(manifest=manifest, config=result.config, config_text=config_text_of(folder),
                      embedding=embedding_of(result.embedding), findings=findings, certificate=certificate,
                      interactive=result.config.report.interactive)
    return with_edges(run, folder)


def finished_run(folder: Path, manifest: Mapping[str, Any], config: RunConfig, table: Embedding) -> FinishedRun:
    """Return a finished run from its small files beside the embedding."""
    path = folder / names.CERTIFICATE
    run = FinishedRun(manifest=manifest, config=config,
                      config_text=config_text_of(folder),
                      embedding=table,
                      certificate=certificate_of(path),
                      interactive=config.report.interactive or names.INTERACTIVE in manifest.get("files", ()))
    found = {name: finding.read(folder, run) for name, finding in FINDINGS.items() if finding.on_page}
    run = replace(run, findings={name: value for name, value in found.items() if value is not None})
    return with_edges(run, folder)


def config_text_of(folder: Path) -> str:
    """Return the text of config.yaml, with a mark (U+FFFD) for bytes that are no text."""
    return (folder / names.CONFIG).read_text(encoding="utf-8", errors="replace")


def certificate_of(path: Path) -> dict[str, Any] | None:
    """Return the content of certificate.json, None where it is not there; raises UnsafeFile."""
    from mlcli.rundir.shapes import StoredCertificate

    return json_of(path, StoredCertificate) if path.is_file() else None


def with_edges(run: FinishedRun, folder: Path) -> FinishedRun:
    """Return the run with the edges of the neighbor graph, where they are drawn."""
    if not run.config.report.draw_graph:
        return run
    return replace(run, edges=edges_of(folder / names.KEPT["graph"], len(run.embedding.values)))


def edges_of(path: Path, rows: int) -> Indices:
    """The edges of the graph that a run kept, each once, by the places of rows (m x 2)."""
    with own_file(path):
        graph = read(Input(path=str(path), kind="graph")).graph
    if graph is None or len(graph.values) != rows:
        raise damaged(path, f"it does not join {rows} points")
    left = np.repeat(np.arange(rows), np.diff(graph.starts))
    return np.column_stack([left, graph.indices])[left < graph.indices]


def show(folder: Path, run: FinishedRun) -> None:
    """Writes what a run shows of itself: its figures and its report."""
    from mlcli.report.page.page import page

    for name, content in figure_files(run).items():
        (folder / name).write_bytes(content)
    (folder / names.REPORT).write_bytes(encoded(page(run)))
    if run.config.report.interactive:
        from mlcli.report.interactive import interactive_page

        (folder / names.INTERACTIVE).write_bytes(encoded(interactive_page(run)))


def figure_files(run: FinishedRun) -> dict[str, bytes]:
    """The figures of a run in its formats, by the names of their files."""
    from mlcli.report.page.figure_files import figures

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


def read_run(folder: Path, drawing: Layer = WHOLE) -> FinishedRun:
    """A complete run, from its files alone, drawn as it was made unless `drawing` says otherwise.

    Raises InputMissing and UnsafeFile, and ConfigError for a drawing that is none.
    """
    manifest = read_manifest(folder)
    listed, kept = manifest["files"], embedding_files(manifest)
    small = [name for name in (names.CONFIG, names.CERTIFICATE, names.KEPT["graph"], *files_of(FINDINGS.own))
             if name in listed]
    require_intact(folder, manifest, (*kept[:1], *small))
    rows = manifest["embedding"]["rows"]
    lacks_spectrum = bool(manifest.get("spectrum")) != (SPECTRUM.name in listed)
    if (rows and not kept) or names.CONFIG not in listed or lacks_spectrum:
        raise damaged(folder / MANIFEST, "it names no embedding, no configuration or no spectrum", "files")
    config = config_of(folder, manifest, drawing)
    require_intact(folder, manifest, tuple(name for name in files_of(FINDINGS.added) if name in listed))
    table = embedding_of(read_embedding(folder / kept[0], manifest)) if rows else without_rows(manifest)
    if not all_finite(table.values):
        wrong = np.flatnonzero(~np.isfinite(table.values).all(axis=1))
        raise damaged(folder / kept[0], "a coordinate is not a number", int(wrong[0]) + 2)
    return finished_run(folder, manifest, config, table)


def files_of(findings: Mapping[str, Finding[Any]]) -> list[str]:
    """Return the names of the files that are read back as some findings."""
    return [file.name for finding in findings.values() for file in finding.files if file.shape is not None]


def with_labels(run: FinishedRun, path: str | None) -> FinishedRun:
    """A finished run with the labels of a file before its own, where one is given."""
    if path is None:
        return run
    table = run.embedding
    found = labels_of(table.ids, "", read_labels(LabelFile(path=path)))
    others = {name: texts for name, texts in table.labels.items() if name not in found}
    return replace(run, embedding=replace(table, labels={**found, **others}))


def table_of(folder: Path, name: Name, form: Form, cutoff: float | None) -> str:
    """A table of a finished run as text; raises ConfigError where it has none of this name."""
    from mlcli.report.page.tables import tables_of
    from mlcli.report.tables.table import FORMS

    return "\n".join(map(FORMS[form], tables_of(read_run(folder), name, form, cutoff)))


def config_of(folder: Path, manifest: Mapping[str, Any], drawing: Layer = WHOLE) -> RunConfig:
    """The configuration that a run wrote, with the contents of its run.json, under another drawing where one is given.

    Raises UnsafeFile, and DependencyMissing for what is not installed here.
    """
    path = folder / names.CONFIG
    added = manifest.get("plugins", ())
    require_installed((kept for kept in added if kept["table"] != "formats"), str(folder))  # no input is read here
    with own_file(path):
        layer = from_file(path)
        written = build.build(layer, fits=False)
    if not drawing.values:
        return written
    if TAG in drawing.values.get("report", {}).get("outlines", {}):  # other outlines have other options
        layer.values.get("report", {}).pop("outlines", None)
    return build.build(drawing.over(layer), fits=False)


def moved(config: RunConfig, manifest: Mapping[str, Any], given: str | None, views: Sequence[str]) -> RunConfig:
    """The configuration with the files where they lie now, or where the run found them.

    Raises ConfigError for a view that the run has not, and DependencyMissing for a format that is not installed.
    """
    first, others, known = config.input.path, config.input.views, manifest["input"]
    require_installed((kept for kept in manifest.get("plugins", ()) if kept["table"] == "formats"), first)
    require_further_views(len(views), len(others))
    first = existing_path(first, known) if given is None else given
    second, *further = [
        section.replace(path=views[place] if place < len(views) else existing_path(str(section.path), facts))
        for place, (section, facts) in enumerate(zip(others, facts_of_views(known, len(others)), strict=True))
    ] or [config.input.view]
    if others and config.joins_views:
        require_names((config.input.path, *(str(view.path) for view in others)),
                      (first, str(second.path), *(str(view.path) for view in further)))
    labels = config.input.labels
    if labels.path is not None:
        labels = labels.replace(path=existing_path(labels.path, known.get("labels") or {}))
    return config.replace(input=config.input.replace(
        path=first, view=second.replace(further=tuple(further)) if further else second, labels=labels))


def require_further_views(given: int, known: int) -> None:
    """Raise ConfigError for more files of further views than a run has such views."""
    if given and not known:
        raise ConfigError("NO-VIEW", "the run has no second view", where="--view", hint="leave it out")
    if given > known:
        raise ConfigError("NO-VIEW", f"the run has {counted(known, 'view')} besides its input", where="--view",
                          hint=f"give {'it' if known == 1 else 'these'} alone")


def require_names(paths: Sequence[str], others: Sequence[str]) -> None:
    """Raise ConfigError for other files whose names differ from those by which a run called its tables."""
    for path, other in zip(paths, others, strict=True):
        if file_name(path) != file_name(other):
            raise ConfigError("FILE-NAME", f"the tables of this run have the names of their files, and one is "
                              f"{shown(file_name(path))}", where=place(other), hint="give a copy under that name")


def facts_of_views(known: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return what a run recorded of the second view and further ones; nothing of those that its record lacks."""
    return [dict(facts) for facts in (*files_in(known)[1:], *[{}] * count)][:count]


def existing_path(path: str, known: dict[str, Any]) -> str:
    """Return the path, or if nothing is there, the absolute path that the run recorded."""
    return path if path == "-" or is_there(Path(path)) else known.get("absolute") or path
