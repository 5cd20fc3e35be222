"""A run from its input to a complete output directory."""
