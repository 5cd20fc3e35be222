"""How well an embedding keeps what it was made from: neighborhoods, distances, labels, the data itself."""

from mlcli.report.quality.measure import Measured, quality
from mlcli.report.quality.pairs import shepard_table
from mlcli.report.quality.spaces import kept_space

__all__ = ["Measured", "kept_space", "quality", "shepard_table"]
