"""The section of the page about the spectrum."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from mlcli.base.units import percent
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.frame.onto import fit_alone
from mlcli.findings.spectrum import ADJUSTED, ANGLES, DIGITS, SpectrumFinding
from mlcli.report.drawing.html import UNKNOWN, Part, figure, section, sentence, side_by_side, table
from mlcli.report.drawing.text import four_digits
from mlcli.report.figures.scree import OVERLAP, WHY, ScreeValues, cumulative, exceed_one, positive_shares, scree

LEADING = 10  # eigenvalues in the table
CERTAIN = ("Certain digits of an axis are those that rounding, and what the solver leaves, cannot change: on other "
           "machines they are the same. An axis with none may turn into its neighbor.")
SHARED = ("Only the {space} that they span is determined: within it the axes are one choice of many, and what is read "
          "off a single one, as a loading or an order of points, depends on that choice.")
CUT = "{kept} of them {are} kept, so that the embedding itself depends on that choice: keep {counts} axes."
ERRORS = ("Axes by landmarks differ from those of all points by at most these angles, at 95% confidence for each: the "
          "residual of the axis, estimated from exact rows of some points, over the gap between eigenvalues, which is "
          "estimated too. At 90° nothing is known of the axis.")
EXPECTED = "The line is parallel analysis: the 95th percentile of the eigenvalues of uncorrelated columns."


def spectrum(run: FinishedRun) -> Part:
    """Return the scree plot, the cumulative share, and the first eigenvalues as a table."""
    eigenvalues, summary = run.eigenvalues, run.spectrum_facts
    if eigenvalues is None or not eigenvalues.values:
        return None
    rows: list[tuple[Any, ...]] = [
        (i + 1, four_digits(value), _percent(share), _percent(total)) for i, (value, share, total) in enumerate(
            zip(eigenvalues.values[:LEADING], run.proportions, eigenvalues.cumulative, strict=False))]
    rows += [(len(rows) + i + 1, f"≥ {four_digits(value)}", UNKNOWN, UNKNOWN)
             for i, value in enumerate(eigenvalues.at_least[: LEADING - len(rows)])]
    head = ["component", eigenvalues.what, "share of trace", "cumulative"]
    if run.overlapping:
        head, rows = head[:2], [row[:2] for row in rows]
    if shares := positive_shares(eigenvalues.values[:LEADING], eigenvalues.cumulative, summary.get("sum_of_positive"),
                                 digits=2):
        head.append("cumulative, of positive ones")
        rows = [(*row, _percent(share)) for row, share in zip_longest(rows, shares)]
    given = SpectrumFinding.of(run)
    if given is not None and ADJUSTED[0] in given.columns:
        head += ["adjusted", "share of adjusted total"]
        adjusted, known = map(given.numbers_or_none, ADJUSTED)
        rows = [(*row, UNKNOWN if value is None else four_digits(value), _percent(share))
                for row, value, share in zip(rows, adjusted, known, strict=False)]
    digits = [] if given is None or DIGITS not in given.columns else given.numbers_or_none(DIGITS)
    if digits:
        head.append("certain digits")
        rows = [(*row, UNKNOWN if count is None else f"{count:.0f}")
                for row, count in zip_longest(rows, digits[:len(rows)])]
    angles = [] if given is None or ANGLES not in given.columns else given.numbers_or_none(ANGLES)
    if angles:
        head.append("angle to the exact axis, at most")
        rows = [(*row, UNKNOWN if angle is None else f"{angle:.3g}°")
                for row, angle in zip_longest(rows, angles[:len(rows)])]
    drawn = run.scree or eigenvalues
    ranked = None if eigenvalues.what.startswith("eigenvalues") else sentence(
        f"Axes are ranked by {eigenvalues.what}.", "lead")
    alone = fit_alone(run.manifest)
    return section("Spectrum", ranked, sentence(f"The spectrum is {alone}.", "lead") if alone else None, side_by_side(
                       figure(scree(drawn, "Scree plot"), EXPECTED if drawn.line else ""),
                       figure(cumulative(eigenvalues, "Cumulative share of the trace"))),
                   table(head, rows, range(len(head))), _bounds(eigenvalues),
                   sentence(CERTAIN, "soft") if digits else None,
                   sentence(ERRORS, "soft") if angles else None,
                   *(sentence(_shared(first, stop, run.embedding.values.shape[1])) for first, stop in run.shared_axes),
                   sentence(OVERLAP, "soft") if run.overlapping else None,
                   sentence(WHY, "soft") if exceed_one(eigenvalues.cumulative, 2) else None, _negative(summary))


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else percent(share, 2)


def _shared(first: int, stop: int, kept: int) -> str:
    """Return what is to be said of the components `first` to `stop` (from 0, exclusive), of one eigenvalue."""
    size, inside = stop - first, min(stop, kept) - first
    names = f"{first + 1} {'and' if size == 2 else 'to'} {stop}"
    said = f"Components {names} share an eigenvalue within its error. " + SHARED.format(
        space="plane" if size == 2 else "space")
    counts = f"{first} or {stop}" if first else f"{stop}"
    return said if inside == size else f"{said} " + CUT.format(kept=inside, are="is" if inside == 1 else "are",
                                                               counts=counts)


def _bounds(eigenvalues: ScreeValues) -> Part:
    if not eigenvalues.at_least:
        return None
    return sentence("Eigenvalues after ≥ are lower bounds; to compute them, raise method.eigensolve.report.", "soft")


def _negative(summary: Mapping[str, Any]) -> Part:
    share = percent(summary.get("negative_share") or 0.0, 2)
    if share == percent(0.0):
        return None
    return sentence(f"Negative eigenvalues hold {share} of the sum of absolute eigenvalues; they never "
                    "become axes.",
                    "soft")
