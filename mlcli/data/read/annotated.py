"""AnnData in memory: a matrix with the names of its rows and columns, and the texts that describe the rows.

It is recognized by its attributes, so that anndata is not needed. Options choose as they do from a file (.h5ad).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.data.formats.h5ad import MAIN, MEASURED
from mlcli.data.options.input import Input
from mlcli.data.options.wording import nearest, shown
from mlcli.data.read.frames import FrameData, is_text_column, text_column
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import numbered_names
from mlcli.errors import ConfigError

PAIRS = {"obsp": "obs_names", "varp": "var_names"}


def is_annotated(given: Any) -> bool:
    """Whether an object is AnnData."""
    return all(hasattr(given, name) for name in ("X", "obs", "obs_names", "var_names", "layers", "obsm"))


def read_annotated(given: Any, input: Input) -> FrameData:
    """Return the matrix that `input.key` names, by default X, with its names and the columns of texts of obs.

    The matrix stays sparse. Raises ConfigError for a key or a column that does not exist.
    """
    matrix, names = _matrix(given, input.key or MAIN)
    of_rows = (input.key or MAIN).startswith("varm")
    frame = given.var if of_rows else given.obs
    choice = choose(names, input.replace(id_column=None, label_columns=()))
    if len(choice.columns) < len(names):
        matrix = matrix[:, list(choice.values)]
    words = [name for name in map(str, frame.columns) if is_text_column(frame[name].to_numpy())]
    labels = {name: text_column(name, _column(frame, name).to_numpy())
              for name in dict.fromkeys((*input.label_columns, *words)) if name != input.ids_from}
    ids = (given.var_names if of_rows else given.obs_names) if input.ids_from is None else text_column(
        input.ids_from, _column(frame, input.ids_from, "input.id_column").to_numpy())
    values = matrix if hasattr(matrix, "tocsr") else np.asarray(matrix)
    return FrameData(values, choice.columns, tuple(map(str, ids)), labels)


def _matrix(given: Any, key: str) -> tuple[Any, Sequence[str]]:
    """Return the matrix at a key, as obsm/X_pca, and the names of its columns; raises ConfigError."""
    first, _, rest = key.partition("/")
    if key == MAIN:
        return given.X, tuple(map(str, given.var_names))
    if key == "raw/X" and given.raw is not None:
        return given.raw.X, tuple(map(str, given.raw.var_names))
    there = {name: getattr(given, name, {}) for name in ("layers", "obsm", "varm", *PAIRS)}
    if rest not in there.get(first, {}):
        known = [MAIN, *(f"{name}/{inner}" for name, members in there.items() for inner in members)]
        raise ConfigError("UNKNOWN-KEY", f"there is nothing at {shown(key)}", where="input.key",
                          hint=nearest(key, known))
    matrix = there[first][rest]
    matrix = matrix.to_numpy() if hasattr(matrix, "to_numpy") else matrix
    owner = "var_names" if first in MEASURED else PAIRS.get(first)
    names = numbered_names(rest, matrix.shape[1]) if owner is None else map(str, getattr(given, owner))
    return matrix, tuple(names)


def _column(frame: Any, name: str, where: str = "input.label_columns") -> Any:
    """Return a column of obs; raises ConfigError with the existing ones."""
    names = list(map(str, frame.columns))
    if name not in names:
        raise ConfigError("UNKNOWN-COLUMN", f"obs has no column {shown(name)}", where=where, hint=nearest(name, names))
    return frame[name]
