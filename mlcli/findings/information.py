"""The information curve: what a bottleneck keeps of a table, and what that tells of the relevant variable."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.contents import Contents, Rows
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("information.csv", Columns(("beta", "axes", "kept", "relevant")))
FIGURE = "relevant_information"  # in the figures of a fit that has such a curve


class InformationFinding(Finding["Rows"]):
    """The information curve in nats, of the Gaussian information bottleneck."""

    name = "information"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "Rows | None":
        """Return I(T; X) and I(T; Y) by rising β, with the number of axes that are open."""
        fit = result.model.fit
        if FIGURE not in fit:
            return None
        from mlcli.findings.frame.contents import Rows
        from mlcli.stages.linear.bottleneck import UNRELATED, information_curve

        correlations = result.model.ranks.solved
        related = correlations[correlations > UNRELATED]
        return Rows(dict(information_curve(related, float(fit["beta"])))) if len(related) else None

    def write(self, value: "Rows", folder: Path, result: "Result") -> None:
        """Write information.csv."""
        from mlcli.findings.frame.csv_text import csv_table, digits
        from mlcli.findings.frame.files import write_text

        rows = zip(*(value.numbers(name) for name in value.columns), strict=True)
        write_text(folder / TABLE.name, csv_table([*value.columns], (
            [digits(beta), int(axes), digits(kept), digits(relevant)] for beta, axes, kept, relevant in rows)))

    def read(self, folder: Path, run: "Contents") -> "Rows | None":
        """Return the columns of information.csv."""
        return TABLE.read(folder)

    def sections(self, value: "Rows", run: "Contents") -> Iterable[tuple[Place, "Part"]]:
        """Return the curve, with a guide at the coordinates' own point."""
        from mlcli.report.drawing.html import figure, section, sentence
        from mlcli.report.figures.curves import curve

        kept, relevant = value.numbers("kept"), value.numbers("relevant")
        if not kept:
            return []
        drawn = curve("Information about the second view, by that kept of the first", "I(T; X), nats", "I(T; Y), nats",
                      kept, {"relevant": relevant})
        said = ("In nats, by rising β (information.csv). The slope at a point is 1/β; the curve ends at all that the "
                "first view tells of the second.")
        return [(Place.RESULT, section("Information curve", sentence(said, "soft"), figure(drawn)))]
