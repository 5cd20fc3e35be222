"""Predictions of a run's time and memory."""
