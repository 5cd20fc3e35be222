"""Every test of a failure works in a directory of its own, as tests of the command line do."""

from tests.journeys.conftest import mlcli, own_directory, unnamed_points

__all__ = ["mlcli", "own_directory", "unnamed_points"]
