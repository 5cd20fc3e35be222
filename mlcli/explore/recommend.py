"""One recommendation, with its reasons in plain sentences: the simplest method that does as well as the best."""

from collections.abc import Sequence

from mlcli.base.frozen import frozen
from mlcli.base.units import percent
from mlcli.explore.scores import ENOUGH, Assessment, MeanRank, gain
from mlcli.explore.verdict import Verdict

DISPLAY_NAMES = {"pca": "PCA", "mds": "MDS"}
# Procrustes m² between fits to parts of the rows, up to which a picture is stable, and beyond which it depends on them
TIGHT, LOOSE = 0.02, 0.1


@frozen
class Option:
    """A candidate, with the values that the choice depends on."""

    method: str
    words: str
    linear: bool
    judged: Assessment
    place: MeanRank
    loses: str = ""  # a sentence on what the method does not keep; empty: nothing besides neighbors

    @property
    def name(self) -> str:
        """The method and its options in a sentence."""
        return f"{display_name(self.method)}{f' ({self.words})' if self.words else ''}"

    @property
    def r_nx(self) -> float:
        """The mean area under R_NX."""
        return float(self.judged.scores["r_nx"].mean())


@frozen
class Recommendation:
    """The chosen candidate, if any, with the reasons."""

    chosen: int | None  # None: nothing is recommended
    enough: bool  # whether a linear method is as good as the others
    sentences: Sequence[str]
    axes: int = 0  # number of its axes to keep
    verdict: Verdict = Verdict("embedding")


def display_name(method: str) -> str:
    """Return a method's name as a sentence writes it."""
    return DISPLAY_NAMES.get(method, method)


def no_choice(options: Sequence[Option]) -> Recommendation:
    """Return a recommendation without a choice, where a single method finished."""
    return Recommendation(None, False, [
        f"Nothing is recommended: of all methods {options[0].name} is the only method that finished, so there is no "
        "comparison. Raise --budget for the others; --skip-existing keeps the finished runs."])


def choose(options: Sequence[Option]) -> tuple[int, bool, list[str]]:
    """Choose among candidates in the order of their ranks; return position, whether linear is enough, and sentences."""
    linear = next((place for place, one in enumerate(options) if one.linear), None)
    others = [place for place, one in enumerate(options) if not one.linear]
    if linear is None or not others:
        return choose_first(options)
    base = options[linear]
    gains = {place: gain(options[place].judged, base.judged) for place in others}
    better = [place for place in others if gains[place].counts]
    if not better:
        return choose_linear(linear, max(others, key=lambda place: gains[place].value), options)
    top = first_of(better, options)
    won = gains[top]
    sentences = [f"{options[top].name}: it keeps R_NX {options[top].r_nx:.3f} where {base.name} keeps "
                 f"{base.r_nx:.3f}, a difference of {won.value:.3f} ± {won.error:.3f}.", *ties_sentence(top, options),
                 *losses_sentences(top, options)]
    return top, False, sentences


def first_of(places: Sequence[int], options: Sequence[Option]) -> int:
    """Return the position that keeps most neighbors of those that could equally be first; without one, the first."""
    return max((place for place in places if options[place].place.tied), key=lambda place: options[place].r_nx,
               default=places[0])


def choose_first(options: Sequence[Option]) -> tuple[int, bool, list[str]]:
    """Choose by rank alone, where there is no linear method to compare with."""
    top = first_of(range(len(options)), options)
    return top, False, [f"{options[top].name}: it is first by mean rank, with R_NX {options[top].r_nx:.3f}."
                        if top == 0 else
                        f"{options[top].name}: of the methods that could be first by mean rank it keeps most "
                        f"neighbors, R_NX {options[top].r_nx:.3f}.", *ties_sentence(top, options)]


def choose_linear(linear: int, best: int, options: Sequence[Option]) -> tuple[int, bool, list[str]]:
    """Choose the linear method: the others' gain is within the error over the points, or too small to matter."""
    base, other = options[linear], options[best]
    won = gain(other.judged, base.judged)
    most = (f"the most that another method gains in R_NX is {won.value:.3f} ± {won.error:.3f} ({other.name}), which "
            + ("the points leave open" if won.value <= 2 * won.error else f"is less than the {ENOUGH:g} that count")
            if won.value > 0 else
            f"no other method keeps more neighbors; the next best, {other.name}, keeps R_NX {other.r_nx:.3f}")
    reason = f"{display_name(base.method)} is enough: it keeps R_NX {base.r_nx:.3f}, and {most}."
    return linear, True, [reason]


