"""Every test of a failure works in a directory of its own, as tests of the command line do."""

from tests.cli.conftest import mlcli, own_directory

__all__ = ["mlcli", "own_directory"]
