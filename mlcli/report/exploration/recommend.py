"""One recommendation, with its reasons in plain sentences: the simplest method that does as well as the best."""

from collections.abc import Sequence

from mlcli.base.frozen import frozen
from mlcli.report.exploration.ranking import ENOUGH, Place, gain
from mlcli.report.exploration.scores import Judged

CALLED = {"pca": "PCA", "mds": "MDS"}
LOOSE = 0.1  # Procrustes m² between fits to parts of the rows from which the picture depends on the sample


@frozen
class Option:
    """A candidate, as far as the choice goes."""

    method: str
    words: str
    linear: bool
    judged: Judged
    place: Place

    @property
    def name(self) -> str:
        """As a sentence names it."""
        return f"{called(self.method)}{f' ({self.words})' if self.words else ''}"

    @property
    def r_nx(self) -> float:
        """Its area under R_NX."""
        return float(self.judged.scores["r_nx"].mean())


@frozen
class Recommendation:
    """Which of the candidates, and why."""

    chosen: int
    enough: bool  # whether it is a linear method that others do not beat
    sentences: Sequence[str]


def called(method: str) -> str:
    """A method's name in a sentence."""
    return CALLED.get(method, method)


def chosen(options: Sequence[Option]) -> Recommendation:
    """The choice among candidates in the order of their ranks."""
    linear = next((place for place, one in enumerate(options) if one.linear), None)
    others = [place for place, one in enumerate(options) if not one.linear]
    if linear is None or not others:
        return first(options)
    base = options[linear]
    gains = {place: gain(options[place].judged, base.judged) for place in others}
    better = [place for place in others if gains[place].counts]
    if not better:
        return enough(linear, max(others, key=lambda place: gains[place].value), options)
    top = better[0]
    won = gains[top]
    sentences = [f"{options[top].name}: it keeps R_NX {options[top].r_nx:.3f} where {base.name} keeps "
                 f"{base.r_nx:.3f}, a difference of {won.value:.3f} ± {won.error:.3f}.", *tied(top, options)]
    return Recommendation(top, False, sentences)


def first(options: Sequence[Option]) -> Recommendation:
    """The first in rank, where there is nothing that it would have to beat."""
    alone = "it is the only method here" if len(options) == 1 else "it is first by mean rank"
    return Recommendation(0, False, [f"{options[0].name}: {alone}, with R_NX {options[0].r_nx:.3f}.",
                                     *tied(0, options)])


def enough(linear: int, best: int, options: Sequence[Option]) -> Recommendation:
    """The linear method: what others gain is less than the points leave open, or than matters."""
    base, other = options[linear], options[best]
    won = gain(other.judged, base.judged)
    most = (f"the most that another method gains in R_NX is {won.value:.3f} ± {won.error:.3f} ({other.name}), which "
            + ("the points leave open" if won.value <= 2 * won.error else f"is less than the {ENOUGH:g} that count")
            if won.value > 0 else
            f"no other method keeps more neighbors; the next best, {other.name}, keeps R_NX {other.r_nx:.3f}")
    return Recommendation(linear, True, [f"{called(base.method)} is enough: it keeps R_NX {base.r_nx:.3f}, and {most}."])


def tied(place: int, options: Sequence[Option]) -> list[str]:
    """Which others do as well, where there are any: those that are not told apart in R_NX."""
    mine = options[place]
    names = [other.name for other in options if other is not mine and not gain(mine.judged, other.judged).counts]
    return [f"About as good: {', '.join(names)}."] if names else []


def of_axes(curve: Sequence[tuple[int, Judged]], axes: int) -> str:
    """What fewer or more axes would change, of a method whose axes are nested."""
    kept = {count: float(one.scores["r_nx"].mean()) for count, one in curve}
    if axes not in kept or len(kept) < 2:
        return ""
    most = max(kept)
    parts = [f"{count} {'axis' if count == 1 else 'axes'}: {kept[count]:.3f}"
             for count in sorted({*(n for n in (axes - 1, axes, axes + 1) if n in kept), most})]
    knee = next((count for count in sorted(kept) if count + 1 in kept and kept[count + 1] - kept[count] < ENOUGH), None)
    said = (f"no number of axes up to {most} is where gains end" if knee is None else
            f"beyond {knee} {'axis' if knee == 1 else 'axes'} one more gains less than {ENOUGH:g}")
    return f"R_NX by the number of axes: {', '.join(parts)}; {said}."


def of_stability(fits: int, m2: float | None, overlap: float | None, reason: str) -> str:
    """How much of it fits to parts of the rows repeat."""
    if m2 is None or overlap is None:
        return f"How stable it is was not examined: {reason}." if reason else ""
    word = "The picture depends on which rows are there" if m2 > LOOSE else "It is stable"
    return (f"{word}: {fits} {'fit' if fits == 1 else 'fits'} to four fifths of the rows differ{'s' * (fits == 1)} from "
            f"it by Procrustes m² {m2:.2g}, and {overlap:.0%} of the neighbors stay.")
