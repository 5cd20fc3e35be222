"""What a finished run kept of its fit (`--keep`), read back: sparse matrices, square arrays, and their corners."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.naming import listed
from mlcli.base.values.products import Name, Sparse
from mlcli.errors import ConfigError
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.pipeline.read_run import read_run
from mlcli.rundir import names
from mlcli.rundir.manifest import require_intact
from mlcli.rundir.reading import damaged, own_file


def require_kept(run: FinishedRun, name: Name, where: str) -> None:
    """Raise ConfigError where a run did not keep a result, with those that it kept, or that it could keep."""
    if names.KEPT[name] not in run.manifest["files"]:
        kept = [known for known, file in names.KEPT.items() if file in run.manifest["files"]]
        method = run.config.method
        made = method.makes(run.config.input.gives)
        can = (f"run it again with --keep {name}" if name in made else
               method.makes_none(name) + (f", but {listed(made)}" if made else ""))
        raise ConfigError("NOT-KEPT", f"the run kept no {name}", where=where,
                          hint=(f"it kept {listed(kept)}; " if kept else "") + can)


def is_square(name: Name) -> bool:
    """Whether a result is an array of all pairs, and no sparse matrix."""
    return names.KEPT[name].endswith(".npy")


def kept_matrix(folder: Path, run: FinishedRun, name: Name) -> Sparse:
    """Return a sparse matrix that a run kept; raises UnsafeFile."""
    from scipy import sparse

    path, count = folder / names.KEPT[name], len(run.embedding.ids)
    require_intact(folder, dict(run.manifest), (names.KEPT[name],))
    with own_file(path):
        matrix = sparse.csr_array(sparse.load_npz(path))
    if matrix.shape != (count, count):
        raise damaged(path, f"its shape is {matrix.shape}, not {(count, count)}")
    return Sparse(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)


def kept_square(folder: Path, run: FinishedRun, name: Name) -> Array:
    """Return a square array (n x n) that a run kept, of which only what is used is read; raises UnsafeFile."""
    path, count = folder / names.KEPT[name], len(run.embedding.ids)
    require_intact(folder, dict(run.manifest), (names.KEPT[name],))
    with own_file(path):
        values: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    if values.shape != (count, count):
        raise damaged(path, f"its shape is {values.shape}, not {(count, count)}")
    return values


@frozen
class Corner:
    """The first rows and columns of a result that a run kept."""

    name: Name
    size: int  # rows, and columns, of the whole
    entries: int | None  # of a sparse matrix
    rows: Sequence[str]  # ids
    columns: Sequence[str]
    values: Array  # NaN where a sparse matrix has no entry

    def document(self) -> dict[str, Any]:
        """Return the corner as plain values, with null where a sparse matrix has no entry."""
        return {"name": self.name, "size": self.size, "entries": self.entries, "rows": list(self.rows),
                "columns": list(self.columns),
                "values": [[None if cell != cell else cell for cell in row] for row in self.values.tolist()]}


def corner(folder: Path, name: Name, rows: int, columns: int) -> Corner:
    """Return the first rows and columns of a result that a run kept.

    Raises ConfigError where the run did not keep it, and UnsafeFile where it was changed.
    """
    run = read_run(folder)
    require_kept(run, name, "NAME")
    ids = run.embedding.ids
    rows, columns = min(rows, len(ids)), min(columns, len(ids))
    if is_square(name):
        values, entries = np.array(kept_square(folder, run, name)[:rows, :columns]), None
    else:
        matrix = kept_matrix(folder, run, name)
        values, entries = np.full((rows, columns), np.nan), len(matrix.values)
        for row in range(rows):
            part = slice(matrix.starts[row], matrix.starts[row + 1])
            inside = matrix.indices[part] < columns
            values[row, matrix.indices[part][inside]] = matrix.values[part][inside]
    return Corner(name, len(ids), entries, tuple(ids[:rows]), tuple(ids[:columns]), values)
