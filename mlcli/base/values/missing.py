"""Which texts mean that a cell holds nothing, in columns of numbers and of labels alike."""

MISSING = ("", "NA", "NaN", "nan", "#N/A")


def is_missing(cell: str) -> bool:
    """Whether a label is missing: empty, blank, or what stands for a missing number."""
    return cell.strip() in MISSING
