"""One sentence of recommendation: a vote of the method's own rules, and how far all rules agree."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.findings.dimension.verdict import Verdict

COMPONENTS, FACTORS = "parallel_analysis", "parallel_factors"
WORDS = {FACTORS: "parallel analysis of factors", "velicer_map": "Velicer's MAP", "two_nn": "TwoNN", "kaiser": "Kaiser",
         "minka_evidence": "Minka's evidence", "ppca_bic": "BIC of ppca", "fa_cross_validation": "cross-validation"}
NEAR = 1  # difference in axes of rules that nearly agree
MOST, SOME = 2 / 3, 1 / 3  # shares of the rules that nearly agree


def recommendation(rules: Sequence[str], verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Return the number of axes, the rule behind it, the rules that differ, their agreement, and the sentence.

    `rules` are the method's own, best first; docs/dimension.md gives the reasons for this order. Rules that apply
    without doubt vote, each with a weight of one over its position; between equal sums the better rule decides.
    """
    both = FACTORS in verdicts
    counts = {name: verdict.components for name, verdict in verdicts.items()
              if verdict.components is not None and not name.startswith("variance_")}
    doubts = {name: verdicts[name].doubt for name in counts if verdicts[name].doubt}
    others = {name: number for name, number in counts.items() if name not in doubts}
    voting = [name for name in rules if name in others]
    if not voting:
        sentence = "No rule for the number of axes applies."
        return {"components": None, "by": None, "differ": {}, "agreement": None,
                "sentence": f"{sentence} {no_vote_sentence(counts, doubts, both)}".strip()}
    name = elect(voting, others)
    count = others.pop(name)
    differ = {other: number for other, number in others.items() if number != count}
    agreed = agreement(count or 0, others)
    said = (advice(count or 0, words(name, both), verdicts[name].detail), strength_sentence(agreed),
            agreement_sentence(others, differ, both),
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
    """Return a sentence on which other rules agree and which do not."""
    agree = [words(name, both) for name in others if name not in differ]
    differing = [f"{words(name, both)} {number}" for name, number in differ.items()]
    if not differing:
        return "All other rules agree." if agree else ""
    start = f"{list_in_words(agree)} agree{'s' if len(agree) == 1 else ''}; the" if agree else "The"
    return f"{start} others differ: {', '.join(differing)}."


def no_vote_sentence(counts: Mapping[str, int | None], doubts: Mapping[str, str], both: bool) -> str:
    """Return a sentence on the rules without a vote, each with its count and the reason."""
    doubtful = [f"{words(name, both)} {counts[name]} ({why})" for name, why in doubts.items()]
    return f"Without a vote: {'; '.join(doubtful)}." if doubtful else ""


def strength_sentence(agreed: Mapping[str, int] | None) -> str:
    """Return a sentence on how far the rules agree; empty where there is nothing to compare."""
    if not agreed or not agreed["of"]:
        return ""
    near, whole = agreed["near"], agreed["of"]
    level = "agree" if near >= MOST * whole else "agree in part" if near >= SOME * whole else "disagree"
    return f"The rules {level}: {near} of {whole} other rules give the same number or differ by 1."


def words(name: str, both: bool = False) -> str:
    """Return a rule's name for people; where parallel analysis is of components and of factors, saying which."""
    if both and name == COMPONENTS:
        return "parallel analysis of components"
    return WORDS.get(name, name.replace("_", " "))


def list_in_words(items: list[str]) -> str:
    """Return "A, b and c", with a capital."""
    text = items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
    return text[0].upper() + text[1:]
