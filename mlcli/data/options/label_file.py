"""Where labels of the rows lie in a second file: the section `input.labels`."""

from typing import Literal

from mlcli.base.values.file_names import FileName
from mlcli.base.values.options import Options, option


class LabelFile(Options):
    """A second file with labels of the rows, joined by id, or row by row where there are no ids."""

    path: FileName | None = option(None, "The file of labels (default: there is none).")
    format: Literal["auto", "csv", "tsv", "parquet", "arrow", "npy", "npz", "idx"] = option(
        "auto", "The file's format (auto: by its name, then by its first bytes).")
    key: str | None = option(None, "Which array of an npz file (default: the only one).", min_length=1)
    id_column: str | None = option(None, "The column that names the rows (default: the one that holds their ids).")
    columns: tuple[str, ...] = option((), "The columns to use as labels (empty: all).", strict=False)
