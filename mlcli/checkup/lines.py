"""Text of a checkup's report: one line for each fact, under headings."""

from collections.abc import Iterator
from math import isfinite

from mlcli.base.units import percent
from mlcli.base.values.naming import listed, shown
from mlcli.checkup.report import (
    ColumnSubsets,
    Concentration,
    Corrections,
    EdgeFacts,
    EuclideanConditions,
    GraphFacts,
    Interval,
    KernelConditions,
    LabelFacts,
    MetricConditions,
    Offender,
    Outliers,
    Reach,
    Report,
    Separation,
    TableFacts,
    Unknown,
)
from mlcli.data.options.wording import counted, place

LABEL = 26
CURVES = "Curse and blessing of dimensionality"  # heading of what distances over the number of columns say
CAUSES = {"noise": "noise of measurement", "extent": "extended objects", "space": "a metric that is not Euclidean, as "
          "in a curved space", "undecided": "undecided"}
NOTICED = 10  # times the eigenvalue of rounding: one below it is mentioned
NOT_FOUND = "not computed: there are too many points"


def lines_of(report: Report) -> Iterator[str]:
    """Yield the lines of the whole report, findings last."""
    yield title_of(report)
    for title, lines in sections_of(report):
        yield from ("", title, *lines)
    yield ""
    yield from finding_lines(report)


def title_of(report: Report) -> str:
    """Return the name, kind and size of the data."""
    size = (f"{counted(report.rows, 'row')} x {counted(report.columns, 'column')}" if report.kind == "features"
            else counted(report.rows, "column" if report.kind == "covariance" else "point"))
    return f"{place(report.path)}: {report.kind}, {size}"


def sections_of(report: Report) -> Iterator[tuple[str, list[str]]]:
    """Yield the titles of all sections, each with its lines."""
    if report.features:
        yield _section("Table, as in the file", _features(report.features))
    if report.metric:
        yield _section("Metric", _metric(report.metric))
    if report.euclidean and report.corrections:
        yield _section("Euclidean", [*_euclidean(report.euclidean, report.corrections), *_cause(report)])
    if report.kernel:
        yield _section(report.kind.capitalize(), _kernel(report.kernel))
    if report.graph:
        partly = "" if report.rows_compared == report.rows else f", on {report.rows_compared:,} rows"
        sampled = " drawn with the seed" if report.rows_compared < report.rows and report.rows > 20_000 else ""
        yield _section(f"Neighbors{partly}{sampled}", [*_graph(report.graph), *_neighborhoods(report)])
    if rows := [*_outliers(report.outliers), *map(_label, report.labels or ())]:
        yield _section("Rows", rows)
    if report.edges:
        yield _section("Graph", _edges(report.edges))
    if report.concentration:
        yield _section("Distances, in units of that to the farthest point", _concentration(report.concentration))
    if subsets := report.column_subsets:
        yield _section(f"Distances over the number of columns ({subsets.rows:,} rows, {subsets.draws} orders of the "
                       "columns)", _subsets(subsets))
        yield CURVES, [f"  {sentence}" for sentence in subset_sentences(subsets)]
    if report.skipped:
        yield _section("Not checked", [(skipped.check, skipped.reason) for skipped in report.skipped])


def _section(title: str, facts: list[tuple[str, str]]) -> tuple[str, list[str]]:
    return title, [f"  {label:<{LABEL}}  {value}" for label, value in facts]


