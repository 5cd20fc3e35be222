"""Multiple factor analysis."""

from typing import ClassVar, Literal

from mlcli.core.chain.tables import Norm
from mlcli.methods.tables.combine import GroupedMethod
from mlcli.methods.trials import variant


class MFA(GroupedMethod):
    """Rows described by several groups of columns, on axes to which every group may contribute alike.

    It keeps what the groups have in common first, and then what is strong in one of them. It fails where groups are
    formed by chance, since which columns stand together decides their weight. Set `--groups` first.

    How it works: Each group of columns is a table with a kernel of its own, the inner products of its rows. Columns of
    numbers are standardized; those of text are categories, as in `mca`. Each kernel is divided by its first eigenvalue,
    so that no group alone can determine the first axis, however many columns it has. The axes are the principal axes of
    the sum of these kernels.

    Groups: `--groups taste=sweet:sour,bitter --groups smell=fruity:woody` names two groups by their columns, and ranges
    as `--columns` has them. Every column belongs to one group. A group named in `supplementary` takes no part in the
    axes, and is described by them like the others; so are single columns, in a group of their own. The numbers of a
    group named in `center` keep their scales.

    Several files: With `--view FILE`, repeated, the columns of all files are one table, row by row by id, and each file
    is a group with the file's name, without its endings. With `--groups` as well, the columns of a file that no group
    names are its group. A column whose name two files have is called `FILE.COLUMN`.

    New points: New rows, called supplementary, are centered and scaled as the rows of the fit were, and placed along
    the same directions. A category that no row of the fit has is refused. Those of several files are in as many
    (`mlcli project RUN NEW --view NEW2`), or in one with all columns.

    Missing cells: With `--set prepare.missing=model` they are estimated by the axes that are kept (`-p`), and these
    from the completed table, in turns until nothing changes: regularized iterative MFA, as `imputeMFA` of missMDA. An
    axis of variance λ counts with (λ - σ²) / λ, σ² being the mean of the variances that are left; a missing category
    becomes shares of all categories. New rows may have missing cells too. `trace.csv` has the mean square that the axes
    leave of the cells that are there.

    Supplementary rows: A run of the active rows (`--where`) makes the axes, and `mlcli project` places the others.
    `mlcli embed DATA --onto RUN` of all rows makes a run in which the active ones keep their coordinates and the others
    are placed; inertias are those of the active rows.

    Larger than memory: The table is read in blocks of rows, columns of text as well, unless missing cells are
    estimated; the rows of several files have to lie in one order (docs/beyond-memory.md).

    Files: `spectrum.csv` holds the variances of the axes; the first is at most the number of groups, and it is this
    number if all groups agree. `loadings.csv` holds the correlations of columns of numbers with the axes, and for each
    category, named `column=category`, the mean of its rows. `groups.csv` has each group with its first eigenvalue and
    its weight. `groups_axes.csv` has, for each group and axis, its coordinate, contribution, squared cosine, and the
    correlation of its own rows with those of all groups. `groups_rv.csv` has the RV coefficients of all pairs of
    groups, one where two tell the rows apart alike. `partial.csv` has the partial points, which are the rows as one
    group sees them; a row lies at the mean of its partial points.

    Source: Escofier and Pagès, 1994; Pagès, "Multiple factor analysis by example using R", 2014 (`MFA` of FactoMineR);
    Josse and Husson, "Handling missing values in exploratory multivariate data analysis methods", 2012.
    """

    variants: ClassVar = (
        variant("", "rotation"),
        variant("two groups", "rotation", "columns", groups=["first=x1,x2", "second=x3,x4"]))
    axis: ClassVar = "MFA"
    name: Literal["mfa"] = "mfa"

    @property
    def norm(self) -> Norm:
        """The norm that a kernel is divided by."""
        return "eigenvalue"
