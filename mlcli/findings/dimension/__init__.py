"""How many axes to keep: every rule that applies, the others with the reason, and one recommendation."""

from mlcli.findings.dimension.rules import dimension, dimension_table

__all__ = ["dimension", "dimension_table"]
