"""TSV: texts with cells separated by a tab."""

from mlcli.data.formats.csv import separated_by

READER = separated_by("\t")
