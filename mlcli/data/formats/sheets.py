"""The sheet of a file, whatever its format."""

from collections.abc import Callable
from functools import partial

from mlcli.base.values.compute import Compute
from mlcli.data.files.formats import separator_of
from mlcli.data.files.source import Opened
from mlcli.data.formats.columns import read_arrow
from mlcli.data.formats.hdf5_table import read_hdf5
from mlcli.data.formats.idx import read_idx
from mlcli.data.formats.npy import read_npy
from mlcli.data.formats.parquet import read_parquet
from mlcli.data.formats.phylip import read_phylip
from mlcli.data.formats.sparse_files import read_with_zeros
from mlcli.data.options.input import Input
from mlcli.data.table.sheet import Sheet
from mlcli.data.text.delimited import read_delimited
from mlcli.data.text.header import Head
from mlcli.data.text.label_columns import with_row_names
from mlcli.data.text.layout import Layout
from mlcli.data.text.records import Text

LayoutOf = Callable[[Text, Head], Layout]
READERS: dict[str, Callable[[Opened, Input, Compute], Sheet]] = {
    "parquet": read_parquet, "arrow": read_arrow, "npy": read_npy, "idx": read_idx, "phylip": read_phylip,
    "hdf5": read_hdf5, "npz": partial(read_with_zeros, format="npz"), "mtx": partial(read_with_zeros, format="mtx")}


def read_sheet(file: Opened, input: Input, format: str, compute: Compute, layout: LayoutOf) -> Sheet:
    """What the file of a format holds."""
    sheet = (READERS[format](file, input, compute) if format in READERS else
             read_delimited(file, input, separator_of(input, format), compute, layout))
    return with_row_names(sheet, turned=input.transpose, ids=not input.without_ids)
