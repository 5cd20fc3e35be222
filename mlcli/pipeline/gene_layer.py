"""The layer of an .h5ad file that variable genes are chosen by, beside the matrix that is embedded."""

from mlcli.base.context import set_context
from mlcli.base.stages.stage import mute_notes
from mlcli.config.run_config import RunConfig
from mlcli.data.options.formats import HDF5
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError

LAYER = "prepare.variable_genes.layer"


def read_gene_layer(config: RunConfig, name: str, table: Table, *, from_file: bool) -> Table:
    """Return a layer by its name, of the rows and columns of `table`.

    Raises ConfigError for an input that has no layers, and what reading raises.
    """
    if not from_file or table.source is None or table.source.format != HDF5:
        raise ConfigError("LAYER", "layers are read from .h5ad files, and the input is none", where=LAYER,
                          hint="leave it out, or give the path of such a file")
    asked = config.input.replace(key=f"layers/{name}")
    try:
        with mute_notes(), set_context(sketch=False):
            found = read(asked, config.compute, "", config.streams)
    except ConfigError as error:
        raise (error.changed(where=LAYER) if error.where == "input.key" else error) from None
    if found.columns != table.columns or tuple(found.ids) != tuple(table.ids):
        raise ConfigError("LAYER", f"the layer {name} has other rows or columns than the table", where=LAYER,
                          hint="choose X or a layer as the table ({input.key})")
    return found
