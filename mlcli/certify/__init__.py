"""The certificate: checks of a run's results by formulas and code independent of those that computed them.

It computes results again by its own code, NumPy and SciPy; `docs/certificate.md` lists the few places where it shares
code with the fit. What is checked follows from sizes and known costs alone (`subject.py`), never from the clock, so
that a certificate is the same from run to run. Slow checks are yielded only where `subject.plan.full` (`mlcli verify
--full`). The checks depend on the model. `proof` in the method tells whether coordinates are V √λ of the projector's
kernel, of weights, of another kernel, or something else; only `certificate.py` reads it. A kernel that was learned
travels with what proves it (`Model.unfolded`, `unfolding.py`), and `Method.identities` holds what only the method
knows, by the `check.py` of its family. A fault that the certificate must detect is in
`tests/faults/certificate/injected/faults.py`.
"""
