"""The certificate: all checks of one result, and their verdict."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import parts
from mlcli.base.values.check import Check, Verdict, count, skipped
from mlcli.base.values.inputs import Input
from mlcli.certify.subject import NoInput, Plan, Subject
from mlcli.methods import Method, Model

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


def subject_of(method: Method, given: Input | None, model: Model, plan: Plan) -> Subject:
    """Return the subject of a certificate: a method's model of an input, which is None where it is not at hand."""
    return Subject.of(method.chain_of("features" if given is None else given.kind), dict(method), given, model, plan)


def check_numbers(method: Method, subject: Subject) -> Iterator[Check]:
    """Yield every check of a result against its input; without the input, the checks that the result allows alone."""
    with np.errstate(all="ignore"):  # an overflow gives inf or NaN, and the check of it fails
        if subject.places:
            if subject.known is not None and len(subject.data.values) != subject.size:
                missing = abs(len(subject.data.values) - subject.size)
                yield count("size", missing, "rows of the data without coordinates")
                return
            finite = _finite_check(subject)
            yield finite
            if finite.verdict == "fail":
                return
        elif subject.size:
            yield count("finite", int(np.count_nonzero(~np.isfinite(subject.embedding))), "coordinates not finite")
        try:
            yield from method.checks(subject)
        except NoInput:
            yield skipped("input", "the input is not at hand")


def _finite_check(subject: Subject) -> Check:
    """Check that all numbers of coordinates, eigenvalues and projector are finite."""
    named = {"embedding": subject.embedding, "eigenvalues": subject.spectrum.solved, "axes": subject.projector.axes,
             "means": subject.projector.centering.means}
    wrong = sum(int(np.size(some) - np.isfinite(some).sum()) for part in named.values() for some in parts(part))
    return count("finite", wrong, f"numbers that are not finite in {', '.join(named)}")


def facts_of(subject: Subject) -> dict[str, Any]:
    """Return facts that are not judged: the numbers of rows, axes, points of the fit, eigenvalues and edges."""
    graph = subject.similarity.parts.graph if subject.places else None
    return {"rows": subject.size, "components": int(subject.embedding.shape[1]),
            "carriers": subject.fit_size if subject.places else 0,
            "eigenvalues": len(subject.spectrum.solved), "edges": None if graph is None else graph.edges}
