"""The contents of an exploration as plain values: the source of explore.html and explore.json."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.explore.recommend import Recommendation
from mlcli.explore.scores import Assessment, MeanRank, figures
from mlcli.report.comparison.side_by_side import Comparison


@frozen
class TrialEntry:
    """The trial of one setting."""

    run: str  # its directory's name
    method: str
    words: str  # its options, as in k=12
    linear: bool
    count: int | None  # neighbors, where it has them
    seconds: float
    judged: Assessment
    warnings: Sequence[str]
    doubtful: int | None = None  # points where the map of a layout tears; None for other methods

    @property
    def name(self) -> str:
        """The method with its options."""
        return f"{self.method} {self.words}".strip()

    def document(self) -> dict[str, Any]:
        """Return the entry as plain values, for JSON."""
        return {"run": self.run, "method": self.method, "options": self.words, "linear": self.linear,
                "seconds": self.seconds, "measures": dict(figures(self.judged)), "warnings": list(self.warnings),
                **({} if self.doubtful is None else {"doubtful": self.doubtful})}


@frozen
class Candidate:
    """The best setting of a method, with its rank, curve and refits."""

    entry: TrialEntry
    place: MeanRank
    advice: Mapping[str, Any]  # recommendation of the rules for the number of axes
    by_axes: Sequence[tuple[int, Assessment]]  # with 1, 2, ... axes; empty where fewer axes are another fit
    fits: int  # number of fits to parts of the rows
    m2: float | None  # mean Procrustes statistic of these fits and the fit to all
    overlap: float | None  # mean share of common neighbors
    unstable: str  # why fewer fits were made than planned
    next_counts: Sequence[tuple[str, float]]  # the settings with the next numbers of neighbors, with Procrustes m²

    def document(self) -> dict[str, Any]:
        """Return the candidate as plain values, for JSON."""
        curve = [{"axes": axes, **figures(one)} for axes, one in self.by_axes]
        return {**self.entry.document(), "mean_rank": self.place.mean_rank, "interval": list(self.place.interval),
                "tied": self.place.tied, "components_advice": dict(self.advice), "by_axes": curve,
                "stability": {"fits": self.fits, "procrustes_m2": self.m2, "overlap": self.overlap,
                              "reason": self.unstable or None,
                              "next_neighbors": [{"run": run, "procrustes_m2": m2} for run, m2 in self.next_counts]}}


@frozen
class Exploration:
    """All results of an exploration."""

    input: str
    size: str  # in words
    axes: int
    why: str  # the reason for that number
    findings: Sequence[Mapping[str, Any]]  # findings of the checkup
    candidates: Sequence[Candidate]  # by mean rank
    entries: Sequence[TrialEntry]  # all settings, in the order of their trials
    recommendation: Recommendation
    command: str  # empty where nothing is recommended
    comparison: Comparison  # comparison of the candidates, in their order
    left: Sequence[tuple[str, str, float | None]]  # name, reason, predicted seconds
    anchors: int
    rows: int
    neighbors: int  # size of neighborhoods for trustworthiness and continuity
    budget: float
    seconds: float
    facts: Mapping[str, Any]  # seed, threads, the options of every trial
    sampled: tuple[int, int] | None = None  # rows that settings were tried on, of how many

    def document(self) -> dict[str, Any]:
        """Return the content of explore.json."""
        place = self.recommendation.chosen
        entry = None if place is None else self.candidates[place].entry
        sample = self.sampled and {"rows": self.sampled[0], "of": self.sampled[1]}
        return {"input": self.input, "rows": self.rows, "sample": sample, "axes": self.axes, "axes_reason": self.why,
                "verdict": self.recommendation.verdict.document(),
                "recommendation": {"method": entry and entry.method, "options": entry and entry.words,
                                   "run": entry and entry.run, "components": self.recommendation.axes or None,
                                   "linear_is_enough": self.recommendation.enough,
                                   "sentences": list(self.recommendation.sentences), "command": self.command or None},
                "ranking": [one.document() for one in self.candidates],
                "agreement": [pair.document() for pair in self.comparison.pairs],
                "settings": [one.document() for one in self.entries],
                "left_out": [{"name": name, "reason": reason, "predicted_seconds": seconds}
                             for name, reason, seconds in self.left],
                "measured": {"points": self.anchors, "neighbors": self.neighbors},
                "checkup": [dict(finding) for finding in self.findings],
                "budget": self.budget, "seconds": self.seconds, **self.facts}


def curve_places(size: int, most: int = 60) -> np.ndarray:
    """Return sizes of neighborhoods, evenly on a logarithmic scale, each once; an (m,) array of at most `most`."""
    return np.unique(np.geomspace(1, max(size, 1), most).round().astype(np.int64))
