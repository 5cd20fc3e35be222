"""The configuration of a run: its sections, the layers that fill them, and errors in plain words."""
