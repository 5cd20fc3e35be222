"""The run directory: a directory that exists is complete.

What a finished run's files must hold is known where they are read: JSON by the shapes in `shapes.py`, files of
findings by those that these declare, CSV by its columns (`reading.py`), the model by `parts.py`. A model of the
former format is made one of the present by `former.py`. Nothing behind these functions checks again.
`tests/faults/fuzz` damages every key, cell and array of small runs with hashes that fit.
"""
