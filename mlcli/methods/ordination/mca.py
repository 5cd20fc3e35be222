"""Multiple correspondence analysis."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.quantity import Quantity
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import Subject
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.metrics.distances import is_euclidean
from mlcli.core.metrics.profiles import Answers, Indicators
from mlcli.core.model import Model
from mlcli.errors import DataError
from mlcli.methods.ordination.check import adjustment_checks, answer_parts, correspondence_checks
from mlcli.methods.ordination.correspondence import Correspondence, find_inertias
from mlcli.methods.trials import variant

SLACK = 16 * EPS  # over one over the number of questions, which an inertia exceeds by rounding only


def adjusted_inertias(inertias: Array, questions: int) -> Array:
    """Return (Q / (Q - 1))² (λ - 1/Q)² of inertias (r, descending) of the indicator matrix over 1/Q: an (a,) array.

    λ is the root of an inertia of the Burt matrix. Two questions give the inertias of their cross table.
    """
    above = inertias[inertias > 1 / max(questions, 1) + SLACK]
    return (questions / max(questions - 1, 1)) ** 2 * (above - 1 / max(questions, 1)) ** 2


def adjusted_total(inertias: Array, questions: int, answers: int) -> float:
    """Return the mean inertia of the cross tables of two different questions, from all inertias (r): Q / (Q - 1)
    (Σλ² - (J - Q) / Q²), with J answers."""
    if questions < 2:
        return 0.0
    return questions / (questions - 1) * (float(np.sum(inertias**2)) - (answers - questions) / questions**2)


FEW = 8  # rows up to which each may well have an answer of its own


def indicators_of(data: Features) -> Indicators:
    """Return the distance of answers that the data carries."""
    assert isinstance(data.metric, Indicators)
    return data.metric


def require_questions(data: Features) -> None:
    """Note columns with one answer; raises DataError for a single question, and for one with an answer for each row."""
    metric, size = indicators_of(data), len(data.values)
    alone = sorted(set(range(len(data.columns))) - set(metric.questions.tolist()))
    if alone:
        note("N-ONE-ANSWER", f"left out {len(alone)} of {len(data.columns)} columns, which have the same answer in all "
             f"rows: {', '.join(repr(data.columns[place]) for place in alone[:5])}", columns=len(alone))
    if len(metric.questions) == 1:
        raise DataError("ONE-QUESTION", "only one column has several answers, and its cross tables with others are "
                        "what is analyzed", where="input", hint="choose more columns, or count the answers")
    many = metric.questions[(metric.counts == size) & (size >= FEW)]
    if len(many):
        raise DataError("ANSWERS", f"every row has an answer of its own in column {data.columns[many[0]]!r}",
                        where="input", hint="if it names the rows, give {input.id_column}; else leave it out with "
                        "{input.columns}, or group its numbers")
    if len(few := metric.questions[metric.counts > max(size / 2, FEW)]):
        note("W-ANSWERS", f"column {data.columns[few[0]]!r} has an answer for every two rows or fewer: rare answers "
             "decide the axes; group them", columns=len(few))


class MCA(Correspondence):
    """Rows of answers to several questions on the axes along which they differ most; columns may be text.

    It keeps which answers are given together: rows with the same answers lie near each other. It fails if answers are
    rare, or nearly as many as rows: merge them. Set the columns first (`--columns`), because every different value of a
    column becomes an answer, also numbers.

    How it works: Each column is a question, and each of its different values an answer, numbers as well. MCA is
    correspondence analysis (`ca`) of the indicator matrix, which has a column of zeros and ones for every answer: rare
    answers count more in distances, and all rows have equal masses. Coordinates are principal coordinates of the rows,
    as `ind$coord` of FactoMineR and `li` of ade4's `dudi.acm`.

    Missing answers are dropped with their row (`prepare.missing`), or need an answer of their own in the table. A
    column with one answer is left out.

    New points: New rows are placed at the means of their answers' standard coordinates; an answer that no row of the
    fit has is refused.

    Files: `spectrum.csv` holds the principal inertias of the indicator matrix; their squares are those of the Burt
    matrix. The blocks of each question with itself make inertias too large. Therefore the column `adjusted` holds
    Greenacre's adjusted inertias, for axes whose inertia is above one divided by the number of questions.
    `adjusted_share` holds their shares in the mean inertia of all cross tables of two questions (`adjusted_total` in
    `run.json`). Judge axes by the adjusted shares.

    `loadings.csv` names each answer `question=answer`, and holds principal coordinates (`var$coord`, `co`), or standard
    ones (`loadings: standard`), whose mean over its answers is a row's place.

    Source: Greenacre, "Correspondence analysis in practice", 2007; Husson, Lê and Pagès, "Exploratory multivariate
    analysis by example", 2017.
    """

    domain: ClassVar = "answers"
    variants: ClassVar = (variant("", "rotation", "shift", loadings="standard"),)
    axis: ClassVar = "MCA"
    name: Literal["mca"] = "mca"

    @property
    def distance(self) -> Answers:
        """The chi-square distance of rows of the indicator matrix."""
        return Answers()

    def width(self, data: Input) -> int:
        """Return the number of answers."""
        found = self.with_metric(data) if is_euclidean(data) else data
        return super().width(found)

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the answers less one for each question."""
        found = self.with_metric(data) if is_euclidean(data) else data
        questions = len(indicators_of(found).questions) if isinstance(found, Features) else 1
        return min(len(data.values) - 1, super().width(found) - questions)

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the SVD of the standardized residuals of the indicator matrix."""
        metric = indicators_of(data)
        require_questions(data)
        found, questions = find_inertias(data, np.full(len(data.values), 1 / len(data.values))), len(metric.questions)
        total = adjusted_total(found.inertias, questions, len(metric.levels))
        spectrum = replace(Spectrum.of_values(found.inertias, float(found.inertias.sum()), complete=True),
                           adjusted=adjusted_inertias(found.inertias, questions), adjusted_total=total)
        names = tuple(f"{data.columns[question]}={text}" for question, text in zip(
            np.repeat(metric.questions, metric.counts).tolist(), metric.texts, strict=True))
        return self.of_inertia(data, found, spectrum, names, {
            "questions": questions, "answers": len(names), "adjusted_total": Quantity(total),
            "column_masses": Quantity(metric.roots ** 2, names=names)})

    def weighted_rows(self, subject: Subject) -> WeightedRows:
        """Return the profiles of the indicator matrix, with the masses of the rows."""
        return WeightedRows.of_profiles(np.vstack([*answer_parts(subject.data.values)]))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the equations of correspondence analysis on the indicator matrix, and the adjusted inertias."""
        yield from super().checks(subject)
        values, model = subject.data.values, subject.model
        yield from correspondence_checks(answer_parts(values), model, self.loadings == "standard")
        yield from adjustment_checks(values, model.ranks.solved, model.ranks.adjusted, model.fit)
