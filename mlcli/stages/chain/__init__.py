"""Chains: what is computed from what, from points, distances or a graph to coordinates.

A spectral method declares its chain, and `steps` and `solve` follow (`methods/frame/base.py`). `stages.py` holds the
options of a chain and what follows from them (proof, rules, scale), `kernels/` the kernels, one file each with
options, formula and costs. `points.py` and `distances.py` are ways that several kernels share, between which
`compose.py` chooses, and `refusals.py` lists the chains that make no sense. A kernel says by `KernelOptions`
(`stages/kernels/pairwise.py`) what it is computed from, whether it is centered as it is, what the certificate may
check, and which rules choose the number of axes; and by `way` its own way to coordinates, where the shared ones
do not serve. `tests/laws/contract/test_chains.py` holds that every way of every such method, written out, gives the
same bytes.
"""
