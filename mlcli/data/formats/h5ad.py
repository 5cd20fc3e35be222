"""AnnData in HDF5 (.h5ad): the names of rows and columns, and the columns that describe the rows.

Source: the on-disk format of AnnData, https://anndata.readthedocs.io/en/latest/fileformat-prose.html; columns of texts
with categories also as versions before 0.8 wrote them.
"""

from collections.abc import Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.values.missing import MISSING
from mlcli.base.values.naming import shown
from mlcli.data.formats.hdf5_file import TEXTS, Hdf5, attribute, is_group
from mlcli.data.options.wording import nearest, place
from mlcli.data.table.sheet import numbered_names
from mlcli.errors import ConfigError, DataError

MAIN = "X"  # the default matrix
INDEX = "_index"
ORDER = "column-order"  # the names of the columns
MEASURED = ("X", "layers")  # matrices with the columns of var
GENES = (*MEASURED, "raw")  # matrices whose columns are genes,
OF_GENES = ("varm", "varp")  # and those whose rows are


def column_order(group: Any) -> list[str] | None:
    """Return the names that a table lists in the order of its columns; None where the group lists none."""
    told = attribute(group, ORDER)
    return None if told is None else [name.decode() if isinstance(name, bytes) else str(name) for name in told]


def split_key(key: str | None) -> tuple[str, str]:
    """Return the kind of matrix that a key names, as layers or obsm, and its name there; X without a key."""
    first, _, rest = (key or MAIN).strip("/").partition("/")
    return first, rest


@frozen
class Annotations:
    """A table of texts and numbers that describe rows or columns (obs, var)."""

    file: Hdf5
    name: str

    @property
    def group(self) -> Any:
        """The group of the table; raises DataError for the layout of versions before 0.7."""
        group = self.file.member(self.name)
        if not is_group(group):
            raise DataError("H5AD", f"{self.name} is not a group: the file is not AnnData of version 0.7 or later",
                            where=place(self.file.path), hint="read it with a recent anndata, and write it again")
        return group

    @property
    def index(self) -> str:
        """The name of the column of ids."""
        return str(attribute(self.group, INDEX) or INDEX)

    def ids(self) -> tuple[str, ...]:
        """Return the names of the rows; raises DataError."""
        if self.index not in self.group:
            raise DataError("H5AD", f"{self.name} has no column {shown(self.index)} of names",
                            where=place(self.file.path), hint="write the file again")
        return self.column(self.index)

    def columns(self) -> list[str]:
        """Return the names of the columns without that of the ids."""
        return [name for name in self.group if name not in (self.index, "__categories")]

    def words(self) -> tuple[str, ...]:
        """Return the names of the columns of texts, in the order of the table."""
        return tuple(name for name in dict.fromkeys((*(column_order(self.group) or ()), *self.columns()))
                     if name in self.group and name != self.index and self._is_text(self._member(name)))

    def _is_text(self, found: Any) -> bool:
        """Whether a column is of texts, plain or as categories."""
        if is_group(found):
            parts = next((found[name] for name in ("categories", "values") if name in found), None)
        else:
            former = attribute(found, "categories")
            parts = found if former is None else self.file.root[former]
        return parts is not None and not is_group(parts) and parts.dtype.kind in TEXTS

    def chosen(self, name: str, where: str) -> tuple[str, ...]:
        """Return a column that an option names, as texts; raises ConfigError with the existing ones."""
        if name not in self.group:
            raise ConfigError("UNKNOWN-COLUMN", f"{self.name} has no column {shown(name)}", where=where,
                              hint=nearest(name, self.columns()))
        return self.column(name)

    def column(self, name: str) -> tuple[str, ...]:
        """Return a column as texts, empty where missing; raises DataError for another kind of column."""
        found = self._member(name)
        if is_group(found):
            return self._in_parts(found)
        former = attribute(found, "categories")  # versions before 0.8 refer to a data set beside the columns
        texts = self.file.texts(found) if former is None else self._coded(found, self.file.root[former])
        return tuple("" if text in MISSING else text for text in texts)

    def _in_parts(self, group: Any) -> tuple[str, ...]:
        """Return a column of categories, or of values with a mask."""
        if {"codes", "categories"} <= set(group):
            return self._coded(group["codes"], group["categories"])
        if {"values", "mask"} <= set(group):
            masked = self.file.array(group["mask"], "b", 1).tolist()
            texts = self.file.texts(group["values"])
            if len(masked) == len(texts):
                return tuple("" if gone else text for text, gone in zip(texts, masked, strict=True))
        raise self.file.refused(group)

    def _coded(self, codes: Any, categories: Any) -> tuple[str, ...]:
        """Return the texts of codes; -1 is a missing text."""
        texts, numbers = self.file.texts(categories), self.file.array(codes, "iu", 1)
        if numbers.size and not (int(numbers.min()) >= -1 and int(numbers.max()) < len(texts)):
            raise DataError("H5AD", f"{shown(codes.name)} refers to categories that do not exist",
                            where=place(self.file.path), hint="write the file again")
        return tuple("" if number < 0 else texts[number] for number in numbers.tolist())

    def _member(self, name: str) -> Any:
        return self.file.member(f"{self.name}/{name}")


def is_anndata(file: Hdf5) -> bool:
    """Whether a file has the layout of AnnData."""
    return attribute(file.root, "encoding-type") == "anndata" or {MAIN, "obs", "var"} <= set(file.root)


def row_frame(file: Hdf5, key: str) -> Annotations:
    """Return the table that describes the rows of a matrix: the observations, or the variables for varm."""
    return Annotations(file, "var" if key.startswith("varm") else "obs")


def column_names(file: Hdf5, key: str, columns: int) -> tuple[str, ...]:
    """Return the names of a matrix's columns: variables or points, else numbered after the matrix.

    Raises DataError if their number differs.
    """
    first, _, rest = key.partition("/")
    frame = ("raw/var" if key == "raw/X" else "var" if first in MEASURED else "obs" if first == "obsp" else
             "var" if first == "varp" else "")
    if not frame:
        return numbered_names(rest or first, columns)
    return require_length(Annotations(file, frame).ids(), columns, f"{shown(key)} has {columns:,} columns", file.path)


def require_length(names: Sequence[str], size: int, what: str, path: str) -> tuple[str, ...]:
    """Return `names` if there are `size` of them; raises DataError if not."""
    if len(names) != size:
        raise DataError("H5AD", f"{what}, and there are {len(names):,} names for them", where=place(path),
                        hint="write the file again")
    return tuple(names)
