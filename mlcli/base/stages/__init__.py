"""Stages of a run: their names, listeners, costs, order in a fit, and checkpoints."""
