"""The posterior: the uncertainty of the coordinates of each point, given its features."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.types import Array
from mlcli.findings.finding import File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.contents import Contents
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("posterior.csv")


class PosteriorFinding(Finding[Array]):
    """Posterior covariances, an (n, p, p) array, or standard deviations, an (n, p) array, of methods that have them."""

    name = "posterior"
    files = (TABLE,)

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
        """Return nothing: the file is for other programs."""
        return None

    def sections(self, value: Array, run: "Contents") -> Iterable[tuple[Place, "Part"]]:
        """Return nothing; `value` has the shape of `compute`."""
        return ()