def ties_sentence(place: int, options: Sequence[Option]) -> list[str]:
    """Return sentences on the candidates whose R_NX differs by no more than chance, and on those that keep more."""
    mine = options[place]
    others = [other for other in options if other is not mine]
    more = [other for other in others if gain(other.judged, mine.judged).counts]
    same = [other for other in others if other not in more and not gain(mine.judged, other.judged).counts]
    return [*([f"About as good: {', '.join(other.name for other in same)}."] if same else []),
            *([f"More neighbors, but a lower rank by all measures together: "
               f"{', '.join(f'{other.name} (R_NX {other.r_nx:.3f})' for other in more)}."] if more else [])]


def losses_sentences(place: int, options: Sequence[Option]) -> list[str]:
    """Return what a method does not keep, and the best one without such a loss; none for a method without."""
    if not options[place].loses:
        return []
    others = [one.name for one in options if not one.loses and not one.linear]
    return [options[place].loses, *([f"First of the methods without this loss: {others[0]}."] if others else [])]


def fewer_axes_sentence(options: Sequence[Option], curves: Sequence[Sequence[tuple[int, Assessment]]], place: int,
                        axes: int) -> str:
    """Return a sentence on a method that keeps more with fewer axes: with two, else with most of them; else ""."""
    by_count = [dict(curve) for curve in curves]
    found = {}
    for count in range(2, axes):
        mine = by_count[place].get(count)
        there = [] if mine is None else [(gain(one[count], mine), other) for other, one in enumerate(by_count)
                                         if other != place and count in one]
        better = [(won.value, other) for won, other in there if won.counts]
        if better:
            found[count] = max(better)
    if not found:
        return ""
    count = 2 if 2 in found else max(found)
    won, other = found[count]
    kept = float(by_count[other][count].scores["r_nx"].mean())
    return (f"With {count} {'axis' if count == 1 else 'axes'} {options[other].name} keeps more: R_NX {kept:.3f} "
            f"against {kept - won:.3f}; -p {count} --skip-existing compares all with so many.")


def choose_fewer_axes(options: Sequence[Option], curves: Sequence[Sequence[tuple[int, Assessment]]], place: int,
                      axes: int) -> tuple[int, int]:
    """Return the position and the number of axes of the method that keeps as much with the fewest axes.

    Differences below `ENOUGH` do not count. The method at `place` is preferred; else the first by rank.
    """
    kept = [means(curve) for curve in curves]
    if axes not in kept[place]:
        return place, axes
    for count in range(1, axes):
        enough = [other for other, one in enumerate(kept) if kept[place][axes] - one.get(count, -1.0) < ENOUGH]
        if enough:
            return (place if place in enough else min(enough, key=lambda other: options[other].place.mean_rank)), count
    return place, axes


def means(curve: Sequence[tuple[int, Assessment]]) -> dict[int, float]:
    """Return the area under R_NX by the number of axes."""
    return {count: float(one.scores["r_nx"].mean()) for count, one in curve}


def axes_sentence(curve: Sequence[tuple[int, Assessment]], axes: int, kept: int) -> str:
    """Return a sentence with R_NX for fewer and more axes; empty for a method whose axes are not nested."""
    values = means(curve)
    if kept not in values or len(values) < 2:
        return ""
    parts = [f"{count} {'axis' if count == 1 else 'axes'} {values[count]:.3f}"
             for count in sorted({*(n for n in (kept - 1, kept, kept + 1, axes) if n in values), max(values)})]
    same = "" if kept >= axes else f"; {kept} keep{'s' * (kept == 1)} as much as the {axes} compared, to {ENOUGH:g}"
    return f"R_NX by the number of axes: {', '.join(parts)}{same}."


def stability_sentence(fits: int, m2: float | None, overlap: float | None, reason: str) -> str:
    """Return a sentence on how well fits to parts of the rows agree with the fit to all."""
    if m2 is None or overlap is None:
        return f"Its stability was not examined: {reason}." if reason else ""
    word = ("It is stable" if m2 <= TIGHT else "It is fairly stable" if m2 <= LOOSE else
            "The embedding depends on which rows are used")
    made = "one fit" if fits == 1 else f"{fits} fits"
    return (f"{word}: {made} to 80% of the rows differ{'s' * (fits == 1)} from it by Procrustes m² {m2:.2g}, and "
            f"{percent(overlap, 0)} of the neighbors are the same.")
