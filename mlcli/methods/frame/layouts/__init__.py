"""The bases of layouts: methods whose coordinates minimize an objective over pairs of points.

`layout` is the base of all. `stress` and `majorized` are of dissimilarities, `potential` of where random walks end;
`calibrated` is of affinities with a perplexity, `sampled` of a graph whose far pairs are drawn by chance.
"""
