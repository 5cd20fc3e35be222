"""The section of the page about the number of axes."""

from collections.abc import Mapping
from typing import Any

from mlcli.findings.dimension.rules import FACTORS, words
from mlcli.report.drawing.html import Part, figure, fold, section, sentence, table
from mlcli.report.drawing.text import number
from mlcli.report.figures.curves import curve


def dimension(document: Mapping[str, Any], kept: int) -> Part:
    """Return the recommended number of axes, the answer of each rule, and the residual variance by dimension.

    None where the method has no rules and nothing else says a number either.
    """
    said = document["recommendation"]["sentence"]
    if not said:
        return None
    both = FACTORS in document.get("rules", {})
    rows = [(words(name, both), number(rule.get("components")), rule.get("detail") or "", rule.get("rule") or "")
            for name, rule in document.get("rules", {}).items()]
    left = [(words(name, both), reason) for name, reason in document.get("left_out", {}).items()]
    inapplicable = "1 rule that does not apply" if len(left) == 1 else f"{len(left)} rules that do not apply"
    return section("How many dimensions", sentence(said, "lead"),
                   table(("rule", "axes", "found", "what it says"), rows, (1,), (0,), said=True),
                   residuals(document, kept), stresses(document, kept),
                   fold(inapplicable, table(("rule", "why"), left)))


def residuals(document: Mapping[str, Any], kept: int) -> Part:
    """Return the residual-variance curve of Isomap."""
    rule = document.get("rules", {}).get("residual_variance", {})
    values = rule.get("figures", {}).get("residual_variances", ())
    if not values:
        return None
    drawn = curve("Residual variance by dimension", "axes", "1 − r²", [i + 1.0 for i in range(len(values))],
                  {"residual variance": values}, marked=float(kept))
    return figure(drawn, "1 - r² of the distances, by the number of axes; keep as many axes as it takes until the "
                  "curve stops falling.")


def stresses(document: Mapping[str, Any], kept: int) -> Part:
    """Return the curve of a layout's stress by the number of axes."""
    values = document.get("rules", {}).get("stress", {}).get("figures", {}).get("stresses", ())
    if not values:
        return None
    drawn = curve("Stress by number of axes", "axes", "stress", [i + 1.0 for i in range(len(values))],
                  {"stress": values}, marked=float(kept))
    return figure(drawn, "Stress of fits from classical scaling, by the number of axes: more axes always lower it.")
