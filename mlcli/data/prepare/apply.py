"""Preparation of a run's table: one in memory, one read in blocks, or several views."""

from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import stage
from mlcli.data.prepare.prepare import Prepare, Prepared, no_preparation, of_columns, preparation_of
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError


@stage("prepare")
def prepare(options: Prepare, table: Table, layer: Table | None = None) -> Prepared:
    """Return the prepared table with its preparation; `layer` has the same cells, and genes are chosen by it.

    Raises ConfigError and DataError.
    """
    if table.kind != "features":
        options.require_defaults(table.kind, () if table.view is None else ("unmatched",))
        if table.view is None:
            return Prepared(table, no_preparation(()), ())
        from mlcli.data.prepare.views import match_points

        return match_points(options, table)
    if table.view is not None:
        from mlcli.data.prepare.views import prepare_views

        return prepare_views(options, table)
    if options.unmatched != "error":
        raise ConfigError("PREPARE-OPTION", "unmatched: drop cannot be used without a second view",
                          where="prepare.unmatched", hint="leave it out, or give {input.view.path}")
    if (rows := rows_of(table.values)) is not None:
        from mlcli.data.prepare.rows import prepare_rows

        return prepare_rows(options, table, rows, layer)
    return _prepare_in_memory(options, table, layer)


def _prepare_in_memory(options: Prepare, table: Table, layer: Table | None) -> Prepared:
    """Prepare the columns of a table in memory."""
    whole, fill, dropped = options.completed(table)
    ready, chosen, sizes = options.transformed(whole)
    genes = None
    if options.variable_genes is not None:
        from mlcli.data.prepare.variable_genes import genes_of

        genes = genes_of(options.variable_genes, whole, ready, layer)
        ready, chosen = of_columns(ready, genes.places), genes.places
    preparation = preparation_of(table.columns, options.missing, fill, options.fit_scale(ready), options.transform,
                                 chosen, sizes)
    return Prepared(preparation.scaled(ready), preparation, dropped, genes=genes)
