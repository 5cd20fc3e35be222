"""How well an embedding keeps what it was made from: neighborhoods, distances, labels, the data itself."""

from mlcli.findings.quality.measure import Measured, quality
from mlcli.findings.quality.pairs import shepard_table

__all__ = ["Measured", "quality", "shepard_table"]
