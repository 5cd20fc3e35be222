"""Reading of tables: from files, arrays and frames, in memory or in blocks.

A file is opened, and read once. Of a text the survey keeps the start (`TextStart` in `data/text/records.py`), from
which separator, decimal point, comments and the first records (`Head` in `data/text/head.py`) are known; a short text
is not read again. The columns that the options choose become numbers or texts (`Frame` in `data/text/delimited.py`),
with what is wrong with them (`Faults`), and so do those of a piece of a text in blocks (`TextFile.frame`,
`data/formats/csv_blocks.py`). Columns of text among the numbers are known from there, or from the types of a columnar
file, and become categories where a method or a coding takes such (`with_found` in `data/options/input.py`); otherwise
the error is raised. A list of pairs in the place of a matrix is known from its first records or its types
(`Opened.lists`). Options that depend on the names in a file choose when these are known (`Input.for_columns`).

Functions that find something out return what they found, or the error as a value; an error that is raised is final
(`tests/house/test_reading.py`).
"""
