"""The command line: one file per command, none with logic of its own."""
