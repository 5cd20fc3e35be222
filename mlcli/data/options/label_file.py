"""The section `input.labels`: a second file with labels of the rows."""

from mlcli.base.values.file_names import FileName
from mlcli.base.values.options import Options, option
from mlcli.data.options.formats import KEYS, OfLabels


class LabelFile(Options):
    """A second file with labels of the rows, joined by id, or row by row without ids."""

    path: FileName | None = option(None, "A file with labels of the rows, joined by id, or row by row (default: none).")
    format: OfLabels = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    key: str | None = option(None, f"Which of a file that may hold several: {KEYS} (default: the only one).",
                             min_length=1)
    id_column: str | None = option(None, "The column of row ids (default: the one that holds the ids of the data).")
    columns: tuple[str, ...] = option((), "The columns to use as labels (empty: all).", strict=False)
