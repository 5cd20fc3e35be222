"""Finished runs used again: compared, collected, redrawn, exported, checked."""
