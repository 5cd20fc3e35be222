"""The command line: one file per command, none with logic of its own."""

from mlcli.cli.program import main

__all__ = ["main"]
