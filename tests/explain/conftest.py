"""Runs are tested by the command line, in a directory of their own."""

from tests.journeys.conftest import mlcli, own_directory, unnamed_points

__all__ = ["mlcli", "own_directory", "unnamed_points"]
