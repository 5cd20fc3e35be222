"""How good a run is: the measure that its method is judged by, in a sentence and as a cell of a table.

A method names its measure (`Method.judged_by`). Measures are read from the summary of a run.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.units import percent
from mlcli.data.options.wording import counted
from mlcli.findings import FINDINGS
from mlcli.findings.frame.onto import fit_alone
from mlcli.methods import METHODS
from mlcli.report.figures.scree import shares_overlap

Summary = Mapping[str, Any]
OF_ALL = ("neighbors kept", "residual variance", "reconstruction error")  # measures of all rows, also of added ones
SAID = 5  # canonical correlations and slownesses that a sentence gives


@frozen
class Judgement:
    """A measure of one run: its name and value, and the sentence with it."""

    measure: str
    value: str
    sentence: str


def judgement(summary: Summary) -> Judgement | None:
    """Return the measure that the run's method is judged by, else how many neighbors it keeps; None without both.

    A run has no measure of neighbors where its quality was not asked for, and a factor analysis no fit where its model
    has no degrees of freedom.
    """
    kind = METHODS[summary["method"]]
    found = (MEASURES[name](summary) for name in (kind.judged_by, "neighbors") if name in MEASURES)
    one = next((one for one in found if one is not None), None)
    if one is None or one.measure in OF_ALL or not (alone := fit_alone(summary)):
        return one
    return replace(one, sentence=f"{one.sentence}, {alone}")


def share(summary: Summary, of: str) -> Judgement | None:
    """Return the share of the trace that the kept axes have; of the positive eigenvalues where some are negative."""
    shares, spectrum = summary.get("proportions"), summary.get("spectrum")
    if not shares or spectrum is None or shares_overlap(spectrum["ranked_by"], summary.get("fit") or {}):
        return None
    total, whole = sum(shares), f"the {of}"
    values, positive = summary.get("eigenvalues"), spectrum.get("sum_of_positive")
    if values and positive and spectrum.get("negative_share"):
        total, whole = sum(values[:len(shares)]) / positive, "the sum of positive eigenvalues"
    verb = "axis keeps" if len(shares) == 1 else "axes keep"
    return Judgement(of, percent(total), f"{len(shares)} {verb} {percent(total)} of {whole}")


def neighbors(summary: Summary) -> Judgement | None:
    """Return the share of the nearest neighbors that are neighbors in the embedding, with the trustworthiness."""
    figures = summary.get("quality") or {}
    kept, trust, error = (figures.get(name) for name in ("recall", "trustworthiness", "trustworthiness_se"))
    if kept is None or trust is None:
        return None
    count, beside = figures["neighbors"], "" if error is None else f" ± {error:.2g}"
    return Judgement("neighbors kept", percent(kept), f"{percent(kept)} of the {count} nearest neighbors are kept; "
                     f"trustworthiness {trust:.4f}{beside}")


def residual_variance(summary: Summary) -> Judgement | None:
    """Return one minus the squared correlation of distances along the graph and in the embedding."""
    value = (summary.get("quality") or {}).get("residual_variance")
    if value is not None and (summary.get("onto") or {}).get("way") == "fixed":
        return Judgement("residual variance", f"{value:.4f}", (
            f"residual variance {value:.4f} of distances in the data (along the graph there are only those of the fit, "
            "without the added rows)"))
    return None if value is None else Judgement("residual variance", f"{value:.4f}", (
        f"residual variance {value:.4f} (at 0, distances along the graph are kept)"))


def stress(summary: Summary) -> Judgement | None:
    """Return the stress that a layout made small, by the method's own definition."""
    lines = [*FINDINGS["stress"].lines(summary)]
    return Judgement("stress", f"{summary['fit']['stress']:.4f}", lines[0]) if lines else None


def fit(summary: Summary) -> Judgement | None:
    """Return the test of fit of a factor analysis, with RMSEA as its number; without one, the share of the variance."""
    lines, found = [*FINDINGS["loadings"].lines(summary)], (summary.get("fit") or {}).get("rmsea")
    return Judgement("RMSEA", f"{found:.3f}", lines[0]) if lines and found is not None else share(summary, "variance")


def explained(summary: Summary) -> Judgement | None:
    """Return the share of the variance that constraints explain."""
    found = summary.get("fit") or {}
    value, adjusted, chance = (found.get(name) for name in ("explained_share", "adjusted_explained_share", "p_value"))
    if value is None:
        return None
    beside = "" if adjusted is None else f" (adjusted {percent(adjusted)})"
    return Judgement("explained", percent(value), f"constraints explain {percent(value)} of the variance{beside}"
                      + ("" if chance is None else f", p = {chance:.2g}"))


