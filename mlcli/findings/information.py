"""Curves of information: what a bottleneck keeps of a table and what that tells, and the entropy of a walk's powers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("information.csv", Columns(("beta", "kept", "relevant"), counts=("axes", "clusters")))
ENTROPY = File("entropy.csv", Columns(("power", "entropy"), counts=("power",)))
SURE = 0.95  # probability from which on a row is in a cluster without doubt
MOST_NAMED, MOST_CLUSTERS = 30, 50  # rows of a cluster that the page names, and clusters
LETTERS = 40  # of such a name


class InformationFinding(Finding["CsvColumns"]):
    """The information curve of a bottleneck, or the von Neumann entropy of powers of a walk, in nats."""

    name = "information"
    files = (TABLE, ENTROPY)
    either = True

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return I(T; X) and I(T; Y) by rising β, with the number of axes or clusters; or the entropy by the power."""
        from mlcli.findings.frame.finished_run import CsvColumns

        curve, entropy = result.model.information, result.model.entropy
        if entropy is not None:
            import numpy as np

            return CsvColumns({"power": np.arange(1.0, len(entropy) + 1), "entropy": entropy})
        return None if curve is None else CsvColumns(dict(curve))

    def write(self, value: "CsvColumns", folder: Path, result: "Result") -> None:
        """Write information.csv, or entropy.csv."""
        (ENTROPY if "power" in value.columns else TABLE).write(folder, value)

    def read(self, folder: Path, run: "FinishedRun") -> "CsvColumns | None":
        """Return the columns of information.csv, or of entropy.csv."""
        found = TABLE.read(folder)
        return ENTROPY.read(folder) if found is None else found

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the curve, in words too."""
        from mlcli.report.drawing.html import figure, section, sentence
        from mlcli.report.figures.curves import curve

        if "power" in value.columns:
            drawn = curve("Von Neumann entropy by the power of the walk", "power", "entropy, nats",
                          value.numbers("power"), {"entropy": value.numbers("entropy")})
            time = run.fit.get("time")
            knee = "" if time is None else f": at the knee t = {time}, where the power is t + 1"
            said = ("Of the powers of the walk (entropy.csv). It falls fast while noise is averaged out, then "
                    f"slowly{knee}.")
            return [(Place.DETAIL, section("Entropy of the walk", sentence(said, "soft"), figure(drawn)))]
        kept, relevant = value.numbers("kept"), value.numbers("relevant")
        counts = "clusters" in value.columns
        if counts and run.fit.get("first_beta") is None:
            said = "Rows tell nothing of columns (information.csv): all have the same shares of them, at every β."
            return [(Place.RESULT, section("Information curve", sentence(said)))]
        if len(kept) < 2:  # networks that were trained at one β have no curve
            return []
        about, of = ("the columns", "the rows") if counts else ("the second view", "the first")
        drawn = curve(f"Information about {about}", f"kept of {of}, I(T; X), nats", "I(T; Y), nats", kept,
                      {"relevant": relevant})
        said = "In nats, by rising β (information.csv)" + (
            ", at each of which the networks were trained." if "epochs" in run.fit else
            ". The slope at a point is 1/β; the curve ends at all that " + (
                "so many clusters tell of the columns." if counts else "the first view tells of the second."))
        parts = [(Place.RESULT, section("Information curve", sentence(said, "soft"), figure(drawn)))]
        return [(Place.RESULT, clusters(run)), *parts] if counts else parts


def clusters(run: "FinishedRun") -> "Part":
    """Return the rows of each cluster as a table: those that are most probably in it, with p(t | x) where in doubt."""
    from mlcli.report.drawing.html import section, sentence, table
    from mlcli.report.drawing.text import shorten

    values, ids = run.embedding.values, run.embedding.ids
    if not values.size:
        return None
    own, names, rows = values.argmax(axis=1), run.axis_names(values.shape[1]), []
    for cluster in range(min(values.shape[1], MOST_CLUSTERS)):
        there = (own == cluster).nonzero()[0].tolist()
        named = [shorten(ids[row], LETTERS) + f" ({values[row, cluster]:.2f})" * bool(values[row, cluster] < SURE)
                 for row in there[:MOST_NAMED]]
        more = [f"and {len(there) - MOST_NAMED:,} more"] if len(there) > MOST_NAMED else []
        rows.append((names[cluster], f"{len(there):,}", ", ".join([*named, *more])))
    said = (f"Each row stands at the cluster that it is most probably in, with the probability where this is below "
            f"{SURE:g} (embedding.csv has those of all clusters). Loadings are the shares that the columns have in "
            "each cluster.")
    return section("Clusters", sentence(said, "soft"), table(("cluster", "number", "rows"), rows, (1,), said=True))
