"""TSV: delimited texts whose cells a tab separates."""

from mlcli.data.formats.separated import separated_by

READER = separated_by("\t")
