"""CSV: texts with cells separated by a comma, unless another separator is detected."""

from mlcli.data.formats.separated import separated_by

READER = separated_by(",")
