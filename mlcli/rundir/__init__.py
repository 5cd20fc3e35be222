"""The run directory: a directory that exists is complete."""
