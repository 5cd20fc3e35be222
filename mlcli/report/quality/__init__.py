"""How well an embedding keeps what it was made from: neighborhoods, distances, labels, the data itself."""

from mlcli.report.quality.measure import quality
from mlcli.report.quality.spaces import kept_space

__all__ = ["kept_space", "quality"]
