"""The posterior: the uncertainty of the coordinates of each point, given its features."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.types import Array
from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.contents import Contents
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("posterior.csv", Columns((), texts=1))  # ids first


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


class PosteriorFinding(Finding[Array]):
    """Posterior covariances, an (n, p, p) array, or standard deviations, an (n, p) array, of methods that have them."""

    name = "posterior"
    files = (TABLE,)
    on_page = False  # its file may be as long as the embedding, and `verify` alone reads it

    def compute(self, result: "Result", known: Mapping[str, Any]) -> Array | None:
        """Return the model's posterior covariances or deviations."""
        return result.model.spreads

    def write(self, value: Array, folder: Path, result: "Result") -> None:
        """Write posterior.csv: for each point the entries of its covariance on and above the diagonal.

        `value` is an (n, p, p) array; for independent axes an (n, p) array of standard deviations, under their names.
        """
        import numpy as np

        from mlcli.base.rows.scratch import map_blocks
        from mlcli.base.stages.stage import no_listeners
        from mlcli.data.table.table import Table
        from mlcli.data.write.table import text_names, write_table

        size = value.shape[1]
        pairs = [(i, j) for i in range(size) for j in range(i, size)] if value.ndim == 3 else [
            (i,) for i in range(size)]
        entries = map_blocks(lambda some: np.stack([some[:, *pair] for pair in pairs], axis=1), value)
        names = tuple("_".join(f"y{i + 1}" for i in pair) for pair in pairs)
        table = Table(entries, names, result.embedding.ids, text_names(result.embedding)[0])
        with no_listeners():  # notes about the ids were made when the embedding was written
            write_table(table, folder / TABLE.name, "csv")

    def read(self, folder: Path, run: "Contents") -> Array | None:
        """Return the covariances, or deviations, of posterior.csv."""
        return posterior_of(folder, run.embedding.values.shape)

    def sections(self, value: Array, run: "Contents") -> Iterable[tuple[Place, "Part"]]:
        """Return nothing; `value` has the shape of `compute`."""
        return ()
