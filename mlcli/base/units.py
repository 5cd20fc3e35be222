"""Times and sizes as people read them."""


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, two or three digits."""
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def memory(count: float) -> str:
    """MiB or GiB of a number of bytes."""
    size, unit = (count / 2**20, "MiB") if count < 2**30 else (count / 2**30, "GiB")
    return f"{size:.0f} {unit}" if size >= 100 else f"{size:.3g} {unit}"
