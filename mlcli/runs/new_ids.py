"""Ids of new rows, beside those of the rows that a run was fitted to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlcli.base.stages.stage import note
from mlcli.data.options.wording import counted, listed
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.rundir.embedding import intact_ids
from mlcli.rundir.embedding import listed as embedding_files

NEW = "new"  # before the numbers of new rows without ids


def with_own_ids(folder: Path, manifest: Mapping[str, Any], rows: Table) -> Table:
    """Return new rows with ids of their own: new1, new2, ... where the file has none; notes ids that the run has."""
    given = not isinstance(rows.ids, RowNumbers)
    if isinstance(rows.ids, RowNumbers):
        rows = replace(rows, ids=rows.ids.prefixed(NEW))
    known = [name for name in fitted_ids(folder, manifest) if given or name.startswith(NEW)]
    own = set(rows.ids) if known else set()
    if again := [name for name in known if name in own]:
        note("N-KNOWN-IDS", f"{len(again):,} of {counted(len(rows.ids), 'new row')} have ids of rows that the run was "
             f"fitted to: {listed(again)}; where both are in one table, name the new ones apart", rows=len(again))
    return rows


def fitted_ids(folder: Path, manifest: Mapping[str, Any]) -> Sequence[str]:
    """Return the ids of a run's own rows as it wrote them; none where its file holds none, or is gone."""
    file = next(iter(embedding_files(manifest)), None)
    if file is None or file.endswith(".npy") or not (folder / file).exists():
        return ()
    return intact_ids(folder, manifest, file)
