"""Every test of a command works in a directory of its own, as those of the journeys do."""

from tests.journeys.conftest import mlcli, own_directory, unnamed_points

__all__ = ["mlcli", "own_directory", "unnamed_points"]
