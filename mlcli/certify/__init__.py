"""Checks of a model by formulas and code independent of those that computed it, for several families of methods.

The certificate of a run knows `Method.checks(subject)` alone. A method composes it of functions: those of this package,
those of its family's `check.py`, and formulas of `core/check`, which know arrays and no model. `chains.py` has the
checks of a chain of stages, around those that its kernel names (`checked_by`); `projection.py` those of any projector.
Results are computed again by code of their own, NumPy and SciPy; `docs/certificate.md` lists the few places where it
shares code with the fit, and `tests/house/test_independence.py` holds that.

What is checked follows from sizes and known costs alone (`subject.py`), never from the clock, so that a certificate is
the same from run to run. Slow checks are yielded only where `subject.plan.full` (`mlcli verify --full`). A fault that
the certificate must detect is in `tests/faults/certificate/injected/faults.py`.
"""
