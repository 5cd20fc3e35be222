"""How well an embedding keeps what it was made from: neighborhoods, distances, labels, the data itself."""

from mlcli.report.quality.measure import Measured, quality
from mlcli.report.quality.pairs import shepard_table

__all__ = ["Measured", "quality", "shepard_table"]
