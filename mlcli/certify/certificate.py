"""All checks of one result, in the order in which they are worth their time."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from mlcli.base.check import Check, Verdict, count, skipped
from mlcli.base.frozen import frozen
from mlcli.base.scaling import all_finite
from mlcli.certify.budget import Budget
from mlcli.certify.counting import INERTIA, by_inertia, nothing_above
from mlcli.certify.graph import Near, graph_checks, graph_facts, stored_points
from mlcli.certify.kernel import centered, eigenproblem, looked_up, slack
from mlcli.certify.latent import latent_checks
from mlcli.certify.linear import is_linear, of_covariance, variances
from mlcli.certify.projection import parameters, projected
from mlcli.certify.spectral import spectral
from mlcli.certify.subject import Subject
from mlcli.certify.unfolding import unfolding_checks
from mlcli.certify.weights import weight_checks
from mlcli.stages.similarities import Barycenters, Geodesics

FORMAT = 1
WORST: tuple[Verdict, ...] = ("fail", "warn", "pass")


@frozen
class Certificate:
    """Checks and facts of one result."""

    checks: tuple[Check, ...]
    facts: dict[str, Any]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all."""
        found = {check.verdict for check in self.checks}
        return next((verdict for verdict in WORST if verdict in found), "pass")

    @property
    def failed(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.verdict == "fail"]

    def document(self) -> dict[str, Any]:
        """The certificate as plain values."""
        return {"format": FORMAT, "verdict": self.verdict, "checks": [asdict(check) for check in self.checks],
                "facts": self.facts}


def numbers(subject: Subject, budget: Budget) -> Iterator[Check]:
    """Every check of a result against its input; without the input, what the result says of itself."""
    with np.errstate(all="ignore"):  # what overflows is not finite, and fails
        if subject.model.projector is None:  # of a covariance: there are no rows
            yield from _of_covariance(subject, budget)
            return
        if subject.data is not None and len(subject.data.values) != subject.size:
            yield count("size", abs(len(subject.data.values) - subject.size), "rows of the data without coordinates")
            return
        checks = list(spectral(subject))
        yield from checks
        if any(check.verdict == "fail" for check in checks if check.name == "finite"):
            return
        if subject.data is None:
            yield skipped("input", "the input is not at hand")
            return
        yield from _against_input(subject, budget)
        yield from subject.method.identities(subject.data, subject.model)


def _of_covariance(subject: Subject, budget: Budget) -> Iterator[Check]:
    """The checks of a fit without rows."""
    loadings = subject.model.loadings
    if subject.data is None or loadings is None:
        yield skipped("input", "the input or the loadings are not at hand")
    elif subject.method.proof == "kernel":
        yield of_covariance(subject.data, loadings.values)
    elif subject.method.proof == "latent":
        yield from latent_checks(subject, budget)
    else:
        yield from subject.method.identities(subject.data, subject.model)


def _against_input(subject: Subject, budget: Budget) -> Iterator[Check]:
    """The checks that need the input."""
    yield from parameters(subject)
    yield stored_points(subject)
    largest: float | None = None
    if is_linear(subject):
        yield from variances(subject, budget)
    elif subject.method.proof == "kernel":
        rows = looked_up(subject, budget)
        if rows is None:
            yield skipped("residual", "the kernel cannot be found again from the input")
        elif not all_finite(rows.raw):
            wrong = int(np.sum(~np.isfinite(rows.raw).all(axis=1)))
            yield count("kernel", wrong, "rows that are not finite, or whose paths are not the shortest; "
                        f"{rows.source.how}", exact=rows.whole)
        else:
            yield from eigenproblem(subject, rows)
            yield nothing_above(subject, rows)
            if budget.full and rows.whole and len(rows.chosen) <= INERTIA:
                yield by_inertia(subject, centered(subject, rows), slack(subject, rows))
            largest = rows.largest
    elif subject.method.proof == "latent":
        yield from latent_checks(subject, budget)
    if subject.model.unfolded is not None:
        yield from unfolding_checks(subject, subject.model.unfolded, budget)
    yield from _graph(subject, budget)
    yield skipped("projection", "no time") if budget.over else projected(
        subject, budget, subject.largest if largest is None else largest)


def _graph(subject: Subject, budget: Budget) -> Iterator[Check]:
    """What a neighbor graph, or lists of neighbors with weights, can be held to."""
    similarity = subject.projector.similarity
    if isinstance(similarity, Geodesics):
        near = Near(subject, similarity.neighbors, similarity.radius)
        rule = str(getattr(subject.method, "graph", "union"))
        yield from graph_checks(subject, similarity.graph, near, rule, budget)
    if subject.method.proof == "weights" and isinstance(similarity, Barycenters):
        yield from weight_checks(subject, Near(subject, similarity.neighbors, similarity.radius), budget)


def facts_of(subject: Subject) -> dict[str, Any]:
    """What the checks do not judge: sizes, and the graph."""
    similarity = subject.model.projector and subject.projector.similarity
    graph = graph_facts(similarity.graph) if isinstance(similarity, Geodesics) else None
    return {"rows": subject.size, "components": int(subject.embedding.shape[1]),
            "carriers": len(subject.fit) if similarity else 0,
            "eigenvalues": len(subject.model.spectrum.solved), "graph": graph}
