"""Results of a checkup: a frozen tree with the names of the JSON document."""

from dataclasses import asdict
from typing import Any, Literal

from mlcli.base.frozen import frozen
from mlcli.data.options.wording import counted
from mlcli.data.prepare.columns import Codes


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


@frozen
class Finding:
    """A fact about the data that its user should know."""

    code: str  # C-...
    severity: Literal["error", "warning"]  # whether `embed` would stop at it
    sentence: str
    advice: str


@frozen
class Offender:
    """Points that break a condition, with the numbers that show it."""

    points: tuple[str, ...]
    values: tuple[float, ...]


@frozen
class Condition:
    """Violations of a condition on single points or pairs."""

    violations: int
    of: int
    worst: tuple[Offender, ...]


@frozen
class Identity(Condition):
    """Points with a nonzero dissimilarity to themselves, and different points at distance zero."""

    coincident_pairs: int
    coincident: tuple[Offender, ...]


@frozen
class Symmetry(Condition):
    """Pairs whose two numbers differ by more than rounding."""

    largest_relative_gap: float  # of the largest entry


@frozen
class Triangle:
    """Triples with a side longer than the other two combined."""

    violations: int
    triples: int  # unordered, with all three sides known
    share: float
    largest_excess: float  # the smallest constant that removes all, added to every dissimilarity
    worst: tuple[Offender, ...]  # points: ends and the point between; values: the side and the two others


@frozen
class Unknown:
    """Pairs without a finite number."""

    cells: int
    points: int  # with any
    worst: tuple[tuple[str, int], ...]  # points with their cells


@frozen
class MetricConditions:
    """The four conditions of a metric."""

    is_metric: bool
    missing: Unknown
    nonnegative: Condition
    identity: Identity
    symmetry: Symmetry
    triangle: Triangle | None


@frozen
class EuclideanConditions:
    """Whether points of a Euclidean space have these dissimilarities, by the centered kernel's spectrum."""

    is_euclidean: bool
    smallest_eigenvalue: float
    largest_eigenvalue: float
    negative_eigenvalues: int
    negative_share: float  # of the sum of all sizes
    roots_are_euclidean: bool  # whether they may be squared Euclidean distances


@frozen
class Evidence:
    """What tells causes of negative eigenvalues from each other."""

    prediction: float  # share of the error of predicting others' dissimilarities that axes below zero remove
    share: float  # of the eigenvalues that are negative
    balance: float  # number of these, over that of others that are no larger in size
    breadth: float  # effective number of negative eigenvalues, over the number of points
    first_autocorrelation: float  # of the eigenvector of the most negative eigenvalue, at the nearest points
    between: float  # share of pairs with a third point exactly between them
    triangle_excess: float  # by which a way over a third point is shorter, at most, in mean dissimilarities
    short_excess: float  # that of short ways over that of all, over the points
    excess_alike: float  # that of points most like two, over it: 1 if it is the same, 0 if there is none
    rounding: float  # size of the most negative eigenvalue, over the largest that rounding to their step makes
    squares: bool  # whether these may be squared Euclidean distances


@frozen
class Cause:
    """The cause of negative eigenvalues, with the evidence for it; none of too few points."""

    name: Literal["noise", "extent", "space", "undecided"]
    points: int  # all, or those of a sample
    evidence: Evidence | None


@frozen
class Corrections:
    """The smallest constants that make dissimilarities Euclidean; 0 where they are."""

    lingoes: float  # half of the constant added to the squares
    cailliez: float | None  # added to the dissimilarities


@frozen
class KernelConditions:
    """Whether a matrix is a kernel: symmetric, and no eigenvalue below zero."""

    missing: Unknown
    symmetry: Symmetry
    is_positive_semidefinite: bool | None  # none where numbers are missing
    smallest_eigenvalue: float | None
    largest_eigenvalue: float | None


@frozen
class Missing:
    """Cells without a finite number."""

    cells: int
    infinite: int  # of these
    rows: int
    columns: int
    worst: tuple[tuple[str, int], ...]  # columns with their cells


@frozen
class ColumnScales:
    """The standard deviations of the columns that vary, over n."""

    largest: float
    largest_column: str
    smallest: float
    smallest_column: str
    median: float
    dominant_share: float  # of the total variance, in the largest column


@frozen
class TableFacts:
    """A table of points as it stands in the file."""

    rows: int
    columns: int
    missing: Missing
    constant_columns: int
    constant_column_names: tuple[str, ...]
    nearly_constant_columns: int
    nearly_constant: tuple[NearlyConstant, ...]  # the first ones
    duplicate_columns: int
    duplicate_column_names: tuple[tuple[str, str], ...]  # each with one that it repeats
    duplicate_rows: int
    duplicate_row_ids: tuple[tuple[str, str], ...]
    codes: tuple[Codes, ...]  # numbers far outside of the short scales of their columns
    scale_spread: float | None  # largest standard deviation over the smallest above zero
    scales: ColumnScales | None