def classes(summary: Summary) -> Judgement | None:
    """Return the rows of the fit that discriminant functions put into another class; the share between classes else."""
    wrong = (summary.get("fit") or {}).get("resubstitution_errors")
    if wrong is None:
        return share(summary, "variance between classes")
    be = "is" if wrong == 1 else "are"
    if fit_alone(summary):
        return Judgement("rows misclassified", f"{wrong:,}", f"{counted(wrong, 'row')} {be} misclassified")
    rows = f"{summary['embedding']['rows']:,}"
    return Judgement("rows misclassified", f"{wrong:,}", f"{wrong:,} of the {rows} rows of the fit {be} misclassified")


def leading(summary: Summary, singular: str, plural: str, note: str = "") -> Judgement | None:
    """Return the first numbers of a spectrum whose axes have no shares: canonical correlations, slownesses."""
    values = [f"{value:.4g}" for value in (summary.get("eigenvalues") or ())[:SAID]]
    name = singular if len(values) == 1 else plural
    return Judgement(f"first {singular}", values[0], f"{name} {', '.join(values)}{note}") if values else None


def reconstruction(summary: Summary) -> Judgement | None:
    """Return the share of the variance that the decoder gives back, or its mean squared error."""
    found, error = summary.get("fit") or {}, (summary.get("quality") or {}).get("reconstruction_error")
    back = found.get("explained") if found.get("unexplained") is None else 1 - found["unexplained"]
    if back is not None:
        axes, view = summary["components"], " of the second view" if "decoded_view" in found else ""
        return Judgement("reconstructed", percent(back), f"{axes} {'axis gives' if axes == 1 else 'axes give'} back "
                         f"{percent(back)} of the {'sum of squares' if 'explained' in found else 'variance'}{view}")
    return None if error is None else Judgement(
        "reconstruction error", f"{error:.4g}", f"reconstruction error {error:.4g}, the mean squared error of a row")


def distortion(summary: Summary) -> Judgement | None:
    """Return the range of ratios of squared distances after a random projection to those before."""
    ratios = (summary.get("fit") or {}).get("distortion") or {}
    if not ratios:
        return None
    least, most = f"{ratios['smallest']:.3g}", f"{ratios['largest']:.3g}"
    return Judgement("distortion", f"{least} to {most}", f"squared distances are multiplied by {least} to {most}")


def information(summary: Summary) -> Judgement | None:
    """Return the share of what rows tell of columns that clusters tell as well; of views, what axes tell in nats."""
    found = summary.get("fit") or {}
    told, whole, clusters, kept = (found.get(name) for name in (
        "relevant_information", "total_information", "clusters", "kept_information"))
    if told is None:
        return None
    if clusters is None:
        axes = summary["components"]
        tell = "1 axis tells" if axes == 1 else f"{axes} axes tell"
        all_of = f", of {whole:.4g} that there are" if whole else ""
        return Judgement("information", f"{told:.4g} nats", f"{tell} {told:.4g} nats of the second view{all_of}; "
                         f"{kept:.4g} of the first are kept")
    if whole is None:
        return None
    if found.get("first_beta") is None:  # what is left of I(X; Y) is rounding
        return Judgement("information", "none", "rows tell nothing of columns: all have the same shares of them")
    tell = "1 cluster tells" if clusters == 1 else f"{clusters} clusters tell"
    return Judgement("information", percent(told / whole), f"{tell} {percent(told / whole)} of what rows tell of "
                     f"columns, {told:.4g} of {whole:.4g} nats")


MEASURES: Mapping[str, Callable[[Summary], Judgement | None]] = {
    "variance": partial(share, of="variance"), "inertia": partial(share, of="inertia"),
    "means": partial(share, of="sum of squares of the means"), "neighbors": neighbors,
    "residual_variance": residual_variance, "stress": stress, "fit": fit, "explained": explained, "classes": classes,
    "correlations": partial(leading, singular="canonical correlation", plural="canonical correlations"),
    "slowness": partial(leading, singular="slowness", plural="slownesses", note=" (0: constant in time, 2: noise)"),
    "reconstruction": reconstruction, "distortion": distortion, "information": information}
