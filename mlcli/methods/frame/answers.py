"""Questions and answers: those that multiple correspondence analysis can use."""

from mlcli.base.stages.stage import note
from mlcli.errors import DataError
from mlcli.stages.algebra.metrics.points import MetricFeatures
from mlcli.stages.algebra.metrics.profiles import Indicators

FEW = 8  # rows up to which each may well have an answer of its own


def indicators_of(data: MetricFeatures) -> Indicators:
    """Return the distance of answers that the data carries."""
    assert isinstance(data.metric, Indicators)
    return data.metric


def require_questions(data: MetricFeatures) -> None:
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
