"""Layouts: coordinates that minimize an objective over pairs of points, from a start that is computed.

A layout has no eigenproblem and no spectrum. `pairs` holds dissimilarities and weights of distinct points; `majorize`
lowers the stress of metric scaling (SMACOF, Sammon), `disparities` and `nonmetric` that of ranks (Kruskal); `placing`
finds the coordinates of new points among fixed ones. `repulsion` has the forces of neighbor
embeddings, which `grid` (with the splines of `splines`) and a tree of cells sum in less than n² work. First
coordinates are in `stages/chain/layouts.py`. All points move at once, from the positions before, so that results do not
depend on the number of threads.
"""
