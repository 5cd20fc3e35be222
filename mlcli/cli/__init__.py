"""The command line: one file per command, without logic of its own."""
