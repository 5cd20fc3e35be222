"""Delimited texts: their start, layout, records and columns; cells become numbers in `delimited.py`."""
