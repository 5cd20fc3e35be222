"""Stages of a run: their names, listeners, costs and checkpoints."""