def finding_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the findings alone."""
    if not report.findings:
        yield "No findings"
        return
    yield counted(len(report.findings), "finding")
    for finding in report.findings:
        yield f"  {finding.severity}[{finding.code}]: {finding.sentence}"
        yield f"      {finding.advice}"


def _features(features: TableFacts) -> list[tuple[str, str]]:
    missing = features.missing
    cells = "none"
    if missing.cells:
        worst = ", ".join(f"{shown(name)} {count:,}" for name, count in missing.worst)
        where = f"{counted(missing.rows, 'row')} and {counted(missing.columns, 'column')}"
        infinite = f"; {missing.infinite:,} of them infinite" if missing.infinite else ""
        cells = f"{missing.cells:,} in {where}: {worst}{infinite}"
    facts = [("missing cells", cells),
             ("constant columns", _named(features.constant_columns, features.constant_column_names)),
             ("nearly constant columns", _nearly(features)),
             ("repeated columns", _repeated(features.duplicate_columns, features.duplicate_column_names)),
             ("repeated rows", _repeated(features.duplicate_rows, features.duplicate_row_ids))]
    if features.scales:
        scales = features.scales
        facts += [("standard deviations", f"{scales.smallest:.4g} ({shown(scales.smallest_column)}) to "
                   f"{scales.largest:.4g} ({shown(scales.largest_column)}), median {scales.median:.4g}"),
                  ("widest column's share", f"{percent(scales.dominant_share)} of the total variance")]
    return facts


def _nearly(features: TableFacts) -> str:
    first = (f"{shown(column.column)} ({column.value:.4g} but in {counted(column.others, 'row')})"
             for column in features.nearly_constant[:3])
    count = features.nearly_constant_columns
    return f"{count:,}: {', '.join(first)}{', ...' if count > 3 else ''}" if count else "none"


def _named(count: int, names: tuple[str, ...]) -> str:
    return f"{count:,}: {listed(names, total=count)}" if count else "none"


def _repeated(count: int, pairs: tuple[tuple[str, str], ...]) -> str:
    examples = ", ".join(f"{shown(later)} = {shown(earlier)}" for later, earlier in pairs[:3])
    return f"{count:,}: {examples}{', ...' if count > 3 else ''}" if count else "none"


def _metric(metric: MetricConditions) -> list[tuple[str, str]]:
    nonnegative, identity, symmetry, triangle = metric.nonnegative, metric.identity, metric.symmetry, metric.triangle
    facts = [("missing numbers", _unknown(metric.missing)),
             ("below zero", _count(nonnegative.violations, nonnegative.of, "pairs", nonnegative.worst)),
             ("zero to itself", _count(identity.violations, identity.of, "points not", identity.worst)),
             ("different points at zero", _count(identity.coincident_pairs, nonnegative.of, "pairs",
                                                 identity.coincident)),
             ("not symmetric", _count(symmetry.violations, symmetry.of, "pairs", symmetry.worst))]
    if triangle:
        facts.append(("triangle inequality", f"broken in {triangle.violations:,} of {triangle.triples:,} triples "
                      f"({percent(triangle.share, 2)})" if triangle.violations else
                      f"holds in all {triangle.triples:,} triples" if triangle.triples else
                      "no three points with three numbers"))
        for offender in triangle.worst:
            (left, right, between), (side, first, second) = offender.points, offender.values
            facts.append(("", f"{shown(left)} to {shown(right)} is {side:.6g}, by way of {shown(between)} "
                          f"{first + second:.6g}"))
        if not triangle.worst and triangle.violations:
            facts.append(("", "each has a side below zero"))
        elif triangle.violations and not nonnegative.violations:
            facts.append(("", f"adding {triangle.largest_excess:.6g} to every dissimilarity would correct this"))
    return [*facts, ("a metric", "yes" if metric.is_metric else "no")]


def _unknown(missing: Unknown) -> str:
    if not missing.cells:
        return "none"
    worst = ", ".join(f"{shown(name)} {count:,}" for name, count in missing.worst)
    return f"{counted(missing.cells, 'cell')} of {counted(missing.points, 'point')}: {worst}"


def _count(violations: int, of: int, what: str, worst: tuple[Offender, ...]) -> str:
    if not violations:
        return f"none of {of:,} {what}" if what == "pairs" else f"all {of:,} points"
    parts = (f"{' and '.join(map(shown, offender.points))} ({', '.join(f'{v:.6g}' for v in offender.values)})"
             for offender in worst[:3])
    return f"{violations:,} of {of:,} {what}: " + "; ".join(parts) + (" ..." if violations > 3 else "")


def _euclidean(euclidean: EuclideanConditions, corrections: Corrections) -> list[tuple[str, str]]:
    facts = [("Euclidean", "yes" if euclidean.is_euclidean else "no"),
             ("eigenvalues of -HD\u00b2H/2", f"{euclidean.smallest_eigenvalue:.10g} to "
              f"{euclidean.largest_eigenvalue:.10g}, "
              f"{euclidean.negative_eigenvalues:,} below zero "
              f"({percent(euclidean.negative_share)} of the sum of sizes)")]
    if euclidean.is_euclidean:
        return facts
    cailliez = (NOT_FOUND if corrections.cailliez is None else
                f"{corrections.cailliez:.10g} (add this to the dissimilarities, and it is Euclidean)")
    return [*facts, ("square roots Euclidean", "yes" if euclidean.roots_are_euclidean else "no"),
            ("Lingoes' constant", f"{corrections.lingoes:.10g} (add twice this to the squares, and it is Euclidean)"),
            ("Cailliez' constant", cailliez)]


def _cause(report: Report) -> list[tuple[str, str]]:
    """Return the cause of negative eigenvalues, and the evidence for it."""
    cause = report.cause
    if cause is None:
        return []
    name, sample = CAUSES[cause.name], "" if cause.points == report.rows else f" (on {cause.points:,} points)"
    if (shown_by := cause.evidence) is None:
        return [("cause", f"{name}: there are too few points to tell")]
    lower = f"lower it by {percent(shown_by.prediction)}" if shown_by.prediction >= 0.001 else "do not lower it"
    facts = [("cause", f"{name}{sample}"),
             ("", f"error of predicting pairs of points that were left out: axes below zero {lower}"),
             ("", f"below zero: {shown_by.breadth * cause.points:.3g} axes of {cause.points:,}, the first alike at "
              f"nearest points by {shown_by.first_autocorrelation:.2f}")]
    if shown_by.triangle_excess:
        facts += [("", f"ways over a third point are shorter by up to {shown_by.triangle_excess:.3g} of the mean:"),
                  ("", f"short ways by {percent(shown_by.short_excess, 0)} of that, ways between points like these by "
                   f"{percent(shown_by.excess_alike, 0)}")]
    else:
        facts += [("", "no way over a third point is shorter than the direct one")]
    if shown_by.between:
        facts += [("", f"{percent(shown_by.between, 0)} of the pairs have a third point exactly between them")]
    if shown_by.rounding < NOTICED:
        facts += [("", f"the lowest eigenvalue is {shown_by.rounding:.2g} times that of rounding to their steps")]
    return facts


def _kernel(kernel: KernelConditions) -> list[tuple[str, str]]:
    facts = [("missing numbers", _unknown(kernel.missing)),
             ("not symmetric", _count(kernel.symmetry.violations, kernel.symmetry.of, "pairs", kernel.symmetry.worst))]
    if kernel.is_positive_semidefinite is not None:
        facts += [("eigenvalues", f"{kernel.smallest_eigenvalue:.10g} to {kernel.largest_eigenvalue:.10g}"),
                  ("positive semidefinite", "yes" if kernel.is_positive_semidefinite else "no")]
    return facts


def _edges(edges: EdgeFacts) -> list[tuple[str, str]]:
    facts = [("edges", f"{edges.edges:,}, {_pieces(edges)}"),
             ("edges of a point", f"{edges.fewest:,} to {edges.most:,} (at {shown(edges.hub)})")]
    if edges.smallest is not None:
        zeros = f", {edges.zeros:,} of zero" if edges.zeros else ""
        facts.append((edges.numbers, f"{edges.smallest:.6g} to {edges.largest:.6g}{zeros}"))
    if edges.numbers == "lengths":
        facts.append(("longer than a path", NOT_FOUND if edges.detours is None else counted(edges.detours, "edge")))
    return facts


def _pieces(graph: GraphFacts | EdgeFacts) -> str:
    """Return the number of pieces of a graph, with their sizes if there are several."""
    more = ", ..." if graph.pieces > len(graph.piece_sizes) else ""
    sizes = ", ".join(f"{size:,}" for size in graph.piece_sizes) + more
    return counted(graph.pieces, "piece") + (f" of {sizes} points" if graph.pieces > 1 else "")


def _graph(graph: GraphFacts) -> list[tuple[str, str]]:
    return [(f"graph of {graph.rule}", f"{counted(graph.edges, 'edge')}, {_pieces(graph)}"),
            ("connects all", f"{counted(graph.connecting_k, 'neighbor')} or more; a radius of "
             f"{graph.connecting_radius:.6g} or more (the gap between {' and '.join(map(shown, graph.widest_gap))})")]


def _neighborhoods(report: Report) -> list[tuple[str, str]]:
    facts = []
    if report.intrinsic_dimension:
        section = report.intrinsic_dimension
        two = f"{section.two_nn:.3g} \u00b1 {section.two_nn_se:.2g}" if isfinite(section.two_nn_se) else "unknown"
        all_near = f"{section.maximum_likelihood:.3g}" if isfinite(section.maximum_likelihood) else "unknown"
        facts.append(("intrinsic dimension", f"{two} (two nearest), {all_near} (maximum likelihood, "
                      f"{section.neighbors} nearest)"))
    if report.hubness:
        hubs = report.hubness
        facts.append(("hubness", f"skewness {round(hubs.skewness, 2) + 0.0:.2f}; {shown(hubs.hub)} is a neighbor of "
                      f"{counted(hubs.most_often, 'point')}, {counted(hubs.never, 'point')} of none"))
    return facts


def _outliers(outliers: Outliers | None) -> list[tuple[str, str]]:
    if outliers is None:
        return []
    places = ("far from the center", outliers.center), ("far from the nearest", outliers.neighbors)
    return [(label, f"{far.count:,}: " + ", ".join(
        f"{shown(row)} ({times:.3g} times the median{f', most in {shown(column)}' if column else ''})"
        for row, times, column in far.worst[:3]) + (", ..." if far.count > 3 else "") if far.count else "none")
        for label, far in places if far is not None]


def _label(facts: LabelFacts) -> tuple[str, str]:
    shares = ", ".join(f"{percent(share, 0)} of component {axis}" for axis, share in enumerate(facts.shares, start=1))
    return f"label {shown(facts.label)}", f"{facts.values} values explain {shares}"


def _concentration(apart: Concentration) -> list[tuple[str, str]]:
    facts = [("nearest point", f"{apart.nearest_over_farthest:.3f} (median ratio of nearest to farthest distance; 1: "
              "all points equally far)"),
             ("spread", f"{apart.spread:.3f} (standard deviation / mean of all distances)"),
             ("outer tenth of the box", f"{percent(apart.box_outer_tenth)} of the points")]
    uniform = [reach for reach in (apart.uniform, apart.uniform_intrinsic) if reach is not None]
    for rank, (label, measured) in enumerate(_reach(apart.measured)):
        expected = ", ".join(f"{_reach(reach)[rank][1]} in dimension {reach.dimensions:.3g}" for reach in uniform)
        facts.append((label, f"{measured} (uniform points: {expected})"))
    return facts


def _reach(reach: Reach) -> list[tuple[str, str]]:
    """Return how far neighborhoods reach, and how many points are near the boundary, with their names."""
    return [("radius with 1% of points", f"{reach.one_percent:.3f}"),
            ("radius with 10% of points", f"{reach.ten_percent:.3f}"),
            ("center to nearest point", f"{reach.center_nearest:.3f}"),
            ("outer tenth of the ball", percent(reach.outer_tenth))]


def _subsets(subsets: ColumnSubsets) -> list[tuple[str, str]]:
    """Return a line for each size, below the names of its figures."""
    head = ["nearest/farthest", "variation", "independent", *(separation.label for separation in subsets.separation)]
    rows = [[_interval(subsets.nearest_over_farthest[place]), _interval(subsets.variation[place]),
             f"{subsets.variation_independent[place]:.3f}",
             *(_interval(separation.nearer[place]) for separation in subsets.separation)]
            for place in range(len(subsets.sizes))]
    widths = (23, 23, 13, *(23 for _ in subsets.separation))

    def line(cells: list[str]) -> str:
        return "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()

    return [("", line([shown(name) if place > 2 else name for place, name in enumerate(head)])),
            *((counted(size, "column"), line(row)) for size, row in zip(subsets.sizes, rows, strict=True))]


def _interval(found: Interval) -> str:
    """Format a median with its interval, if draws differ."""
    median, low, high = (f"{value:.3f}" for value in (found.median, found.low, found.high))
    return median if low == high else f"{median} ({low}-{high})"


ALIKE = 2.0  # times as far as the nearest row: a farthest row that is no farther is "only" so far, as of C-CONCENTRATED
MANY = 100.0  # times: written without decimals
GAIN = 0.02  # of comparisons: a difference that is worth a word
CHANCE = 0.55  # share of comparisons up to which distances hardly separate classes


def subset_sentences(subsets: ColumnSubsets) -> list[str]:
    """Return what the curves say: a sentence on distances, and one for each label."""
    kept = counted(max(1, round(subsets.independent_columns)), "independent column")
    one, every = (subsets.nearest_over_farthest[place].median for place in (0, -1))
    verdict = ("near rows are hardly told from far ones, and neighbors mean little" if every * ALIKE > 1 else
               "near rows are told from far ones, and neighbors have a meaning")
    curse = (f"With one column {_farthest(one)}. With all {subsets.sizes[-1]:,} columns {_farthest(every)}. Distances "
             f"are as much alike as those of {kept}: {verdict}.")
    return [curse, *(_separation(separation, subsets.sizes) for separation in subsets.separation)]


def _farthest(nearest: float) -> str:
    """Return how far the farthest row is, if the nearest one is at this share of its distance."""
    if nearest == 0:
        return "half of all rows or more have another one at the same place"
    times = f"{1 / nearest:,.0f}" if nearest * MANY < 1 else f"{1 / nearest:.3g}"
    return f"the farthest row is {'only ' if nearest * ALIKE > 1 else ''}{times} times as far as the nearest"


def _separation(found: Separation, sizes: tuple[int, ...]) -> str:
    """Return what a label's curve says: whether columns add up, blur the classes, or hardly separate them."""
    shares = [interval.median for interval in found.nearer]
    best = max(range(len(shares)), key=shares.__getitem__)
    every, one = shares[-1], shares[0]
    if shares[best] <= CHANCE:
        verdict = "about as by chance (50%): distances hardly separate them"
    elif shares[best] - every > GAIN:
        verdict = (f"with {counted(sizes[best], 'column')} in {percent(shares[best], 0)}: many columns blur the "
                   "differences of a few")
    elif every - one > GAIN:
        verdict = f"with one column in {percent(one, 0)}: columns add up"
    else:
        verdict = f"with one column in {percent(one, 0)}: more columns add nothing"
    return (f"Two rows of one {shown(found.label)} are nearer to each other than two of different ones in "
            f"{percent(every, 0)} of all comparisons, {verdict}.")
