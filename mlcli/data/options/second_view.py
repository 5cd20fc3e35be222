"""The section `input.view`: a second table of the same rows."""

from mlcli.base.values.file_names import FileName
from mlcli.base.values.options import Options, option
from mlcli.data.options.formats import KEYS, OfView


class View(Options):
    """A second table of the same rows, matched to the first by id, and read in the same conventions."""

    path: FileName | None = option(None, "A file with the second view: other features of the same rows, for cca, "
                                   "ibfa, rda, dbrda and mvgplvm (default: none).")
    format: OfView = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    id_column: str | None = option(None, "The column of row ids (default: as in the first view).")
    columns: tuple[str, ...] = option((), "The columns to use: names, or ranges first:last (empty: all).", strict=False)
    key: str | None = option(None, f"Which table of a file that may hold several: {KEYS}.")
