"""The rows that are predicted to follow a sequence, as a value."""

from dataclasses import replace

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit


@frozen
class Forecast:
    """Predicted rows after the last one."""

    points: Array  # N x p, latent
    means: Array  # N x d
    deviations: Array  # N x d

    def plain(self, unit: Unit) -> "Forecast":
        """Return the forecast in plain numbers, given the unit of features."""
        return replace(self, means=unit.plain(self.means), deviations=unit.plain(self.deviations))