@frozen
class Reach:
    """The extent of a neighborhood, in units of the distance to the farthest point."""

    dimensions: float | None  # of the uniform ball; none for measured points
    one_percent: float  # to hold 1% of the points
    ten_percent: float
    center_nearest: float  # from the center to the nearest point
    outer_tenth: float  # the share of points beyond nine tenths of the farthest one's distance from the center


@frozen
class Concentration:
    """Whether distances still distinguish near from far."""

    measured: Reach
    uniform: Reach  # as many points, uniform in a ball of as many dimensions as there are columns
    uniform_intrinsic: Reach | None  # the same for the intrinsic dimension
    contrast: float  # (farthest - nearest) / nearest, the median over points
    nearest_over_farthest: float
    spread: float  # standard deviation of distances over their mean
    box_outer_tenth: float  # the share of points in the outer tenth, by length, of the box around all


@frozen
class Interval:
    """A figure over draws: its median, and the quantiles 0.1 and 0.9."""

    median: float
    low: float
    high: float


@frozen
class Separation:
    """How distances separate the values of a label, over the number of columns."""

    label: str
    values: int
    nearer: tuple[Interval, ...]  # share of comparisons in which two rows of one value are nearer than two others
    nearer_independent: tuple[float, ...]  # the same, if columns were independent


@frozen
class ColumnSubsets:
    """Distances between rows by random subsets of the columns; every tuple has an item for each size."""

    rows: int  # compared
    draws: int  # orders of the columns
    sizes: tuple[int, ...]  # columns of the subsets; the last one is all that vary
    nearest_over_farthest: tuple[Interval, ...]  # distances, the median over rows
    variation: tuple[Interval, ...]  # standard deviation of squared distances over their mean
    variation_independent: tuple[float, ...]  # the same, if columns were independent
    independent_columns: float  # independent normal columns whose squared distances vary as much as those of all
    separation: tuple[Separation, ...]


@frozen
class HubnessFacts:
    """Unevenness of how often points are neighbors of others."""

    neighbors: int
    skewness: float  # of how often each point is a neighbor
    most_often: int
    hub: str
    never: int  # points that are not a neighbor of any


@frozen
class IntrinsicDimension:
    """Estimates of the number of dimensions that the data fills near each point."""

    two_nn: float
    two_nn_se: float
    maximum_likelihood: float
    neighbors: int


@frozen
class GraphFacts:
    """The neighbor graph that Isomap and LLE would use."""

    neighbors: int | None
    radius: float | None
    edges: int
    pieces: int
    piece_sizes: tuple[int, ...]  # the largest ones
    connecting_k: int
    connecting_radius: float
    widest_gap: tuple[str, str]  # the two points that need that radius

    @property
    def rule(self) -> str:
        """The neighborhood rule in words."""
        return counted(self.neighbors, "neighbor") if self.neighbors else f"radius {self.radius:g}"


@frozen
class EdgeFacts:
    """A graph read from its edges."""

    numbers: str  # lengths or affinities
    edges: int
    zeros: int  # edges of the length zero
    smallest: float | None  # none without edges
    largest: float | None
    fewest: int  # edges of a point
    most: int
    hub: str  # the point with most
    pieces: int
    piece_sizes: tuple[int, ...]  # the largest ones
    detours: int | None  # edges longer than a path between their ends; none if not computed


@frozen
class Skipped:
    """A check that was skipped."""

    check: str
    reason: str


@frozen
class Report:
    """A whole checkup; sections that do not apply to the kind of data are absent."""

    path: str
    kind: str
    rows: int
    columns: int
    rows_compared: int  # by the checks on neighbors
    metric: MetricConditions | None = None
    euclidean: EuclideanConditions | None = None
    corrections: Corrections | None = None
    cause: Cause | None = None
    kernel: KernelConditions | None = None
    features: TableFacts | None = None
    concentration: Concentration | None = None
    column_subsets: ColumnSubsets | None = None
    outliers: Outliers | None = None
    labels: tuple[LabelFacts, ...] | None = None
    hubness: HubnessFacts | None = None
    intrinsic_dimension: IntrinsicDimension | None = None
    graph: GraphFacts | None = None
    edges: EdgeFacts | None = None
    skipped: tuple[Skipped, ...] = ()
    findings: tuple[Finding, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the report as nested plain values."""
        return {"clean": not self.findings, **{key: value for key, value in asdict(self).items() if value is not None}}
