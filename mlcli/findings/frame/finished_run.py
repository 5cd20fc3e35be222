"""A finished run: the source of a report, from memory at the end of the run, or from its files later."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.config.run_config import RunConfig
from mlcli.report.figures.scree import ScreeValues, shares_overlap

CONSTRAINED = "constrained"  # the column of spectrum.csv
NAMED = 4  # largest number of files in a title


@frozen
class Embedding:
    """The rows of embedding.csv."""

    values: Array  # (n, p) array
    ids: Sequence[str]  # n
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)  # label column -> n texts
    measured: frozenset[str] = frozenset()  # label columns that are measurements, whose colors are a scale


@frozen
class CsvColumns:
    """A small CSV file: its columns by name, of texts, or of numbers with NaN where a cell is empty."""

    columns: Mapping[str, Sequence[str] | Array]
    read: dict[str, Sequence[float]] = field(default_factory=dict)  # columns converted to numbers so far

    def numbers(self, name: str) -> Sequence[float]:
        """Return a column as numbers, NaN where a cell is empty."""
        if name not in self.read:
            self.read[name] = self.array(name).tolist()
        return self.read[name]

    def array(self, name: str) -> Array:
        """Return a column as an array, not cached: of a wide table it takes a quarter of the memory of a list."""
        cells = self.columns[name]
        return cells if isinstance(cells, np.ndarray) else np.array(
            [float(cell) if cell else np.nan for cell in cells], dtype=np.float64)

    def texts(self, name: str) -> Sequence[str]:
        """Return a column of texts."""
        return cast(Sequence[str], self.columns[name])

    def numbers_or_none(self, name: str) -> list[float | None]:
        """Return a column as numbers, None where a cell is empty."""
        return [None if number != number else number for number in self.numbers(name)]


@frozen
class FinishedRun:
    """A finished run; parts that it does not have are None."""

    manifest: Mapping[str, Any]  # run.json without the hashes of the files
    config: RunConfig
    config_text: str
    embedding: Embedding
    findings: Mapping[str, Any] = field(default_factory=dict)  # values by the names of findings
    certificate: Mapping[str, Any] | None = None
    edges: Indices | None = None  # (m, 2) array of row numbers: edges of the neighbor graph, where they are drawn
    cutoff: float | None = None  # size below which loadings are blank; None: as in the configuration
    interactive: bool = False  # whether the run has interactive.html
    colors: Sequence[str] = ()  # label columns that were chosen for the colors; none: all
    drawn: dict[tuple[str | None, str], bytes] = field(default_factory=dict)  # scatter plots, by column and format

    @property
    def seed(self) -> int:
        """The seed; 0 of a run that states none."""
        return int(self.manifest.get("seed") or 0)

    @property
    def fit(self) -> Mapping[str, Any]:
        """The figures of the fit, by name."""
        return self.manifest.get("fit") or {}

    @property
    def spectrum_facts(self) -> Mapping[str, Any]:
        """The facts of the spectrum besides its values; empty where there is none."""
        return self.manifest.get("spectrum") or {}

    @property
    def eigenvalues(self) -> ScreeValues | None:
        """The spectrum to show; None where there is none."""
        spectrum: CsvColumns | None = self.findings.get("spectrum")
        if spectrum is None:
            return None
        values = spectrum.numbers("eigenvalue")
        computed = self.spectrum_facts.get("computed") or len(values)
        line = () if self.correlations else self._line(self.spectrum_facts.get("trace"))
        sums = [None] * len(values) if self.overlapping else spectrum.numbers_or_none("cumulative")
        return ScreeValues(values, sums, self.embedding.values.shape[1], computed,
                           self.spectrum_facts.get("ranked_by", "eigenvalues"),
                           self.spectrum_facts.get("further_at_least", ()) if len(values) == computed else (), line)

    @property
    def shared_axes(self) -> list[tuple[int, int]]:
        """The runs (start, stop) of axes that share an eigenvalue; one may end beyond the kept axes."""
        return [(first - 1, last) for first, last in self.spectrum_facts.get("shared", ())]

    @property
    def scree(self) -> ScreeValues | None:
        """The spectrum for the scree plot: of factor analysis all eigenvalues of the correlations."""
        if not self.correlations:
            return self.eigenvalues
        values = self.correlations
        return ScreeValues(values, [None] * len(values), self.embedding.values.shape[1], len(values),
                           "eigenvalues of the correlations", line=self._line(sum(values)))

    @property
    def correlations(self) -> Sequence[float]:
        """The eigenvalues of the columns' correlations, where the rules of factor analysis use them."""
        return (self.findings.get("dimension") or {}).get("correlations", ())

    def _line(self, trace: float | None) -> list[float]:
        """Return the line of parallel analysis under a trace; empty where there is none."""
        rule = (self.findings.get("dimension") or {}).get("rules", {}).get("parallel_analysis", {})
        shares = rule.get("figures", {}).get("line_shares", ())
        return [share * trace for share in shares] if trace else []

    @property
    def proportions(self) -> list[float | None]:
        """The eigenvalues' shares of the trace; None where the shares of axes overlap."""
        spectrum: CsvColumns | None = self.findings.get("spectrum")
        shares: list[float | None] = [] if spectrum is None else spectrum.numbers_or_none("proportion")
        return [None] * len(shares) if self.overlapping else shares

    @property
    def overlapping(self) -> bool:
        """Whether axes are correlated factors, whose shares of the variance stand with the loadings alone."""
        return shares_overlap(self.spectrum_facts.get("ranked_by", ""), self.fit)

    @property
    def title(self) -> str:
        """The title that the user chose, or the name."""
        return self.config.report.title or self.name

    @property
    def axes(self) -> list[str]:
        """The labels of the axes of a figure."""
        return self.axis_names(self.embedding.values.shape[1], shares=True)

    def axis_names(self, count: int, *, shares: bool = False) -> list[str]:
        """Return labels of the first `count` axes, with their shares of the trace where these are asked for."""
        spectrum: CsvColumns | None = self.findings.get("spectrum")
        marks = () if spectrum is None or CONSTRAINED not in spectrum.columns else spectrum.numbers(CONSTRAINED)
        constrained = int(sum(marks[:count])) if len(marks) else None
        return self.config.method.axis_names(self.proportions if shares else (), count, constrained)

    @property
    def name(self) -> str:
        """The method and the names of the input's files."""
        paths = [str(file["path"]) for file in files_in(self.manifest["input"])]
        called = ["standard input" if path == "-" else path.rstrip("/").rpartition("/")[2] for path in paths]
        more = f" and {len(called) - NAMED} more" if len(called) > NAMED else ""
        return f"{self.manifest['method']}: {', '.join(called[:NAMED])}{more}"


def files_in(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what run.json has of each file of an input: the first, and its views."""
    further = given.get("view")
    return [given, *([] if further is None else files_in(further))]


def columns_in_words(given: Mapping[str, Any]) -> str:
    """Return the columns of an input of features and of its further files, or its points: "4 + 2 columns"."""
    features = given.get("kind") == "features"
    widths = [int(file["columns"]) for file in (files_in(given) if features else [given])]
    noun = "column" if features else "point"
    return f"{' + '.join(f'{width:,}' for width in widths)} {noun}{'' if sum(widths) == 1 else 's'}"
