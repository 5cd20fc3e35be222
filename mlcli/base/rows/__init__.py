"""Rows that memory need not hold, and work in blocks of them.

A table that memory does not hold is `Rows` (`source.py`), which stand where an array does. A source can be pickled
(`data/formats/parquet.py`, `data/formats/csv_blocks.py`, ...). A new path through the program asks `rows_of` and works
on `parts`, or on the sample (`some`). A method says by `streams` that it takes such rows. `data/formats/block_file.py`
decides by the size of the file whether they are used, and `pipeline/reading.py` by the memory of the fit. Large
coordinates are arrays in files (`scratch.py`). A sparse table is such rows as well (`sparse.py`).
"""
