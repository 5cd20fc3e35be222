"""Rules by the likelihood of the data: Minka's evidence, BIC of probabilistic PCA, cross-validated factors.

Most methods have no such likelihood: the formulas are imported for those that have one.
"""

from functools import partial

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.findings.dimension.verdict import Evidence, NotApplicable, Verdict

WIDEST = 500  # largest number of columns for d² logarithms
FOLDS = 3
BUDGET = 0.2  # seconds for fits to folds
STEP, CUBE = 1e-3, 7e-9  # seconds of one step of a fit: constant, and for each of d³ products
FALLS = 2  # consecutive counts below the best after which the search ends
STEPS = 8  # steps of a fit, about
LIMIT, TOLERANCE = 50, 1e-3  # of a fit: enough for comparing likelihoods, whose errors are squares of this
ROOM = 2**17  # numbers in a sample of the rows


def likelihood_verdicts(evidence: Evidence) -> dict[str, Verdict | NotApplicable]:
    """Return the verdicts of the three likelihood rules."""
    return {"minka_evidence": minka(evidence), "ppca_bic": criterion(evidence),
            "fa_cross_validation": cross_validation(evidence)}


def variances(evidence: Evidence) -> tuple[Array, int] | NotApplicable:
    """Return all eigenvalues of the covariance of the columns that vary, over n, and n."""
    rows, columns = evidence.observations, len(evidence.norms) if evidence.of_columns else 0
    if evidence.method.columns_model != "equal noise" or not evidence.of_columns:
        return NotApplicable(evidence.no_eigenvalues or
                             "it is the likelihood of probabilistic PCA, which pca and ppca have")
    if rows is None:
        return NotApplicable("it needs the number of observations: input.observations")
    if columns < 2 or columns > WIDEST or rows <= columns:
        return NotApplicable(f"{columns} columns of {rows} points vary; it takes from 2 to {WIDEST}, and more points")
    values = evidence.positive[:columns]
    if len(values) < columns:
        return NotApplicable("it needs all eigenvalues, none of them zero")
    return values / (rows if evidence.moments is None else 1), rows


def minka(evidence: Evidence) -> Verdict | NotApplicable:
    """Return the number of axes with the largest evidence, by Laplace's approximation (Minka, 2000)."""
    given = variances(evidence)
    if isinstance(given, NotApplicable):
        return given
    from mlcli.findings.dimension.likelihood_rules import minka_evidence

    log_evidence = minka_evidence(*given)
    if not np.isfinite(log_evidence).any():
        return NotApplicable("eigenvalues are tied")
    count = int(log_evidence.argmax()) + 1
    return Verdict(count, "The number of axes of probabilistic PCA with the largest evidence (Minka).",
                   f"of 1 to {len(log_evidence)} axes", {"log_evidence": finite(log_evidence)})


def criterion(evidence: Evidence) -> Verdict | NotApplicable:
    """Return the number of axes with the smallest Bayesian information criterion (Schwarz, 1978)."""
    given = variances(evidence)
    if isinstance(given, NotApplicable):
        return given
    from mlcli.findings.dimension.likelihood_rules import ppca_bic

    values = -2 * ppca_bic(*given)
    count = int(values.argmin())
    return Verdict(count, "The number of axes of probabilistic PCA with the smallest Bayesian information criterion "
                   "(BIC).",
                   f"of 0 to {len(values) - 1} axes", {"bic": finite(values)})


def cross_validation(evidence: Evidence) -> Verdict | NotApplicable:
    """Return the number of factors under which held-out rows are most likely."""
    if not evidence.factors:
        return NotApplicable("it fits factor models, as fa does")
    if evidence.points is None:
        return NotApplicable("it needs rows to hold out, and none are available")
    points, columns = evidence.columns, evidence.columns.shape[1]
    if points.size > ROOM:
        points = points[np.sort(evidence.generator().choice(len(points), max(ROOM // columns, 1), replace=False))]
    fit = FOLDS * STEPS * (STEP + CUBE * columns**3)
    most = min(evidence.factors, int(BUDGET / fit))
    if most < 1 or len(points) < 3 * FOLDS or len(points) * (FOLDS - 1) <= columns * FOLDS:
        return NotApplicable(f"{FOLDS} folds of {len(points)} points with {columns} columns are too few, or cost "
                             "too much")
    try:
        with no_listeners(), single_threaded_blas(), np.errstate(all="ignore"):
            likelihoods = fold_likelihoods(evidence, points, most)
    except NumericalError:
        return NotApplicable("a column does not vary in one of the folds")
    count = int(likelihoods.argmax())
    if count == most < evidence.factors:
        return NotApplicable(f"the likelihood still rises at {most} factors, the most that fit in the time")
    return Verdict(count, "The number of factors with the largest likelihood of held-out rows.",
                   f"{FOLDS} folds, of 0 to {len(likelihoods) - 1} factors",
                   {"mean_log_likelihoods": finite(likelihoods), "folds": FOLDS, "rows": len(points),
                    "seed": evidence.seed})


def fold_likelihoods(evidence: Evidence, points: Array, most: int) -> Array:
    """Return the mean log-likelihood of held-out rows under 0, 1, ... factors, until it has fallen, a (k,) array.

    `points` is an (m, d) array; all counts have the same folds.
    """
    from mlcli.core.iterate import Iterate
    from mlcli.findings.dimension.likelihood_rules import cross_validate, factor_gaussian

    fit = partial(factor_gaussian, iterate=Iterate(limit=LIMIT, tolerance=TOLERANCE))
    likelihoods: list[float] = []
    for count in range(most + 1):
        likelihoods += cross_validate(points, fit, [count], FOLDS, evidence.generator()).tolist()
        if len(likelihoods) > FALLS and max(likelihoods[-FALLS:]) < max(likelihoods):
            break
    return np.array(likelihoods)


def finite(values: Array) -> list[float | None]:
    """Return numbers for JSON, at most 20 of a (k,) array, None where not finite."""
    return [value if np.isfinite(value) else None for value in values[:20].tolist()]
