"""The sections `input.labels` and `input.view`: further files of the same rows."""

from mlcli.base.values.file_names import FileName
from mlcli.base.values.options import Options, option
from mlcli.data.options.formats import KEYS, OfLabels, OfView


class LabelFile(Options):
    """A second file with labels of the rows, joined by id, or row by row without ids."""

    path: FileName | None = option(None, "A file with labels of the rows, joined by id, or row by row (default: none).")
    format: OfLabels = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    key: str | None = option(None, f"Which of a file that may hold several: {KEYS} (default: the only one).",
                             min_length=1)
    id_column: str | None = option(None, "The column of row ids (default: the one that holds the ids of the data).")
    columns: tuple[str, ...] = option((), "The columns to use as labels (empty: all).", strict=False)


class FurtherView(Options):
    """A third or further table of the same rows."""

    path: FileName = option(..., "A file with the view.")
    format: OfView = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    id_column: str | None = option(None, "The column of row ids (default: as in the first view).")
    columns: tuple[str, ...] = option((), "The columns to use: names, or ranges first:last (empty: all).", strict=False)
    key: str | None = option(None, f"Which table of a file that may hold several: {KEYS}.")


class View(Options):
    """A second table of the same rows, matched to the first by id, and read in the same conventions."""

    path: FileName | None = option(None, "A file with the second view: other features of the same rows, for cca, ibfa, "
                                   "gib, mvgplvm, rda and dbrda (default: none).")
    format: OfView = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    id_column: str | None = option(None, "The column of row ids (default: as in the first view).")
    columns: tuple[str, ...] = option((), "The columns to use: names, or ranges first:last (empty: all).", strict=False)
    key: str | None = option(None, f"Which table of a file that may hold several: {KEYS}.")
    further: tuple[FurtherView, ...] = option(
        (), "A third view and more, for cca and ibfa: sections with a path, and format, id_column, columns and key as "
        "of the second (empty: none).", strict=False)
