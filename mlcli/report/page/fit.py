"""The section of a report about the figures of the fit."""

from collections.abc import Mapping

from mlcli.findings.frame.contents import Contents
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.html import Part, figures, section, sentence, table
from mlcli.report.drawing.text import in_words, number

OF_COLUMNS = ("uniquenesses", "variances", "sampling_adequacy")  # figures in the table of loadings, or behind it
LISTED = 20  # largest number of columns or classes with figures


def fit(run: Contents) -> Part:
    """Return the figures of the fit: single numbers, and one for every column or class."""
    found = run.manifest.get("fit", {})
    single = [(in_words(name), _cell(value)) for name, value in found.items()
              if value is None or isinstance(value, int | float)]
    loadings = LoadingsFinding.of(run)
    columns = set() if loadings is None else set(loadings.texts(next(iter(loadings.columns))))
    each = {in_words(name): values for name, values in found.items() if isinstance(values, Mapping)
            and not (name in OF_COLUMNS and columns and columns.issuperset(values))}
    cut = any(len(values) > LISTED for values in each.values())
    return section("Fit", figures(single) if single else None, *(_one_of_each(*item) for item in each.items()),
                   sentence(f"The first {LISTED}; run.json has all of them.", "soft") if cut else None)


def _one_of_each(name: str, values: Mapping[str, float | None]) -> Part:
    return table((name, "value"), [(key, _cell(value)) for key, value in list(values.items())[:LISTED]], (1,))


def _cell(value: float | None) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else number(value)
