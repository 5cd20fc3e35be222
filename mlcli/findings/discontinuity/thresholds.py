"""The thresholds above which a point is doubtful, and the share of such points above which a map is torn.

`scripts/discontinuity.py` calibrates them on maps that are known to be continuous, and writes the table at the end.
"""

from math import log

from mlcli.base.frozen import frozen


@frozen
class Threshold:
    """The scores above which a point is doubtful, for a method with about so many neighbors; None: not used."""

    neighbors: float  # perplexity or neighbors of a point; zero where a method has none
    perturbation: float
    singularity: float | None
    share: float  # of doubtful points that continuous maps have at most


def threshold_of(method: str, neighbors: float) -> Threshold:
    """Return the thresholds of a method for the calibrated number of neighbors that is nearest by ratio."""
    return min(TABLE[method], key=lambda row: abs(log(max(row.neighbors, 1)) - log(max(neighbors, 1))))


def sentence_on(doubtful: int, rows: int, *, torn: bool) -> str:
    """Return the sentence on how many points lie where the map tears."""
    if not doubtful:
        return f"None of {rows:,} points lies where the map tears."
    said = f"{doubtful:,} of {rows:,} points lie{'s' * (doubtful == 1)} where the map tears"
    return f"{said}." if torn else f"{said}, no more than in continuous maps."


TABLE = {
    "tsne": (Threshold(5, 1, 49, 0.025), Threshold(10, 1, 40, 0.07), Threshold(30, 1.8, 240, 0.053),
             Threshold(100, 1, 31, 0.021)),
    "umap": (Threshold(5, 1.4, None, 0.03), Threshold(15, 1, None, 0.01), Threshold(50, 1.5, None, 0.053)),
    "phate": (Threshold(5, 1.1, 12, 0.13),),
    "smacof": (Threshold(0, 1.1, 11, 0.01),),
    "sammon": (Threshold(0, 1.1, 11, 0.01),),
    "nmds": (Threshold(0, 1.1, 11, 0.01),),
}
