"""Finished runs, wherever they were made, as the rows of one table and as one page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.publish import write_whole
from mlcli.comparing import align
from mlcli.config.run_config import RunConfig
from mlcli.config.run_names import flattened, text
from mlcli.errors import InputMissing
from mlcli.readback import config_of, document, encoded, rows_of
from mlcli.report.comparison.runs_page import drawn_of, runs_page
from mlcli.rundir import names
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.reading import json_of
from mlcli.rundir.runs_table import NAME, Row, failed_row, finished_row, table
from mlcli.rundir.shapes import Failure

PAGE = "runs.html"
FILES = (NAME, PAGE)
OWN = ("output",)  # options that no two runs share


@frozen
class Collected:
    """Runs below some folders, with what makes them differ."""

    parameters: Sequence[str]
    rows: Sequence[Row]
    folders: Sequence[Path]  # of the runs, failed ones too


def summary_of(folder: Path) -> dict[str, Any]:
    """What a finished run reported at its end, from its small files; raises InputMissing and UnsafeFile."""
    manifest = read_manifest(folder)
    require_intact(folder, manifest, tuple(name for name in (names.SPECTRUM, names.QUALITY)
                                           if name in manifest["files"]))
    spectrum, quality = rows_of(folder / names.SPECTRUM), document(folder / names.QUALITY, "Quality") or {}
    kept = manifest["embedding"]["components"]
    shares = spectrum.numbers("proportion")[:kept] if spectrum else []
    return {"run": str(folder), "components": kept, **{key: value for key, value in manifest.items() if key != "files"},
            "proportions": shares if np.isfinite(shares).all() else None,
            "quality": {key: value for key, value in quality.items() if np.ndim(value) == 0}}


def collect(folders: Sequence[Path]) -> Collected:
    """All runs in some folders, or below them, in the order of what makes them differ, failed ones last.

    Raises InputMissing where there are none, and UnsafeFile.
    """
    runs = [(folder, run) for folder in folders for run in runs_in(folder)]
    if not runs:
        raise InputMissing("NO-RUNS", "there are no runs here", where=", ".join(map(str, folders))[:200],
                           hint="name directories of runs, or directories that hold them")
    whole = [(folder, run) for folder, run in runs if not (run / names.ERROR).exists()]
    values = differing([options_of(config_of(run)) for _, run in whole])
    rows = [finished_row(name_in(folder, run), mine, summary_of(run))
            for (folder, run), mine in zip(whole, values, strict=True)]
    order = sorted(range(len(rows)), key=lambda place: [in_order(part) for part in values[place].values()])
    failed = [(folder, run) for folder, run in runs if (run / names.ERROR).exists()]
    errors = [failed_row(name_in(folder, run), {}, json_of(run / names.ERROR, Failure)["error"])
              for folder, run in failed]
    return Collected(list(values[0]) if values else [], [*(rows[place] for place in order), *errors],
                     [*(whole[place][1] for place in order), *(run for _, run in failed)])


def write_collected(collected: Collected, folder: Path, *, label: str | None = None, seed: int = 0) -> tuple[Path, ...]:
    """Writes runs.csv and runs.html, each whole and in the place of an earlier one, and returns their paths."""
    text, page = table(collected.rows, collected.parameters), encoded(page_of(collected, label=label, seed=seed))
    write_whole(folder / NAME, lambda draft: draft.write_text(text, encoding="utf-8", newline=""), force=True)
    write_whole(folder / PAGE, lambda draft: draft.write_bytes(page), force=True)
    return folder / NAME, folder / PAGE


def page_of(collected: Collected, *, label: str | None = None, seed: int = 0) -> str:
    """The page over some runs: their quality, and their embeddings where they are of one input.

    Raises ConfigError for a label column that the first run has not, and UnsafeFile.
    """
    drawn = drawn_of(collected.rows)
    folders = [collected.folders[place] for place in drawn]
    inputs = [read_manifest(folder)["input"] for folder in folders]
    alike = len({known.get("sha256") or known["path"] for known in inputs}) == 1 and inputs[0]["rows"]
    labels = [str(collected.rows[place]["run"]) for place in drawn]
    comparison = align([str(folder) for folder in folders], labels, label) if alike else None
    return runs_page(collected.rows, collected.parameters, comparison, label=label, seed=seed)


def runs_in(folder: Path) -> Iterator[Path]:
    """The runs at or below a folder, failed ones too, in the order of their names; hidden folders are left out."""
    if any((folder / name).is_file() for name in (names.MANIFEST, names.ERROR)):
        yield folder
        return
    for inside in sorted(folder.iterdir()) if folder.is_dir() else ():
        if inside.is_dir() and not inside.name.startswith("."):
            yield from runs_in(inside)


def name_in(folder: Path, run: Path) -> str:
    """A run's name: its path below the folder that was given."""
    return run.name if run == folder else str(run.relative_to(folder))


def options_of(config: RunConfig) -> dict[str, Any]:
    """All options of a run by their paths."""
    values = config.model_dump(mode="json")
    flat = dict(flattened({**values, "method": {"name": config.method.name, **values["method"]}}))
    return {path: value for path, value in flat.items() if path not in OWN}


def differing(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Of the options that all runs have, those that are not the same in all, as texts."""
    shared = [path for path in (runs[0] if runs else ()) if all(path in run for run in runs)]
    paths = [path for path in shared if any(run[path] != runs[0][path] for run in runs)]
    return [{path: text(run[path]) for path in paths} for run in runs]


def in_order(part: str) -> tuple[float, str]:
    """What a value is sorted by: numbers by their size, before texts."""
    try:
        return float(part), ""
    except ValueError:
        return float("inf"), part
