"""The whole flow on one screen: read, prepare, fit, write."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlcli.base.threads import threads_limited
from mlcli.base.types import Array
from mlcli.config import build
from mlcli.config.run_config import RunConfig
from mlcli.data.prepare import Dropped, Preparation
from mlcli.data.read import read
from mlcli.data.table import Table
from mlcli.data.write import text_names, write_csv, write_table
from mlcli.methods import Model
from mlcli.report.scree import scree
from mlcli.report.spectrum_table import spectrum_facts, spectrum_table
from mlcli.rundir import archive, names
from mlcli.rundir.draft import draft, writing
from mlcli.rundir.dropped import write_dropped
from mlcli.rundir.journal import Journal, recording
from mlcli.rundir.manifest import write_manifest


@dataclass(frozen=True)
class Run:
    """All that a run computed, before anything is written."""

    config: RunConfig  # with defaults settled to the data
    source: Table
    embedding: Table
    preparation: Preparation
    dropped: tuple[Dropped, ...]
    model: Model


def run(config: RunConfig, *, force: bool = False) -> dict[str, Any]:
    """Runs a configuration, writes its run directory and returns the summary."""
    output = Path(config.output or "")
    with draft(output, force=force) as folder, recording() as journal, threads_limited(config.compute.thread_count()):
        result = compute(config)
        with writing(output):
            write(folder, result, journal)
    return summary(result, journal, str(output))


def stream(config: RunConfig, out: BinaryIO) -> dict[str, Any]:
    """Runs a configuration and writes the embedding as CSV to an open file."""
    with recording() as journal, threads_limited(config.compute.thread_count()):
        result = compute(config)
        write_csv(result.embedding, out)
    return summary(result, journal, None)


def compute(config: RunConfig) -> Run:
    """Reads, prepares and fits."""
    config.method.require_kind(config.input.kind)
    source = read(config.input, config.compute)
    prepared = config.prepare.apply(source)
    data = prepared.table.data()
    method = config.method.settle(data)
    model = method.fit(data, config.compute)
    config = config.replace(method=method.with_components(model.embedding.shape[1]))
    dropped = (*prepared.dropped, *_left_out(model, prepared.table, prepared.dropped))
    table = prepared.table if model.kept is None else prepared.table.take(model.kept)
    return Run(config, source, coordinates(table, model.embedding), prepared.preparation, dropped, model)


def coordinates(table: Table, values: Array) -> Table:
    """Coordinates y1..yp under the ids and labels of a table."""
    columns = tuple(f"y{i + 1}" for i in range(values.shape[1]))
    return replace(table, values=values, columns=columns, kind="features")


def write(folder: Path, result: Run, journal: Journal) -> None:
    """All files of a run; run.json last, with the hashes of the others."""
    config, model = result.config, result.model
    for format in config.report.formats:
        write_table(result.embedding, folder / names.embedding(format), format)
    reported = config.method.eigensolve.report
    title = f"{config.method.name}: {Path(config.input.path).name}"
    texts = {names.CONFIG: build.write(_with_absolute_input(config)),
             names.SPECTRUM: spectrum_table(model.spectrum, reported),
             names.SCREE: scree(model.spectrum, model.embedding.shape[1], reported, title)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    if result.dropped:
        write_dropped(folder / names.DROPPED, result.dropped)
    trained = result.embedding.ids if config.input.kind != "features" else ()
    archive.save(folder, {"kind": config.input.kind, "id_name": text_names(result.embedding)[0], "trained": trained,
                          "preparation": result.preparation, "projector": model.projector})
    write_manifest(folder, facts(result, journal))


def facts(result: Run, journal: Journal) -> dict[str, Any]:
    """What run.json says of a run, besides versions and file hashes."""
    source, config = result.source, result.config
    threads = config.compute.allowed_threads()
    origin = source.source
    return {
        "method": config.method.name,
        "input": {"path": config.input.path, "kind": source.kind, "rows": len(source.ids),
                  "columns": len(source.columns), "format": origin.format if origin else None,
                  "bytes": origin.bytes if origin else None, "sha256": origin.sha256 if origin else None},
        "embedding": {"rows": len(result.embedding.ids), "components": len(result.embedding.columns),
                      "dropped": len(result.dropped)},
        "spectrum": spectrum_facts(result.model.spectrum), "fit": result.model.fit,
        "seed": config.compute.seed, "threads": threads.count, "threads_source": threads.source,
        "seconds": journal.seconds, "stages": journal.stages,
        "warnings": journal.told("W-"), "notes": journal.told("N-"), "facts": journal.told("F-"),
    }


def summary(result: Run, journal: Journal, output: str | None) -> dict[str, Any]:
    """What is told at the end of a run, to people and as JSON."""
    spectrum, kept = result.model.spectrum, len(result.embedding.columns)
    shares = spectrum.proportions[:kept]
    known = bool(np.isfinite(shares).all())
    return {"run": output, "components": kept, "eigenvalues": spectrum.eigenvalues[:kept].tolist(),
            "proportions": shares.tolist() if known else None, **facts(result, journal)}


def _with_absolute_input(config: RunConfig) -> RunConfig:
    if config.input.path == "-":
        return config
    return config.replace(input=config.input.replace(path=str(Path(config.input.path).absolute())))


def _left_out(model: Model, table: Table, dropped: tuple[Dropped, ...]) -> list[Dropped]:
    """The rows that the policy for a graph in pieces left out, numbered as in the input."""
    if model.kept is None:
        return []
    numbers = np.setdiff1d(np.arange(1, len(table.ids) + len(dropped) + 1), [d.row for d in dropped])
    outside = np.setdiff1d(np.arange(len(table.ids)), model.kept)
    return [Dropped(table.ids[i], int(numbers[i]), "outside the largest piece of the neighbor graph") for i in outside]
