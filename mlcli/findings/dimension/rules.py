"""All rules for one model, as a document and as a table."""

import csv
import io
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import stage
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.findings.dimension.evidence import evidence_of
from mlcli.findings.dimension.intrinsic import estimates
from mlcli.findings.dimension.likelihood import likelihood_verdicts
from mlcli.findings.dimension.parallel import parallel_analysis, parallel_factors
from mlcli.findings.dimension.recommend import FACTORS, recommendation
from mlcli.findings.dimension.residual import residual_variance
from mlcli.findings.dimension.spectral import broken_stick, eigengap, elbow, kaiser, variance_kept, velicer
from mlcli.findings.dimension.verdict import Evidence, NotApplicable, Verdict
from mlcli.methods.method import Method
from mlcli.methods.model import Model

SHARES = (0.8, 0.9, 0.95, 0.99)
SPECTRAL: dict[str, Callable[[Evidence], Verdict | NotApplicable]] = {
    **{f"variance_{share:.0%}".rstrip("%"): partial(variance_kept, share=share) for share in SHARES},
    "elbow": elbow, "broken_stick": broken_stick, "kaiser": kaiser, "parallel_analysis": parallel_analysis,
    "velicer_map": velicer, "eigengap": eigengap}
HEADER = ("rule", "components", "detail")


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
        from mlcli.findings.dimension.residual import stress_verdict

        reached["stress"] = stress_verdict(method, model, data, compute, long=long)
    applied = {name: verdict for name, verdict in reached.items() if isinstance(verdict, Verdict)}
    return {
        "kept": model.embedding.shape[1],
        "recommendation": recommendation(method.rules, applied),
        "rules": {name: {"components": verdict.components, "rule": verdict.rule, "detail": verdict.detail,
                         "figures": verdict.figures,
                         **({"doubt": verdict.doubt} if verdict.doubt else {})} for name, verdict in applied.items()},
        "left_out": {name: verdict.reason for name, verdict in reached.items() if isinstance(verdict, NotApplicable)},
        **({"correlations": evidence.correlation_eigenvalues} if evidence.correlation_eigenvalues else {}),
    }


def apply_rules(evidence: Evidence) -> dict[str, Verdict | NotApplicable]:
    """Return the verdict of every rule."""
    return {**eigenvalue_verdicts(evidence), **likelihood_verdicts(evidence),
            "residual_variance": residual_variance(evidence),
            **estimates(evidence)}


def eigenvalue_verdicts(evidence: Evidence) -> dict[str, Verdict | NotApplicable]:
    """Return the verdicts of rules about eigenvalues or columns; none applies to a spectrum of something else."""
    rules = {**SPECTRAL, FACTORS: parallel_factors} if evidence.factors else SPECTRAL
    return {name: NotApplicable(evidence.no_eigenvalues) if evidence.no_eigenvalues else rule(evidence)
            for name, rule in rules.items()}


def dimension_table(document: Mapping[str, Any]) -> str:
    """Return the rules as CSV: rule, components, detail; those left out with the reason and no count."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows((name, rule["components"], rule["detail"]) for name, rule in document["rules"].items())
    writer.writerows((name, None, f"left out: {reason}") for name, reason in document["left_out"].items())
    return out.getvalue()
