"""Relations of an ordination to other variables of the same rows: fitted vectors, centroids, partitions of variation.

Every statistic is tested by the same permutations of the rows (`core/permutations.py`), which are drawn by a seed or
given, as those of R's `shuffleSet`. Variables enter as arrays of numbers, factors as codes from 0. `permanova.py` reads
a model formula, and gives each of its terms an orthonormal basis; `traces.py` sums their squares in one pass for all
permutations.
"""
