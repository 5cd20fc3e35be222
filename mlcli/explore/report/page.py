"""The page explore.html: the recommendation, its reasons, and all results that they rest on."""

from collections.abc import Sequence

from mlcli.base.units import percent
from mlcli.explore.report import figures as drawn
from mlcli.explore.report.contents import Candidate, Exploration, TrialEntry
from mlcli.explore.report.heat import heat
from mlcli.explore.report.ranking import figures
from mlcli.report.comparison.page import embeddings_section
from mlcli.report.drawing.html import Part, document, figure, join, section, sentence, table, verbatim
from mlcli.report.drawing.text import number, safe

MEASURES = (("r_nx", "R_NX"), ("trustworthiness", "trustworthiness"), ("continuity", "continuity"))
OTHERS = (("distances", "distances"), ("geodesics", "paths"), ("label_error", "label error"))


def page(exploration: Exploration, *, seed: int = 0) -> str:
    """Return the page as one HTML document without scripts and without network."""
    head = f'<p class="soft">{safe(f"{exploration.input}: {exploration.size}", 400)}</p>'
    parts = [_recommendation(exploration), _checkup(exploration), _ranking(exploration), _axes(exploration),
             _settings(exploration), _agreement(exploration),
             embeddings_section(exploration.comparison, seed), _stability(exploration.candidates),
             _exclusions(exploration), _conditions(exploration)]
    return document("Which method, which k, how many axes", head, join(parts))


def _recommendation(exploration: Exploration) -> Part:
    sentences = exploration.recommendation.sentences
    command = [verbatim(exploration.command)] if exploration.command else []
    return section("Recommended", sentence(sentences[0][:1].upper() + sentences[0][1:], "lead"),
                   *(sentence(one) for one in sentences[1:]), *command)


def _checkup(exploration: Exploration) -> Part:
    rows = [(finding["code"], f"{finding['sentence']}; {finding['advice']}") for finding in exploration.findings]
    return section("What to know of the data", table(("finding", "what it says"), rows, (), (0,), said=True)
                   or sentence("The checkup found nothing that needs care.", "soft"))


def _ranking(exploration: Exploration) -> Part:
    rows = [_rank_row(one, exploration.recommendation.chosen == place)
            for place, one in enumerate(exploration.candidates)]
    shown = [(key, words) for key, words in OTHERS if any(key in one.entry.judged.scores
                                                           for one in exploration.candidates)]
    head = ("", "method", "mean rank", *(words for _, words in MEASURES), *(words for _, words in shown))
    cells = [[*row[:3], *(row[3][key] for key, _ in (*MEASURES, *shown))] for row in rows]
    counted = f"{exploration.axes} {'axis' if exploration.axes == 1 else 'axes'}"
    return section(f"Ranking, with {counted}", table(head, cells, range(2, len(head)), (0, 1)), sentence(
        f"The setting of each method with the largest R_NX, all cut to {counted} ({exploration.why}), by the mean of "
        "the ranks in R_NX, trustworthiness and continuity; in brackets what nine of ten samples of the points give. "
        "= marks those that are as good as the first within that.", "soft"), sentence(
        "These three compare neighborhoods of the embedding with those of the input, by ranks alone. R_NX is the mean "
        "over all sizes of neighborhoods on a logarithmic scale: 1 keeps all, 0 is chance. Trustworthiness falls with "
        "false neighbors, which projections make; continuity falls with torn neighborhoods, which unrolling makes.",
        "soft"), sentence(
        "The others do not rank, because each favors a method. Distances (rank correlation with those of the input) "
        "favors PCA and MDS; paths (the same with lengths of paths on the neighbor graph) favors Isomap; label error "
        "(nearest neighbor of another label) favors what separates groups.", "soft"),
        figure(drawn.neighborhoods_figure(exploration.candidates),
               "Small neighborhoods are on the left, the global arrangement on the right. The figure R_NX in the table "
               "is the mean height of a curve on this scale."))


