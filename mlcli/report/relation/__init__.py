"""Relation of a run to an environment as values, as tables, as one page and one figure.

`mlcli/runs/relate.py` computes it; `contents.py` has the columns of all CSV files, which the page shows as well.
"""
