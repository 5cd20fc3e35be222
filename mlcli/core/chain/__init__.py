"""Chains: what is computed from what, from points, distances or a graph to coordinates.

A spectral method declares its chain, and `steps` and `solve` follow (`methods/method.py`). `stages.py` holds the
options of a chain and what follows from them (proof, rules, scale), `kernels/` the kernels, one file each with
options, formula and costs. `points.py` and `distances.py` hold computations that several kernels share; `compose.py`
chooses between them, and `refusals.py` lists the invalid chains. `KernelOptions`
(`core/kernels/options.py`) declare the input of a kernel, whether it is already centered, what the certificate may
check, and the dimension rules; and `way`, its own computation of the coordinates if the shared ones
do not apply. `tests/laws/contract/test_chains.py` holds that every way of every such method, written out, gives the
same bytes.
"""
