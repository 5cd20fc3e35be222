"""The von Neumann entropy of the powers of a random walk, whose knee is the time of a potential."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.contents import Contents, Rows
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("entropy.csv", Columns(("power", "entropy")))


class EntropyFinding(Finding["Rows"]):
    """The entropy of the walk's powers in nats, where the time of the walk was chosen by it."""

    name = "entropy"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "Rows | None":
        """Return the entropy of P, P², ..., by the power."""
        curve = result.model.entropy
        if curve is None:
            return None
        import numpy as np

        from mlcli.findings.frame.contents import Rows

        return Rows({"power": np.arange(1.0, len(curve) + 1), "entropy": curve})

    def write(self, value: "Rows", folder: Path, result: "Result") -> None:
        """Write entropy.csv."""
        from mlcli.findings.frame.csv_text import csv_table, digits
        from mlcli.findings.frame.files import write_text

        rows = zip(value.numbers("power"), value.numbers("entropy"), strict=True)
        write_text(folder / TABLE.name, csv_table([*value.columns], ([int(power), digits(entropy)]
                                                                     for power, entropy in rows)))

    def read(self, folder: Path, run: "Contents") -> "Rows | None":
        """Return the columns of entropy.csv."""
        return TABLE.read(folder)

    def sections(self, value: "Rows", run: "Contents") -> Iterable[tuple[Place, "Part"]]:
        """Return the curve, with the time at its knee in words."""
        from mlcli.report.drawing.html import figure, section, sentence
        from mlcli.report.figures.curves import curve

        powers, entropies = value.numbers("power"), value.numbers("entropy")
        drawn = curve("Von Neumann entropy by the power of the walk", "power", "entropy, nats", powers,
                      {"entropy": entropies})
        said = ("Of the powers of the walk (entropy.csv). It falls fast while noise is averaged out, then slowly: at "
                f"the knee t = {run.manifest['fit']['time']}, where the power is t + 1.")
        return [(Place.DETAIL, section("Entropy of the walk", sentence(said, "soft"), figure(drawn)))]
