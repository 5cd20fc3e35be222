"""The trace: the objective of an iterative method after each iteration."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("trace.csv", Columns(("iteration", "objective"), counts=("iteration",)))
BESIDE = "validation"  # the column in one figure with the objective


class TraceFinding(Finding["CsvColumns"]):
    """The objective after each iteration, with other curves of methods that iterate."""

    name = "trace"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return the objective after each iteration, from 1, with the model's other curves."""
        import numpy as np

        from mlcli.findings.frame.finished_run import CsvColumns

        model = result.model
        if model.trace is None:
            return None
        curves = {name: np.asarray(curve.value) for name, curve in model.curves.items()}
        return CsvColumns({"iteration": np.arange(1.0, len(model.trace) + 1), "objective": model.trace, **curves})

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return curves of the objective, in one figure with that of held-out rows, and of the other columns."""
        from mlcli.report.drawing.html import figure, section
        from mlcli.report.drawing.text import visible
        from mlcli.report.figures.curves import curve

        first, *names = value.columns
        places = value.numbers(first)
        pairs = [[name, BESIDE] if name == names[0] and BESIDE in names else [name] for name in names[:4]
                 if name != BESIDE]
        parts = []
        for pair in pairs:
            title = f"{' and '.join(map(visible, pair))} by {visible(first)}"
            parts.append(figure(curve(title[:1].upper() + title[1:], first, pair[0], places,
                                      {name: value.numbers(name) for name in pair}, zero=False)))
        return [(Place.DETAIL, section("Iterations", *parts) if places else None)]
