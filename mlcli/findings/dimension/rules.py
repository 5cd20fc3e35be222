"""All rules for one model, as a document and as a table, the recommendation, and `components: auto` by it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import mute_notes, note, running, stage
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.base.values.naming import list_in_words
from mlcli.core.graph.search import neighbors_cost
from mlcli.core.model import Model
from mlcli.errors import ConfigError
from mlcli.findings.dimension.evidence import Evidence, NotApplicable, RuleVerdict, evidence_of
from mlcli.findings.dimension.intrinsic_dimension import estimates
from mlcli.findings.dimension.likelihood import likelihood_verdicts
from mlcli.findings.dimension.residual_variance import FEW_POINTS, MOST_AXES, residual_variance, stress_verdict
from mlcli.findings.dimension.spectral import (
    broken_stick,
    eigengap,
    elbow,
    kaiser,
    parallel_analysis,
    parallel_factors,
    variance_kept,
    velicer,
)
from mlcli.findings.frame.files import csv_table
from mlcli.findings.frame.plan import FitPlan
from mlcli.findings.frame.result import Result, as_compared
from mlcli.methods.method import Method
from mlcli.rundir.json_values import json_value

COMPONENTS, FACTORS = "parallel_analysis", "parallel_factors"
WORDS = {FACTORS: "parallel analysis of factors", "velicer_map": "Velicer's MAP", "two_nn": "TwoNN", "kaiser": "Kaiser",
         "minka_evidence": "Minka's evidence", "ppca_bic": "BIC of ppca", "fa_cross_validation": "cross-validation"}
NEAR = 1  # difference in axes of rules that nearly agree
MOST, SOME = 2 / 3, 1 / 3  # shares of the rules that nearly agree


def recommendation(rules: Sequence[str], verdicts: Mapping[str, RuleVerdict]) -> dict[str, Any]:
    """Return the number of axes, the rule behind it, the rules that differ, their agreement, and the sentence.

    `rules` are the method's own, best first; docs/dimension.md gives the reasons for this order. Rules that apply
    without doubt vote, each with a weight of one over its position; between equal sums the better rule decides. Of a
    method without rules the sentence has the estimates of the others alone; it is empty where there are none.
    """
    both = FACTORS in verdicts
    counts = {name: verdict.components for name, verdict in verdicts.items()
              if verdict.components is not None and not name.startswith("variance_")}
    doubts = {name: verdicts[name].doubt for name in counts if verdicts[name].doubt}
    others = {name: number for name, number in counts.items() if name not in doubts}
    voting = [name for name in rules if name in others]
    if not voting:
        estimates = f"Estimates: {_with_counts(others, both)}." if others else ""
        said = ("No rule for the number of axes applies." if rules else "", estimates,
                no_vote_sentence(counts, doubts, both))
        return {"components": None, "by": None, "differ": {}, "agreement": None,
                "sentence": " ".join(part for part in said if part)}
    name = elect(voting, others)
    count = others.pop(name)
    differ = {other: number for other, number in others.items() if number != count}
    agreed = agreement(count or 0, others)
    said = (advice(count or 0, words(name, both), verdicts[name].detail), agreement_sentence(others, differ, both),
            no_vote_sentence(counts, doubts, both))
    return {"components": count, "by": name, "differ": differ, "agreement": agreed,
            "sentence": " ".join(part for part in said if part)}


def elect(voting: Sequence[str], counts: Mapping[str, int | None]) -> str:
    """Return the best rule among those with the count of the largest weight."""
    weights: dict[int | None, float] = {}
    for place, name in enumerate(voting, start=1):
        weights[counts[name]] = weights.get(counts[name], 0.0) + 1 / place
    heaviest = max(weights.values())
    return next(name for name in voting if weights[counts[name]] > heaviest * (1 - 1e-12))


def agreement(count: int, others: Mapping[str, int | None]) -> dict[str, int]:
    """Return how many of the other rules give the same number, and how many one that differs by at most one."""
    numbers = [number for number in others.values() if number is not None]
    return {"same": numbers.count(count), "near": sum(abs(number - count) <= NEAR for number in numbers),
            "of": len(numbers)}


def advice(count: int, rule: str, detail: str) -> str:
    """Return a sentence with the number of axes and its rule."""
    if count == 0:
        return f"No axis stands out by {rule} ({detail})."
    return f"Keep {count} {'axis' if count == 1 else 'axes'} by {rule} ({detail})."


def agreement_sentence(others: Mapping[str, int | None], differ: Mapping[str, int | None], both: bool) -> str:
    """Return a sentence on which other rules give the same number and which do not, these with their numbers."""
    same = [words(name, both) for name in others if name not in differ]
    if not differ:
        return "All other rules give the same number." if same else ""
    start = f"{list_in_words(same)} give{'s' if len(same) == 1 else ''} the same number; other" if same else "other"
    return f"{start[0].upper()}{start[1:]} rules differ: {_with_counts(differ, both)}."


def no_vote_sentence(counts: Mapping[str, int | None], doubts: Mapping[str, str], both: bool) -> str:
    """Return a sentence on the rules without a vote, each with its count, by their reasons."""
    doubtful = [f"{_with_counts({name: counts[name] for name in doubts if doubts[name] == why}, both)} ({why})"
                for why in dict.fromkeys(doubts.values())]
    return f"Without a vote: {'; '.join(doubtful)}." if doubtful else ""


def _with_counts(counts: Mapping[str, int | None], both: bool) -> str:
    return ", ".join(f"{words(name, both)} {number}" for name, number in counts.items())


def axes_line(advice: Mapping[str, Any], kept: int) -> str:
    """Return the recommended number of axes with its rule, and what most rules say; empty where no rule applies.

    `kept` axes are named where the run has another number.
    """
    count, agreed = advice.get("components"), advice.get("agreement") or {}
    if count is None:
        return ""
    others = [number for number in advice["differ"].values() if number is not None]
    said = majority([count] * (agreed.get("same", 0) + 1) + others)
    number = f"{count}" if count else "none stands out"
    beside = "" if kept == count else f", {kept} kept"
    return f"axes: {number} ({words(advice['by'])}){beside}" + (f"; {said}" if said else "")


def majority(counts: Sequence[int]) -> str:
    """Return the number that most of several rules give, or two that follow each other; the range without such."""
    given = Counter(counts)
    if len(counts) < 2:
        return ""
    if len(given) == 1:
        return f"{'both' if len(counts) == 2 else 'all'} rules say {counts[0]}"
    one = max(given, key=lambda count: given[count])
    if 2 * given[one] > len(counts):
        return f"most rules say {one}"
    low = max(given, key=lambda count: given[count] + given[count + 1])
    if 2 * (given[low] + given[low + 1]) > len(counts):
        return f"most rules say {low} or {low + 1}"
    return f"the rules say {min(given)} to {max(given)}"


def words(name: str, both: bool = False) -> str:
    """Return a rule's name for people; where parallel analysis is of components and of factors, saying which."""
    if both and name == COMPONENTS:
        return "parallel analysis of components"
    return WORDS.get(name, name.replace("_", " "))


