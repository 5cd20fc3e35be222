"""Times, sizes and shares as people read them."""

def duration(seconds: float) -> str:
    """Seconds, minutes or hours, two or three digits."""
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def memory(count: float) -> str:
    """MiB or GiB of a number of bytes."""
    size, unit = (count / 2**20, "MiB") if count < 2**30 else (count / 2**30, "GiB")
    return f"{size:.0f} {unit}" if size >= 100 else f"{size:.3g} {unit}"


FAINT, ROUNDING = 1e-5, 1e-12  # smallest share that is shown with its digits, and one that is rounding


def percent(share: float, digits: int = 1) -> str:
    """Return a share of one as a percentage with so many decimals; a smaller one with two digits of its own.

    0.4567 is 45.7%, 0.00032 is 0.032%, and shares below 0.001% are shown as such; zero is 0%, without a sign.
    """
    if abs(share) < ROUNDING:
        return "0%"
    text = f"{share:.{digits}%}"
    if text.strip("-0.%"):
        return text
    if abs(share) >= FAINT:
        return f"{100 * share:.2g}%"
    return "<0.001%" if share > 0 else ">-0.001%"
