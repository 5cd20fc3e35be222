"""The report of a run: figures, tables, its page, and comparisons with other runs."""
