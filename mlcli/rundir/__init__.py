"""The run directory: a directory that exists is complete.

The readers check the content of a finished run's files: JSON by the shapes in `shapes.py`, files of findings by the
shapes that these declare, CSV by its columns (`reading.py`), the model by `archive.py`, which makes one of the
former format one of the present. Nothing behind these functions checks again.
`tests/faults/fuzz` damages every key, cell and array of small runs with hashes that fit.
"""