def _rank_row(one: Candidate, chosen: bool) -> tuple[str, str, str, dict[str, str]]:
    low, high = one.place.interval
    known = figures(one.entry.judged)
    cells = {key: f"{known[key]:.3f}" + (f" ± {known[key + '_se']:.1g}" if key == "r_nx" else "")
             if key in known else "–" for key, _ in (*MEASURES, *OTHERS)}
    mark = "→" if chosen else "=" if one.place.tied else ""
    return mark, one.entry.name, f"{one.place.mean_rank:.1f} ({low:.1f}–{high:.1f})", cells


def _axes(exploration: Exploration) -> Part:
    rows = [(one.entry.name, str(one.advice["components"]), str(one.advice.get("sentence", "")))
            for one in exploration.candidates if one.advice.get("components")]
    return section("How many axes", figure(drawn.axes_figure(exploration.candidates),
                                           "The first axes of one fit. Where a curve levels off, more axes are not "
                                           "needed. Bars are standard errors over the points."),
                   table(("method", "axes", "rules of the method"), rows, (1,), (0,), said=True))


def _settings(exploration: Exploration) -> Part:
    rows = [(one.name, *(f"{figures(one.judged)[key]:.3f}" for key, _ in MEASURES), f"{one.seconds:.2f}",
             ", ".join(dict.fromkeys(one.warnings)), one.run) for one in _by_method(exploration)]
    return section("Settings", figure(drawn.counts_figure(exploration.candidates, exploration.entries),
                                      "The horizontal line is the linear method, which uses no neighbors."),
                   table(("setting", *(words for _, words in MEASURES), "seconds", "warnings", "run"), rows,
                         (1, 2, 3, 4), (0, 5)))


def _by_method(exploration: Exploration) -> list[TrialEntry]:
    """Return all settings: methods in the order of their ranks, each by its number of neighbors."""
    ranked = [one.entry.method for one in exploration.candidates]
    last = len(ranked)
    return sorted(exploration.entries, key=lambda one: (
        ranked.index(one.method) if one.method in ranked else last, one.count or 0, one.name))


def _agreement(exploration: Exploration) -> Part:
    names = [one.entry.name for one in exploration.candidates]
    near = next((pair.agreement.neighbors for pair in exploration.comparison.pairs if pair.agreement), 0)
    return section("Where methods agree", figure(heat(names, exploration.comparison.pairs), (
        "Shape: what one embedding explains of another's, once moved, turned and scaled onto it; 1 is the same. "
        f"Neighbors in common: of the {near} nearest points in one, the share among the {near} nearest in the other. "
        "What methods agree on is less likely to be made by one of them.")))


def _stability(candidates: Sequence[Candidate]) -> Part:
    rows = [(one.entry.name, str(one.fits) if one.fits else "–", number(one.m2) if one.m2 is not None else "–",
             "–" if one.overlap is None else percent(one.overlap),
             ", ".join(f"{words}: {m2:.2g}" for words, m2 in one.next_counts) or "–", one.unstable)
            for one in candidates]
    return section("How stable each is", table(
        ("method", "fits", "Procrustes m²", "neighbors kept", "m² with other k", "notes"), rows, (1, 2, 3), (0,)),
        sentence("Each method is fitted again to random samples of 80% of the rows and compared with the fit to all "
                 "rows: 0 is the same shape. Fits with the next fewer and more neighbors are compared in the same way.",
                 "soft"))


def _exclusions(exploration: Exploration) -> Part:
    rows = [(name, reason, "–" if seconds is None else f"{seconds:,.2g}")
            for name, reason, seconds in exploration.left]
    return section("Left out", table(("setting", "why", "predicted seconds"), rows, (2,), (0,)))


def _conditions(exploration: Exploration) -> Part:
    which = ("all points" if exploration.anchors == exploration.rows else
             f"a random sample of {exploration.anchors:,} of {exploration.rows:,} points")
    return section("How it was measured", sentence(
        f"As seen from {which}; trustworthiness and continuity with {exploration.neighbors} neighbors. Errors are "
        f"those of the sample of points. It took {exploration.seconds:.1f} s of a budget of {exploration.budget:g} s. "
        f"explore.json holds all figures, runs.csv all runs.", "soft"))
