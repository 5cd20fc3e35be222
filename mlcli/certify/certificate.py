"""The certificate: all checks of one result, and their verdict."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.values.check import Check, Verdict, count, skipped
from mlcli.certify import projection
from mlcli.certify.eigen import spectral_checks
from mlcli.certify.subject import Subject

FORMAT = 1
WORST: tuple[Verdict, ...] = ("fail", "warn", "pass")
FORMAL = ("model", "rows", "prepared", "finite", "size")  # checks that look at no number of the result


@frozen
class Certificate:
    """Checks and facts of one result."""

    checks: tuple[Check, ...]
    facts: dict[str, Any]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all checks; `unchecked` if none failed and none looked at a number of the result."""
        verdicts = {check.verdict for check in self.checks}
        worst: Verdict = next((verdict for verdict in WORST if verdict in verdicts), "pass")
        numbers = {check.verdict for check in self.checks if check.name not in FORMAL} - {"skipped"}
        return worst if numbers or worst != "pass" else "unchecked"

    @property
    def failed(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.verdict == "fail"]

    def document(self) -> dict[str, Any]:
        """Return the certificate as plain values, for JSON."""
        return {"format": FORMAT, "verdict": self.verdict, "checks": [{**vars(check)} for check in self.checks],
                "facts": self.facts}


@frozen
class Claim:
    """A method's claim about its coordinates, and the checks that test it."""

    checks: Callable[[Subject], Iterator[Check]]  # against the input
    tolerance: projection.Tolerance  # rounding of coordinates in projection_check
    eigenvectors: bool = True
    unit: bool = False  # whether axes are checked with unit variance, rather than that of the eigenvalues


def claim_of(subject: Subject) -> Claim:
    """Return the claim that belongs to the method's `proof`, and import its checks. Nothing else reads `proof`."""
    proof = subject.method.proof
    if proof == "kernel" and subject.model.fit.get("polychoric"):
        from mlcli.certify.polychoric import component_checks

        return Claim(component_checks, projection.score_tolerance, eigenvectors=False)
    if proof == "kernel" and subject.linear:
        from mlcli.certify.linear import linear_checks

        return Claim(linear_checks, projection.column_tolerance)
    if proof == "kernel":
        from mlcli.certify.kernel import kernel_checks

        return Claim(kernel_checks, projection.kernel_tolerance)
    if proof == "weights":
        from mlcli.certify.weights import weight_checks

        return Claim(weight_checks, projection.weight_tolerance, unit=True)
    if proof == "latent":
        from mlcli.certify.latent import latent_checks

        return Claim(latent_checks, projection.score_tolerance, eigenvectors=False)
    if proof == "linearization":
        from mlcli.certify.linearization import linearization_checks

        return Claim(linearization_checks, projection.row_tolerance, eigenvectors=False)
    return Claim(lambda subject: iter(()), projection.row_tolerance, eigenvectors=proof == "spectrum")


def check_numbers(subject: Subject) -> Iterator[Check]:
    """Yield every check of a result against its input; without the input, the checks that the result allows alone."""
    with np.errstate(all="ignore"):  # an overflow gives inf or NaN, and the check of it fails
        claim, there, asked = claim_of(subject), subject.places, subject
        subject = subject.rescale_axes("variance" if claim.unit else "roots") if claim.eigenvectors else subject
        if there:
            if subject.data is not None and len(subject.data.values) != subject.size:
                missing = abs(len(subject.data.values) - subject.size)
                yield count("size", missing, "rows of the data without coordinates")
                return
            checks = list(spectral_checks(subject, claim.eigenvectors, claim.unit))
            yield from checks
            if checks[0].verdict == "fail":  # not finite
                return
        elif subject.size:
            yield count("finite", int(np.count_nonzero(~np.isfinite(subject.embedding))), "coordinates not finite")
        if subject.data is None:
            yield skipped("input", "the input is not at hand")
            return
        if there:
            yield from projection.parameters(subject)
            yield projection.stored_points(subject)
        yield from claim.checks(subject)
        if there:
            yield from _checks_of_parts(subject, asked)
            yield projection.projection_check(subject, claim.tolerance)
        yield from asked.method.identities(asked.data, asked.model, full=subject.plan.full)


def _checks_of_parts(subject: Subject, asked: Subject) -> Iterator[Check]:
    """Yield checks of parts besides the axes: power iteration, a neighbor graph, a decoder, a kernel that was learned.

    `asked` has the axes' own scale.
    """
    if getattr(getattr(subject.chain, "kernel", None), "requested_route", None) == "power":
        from mlcli.certify.eigen import power_checks

        yield from power_checks(subject)
    graph = subject.similarity.parts.graph
    if graph is not None:
        from mlcli.certify.graph import graph_checks

        yield from graph_checks(subject, graph)
    if asked.chain is not None and asked.chain.decoder.name != "none":
        from mlcli.certify.preimages import preimage_checks

        yield from preimage_checks(asked)
    if subject.model.unfolded is not None:
        from mlcli.certify.unfolding import unfolding_checks

        yield from unfolding_checks(subject, subject.model.unfolded)


def facts_of(subject: Subject) -> dict[str, Any]:
    """Return facts that are not judged: the numbers of rows, axes, points of the fit, eigenvalues and edges."""
    graph = subject.similarity.parts.graph if subject.places else None
    return {"rows": subject.size, "components": int(subject.embedding.shape[1]),
            "carriers": subject.fit_size if subject.places else 0,
            "eigenvalues": len(subject.spectrum.solved), "edges": None if graph is None else graph.edges}
