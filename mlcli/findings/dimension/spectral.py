"""Rules that look at the eigenvalues alone: variance kept, elbow, broken stick, Kaiser, eigengap."""

import numpy as np

from mlcli.base.types import Array
from mlcli.findings.dimension.verdict import Evidence, LeftOut, Verdict, leading
from mlcli.stages.algebra.linalg import EPS

MOST_PIECES = 100  # of a stick, up to which it tests something
SEEN = 30  # eigenvalues among which an elbow is looked for: as many as the scree plot shows


def variance_kept(evidence: Evidence, share: float) -> Verdict | LeftOut:
    """The fewest axes whose eigenvalues sum to a share of the trace."""
    if evidence.method.scaleless:
        return LeftOut(no_variances(evidence))
    if evidence.factors:
        return LeftOut(f"the axes of {evidence.method.name} are not principal components: their shares are in "
                       "spectrum.csv")
    cumulative = np.cumsum(evidence.spectrum.proportions)
    if not np.isfinite(cumulative).all() or not len(cumulative):
        return LeftOut("the trace is zero or not known")
    reached = cumulative >= share - 10 * evidence.size * EPS
    if not reached.any():
        return LeftOut(f"the {len(cumulative)} eigenvalues computed reach {cumulative.max():.1%}")
    count = int(reached.argmax()) + 1
    return Verdict(count, f"The fewest axes that keep {share:.0%} of the trace.", kept(evidence, count),
                   {"cumulative": float(cumulative[count - 1])})


def kept(evidence: Evidence, count: int) -> str:
    """The share of the trace that axes keep, and where negative eigenvalues raise it over 1 that of the positive ones.
    """
    spectrum, share = evidence.spectrum, float(np.cumsum(evidence.spectrum.proportions)[count - 1])
    if share <= 1 + 10 * evidence.size * EPS:
        return f"{share:.1%} kept"
    beside = ""
    if spectrum.complete:
        positive = float(spectrum.solved[spectrum.solved > 0].sum())
        beside = f"{float(spectrum.solved[:count].sum()) / positive:.1%} of the positive eigenvalues; "
    return f"{beside}{share:.1%} of the trace, from which negative ones are subtracted"


def no_variances(evidence: Evidence) -> str:
    """Why rules about shares of a variance do not apply."""
    return f"the eigenvalues of {evidence.method.name} are not variances"


def elbow(evidence: Evidence) -> Verdict | LeftOut:
    """The axes before the point of the scree plot that lies farthest below the chord from its first point to its last.

    Cattell's scree test (1966), with the elbow as Satopää and others find it ("kneedle", 2011).
    """
    values = evidence.positive[:SEEN]
    if len(values) < 3:
        return LeftOut(f"an elbow needs three eigenvalues and {len(values)} positive ones are computed")
    below = below_chord(values / values[0])
    count = int(below.argmax())
    if below[count] <= 0:
        return LeftOut("the scree plot has no elbow: no point lies below the chord of its ends")
    return Verdict(count, "The axes before the point of the scree plot farthest below the chord of its ends.",
                   f"among {len(values)} eigenvalues", {"below_chord": below[:20].tolist(), "eigenvalues": len(values)})


def below_chord(values: Array) -> Array:
    """How far each value lies below the line from the first to the last."""
    return np.linspace(values[0], values[-1], len(values)) - values


def broken_stick(evidence: Evidence) -> Verdict | LeftOut:
    """Leading eigenvalues above the mean lengths of a stick's pieces, broken at random, largest first.

    Frontier, 1976; the lengths are MacArthur's, 1957: (total / p) (1/k + ... + 1/p).
    """
    if evidence.method.scaleless:
        return LeftOut(no_variances(evidence))
    parts = evidence.parts
    if parts is None:
        return LeftOut("it needs the whole spectrum, and only its top is computed")
    count, total = parts
    if count < 2 or not total > 0:
        return LeftOut(f"a stick in {count} {'piece' if count == 1 else 'pieces'} says nothing")
    pieces = total * broken_stick_shares(count)
    values = evidence.positive[:count]
    kept = leading(values > pieces[: len(values)])
    return Verdict(kept, "The leading eigenvalues longer than the pieces of a stick broken at random.",
                   f"{count} pieces", {"pieces": count, "expected_shares": (pieces[:20] / total).tolist()},
                   f"of {count} pieces all but a few are tiny, so nearly any spectrum passes" if count > MOST_PIECES
                   else "")


def broken_stick_shares(count: int) -> Array:
    """The expected shares of a stick broken at random into `count` pieces, descending."""
    return np.cumsum(1 / np.arange(count, 0, -1))[::-1] / count


def kaiser(evidence: Evidence) -> Verdict | LeftOut:
    """Eigenvalues above their mean; for correlations those above one (Guttman, 1954; Kaiser, 1960)."""
    parts = evidence.parts
    if not evidence.of_columns or parts is None or not parts[0] or not parts[1] > 0:
        return LeftOut("it compares variances of columns, and there are none"
                       if not evidence.of_columns else "no column varies")
    mean = parts[1] / parts[0]
    values = evidence.positive
    if len(values) < parts[0] and (values > mean).all():
        return LeftOut(f"all {len(values)} eigenvalues computed are above the mean")
    shares = values[:20] / mean
    return Verdict(int(np.sum(values > mean)), "The eigenvalues above their mean, which for correlations is one.",
                   f"mean of {parts[0]} eigenvalues", {"over_mean": shares.tolist()})


def eigengap(evidence: Evidence) -> Verdict | LeftOut:
    """The axes before the largest difference of neighboring eigenvalues, whose span noise moves least.

    Davis and Kahan, 1970: a span's angle to its noisy self is at most the noise over the gap behind it.
    """
    values = evidence.positive
    if len(values) < 2:
        return LeftOut(f"a gap needs two eigenvalues and {len(values)} positive ones are computed")
    gaps = -np.diff(values) / values[0]
    count = int(gaps.argmax()) + 1
    return Verdict(count, "The axes before the largest difference of neighboring eigenvalues.",
                   f"{gaps[count - 1]:.1%} of the first eigenvalue", {"gaps_over_first": gaps[:20].tolist()})
