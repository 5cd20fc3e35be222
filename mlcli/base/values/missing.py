"""Texts that mean a missing cell, in columns of numbers and of labels alike."""

MISSING = ("", "NA", "NaN", "nan", "#N/A")


def is_missing(cell: str) -> bool:
    """Whether a label is missing: empty, blank, or one of the texts for a missing number."""
    return cell.strip() in MISSING
