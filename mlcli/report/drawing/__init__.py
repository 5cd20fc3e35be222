"""Figures as values, and their writers: SVG, PNG, HTML, Matplotlib."""
