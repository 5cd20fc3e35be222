"""Finished runs, wherever they were made, as the rows of one table and as one page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.context import spelled
from mlcli.base.frozen import frozen
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import flatten, value_text
from mlcli.errors import InputMissing, MlcliError
from mlcli.findings import FINDINGS
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.pipeline.read_run import config_of, encoded, read_run, without_rows
from mlcli.publication.publish import write_whole
from mlcli.report.comparison.runs import runs_page, runs_to_draw
from mlcli.rundir import names
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.reading import json_of
from mlcli.rundir.runs_table import NAME, Row, failed_row, finished_row, publish, table
from mlcli.rundir.shapes import Failure
from mlcli.runs.compare import align

PAGE = "runs.html"
FILES = (NAME, PAGE)
OWN = ("output",)  # options that no two runs share


@frozen
class Collected:
    """Runs below some folders, with the options that differ among them, and those whose embeddings are drawn."""

    parameters: Sequence[str]
    rows: Sequence[Row]
    folders: Sequence[Path]  # of the runs, failed ones too
    drawn: Mapping[int, FinishedRun]  # by place among the rows; none where the runs are of several inputs


@frozen
class CollectedRun:
    """A run directory with its options and summary, or with the error that reading it raised."""

    name: str
    folder: Path
    options: Mapping[str, Any]
    summary: Mapping[str, Any]
    error: Mapping[str, Any] | None = None


def summary_of(folder: Path, config: RunConfig) -> dict[str, Any]:
    """Return the summary of a finished run from its small files; raises InputMissing and UnsafeFile."""
    manifest = read_manifest(folder)
    wanted = [finding for finding in FINDINGS.values() if finding.columns or isinstance(finding, SpectrumFinding)]
    files = [file.name for finding in wanted for file in finding.files]
    require_intact(folder, manifest, tuple(name for name in files if name in manifest["files"]))
    run = FinishedRun(manifest, config, "", without_rows(manifest))
    found = {finding.name: finding.read(folder, run) for finding in wanted}
    spectrum, kept = found["spectrum"], manifest["embedding"]["components"]
    shares = spectrum.numbers("proportion")[:kept] if spectrum else []
    return {"run": str(folder), "components": kept, **{key: value for key, value in manifest.items() if key != "files"},
            "proportions": shares if np.isfinite(shares).all() else None,
            **{key: fact for finding in wanted for key, fact in finding.facts(found[finding.name]).items()}}


def collect(folders: Sequence[Path]) -> Collected:
    """Collect all runs in some folders or below them, ordered by the options that differ; failed ones come last.

    A run that cannot be read is a failed one. Raises InputMissing where there are no runs.
    """
    entries = [entry_of(name_in(folder, run), run) for folder, run in runs_below(folders)]
    if not entries:
        raise InputMissing("NO-RUNS", "there are no runs here", where=", ".join(map(str, folders))[:200],
                           hint="name directories of runs, or directories that hold them")
    whole = [entry for entry in entries if entry.error is None]
    values = dict(zip(map(id, whole), differing([entry.options for entry in whole]), strict=True))
    whole.sort(key=lambda entry: [in_order(part) for part in values[id(entry)].values()])
    failed = [entry for entry in entries if entry.error is not None]
    rows = [*(finished_row(entry.name, values[id(entry)], entry.summary) for entry in whole),
            *(failed_row(entry.name, {}, entry.error) for entry in failed if entry.error is not None)]
    parameters = list(next(iter(values.values()), {}))
    return gather(parameters, rows, [entry.folder for entry in (*whole, *failed)])


def entry_of(name: str, folder: Path) -> CollectedRun:
    """Read a run directory: its options and its summary, or its error, whether it failed or is damaged."""
    try:
        if (folder / names.ERROR).exists():
            return CollectedRun(name, folder, {}, {}, json_of(folder / names.ERROR, Failure)["error"])
        config = config_of(folder, read_manifest(folder))
        return CollectedRun(name, folder, options_of(config), summary_of(folder, config))
    except MlcliError as error:
        return CollectedRun(name, folder, {}, {}, spelled(error).fields())


def gather(parameters: Sequence[str], rows: Sequence[Row], folders: Sequence[Path]) -> Collected:
    """Read the runs whose embeddings are drawn; the row of one that cannot be read says so, and another is drawn."""
    rows = list(rows)
    while True:
        drawn: dict[int, FinishedRun] = {}
        try:
            for place in runs_to_draw(rows) if of_one_input([folders[place] for place in runs_to_draw(rows)]) else ():
                drawn[place] = read_run(folders[place])
            return Collected(parameters, rows, folders, drawn)
        except MlcliError as error:
            place = next(place for place in runs_to_draw(rows) if place not in drawn)
            rows[place] = failed_row(rows[place]["run"], {name: rows[place].get(name) for name in parameters},
                                     spelled(error).fields())


def write_collected(collected: Collected, folder: Path, *, label: str | None = None, seed: int = 0) -> tuple[Path, ...]:
    """Write runs.csv and runs.html, each whole and in the place of an earlier one, and return their paths."""
    text, page = table(collected.rows, collected.parameters), encoded(page_of(collected, label=label, seed=seed))
    publish(text, folder / NAME)
    write_whole(folder / PAGE, lambda draft: draft.write_bytes(page), force=True)
    return folder / NAME, folder / PAGE


def page_of(collected: Collected, *, label: str | None = None, seed: int = 0) -> str:
    """Return the page over some runs: their quality, and their embeddings where they are of one input.

    Raises ConfigError for a label column that the first run has not.
    """
    labels = [str(collected.rows[place]["run"]) for place in collected.drawn]
    folders = [str(collected.folders[place]) for place in collected.drawn]
    comparison = align([*collected.drawn.values()], folders, labels, label) if collected.drawn else None
    return runs_page(collected.rows, collected.parameters, comparison, seed=seed)


def of_one_input(folders: Sequence[Path]) -> bool:
    """Return whether runs have one and the same input, with rows."""
    inputs = [read_manifest(folder)["input"] for folder in folders]
    return len({known.get("sha256") or known["path"] for known in inputs}) == 1 and bool(inputs[0]["rows"])


def runs_below(folders: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each run at or below some folders once, failed ones too, with the folder that led to it.

    Folders come in the order of their names, links after them; hidden folders are left out. A link is followed unless
    it leads to a folder that was seen or that holds one of `folders`, as a link to its own parent does.
    """
    roots = [folder.resolve() for folder in folders]
    known: set[Path] = set()
    for folder in folders:
        yield from ((folder, run) for run in _runs_in(folder, roots, known))


