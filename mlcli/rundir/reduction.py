"""One step on the way from a run's input to its coordinates: how rows are prepared, and where they are placed."""

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.data.prepare import Preparation
from mlcli.data.table import Table, coordinates
from mlcli.stages.similarities import Projector


@stored("reduction")
@frozen
class Reduction:
    """A dimension reduction of new rows, and the way back to features."""

    preparation: Preparation
    projector: Projector

    def place(self, table: Table) -> Table:
        """The coordinates of new rows, treated as those of the fit were."""
        prepared = self.preparation.apply(table) if table.kind == "features" else table
        with prepared.rows_named():
            self.projector.similarity.check(prepared.values, prepared.ids, prepared.columns)
            return coordinates(prepared, self.projector.project(prepared.values))

    def features(self, embedding: Array) -> Array:
        """Features (m x i) of coordinates (m x p); only where there is a decoder."""
        return self.preparation.features(self.projector.reconstruct(embedding))

    def undone(self, embedding: Array) -> Array:
        """The same for pictures, which may leave the range of doubles and are no results."""
        return self.preparation.undone(self.projector.reconstruct(embedding))
