"""Parts of a checkup's report: columns that hardly vary, rows far from all others, and labels."""

from mlcli.base.frozen import frozen


@frozen
class NearlyConstant:
    """A column with one value in all rows but a few."""

    column: str
    value: float
    others: int  # rows with another


@frozen
class Far:
    """Rows much farther away than the others."""

    count: int
    limit: float  # times the median, beyond which a row counts
    worst: tuple[tuple[str, float, str], ...]  # row, how many times the median, the column that says most or nothing


@frozen
class Outliers:
    """Rows far from the center, and rows far from their nearest points; none where not computed."""

    center: Far | None
    neighbors: Far | None


@frozen
class LabelFacts:
    """A label of the rows, and the shares of the first principal components that it explains."""

    label: str
    values: int
    shares: tuple[float, ...]
