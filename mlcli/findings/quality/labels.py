"""Labels: 1-NN error and silhouette of classes in the embedding."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.missing import is_missing
from mlcli.errors import ConfigError
from mlcli.findings.quality.sampling import Sums
from mlcli.findings.quality.strips import Measure, Strip

EQUAL = 2.0**-40  # relative difference below which squared distances count as equal
REMEDY = "choose others with {input.label_columns}"  # of a run to be made


@frozen
class Labels(Measure):
    """Measures of classes in the embedding; points without a label are left out."""

    column: str
    codes: Indices  # n: the class of each point, -1 without one
    ordered: Indices  # the labeled points, class after class
    starts: Indices  # the start of each class among them
    counts: Indices  # number of points of each class

    @classmethod
    def first_of(cls, labels: Mapping[str, Sequence[str]], chosen: str | None = None, remedy: str = REMEDY,
                 ) -> Self | None:
        """Return the first label column with two classes or more and two points or more to a class on average.

        Raises ConfigError where a chosen column is no such column; `remedy` says how others are chosen.
        """
        if chosen is not None:
            return cls._chosen(labels, chosen, remedy)
        return next((one for column, texts in labels.items() if (one := cls.of(column, texts)) is not None), None)

    @classmethod
    def _chosen(cls, labels: Mapping[str, Sequence[str]], column: str, remedy: str) -> Self:
        """Return the classes of the column that the user chose."""
        classes = cls.of(column, labels[column]) if column in labels else None
        if classes is None:
            what = "has one class only, or hardly a name twice" if column in labels else "is no label column"
            raise ConfigError("QUALITY-LABEL", f"{column[:80]!r} {what}", where="report.quality.label",
                              hint=f"label columns are: {', '.join(name[:80] for name in labels) or 'none'}; {remedy}")
        return classes

    @classmethod
    def of(cls, column: str, texts: Sequence[str]) -> Self | None:
        """Return the classes of a label column; None where it has one class only, or hardly a name twice."""
        present = dict.fromkeys(text for text in texts if not is_missing(text))
        names = {text: code for code, text in enumerate(present)}
        codes = np.array([names.get(text, -1) for text in texts], dtype=np.int64)
        ordered = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0):]
        if len(names) < 2 or 2 * len(names) > len(ordered):
            return None
        counts, without = np.bincount(codes[ordered]), len(codes) - len(ordered)
        if without:
            note("N-NO-LABEL", f"{without:,} of {len(codes):,} rows have no label in {column[:80]!r} (empty, NA or "
                 "NaN) and are left out of label measures", rows=without)
        return cls(column, codes, ordered, np.cumsum(counts) - counts, counts)

    def sums(self, strip: Strip) -> Sums:
        """Return 1 for anchors whose nearest labeled point has another label, and silhouettes (Rousseeuw, 1987)."""
        own, classes = np.arange(len(strip.rows)), self.codes[strip.rows]
        labeled = classes >= 0
        others = np.where(self.codes >= 0, strip.embedded, np.inf)
        others[own, strip.rows] = np.inf
        nearest = (others <= others.min(axis=1, keepdims=True) * (1 + EQUAL)).argmax(axis=1)
        wrong = self.codes[nearest] != classes
        return {"labeled": labeled.astype(np.float64), "wrong": (wrong & labeled).astype(np.float64),
                "silhouettes": np.where(labeled, self._silhouettes(np.sqrt(strip.embedded), classes), 0.0)}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the means over the labeled anchors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"label_1nn_error": sums["wrong"] / sums["labeled"],
                    "silhouette": sums["silhouettes"] / sums["labeled"]}

    def _silhouettes(self, distances: Array, classes: Indices) -> Array:
        """Return (b - a) / max(a, b): a the mean distance in the own class, b to the nearest other; 0 where alone."""
        own, totals = np.arange(len(classes)), np.add.reduceat(distances[:, self.ordered], self.starts, axis=1)
        inside = totals[own, classes] / np.maximum(self.counts[classes] - 1, 1)
        means = totals / self.counts
        means[own, classes] = np.inf
        nearest = means.min(axis=1)
        larger = np.maximum(inside, nearest)
        return np.divide(nearest - inside, larger, out=np.zeros(len(own)),
                         where=(larger > 0) & (self.counts[classes] > 1))
