"""The sheet of a file, whatever its format."""

from collections.abc import Callable
from functools import partial

from mlcli.base.compute import Compute
from mlcli.data.columns import read_arrow
from mlcli.data.delimited import read_delimited
from mlcli.data.formats import separator_of
from mlcli.data.hdf5_table import read_hdf5
from mlcli.data.header import Head
from mlcli.data.idx import read_idx
from mlcli.data.input import Input
from mlcli.data.layout import Layout
from mlcli.data.npy import read_npy
from mlcli.data.parquet import read_parquet
from mlcli.data.phylip import read_phylip
from mlcli.data.sheet import Sheet
from mlcli.data.source import Opened
from mlcli.data.sparse_files import read_with_zeros
from mlcli.data.text import Text
from mlcli.data.words import with_row_names

LayoutOf = Callable[[Text, Head], Layout]
READERS: dict[str, Callable[[Opened, Input, Compute], Sheet]] = {
    "parquet": read_parquet, "arrow": read_arrow, "npy": read_npy, "idx": read_idx, "phylip": read_phylip,
    "hdf5": read_hdf5, "npz": partial(read_with_zeros, format="npz"), "mtx": partial(read_with_zeros, format="mtx")}


def read_sheet(file: Opened, input: Input, format: str, compute: Compute, layout: LayoutOf) -> Sheet:
    """What the file of a format holds."""
    sheet = (READERS[format](file, input, compute) if format in READERS else
             read_delimited(file, input, separator_of(input, format), compute, layout))
    return with_row_names(sheet, turned=input.transpose, ids=not input.without_ids)
