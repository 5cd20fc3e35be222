"""MAT-files of MATLAB and Octave: versions 4 and 5 by SciPy's reader, version 7.3 through HDF5, with reversed axes.

Source: https://www.mathworks.com/help/pdf_doc/matlab/matfile_format.pdf; of version 7.3, attributes as MATLAB writes.
"""

import math
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import listed, shown
from mlcli.data.files.arrow import library_faults, memory_limited
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import require_within_limits
from mlcli.data.formats.arrays import KINDS, StoredArray
from mlcli.data.formats.hdf5_file import Hdf5, SparseGroup, attribute, is_group, open_hdf5
from mlcli.data.formats.reader import Reader
from mlcli.data.formats.sparse import Entries, SparseSheet, entries_of, plain_sparse
from mlcli.data.options.input import AllTexts, Input
from mlcli.data.options.wording import counted, nearest, place
from mlcli.data.table.sheet import FEWER
from mlcli.errors import ConfigError, DataError, option

START = b"MATLAB 7.3"  # of files that are HDF5
FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, EOFError, NotImplementedError,
          AssertionError, RuntimeError, ArithmeticError, UserWarning, struct.error, zlib.error)
NUMBERS = {"double": "f8", "single": "f4", "logical": "?",
           **{f"{sign}int{8 * size}": f"{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)}}
NOUNS = {"char": "text", "cell": "a cell array", "struct": "a struct", "function": "a function",
         "function_handle": "a function", "complex": "complex numbers", "sparse": "a sparse matrix"}  # else an object
LISTED = 20  # variables named in a message


@frozen
class Variable:
    """A variable of a file, not yet read."""

    name: str
    kind: str  # its class in MATLAB, or complex
    shape: tuple[int, ...]

    @property
    def is_table(self) -> bool:
        """Whether it has real numbers."""
        return self.kind in NUMBERS or self.kind == "sparse"

    @property
    def is_labels(self) -> bool:
        """Whether it is a row or a column of real numbers."""
        return self.kind in NUMBERS and len(self.shape) == 2 and min(self.shape) == 1


class MatFile(Protocol):
    """An open file, of either layout."""

    @property
    def variables(self) -> dict[str, Variable]:
        """All variables by name."""

    def numbers(self, variable: Variable) -> AnyArray:
        """Return the numbers of a dense variable."""

    def entries(self, variable: Variable) -> Entries:
        """Return the entries of a sparse variable."""


@frozen
class ByScipy:
    """A file of version 4 or 5."""

    opened: Opened
    input: Input
    compute: Compute

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """All variables, from their headers."""
        from scipy.io import whosmat

        with self.opened.stream() as stream:
            return {name: Variable(name, kind, tuple(map(int, shape))) for name, shape, kind in whosmat(stream)
                    if not name.startswith("__")}

    def numbers(self, variable: Variable) -> AnyArray:
        """Return the numbers of a dense variable; raises DataError for complex ones, which the headers do not show."""
        size = math.prod(variable.shape) * np.dtype(NUMBERS[variable.kind]).itemsize
        require_within_limits(size, self.opened.size, f"the variable {shown(variable.name)}", self.input)
        return np.asarray(self._read(variable))

    def entries(self, variable: Variable) -> Entries:
        """Return the entries of a sparse variable."""
        self.compute.require_data(8.0 * sum(variable.shape), f"a matrix of {counted(variable.shape[0], 'row')}")
        stored = self._read(variable)
        if stored.format == "csc":
            stored.check_format(full_check=True)  # SciPy trusts the file, and would read anywhere
        found = stored.tocoo()
        return Entries((int(found.shape[0]), int(found.shape[1])), found.row, found.col, found.data.astype(np.float64))

    def _read(self, variable: Variable) -> Any:
        from scipy.io import loadmat

        with self.opened.stream() as stream:
            found = loadmat(stream, variable_names=[variable.name])[variable.name]
        if np.iscomplexobj(found):
            raise refused(Variable(variable.name, "complex", variable.shape), self.opened.path)
        if tuple(found.shape) != variable.shape:
            raise ValueError(f"{variable.name} is of another shape than its head says")
        return found


@frozen
class ByHdf5:
    """A file of version 7.3: a data set for each variable, with its axes in reversed order."""

    file: Hdf5

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """All variables, without MATLAB's internal groups."""
        names = [name for name in self.file.root if not name.startswith("#")]
        return {name: self._variable(name, self.file.member(name)) for name in names}

    def numbers(self, variable: Variable) -> AnyArray:
        """Return the numbers of a dense variable; empty if MATLAB marks it so."""
        if not math.prod(variable.shape):
            return np.empty(variable.shape)
        return self.file.array(self.file.member(variable.name), KINDS).T

    def entries(self, variable: Variable) -> Entries:
        """Return the entries of a sparse variable, which is stored by columns."""
        return entries_of(_Group(self.file, variable.name), "csc", np.array(variable.shape))

    def _variable(self, name: str, member: Any) -> Variable:
        """Return a variable by its attributes, or by its type if they are absent."""
        kind = str(attribute(member, "MATLAB_class") or "")
        if is_group(member):
            rows = attribute(member, "MATLAB_sparse")
            if rows is None or "jc" not in member:
                return Variable(name, "struct" if kind in (*NUMBERS, "") else kind, ())
            if "data" in member and member["data"].dtype.kind not in KINDS:
                return Variable(name, "complex", ())
            return Variable(name, "sparse", (int(rows), int(math.prod(member["jc"].shape)) - 1))
        if member.dtype.names == ("real", "imag"):
            return Variable(name, "complex", ())
        known = next((known for known, code in NUMBERS.items() if np.dtype(code) == member.dtype.newbyteorder("=")), "")
        shape = tuple(reversed(member.shape or ()))
        if attribute(member, "MATLAB_empty"):
            shape = tuple(map(int, np.ravel(member[()])[:8]))
        return Variable(name, kind or known or "object", shape)


@frozen
class _Group(SparseGroup):
    """The arrays of a sparse matrix by MATLAB's names."""

    def array(self, name: str, kinds: str, sides: int) -> AnyArray:
        """Return an array; those of a matrix without entries are absent in the file."""
        found = self.file.member(f"{self.name}/{ {'indices': 'ir', 'indptr': 'jc'}.get(name, name)}")
        return np.zeros(0, np.int64) if found is None else self.file.array(found, kinds, sides)

    def refused(self, what: str) -> DataError:
        """Return the error for a group without such a matrix, which MATLAB writes in one form alone."""
        return super().refused(what).changed(hint="write the file again")


@contextmanager
def mat_file(opened: Opened, input: Input, compute: Compute) -> Iterator[MatFile]:
    """Open a file for reading; raises DataError if it is damaged, and DependencyMissing for version 7.3."""
    with opened.stream() as stream:
        new = stream.read(len(START)) == START
    if new:
        with open_hdf5(opened, input, compute) as file:
            yield ByHdf5(file)
        return
    from scipy.io.matlab import MatReadError

    with (library_faults(opened.path, "MAT", (*FAULTS, MatReadError)), memory_limited("MAT", compute),
          warnings.catch_warnings()):
        warnings.simplefilter("error", UserWarning)  # byte orders and names that SciPy misreads
        yield ByScipy(opened, input, compute)


def choose_variable(file: MatFile, input: Input) -> Variable:
    """Return the variable that `input.key` names, or the only one; raises ConfigError and DataError with all names."""
    labels, every = isinstance(input, AllTexts), file.variables
    fitting = [variable for variable in every.values() if (variable.is_labels if labels else variable.is_table)]
    if input.key is not None:
        if input.key not in every:
            raise ConfigError("UNKNOWN-KEY", f"there is no variable {shown(input.key)}", where="input.key",
                              hint=nearest(input.key, list(every)))
        found = every[input.key]
    elif len(fitting) > 1:
        raise DataError("MAT-KEY", f"the file holds {counted(len(fitting), 'variable')} of numbers: "
                        f"{listed([variable.name for variable in fitting], LISTED)}", where=place(input.path),
                        hint=f"choose one with {{input.key}}, for example {option('input.key', fitting[0].name)}")
    elif fitting or every:
        found = (fitting or list(every.values()))[0]
    else:
        raise DataError("EMPTY", "the file holds no variable", where=place(input.path), hint="save a matrix of numbers")
    if not found.is_table:
        raise refused(found, input.path)
    return found


def refused(variable: Variable, path: str) -> DataError:
    """Return the error for a variable without real numbers."""
    return DataError("ARRAY", f"variable {shown(variable.name)} is not a matrix of real numbers: it is "
                     f"{NOUNS.get(variable.kind, 'an object')}", where=place(path),
                     hint="choose another with {input.key}, or save its numbers as a matrix")


@contextmanager
def array_in(opened: Opened, input: Input, compute: Compute) -> Iterator[StoredArray]:
    """Open a dense variable."""
    with mat_file(opened, input, compute) as file:
        variable = choose_variable(file, input)
        if variable.kind == "sparse":
            raise refused(variable, input.path)

        def read() -> AnyArray:
            numbers = file.numbers(variable)
            return numbers != 0 if variable.kind == "logical" else numbers

        yield StoredArray(np.dtype(NUMBERS[variable.kind]), variable.shape, read, fortran=True, hint=FEWER)


def sparse_in(opened: Opened, input: Input, compute: Compute) -> SparseSheet | None:
    """Return a sparse variable; None if the chosen one is dense."""
    with mat_file(opened, input, compute) as file:
        variable = choose_variable(file, input)
        return plain_sparse(file.entries(variable), input) if variable.kind == "sparse" else None


def entries_in(opened: Opened, input: Input, compute: Compute) -> Entries:
    """Return a sparse variable as edges; raises DataError if the chosen one is dense."""
    with mat_file(opened, input, compute) as file:
        variable = choose_variable(file, input)
        if variable.kind != "sparse":
            raise DataError("ARRAY", f"variable {shown(variable.name)} is not a sparse matrix", where=place(input.path),
                            hint="save sparse(x), or choose another with {input.key}")
        return file.entries(variable)


READER = Reader(array=array_in, sparse=sparse_in, entries=entries_in)
