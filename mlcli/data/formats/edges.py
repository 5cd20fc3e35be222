"""Edges of a graph as read: directed, in the order of the file, not yet checked."""

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices


@frozen
class Edges:
    """Numbers between pairs of points."""

    size: int  # points
    left: Indices
    right: Indices
    values: Array
    ids: tuple[str, ...] | None = None  # of the points, where the file has any
    id_name: str = "id"

    def take(self, chosen: AnyArray) -> "Edges":
        """Return some of the edges."""
        return Edges(self.size, self.left[chosen], self.right[chosen], self.values[chosen], self.ids, self.id_name)
