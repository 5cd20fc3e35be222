"""Outputs that appear whole or not at all: locks, staging, publication, clean-up.

A run's output is locked first: one job makes it at a time, and another one ends with 75 (`output_lock.py`). Output
becomes visible in one step (`publish.py`). A draft, a hidden sibling that its writer keeps locked (`staging.py`), gets
the output's name if it is free; under `--force` the two exchange names (`renames.py`). What
may be replaced is checked before the exchange and again after it (`replaceable.py`), and goes back if it is something
else. The replaced folder is removed file by file, by its own listing, and nothing else is (`recovery.py`). Where names
cannot be exchanged, a run is moved aside first, and the next start puts it back if the writer died in between. The
name of a draft holds its inode: whatever has another inode came out of an exchange.

Every start cleans up what dead writers left, for any output in its folder, so nothing else may remove a draft.
`tests/faults/kills/test_killing.py` kills a child at each call of the file system; a new way to write belongs there.
"""
