"""Additions to mlcli: C-Isomap, the Kulczynski dissimilarity, and the vertices of OFF files."""
