"""The checks of a chain of stages: those that all chains share, around those of its kernel.

A kernel names its checks by `checked_by`: a function of the subject and its chain.
"""

from collections.abc import Callable, Iterator

from mlcli.base.values.check import Check
from mlcli.certify.eigen import power_checks, spectrum_checks
from mlcli.certify.projection import Tolerance, column_tolerance, kernel_tolerance, projector_checks, row_tolerance
from mlcli.certify.subject import Scale, Subject
from mlcli.core.chain.stages import Stages

Checks = Callable[[Subject, Stages], Iterator[Check]]


def chain_checks(subject: Subject, chain: Stages, own: Checks | None = None, tolerance: Tolerance = row_tolerance, *,
                 scale: Scale | None = None, more: Checks | None = None) -> Iterator[Check]:
    """Yield the checks of a chain's model: its `own` against the input, and `more` after those of its decoder.

    They get axes that are eigenvectors of a length (`scale`), whatever was asked for; without it, the axes as they are.
    """
    scaled = subject
    if scale is not None:
        scaled = subject.rescale_axes(scale)
        yield from spectrum_checks(scaled, unit=scale == "variance")
    yield from projector_checks(
        scaled, () if own is None else own(scaled, chain), tolerance,
        more=_checks_of_parts(subject, scaled, chain, more), reproduces=chain.reproduces())


def _checks_of_parts(subject: Subject, scaled: Subject, chain: Stages, more: Checks | None) -> Iterator[Check]:
    if chain.decoder.name != "none":
        from mlcli.certify.preimages import preimage_checks

        yield from preimage_checks(subject, chain)
    if more is not None:
        yield from more(scaled, chain)


def eigenpair_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of coordinates V √λ of a kernel that is computed again, from columns or pairs of points."""
    own, tolerance = (_column_checks, column_tolerance) if subject.linear else (_pair_checks, kernel_tolerance)
    yield from chain_checks(subject, chain, own, tolerance, scale="roots")


def _pair_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    from mlcli.certify.kernel import kernel_checks

    yield from kernel_checks(subject)


def _column_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    from mlcli.certify.linear import linear_checks

    yield from linear_checks(subject, chain)
    if chain.kernel.requested_route == "power":
        yield from power_checks(subject, chain)
