"""CSV: delimited texts whose cells a comma separates, where no other character is found to do so."""

from mlcli.data.formats.separated import separated_by

READER = separated_by(",")
