"""Output to a terminal: progress, tables, errors, JSON."""
