"""Scatter and scree plot for papers, drawn by Matplotlib (the extra `manifold-cli[plot]`), and as parts of a page.

Most runs draw nothing by it: `needs.py` says which do, and the others import nothing else from here.
"""
