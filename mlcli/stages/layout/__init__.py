"""Layouts: coordinates that minimize an objective over pairs of points, from a start that is computed.

A layout has no eigenproblem and no spectrum. Of stress: `pairs` holds dissimilarities and weights of distinct points;
`majorize` lowers the stress of metric scaling (SMACOF, Sammon), `disparities` and `nonmetric` that of ranks (Kruskal);
`goodness` says how well points and pairs fit, and `placing` finds new points among fixed ones. Of t-SNE: `divergence`
and its `descent`, with the forces of `repulsion`, which `grid` (with the splines of `splines`) and a tree of cells sum
in less than n² work, and `entering` for new points. Of UMAP: `memberships` of the fuzzy graph, the `curve` of
distances, `sampling` of the far pairs, and their `forces`.

`starts` runs several starts side by side; first coordinates are in `stages/chain/layouts.py`. All points move at once,
from the positions before, so that results do not depend on the number of threads.
"""