SHARES = (0.8, 0.9, 0.95, 0.99)
SPECTRAL: dict[str, Callable[[Evidence], RuleVerdict | NotApplicable]] = {
    **{f"variance_{share:.0%}".rstrip("%"): partial(variance_kept, share=share) for share in SHARES},
    "elbow": elbow, "broken_stick": broken_stick, "kaiser": kaiser, "parallel_analysis": parallel_analysis,
    "velicer_map": velicer, "eigengap": eigengap}


@stage("dimension")
def dimension(method: Method, model: Model, data: Input, compute: Compute, *, long: bool = False) -> dict[str, Any]:
    """Return the content of dimension.json: recommendation, rules with their counts and figures, and those left out.

    `data` holds the rows that were embedded, as the method used them. With `long`, rules are applied that take longer
    than the fit.
    """
    with single_threaded_blas():  # threads would not speed up such small products, and change their rounding
        evidence = evidence_of(method, model, data, compute)
        reached = apply_rules(evidence)
    if "stress" in method.rules:
        reached["stress"] = stress_verdict(method, model, data, compute, long=long)
    applied = {name: verdict for name, verdict in reached.items() if isinstance(verdict, RuleVerdict)}
    return {
        "kept": model.embedding.shape[1],
        "recommendation": recommendation(method.rules, applied),
        "rules": {name: {"components": verdict.components, "rule": verdict.rule, "detail": verdict.detail,
                         "figures": verdict.figures,
                         **({"doubt": verdict.doubt} if verdict.doubt else {})} for name, verdict in applied.items()},
        "left_out": {name: verdict.reason for name, verdict in reached.items() if isinstance(verdict, NotApplicable)},
        **({"correlations": evidence.correlation_eigenvalues} if evidence.correlation_eigenvalues else {}),
    }


