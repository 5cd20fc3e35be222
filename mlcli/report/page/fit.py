"""The section of a report about the figures of the fit."""

from collections.abc import Mapping

from mlcli.findings.frame.contents import Contents
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.html import Part, figures, section, sentence, table
from mlcli.report.drawing.text import in_words, number

OF_COLUMNS = ("uniquenesses", "variances", "sampling_adequacy")  # figures that the table of loadings has or uses
LISTED = 20  # columns or classes whose figures are shown


def fit(run: Contents) -> Part:
    """The figures of the method's fit: single numbers, and those that every column or class has one of."""
    found = run.manifest.get("fit", {})
    single = [(in_words(name), _said(value)) for name, value in found.items()
              if value is None or isinstance(value, int | float)]
    loadings = LoadingsFinding.of(run)
    columns = set() if loadings is None else set(loadings.texts(next(iter(loadings.columns))))
    each = {in_words(name): values for name, values in found.items() if isinstance(values, Mapping)
            and not (name in OF_COLUMNS and columns and columns.issuperset(values))}
    cut = any(len(values) > LISTED for values in each.values())
    return section("Fit", figures(single) if single else None, *(_of_each(*item) for item in each.items()),
                   sentence(f"The first {LISTED}; all of them stand in run.json.", "soft") if cut else None)


def _of_each(name: str, values: Mapping[str, float | None]) -> Part:
    return table((name, "value"), [(key, _said(value)) for key, value in list(values.items())[:LISTED]], (1,))


def _said(value: float | None) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else number(value)
