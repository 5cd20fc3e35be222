"""Chains: what is computed from what, from points, distances or a graph to coordinates.

A spectral method declares its chain, and `steps` and `solve` follow (`methods/method.py`). `stages.py` holds the
options of a chain, and says what follows from them (rules, scale); `compose.py` chooses the computation; `kernels.py`
has the kernels of pairs of points, and names all; others are declared beside their methods. A computation is a
`Composition` (`base/stages/composition.py`): its stages in their order, each with its cost. `columns.py` and
`distance_chains.py` hold those that several kernels share; that of paths is Isomap's (`methods/geodesic/isomap.py`).
`methods/kernel/chain.py` lists the invalid chains. `KernelOptions` (`core/kernels/options.py`) declare the input of a
kernel, whether it is already centered, the function that checks it, and the dimension rules; and `way`, its own
computation of the coordinates if the shared ones do not apply. `tests/laws/contract/test_chains.py` holds that every
way of every such method, written out, gives the same bytes.
"""
