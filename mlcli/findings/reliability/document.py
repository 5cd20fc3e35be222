"""The shape of reliability.json, built only where the file is read back."""

from mlcli.base.values.shape import Count, Number, Shape


class ReliabilityDocument(Shape):
    """reliability.json."""

    items: Count
    factors: Count
    alpha: Number | None
    alpha_standardized: Number | None
    average_correlation: Number | None
    omega_total: Number | None
    omega_hierarchical: Number | None
