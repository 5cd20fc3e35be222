"""CSV: texts with cells separated by a comma, unless another separator is detected.

Cells become numbers in `data/text/delimited.py`.
"""

from mlcli.data.formats.separated import separated_by

READER = separated_by(",")
