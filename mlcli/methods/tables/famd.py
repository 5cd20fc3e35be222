"""Factor analysis of mixed data."""

from typing import ClassVar, Literal

from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.inputs import Features
from mlcli.base.values.naming import listed
from mlcli.core.chain.tables import Norm
from mlcli.errors import DataError
from mlcli.methods.tables.blocks import Blocks, constant_columns, leave_out
from mlcli.methods.tables.combine import TablesMethod
from mlcli.methods.trials import variant


class FAMD(TablesMethod):
    """Rows of numbers and categories in one table, on axes to which every column may contribute alike.

    It keeps the axes that are most related to all columns: the sum of squared correlations with numbers, and of squared
    correlation ratios with categories. It fails if categories are rare, which then decide the axes: merge them. Set the
    columns first (`--columns`), and name categories that are written as numbers in `categories`.

    How it works: Columns of numbers are standardized. A column of text gives a column of zeros and ones for each of its
    categories, divided by the root of its share of the rows. The axes are the principal axes of both together. Of
    numbers alone this is `pca` of correlations, of categories alone `mca` with coordinates times the root of the number
    of columns. A column that does not vary is refused.

    Several files: With `--view FILE`, repeated, the columns of all files are one table, row by row by id, as in `mfa`.

    New points: New rows are centered and scaled as the rows of the fit were, and placed along the same directions. A
    category that no row of the fit has is refused.

    Missing cells: As in `mfa`, with `--set prepare.missing=model`; a column of categories with estimates is not divided
    by its first eigenvalue.

    Larger than memory: The table is read in blocks of rows, columns of text as well, unless missing cells are
    estimated; the rows of several files have to lie in one order (docs/beyond-memory.md).

    Files: `spectrum.csv` holds the variances of the axes; each is the sum over the columns of their squared
    correlations, or correlation ratios, with the axis. `loadings.csv` holds the correlations of columns of numbers, and
    for each category, named `column=category`, the mean of its rows. `groups.csv` and `groups_axes.csv` have for each
    column its squared correlation or correlation ratio with each axis (`coordinate`) and its contribution;
    `groups_rv.csv` compares all pairs of columns.

    Source: Pagès, 2004; Pagès, "Multiple factor analysis by example using R", 2014 (`FAMD` of FactoMineR); Audigier,
    Husson and Josse, 2016 (missing cells).
    """

    places_partial: ClassVar = False
    variants: ClassVar = (variant("", "rotation", "constant column"),)
    axis: ClassVar = "FAMD"
    name: Literal["famd"] = "famd"

    def groups_of(self, data: Features) -> list[ColumnGroup]:
        """Return a group of each column."""
        return [ColumnGroup(name, (place,)) for place, name in enumerate(data.columns)]

    def blocks(self, data: Features) -> Blocks:
        """Return the columns as groups; raises ConfigError, and DataError for columns that do not vary."""
        found = super().blocks(data)
        still = constant_columns(self.groups_of(data), found)
        if still and len(data.values) > 1:  # of a single row no column varies
            own = next((table.columns for table in data.tables if still[0] in table.columns), still)
            lost = [place for place in still if place in own]
            raise DataError("CONSTANT-GROUP", "all rows have the same number in "
                            f"{listed([data.columns[place] for place in lost])}", where="input",
                            hint=leave_out(data, lost), column=still[0])
        return found

    @property
    def norm(self) -> Norm:
        """The norm that a kernel is divided by: none, as that of a column has no eigenvalue but zero and one."""
        return "none"
