"""Scatter and scree plot for papers, drawn by Matplotlib (the extra `manifold-cli[plot]`), and as parts of a page."""
