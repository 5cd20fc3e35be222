"""Figures as values, and their writers: SVG, PNG, HTML, Matplotlib.

A figure is a frozen value in pixels (`figure.py`). `svg.py` and `matplotlib_figures.py` draw any figure, `palette.py`
holds every color for light and dark backgrounds, and `axes.py` the scales. What a phone sets below the rest, such as
legends and panels, is a `Tile` of the figure. Every text that reaches a page goes through `html.py` or `svg.py`,
which escape it. Scatter and scree plots for papers, and whatever has names beside points, outlines or arrows, are
drawn by Matplotlib (`report/paper/`).
"""
