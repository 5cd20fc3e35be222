"""Delimited texts: their start, layout, records and columns."""
