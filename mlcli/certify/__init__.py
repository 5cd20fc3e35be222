"""The certificate: checks of a run's results by formulas and code independent of those that computed them.

It computes results again by its own code, NumPy and SciPy; `docs/certificate.md` lists the few places where it shares
code with the fit. What is checked follows from sizes and known costs alone (`plan.py`), never from the clock, so that
a certificate is the same from run to run. Slow checks are yielded only where `subject.plan.full` (`mlcli verify
--full`). The checks follow from what a model is: `proof` in the method says whether coordinates are V √λ of the
kernel that the projector's similarity describes, of weights, of another kernel, or something of its own, and only
`certificate.py` asks for it. A kernel that was learned travels with what proves it (`Model.unfolded`,
`unfolding.py`), and `identities` holds what only the method knows. A fault that the certificate must detect is in
`tests/faults/certificate/faults.py`.
"""
