"""Predictions of a run's time and memory, without making it."""
