"""The thresholds above which a point is doubtful, and the share of such points above which a map is torn.

`scripts/discontinuity.py` calibrates them on maps that are known to be continuous, and writes the table at the end.
"""

from math import log

from mlcli.base.frozen import frozen


@frozen
class Threshold:
    """The scores above which a point is doubtful, for a method with about so many neighbors; None: not used.

    Where cut maps were not found by any, there is no share, and no alarm.
    """

    neighbors: float  # perplexity or neighbors of a point; zero where a method has none
    perturbation: float | None = None
    singularity: float | None = None
    share: float | None = None  # of doubtful points that continuous maps have at most


def threshold_of(method: str, neighbors: float) -> Threshold:
    """Return the thresholds of a method for the calibrated number of neighbors that is nearest by ratio."""
    return min(TABLE[method], key=lambda row: abs(log(max(row.neighbors, 1)) - log(max(neighbors, 1))))


def sentence_on(doubtful: int | None, rows: int, *, torn: bool | None) -> str:
    """Return the sentence on how many points lie where the map tears; None where there is no alarm."""
    if doubtful is None:
        return (f"{rows:,} points have scores and no calibrated alarm: with this method and so many neighbors, "
                "thresholds did not tell cut maps from continuous ones.")
    if not doubtful:
        return f"None of {rows:,} points lies where the map tears."
    said = f"{doubtful:,} of {rows:,} points lie{'s' * (doubtful == 1)} where the map tears"
    return f"{said}." if torn else f"{said}, no more than in continuous maps."


TABLE: dict[str, tuple[Threshold, ...]] = {
    "tsne": (
        Threshold(5.0, perturbation=1.0, singularity=52.0, share=0.02),
        Threshold(10.0, perturbation=1.0, singularity=40.0, share=0.01),
        Threshold(30.0, perturbation=1.9, singularity=240.0, share=0.049),
        Threshold(100.0, perturbation=1.0, singularity=62.0, share=0.01),
    ),
    "umap": (
        Threshold(5.0, perturbation=2.1, singularity=None, share=0.02),
        Threshold(15.0, perturbation=1.0, singularity=None, share=0.01),
        Threshold(50.0, perturbation=1.4, singularity=None, share=0.034),
    ),
    "phate": (
        Threshold(5.0),
    ),
    "smacof": (
        Threshold(0.0, perturbation=1.1, singularity=11.0, share=0.01),
    ),
    "sammon": (
        Threshold(0.0, perturbation=1.1, singularity=11.0, share=0.01),
    ),
    "nmds": (
        Threshold(0.0, perturbation=1.1, singularity=11.0, share=0.01),
    ),
}