def apply_rules(evidence: Evidence) -> dict[str, RuleVerdict | NotApplicable]:
    """Return the verdict of every rule."""
    counted = evidence.method.axes_options.noun
    dimensions = estimates(evidence) if counted == "axes" else dict.fromkeys(
        ("two_nn", "maximum_likelihood"), NotApplicable(f"a dimension is no number of {counted}"))
    return {**eigenvalue_verdicts(evidence), **likelihood_verdicts(evidence),
            "residual_variance": residual_variance(evidence), **dimensions}


def eigenvalue_verdicts(evidence: Evidence) -> dict[str, RuleVerdict | NotApplicable]:
    """Return the verdicts of rules about eigenvalues or columns; none applies to a spectrum of something else."""
    rules = {**SPECTRAL, FACTORS: parallel_factors} if evidence.factors else SPECTRAL
    return {name: NotApplicable(evidence.no_eigenvalues) if evidence.no_eigenvalues else rule(evidence)
            for name, rule in rules.items()}


def dimension_table(document: Mapping[str, Any]) -> str:
    """Return the rules as CSV: rule, components, detail; those left out with the reason and no count."""
    return csv_table(("rule", "components", "detail"), [
        *((name, rule["components"], rule["detail"]) for name, rule in document["rules"].items()),
        *((name, None, f"left out: {reason}") for name, reason in document["left_out"].items())])


COUNT = "give a count, as in {method.eigensolve.components=2}"


def with_recommended_axes(method: Method, data: Input, advise: Callable[[], Mapping[str, Any]]) -> Method:
    """Return the method with the recommended number of axes, at least one, by a fit with the default count.

    `advise` makes that fit and returns its document. Notes of that fit are suppressed. Raises ConfigError where no rule
    has a vote.
    """
    where = f"{method.axes_options.where}.components"
    if not method.rules:
        raise ConfigError("NO-RULES", f"there is no dimension rule for {method.name}", where=where, hint=COUNT)
    with running("dimension"), mute_notes():
        document = advise()
    advice = document["recommendation"]
    if advice["components"] is None:
        raise ConfigError("NO-RULES", f"the dimension rules recommend no number of axes: {advice['sentence']}",
                          where=where, hint=COUNT)
    count = min(max(advice["components"], 1), max(method.limit(data), 1))
    note("N-AUTO", f"axes kept: {count}, recommended by the dimension rules for a fit with {document['kept']} axes",
         components=count, by=advice["by"])
    return method.replace(**{method.axes_section(): method.axes_options.replace(components=count)})


def rules_of(result: Result, *, long: bool = False) -> Mapping[str, Any]:
    """Return the answers of the rules about a run; with `long`, of those too that take longer than the fit."""
    table = result.prepared if result.source.rows else result.method_input
    answers: Mapping[str, Any] = json_value(dimension(result.config.method, result.model, as_compared(result, table),
                                                 result.config.compute, long=long))
    return answers


SAMPLED = 2000  # rows in the rules' search for neighbors
SMALL = 0.008  # constant part of the time, in starts of the program
COLUMNS = 0.03  # additional part for rules about columns


def rules_step(plan: FitPlan, fit: Sequence[Step], *, twice: bool) -> Step:
    """Return the cost of the rules: a search for neighbors, and passes over the columns.

    With `twice`, of the fit too that comes first for `components: auto`.
    """
    rows, columns = min(plan.table.values.shape[0], SAMPLED), plan.table.values.shape[1]
    of_columns = plan.method.columns_model != "none"
    seconds = rates().start * (SMALL + COLUMNS * of_columns) + neighbors_cost(
        points=rows, columns=columns, count=10, tree=False, threads=plan.compute.thread_count(), native=True)
    seconds += of_columns * 20 * pass_cost(rows * columns)
    seconds += twice * sum(step.seconds for step in fit)
    memory = plan.memory_after
    if "stress" in plan.method.rules and (twice or plan.table.values.shape[0] <= FEW_POINTS):
        starts = getattr(plan.method, "starts", 1)
        seconds += MOST_AXES * sum(step.seconds for step in fit) / starts
        memory += max((step.memory for step in fit), default=0.0)
    return Step("dimension", f"rules for the number of axes{', and a fit for them' if twice else ''}", seconds, memory)