def _runs_in(folder: Path, roots: Sequence[Path], known: set[Path]) -> Iterator[Path]:
    real = folder.resolve()
    if real in known or (folder.is_symlink() and any(real in root.parents for root in roots)):
        return
    known.add(real)
    if any((folder / name).is_file() for name in (names.MANIFEST, names.ERROR)):
        yield folder
        return
    inside = [path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."] if folder.is_dir() else []
    for path in sorted(inside, key=lambda path: (path.is_symlink(), path)):
        yield from _runs_in(path, roots, known)


def name_in(folder: Path, run: Path) -> str:
    """A run's name: its path below the folder that was given."""
    return run.name if run == folder else str(run.relative_to(folder))


def options_of(config: RunConfig) -> dict[str, Any]:
    """All options of a run by their paths."""
    values = config.model_dump(mode="json")
    flat = dict(flatten({**values, "method": {"name": config.method.name, **values["method"]}}))
    return {path: value for path, value in flat.items() if path not in OWN}


def differing(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Of the options that all runs have, those that are not the same in all, as texts."""
    shared = [path for path in (runs[0] if runs else ()) if all(path in run for run in runs)]
    paths = [path for path in shared if any(run[path] != runs[0][path] for run in runs)]
    return [{path: value_text(run[path]) for path in paths} for run in runs]


def in_order(part: str) -> tuple[float, str]:
    """Return the sort key of a value: numbers by size, before texts."""
    try:
        return float(part), ""
    except ValueError:
        return float("inf"), part
