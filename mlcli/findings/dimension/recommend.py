"""One sentence of recommendation: what the method's own rules say, weighed, and how far all rules agree."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.findings.dimension.verdict import Verdict

WORDS = {"velicer_map": "Velicer's MAP", "two_nn": "TwoNN", "kaiser": "Kaiser",
         "minka_evidence": "Minka's evidence", "ppca_bic": "BIC of ppca", "fa_cross_validation": "cross-validation"}
NEAR = 1  # axes by which rules that nearly agree differ
MOST, SOME = 2 / 3, 1 / 3  # shares of the rules that nearly agree


def recommendation(rules: Sequence[str], verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """The number of axes, the rule that it comes from, the rules that differ, how far they agree, and the sentence.

    `rules` are the method's own, best first; docs/dimension.md says why in this order. Those that apply and have no
    doubt vote, each with a weight of one over its place; between equal sums the better rule decides.
    """
    counts = {name: verdict.components for name, verdict in verdicts.items()
              if verdict.components is not None and not name.startswith("variance_")}
    doubts = {name: verdicts[name].doubt for name in counts if verdicts[name].doubt}
    others = {name: number for name, number in counts.items() if name not in doubts}
    voting = [name for name in rules if name in others]
    if not voting:
        sentence = "No rule for the number of axes applies."
        return {"components": None, "by": None, "differ": {}, "agreement": None,
                "sentence": f"{sentence} {aside(counts, doubts)}".strip()}
    name = elected(voting, others)
    count = others.pop(name)
    differ = {other: number for other, number in others.items() if number != count}
    agreed = agreement(count or 0, others)
    said = (advice(count or 0, words(name), verdicts[name].detail), strength(agreed), voices(others, differ),
            aside(counts, doubts))
    return {"components": count, "by": name, "differ": differ, "agreement": agreed,
            "sentence": " ".join(part for part in said if part)}


def elected(voting: Sequence[str], counts: Mapping[str, int | None]) -> str:
    """The best rule of those that say what most weight is behind."""
    weights: dict[int | None, float] = {}
    for place, name in enumerate(voting, start=1):
        weights[counts[name]] = weights.get(counts[name], 0.0) + 1 / place
    heaviest = max(weights.values())
    return next(name for name in voting if weights[counts[name]] > heaviest * (1 - 1e-12))


def agreement(count: int, others: Mapping[str, int | None]) -> dict[str, int]:
    """How many of the other rules say the same number, and how many one that differs by one at most."""
    numbers = [number for number in others.values() if number is not None]
    return {"same": numbers.count(count), "near": sum(abs(number - count) <= NEAR for number in numbers),
            "of": len(numbers)}


def advice(count: int, rule: str, detail: str) -> str:
    """What to keep, by which rule."""
    if count == 0:
        return f"No axis stands out by {rule} ({detail})."
    return f"Keep {count} {'axis' if count == 1 else 'axes'} by {rule} ({detail})."


def voices(others: Mapping[str, int | None], differ: Mapping[str, int | None]) -> str:
    """Which other rules agree and which do not."""
    agree = [words(name) for name in others if name not in differ]
    differing = [f"{words(name)} {number}" for name, number in differ.items()]
    if not differing:
        return "All other rules agree." if agree else ""
    start = f"{listed(agree)} agree{'s' if len(agree) == 1 else ''}; the" if agree else "The"
    return f"{start} others differ: {', '.join(differing)}."


def aside(counts: Mapping[str, int | None], doubts: Mapping[str, str]) -> str:
    """The rules that have no vote here, each with its count and the reason."""
    told = [f"{words(name)} {counts[name]} ({why})" for name, why in doubts.items()]
    return f"Without a vote: {'; '.join(told)}." if told else ""


def strength(agreed: Mapping[str, int] | None) -> str:
    """How far the rules agree, in a sentence; empty where there is nothing to compare."""
    if not agreed or not agreed["of"]:
        return ""
    near, whole = agreed["near"], agreed["of"]
    level = "agree" if near >= MOST * whole else "agree in part" if near >= SOME * whole else "disagree"
    return f"The rules {level}: {near} of {whole} others say the same or differ by one."


def words(name: str) -> str:
    """A rule's name for people."""
    return WORDS.get(name, name.replace("_", " "))


def listed(items: list[str]) -> str:
    """a, b and c, with a capital."""
    text = items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
    return text[0].upper() + text[1:]
