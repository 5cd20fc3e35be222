"""One sentence of recommendation: the first rule of the method's own order that applies, and which disagree."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.report.dimension.verdict import Verdict

WORDS = {"velicer_map": "Velicer's MAP", "two_nn": "TwoNN", "kaiser": "Kaiser",
         "minka_evidence": "Minka's evidence", "ppca_bic": "BIC of ppca", "fa_cross_validation": "cross-validation"}


def recommendation(rules: Sequence[str], verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """The number of axes, the rule that it comes from, the rules that differ, and the sentence.

    `rules` are the method's own, best first; docs/dimension.md says why in this order.
    """
    counts = {name: verdict.components for name, verdict in verdicts.items()
              if verdict.components is not None and not name.startswith("variance_")}
    name = next((name for name in rules if name in counts), None)
    if name is None:
        return {"components": None, "by": None, "differ": {}, "sentence": "No rule for the number of axes applies."}
    count = counts.pop(name)
    differ = {other: number for other, number in counts.items() if number != count}
    return {"components": count, "by": name, "differ": differ,
            "sentence": f"{advice(count or 0, words(name), verdicts[name].detail)} {voices(counts, differ)}".strip()}


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


def words(name: str) -> str:
    """A rule's name for people."""
    return WORDS.get(name, name.replace("_", " "))


def listed(items: list[str]) -> str:
    """a, b and c, with a capital."""
    text = items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
    return text[0].upper() + text[1:]
