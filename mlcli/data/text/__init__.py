"""Delimited texts: dialect, header, layout, records."""
