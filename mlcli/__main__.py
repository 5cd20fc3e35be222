"""`python -m mlcli` is the same as `mlcli`."""

from mlcli.cli import main

main()
