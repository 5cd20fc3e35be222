"""An embedding as AnnData in HDF5 (.h5ad): coordinates in obsm, labels in obs, facts of the method in uns.

Source: the on-disk format of AnnData, https://anndata.readthedocs.io/en/latest/fileformat-prose.html
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.missing import is_missing
from mlcli.data.formats.h5ad import INDEX
from mlcli.data.formats.hdf5_file import h5py
from mlcli.data.options.wording import shown
from mlcli.errors import DataError

Kind = tuple[str, str]  # encoding-type, encoding-version
FILE, TABLE, MAP = ("anndata", "0.1.0"), ("dataframe", "0.2.0"), ("dict", "0.1.0")
ARRAY, TEXTS, TEXT = ("array", "0.2.0"), ("string-array", "0.2.0"), ("string", "0.2.0")
CATEGORIES = ("categorical", "0.2.0")


@frozen
class Content:
    """The content of a file."""

    name: str  # of the method: obsm/X_NAME, uns/NAME
    coordinates: Array  # n x p
    ids: Sequence[str]  # n
    labels: Mapping[str, Sequence[str]]  # n texts each
    facts: Mapping[str, Any]  # texts and arrays
    features: Sequence[str] = ()  # d
    loadings: Array | None = None  # d x p
    loadings_name: str = "loadings"  # in varm


def write_h5ad(content: Content, path: Path) -> None:
    """Write the file; the same content gives the same bytes. Raises DataError and DependencyMissing."""
    for name in (*content.labels, content.name):
        if "/" in name or name in (INDEX, "."):
            raise DataError("H5AD-NAME", f"HDF5 cannot hold the name {shown(name)}",
                            hint="rename the label column: names hold no slash")
    with path.open("w+b") as stream, h5py().File(stream, "w") as file:  # HDF5 locks files that it opens by path
        _marked(file, FILE)
        _frame(file, "obs", content.ids, content.labels)
        _frame(file, "var", content.features, {})
        _array(_map(file, "obsm"), f"X_{content.name}", content.coordinates)
        if content.loadings is not None:
            _array(_map(file, "varm"), content.loadings_name, content.loadings)
        facts = _map(_map(file, "uns"), content.name)
        for name, value in content.facts.items():
            if isinstance(value, str):
                _marked(facts.create_dataset(name, data=value, dtype=_text()), TEXT)
            else:
                _array(facts, name, value)


def _frame(file: Any, name: str, ids: Sequence[str], columns: Mapping[str, Sequence[str]]) -> None:
    """Write a table of texts: each column as categories, in sorted order."""
    frame = _marked(file.create_group(name), TABLE)
    frame.attrs[INDEX] = INDEX
    frame.attrs["column-order"] = np.array(list(columns), dtype=_text())
    _texts(frame, INDEX, ids)
    for column, texts in columns.items():
        group = _marked(frame.create_group(column), CATEGORIES)
        group.attrs["ordered"] = False
        known = sorted({text for text in texts if not is_missing(text)})
        codes = {text: code for code, text in enumerate(known)}
        _texts(group, "categories", known)
        _array(group, "codes", np.array([codes.get(text, -1) for text in texts], dtype=np.int32))


def _map(parent: Any, name: str) -> Any:
    return _marked(parent.create_group(name), MAP)


def _array(parent: Any, name: str, values: Any) -> None:
    _marked(parent.create_dataset(name, data=values), ARRAY)


def _texts(parent: Any, name: str, texts: Sequence[str]) -> None:
    plain = np.array([text.encode("utf-8", "replace") for text in texts], dtype=object)
    _marked(parent.create_dataset(name, data=plain, shape=(len(texts),), dtype=_text()), TEXTS)


def _text() -> Any:
    return h5py().string_dtype()


def _marked(member: Any, kind: Kind) -> Any:
    member.attrs["encoding-type"], member.attrs["encoding-version"] = kind
    return member
