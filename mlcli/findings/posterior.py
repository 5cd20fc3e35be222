"""The posterior: the uncertainty of the coordinates of each point, given its features."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.types import Array
from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.core.classifier import Memberships
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("posterior.csv", Columns((), texts=1))  # ids first
CLASSES = File("classes.csv", Columns(("class",), texts=2))


def posterior_of(folder: Path, shape: tuple[int, ...]) -> Array | None:
    """Return the covariances (n x p x p), or deviations (n x p), that posterior.csv holds for an embedding (n x p).

    None where a run does not have the file; raises UnsafeFile.
    """
    import numpy as np

    from mlcli.rundir.reading import damaged

    rows = TABLE.read(folder)
    if rows is None:
        return None
    size, entries = shape[1], list(rows.columns)[1:]
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    full = entries == [f"y{i + 1}_y{j + 1}" for i, j in pairs]
    if not full and entries != [f"y{i + 1}" for i in range(size)]:
        raise damaged(folder / TABLE.name, f"its first line should name the entries of {size} axes", 1)
    values = np.array([rows.array(name) for name in entries]).reshape(len(entries), -1).T
    if len(values) != shape[0]:
        raise damaged(folder / TABLE.name, f"it has {len(values)} rows, not {shape[0]} as in run.json")
    if not full:
        return values
    found = np.empty((len(values), size, size))
    for place, (i, j) in enumerate(pairs):
        found[:, i, j] = found[:, j, i] = values[:, place]
    return found


def memberships_of(folder: Path, rows: int) -> "Memberships | None":
    """Return the posterior probabilities of classes that classes.csv holds; None where a run does not have the file.

    Raises UnsafeFile for a file of another number of rows, or without classes.
    """
    import numpy as np

    from mlcli.core.classifier import Memberships, name_in
    from mlcli.rundir.reading import damaged

    table = CLASSES.read(folder)
    if table is None:
        return None
    columns = list(table.columns)[2:]
    chances = np.array([table.array(name) for name in columns]).reshape(len(columns), -1).T
    found = Memberships(tuple(map(name_in, columns)), chances)
    if len(chances) != rows or not columns or not np.isfinite(chances).all():
        raise damaged(folder / CLASSES.name, f"it has no probabilities of classes for {rows} rows")
    if list(table.texts("class")) != found.classes:
        raise damaged(folder / CLASSES.name, "a class is not the most probable one of its row")
    return found


class PosteriorFinding(Finding["Array | Memberships"]):
    """Posterior covariances, an (n, p, p) array, or standard deviations, an (n, p) array, of methods that have them.

    Of a method of classes, the probabilities of these.
    """

    name = "posterior"
    files = (TABLE, CLASSES)
    either = True
    on_page = False  # its file may be as long as the embedding, and `verify` alone reads it

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "Array | Memberships | None":
        """Return the model's posterior covariances, deviations, or probabilities of classes."""
        return result.model.memberships if result.model.spreads is None else result.model.spreads

    def write(self, value: "Array | Memberships", folder: Path, result: "Result") -> None:
        """Write posterior.csv: for each point the entries of its covariance on and above the diagonal.

        `value` is an (n, p, p) array; for independent axes an (n, p) array of standard deviations, under their names.
        Probabilities of classes are written as classes.csv.
        """
        import numpy as np

        from mlcli.base.rows.scratch import map_blocks
        from mlcli.base.stages.stage import no_listeners
        from mlcli.data.table.table import Table
        from mlcli.data.write.table import text_names, write_table

        if not isinstance(value, np.ndarray):
            from mlcli.rundir.model import classes_table

            with no_listeners():
                write_table(classes_table(value, result.embedding), folder / CLASSES.name, "csv")
            return
        size = value.shape[1]
        pairs = [(i, j) for i in range(size) for j in range(i, size)] if value.ndim == 3 else [
            (i,) for i in range(size)]
        entries = map_blocks(lambda some: np.stack([some[:, *pair] for pair in pairs], axis=1), value)
        names = tuple("_".join(f"y{i + 1}" for i in pair) for pair in pairs)
        table = Table(entries, names, result.embedding.ids, text_names(result.embedding)[0])
        with no_listeners():  # notes about the ids were made when the embedding was written
            write_table(table, folder / TABLE.name, "csv")

    def read(self, folder: Path, run: "FinishedRun") -> "Array | Memberships | None":
        """Return the covariances, or deviations, of posterior.csv, or the probabilities of classes.csv."""
        found = posterior_of(folder, run.embedding.values.shape)
        return memberships_of(folder, len(run.embedding.values)) if found is None else found

    def sections(self, value: "Array | Memberships", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return nothing; `value` has the shape of `compute`."""
        return ()
