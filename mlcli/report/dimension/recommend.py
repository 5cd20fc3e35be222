"""One sentence of recommendation: the first rule of the method's own order that applies, and who disagrees."""

from collections.abc import Mapping
from typing import Any

from mlcli.report.dimension.verdict import Verdict

# Why in this order: docs/dimension.md
ORDER: dict[str, tuple[str, ...]] = {
    "pca": ("parallel_analysis", "velicer_map", "broken_stick"),
    "ppca": ("minka_evidence", "ppca_bic", "parallel_analysis", "velicer_map"),
    "fa": ("fa_cross_validation", "parallel_analysis", "velicer_map"),
    "mds": ("broken_stick", "residual_variance", "elbow"),
    "kpca": ("broken_stick", "elbow"),
    "isomap": ("residual_variance", "two_nn", "broken_stick"),
    "lle": ("two_nn", "maximum_likelihood"),
    # neighborhoods tell the dimension of the input, not how many of these axes have a meaning
    **dict.fromkeys(("lda", "cca", "ibfa", "sfa", "lgssm", "ica"), ())}
ELSE = ("broken_stick", "elbow", "two_nn")
WORDS = {"velicer_map": "Velicer's MAP", "two_nn": "TwoNN", "kaiser": "Kaiser",
         "minka_evidence": "Minka's evidence", "ppca_bic": "BIC of ppca", "fa_cross_validation": "cross-validation"}


def recommendation(method: str, verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """The number of axes, the rule that it comes from, the rules that say otherwise, and the sentence."""
    counts = {name: verdict.components for name, verdict in verdicts.items()
              if verdict.components is not None and not name.startswith("variance_")}
    name = next((name for name in ORDER.get(method, ELSE) if name in counts), None)
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
    told = [f"{words(name)} {number}" for name, number in differ.items()]
    if not told:
        return "All other rules agree." if agree else ""
    start = f"{listed(agree)} agree{'s' if len(agree) == 1 else ''}; the" if agree else "The"
    return f"{start} others differ: {', '.join(told)}."


def words(name: str) -> str:
    """A rule's name for people."""
    return WORDS.get(name, name.replace("_", " "))


def listed(items: list[str]) -> str:
    """a, b and c, with a capital."""
    text = items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
    return text[0].upper() + text[1:]
