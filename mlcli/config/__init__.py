"""The configuration of a run: its sections, the layers of values, and errors with their origin."""
