"""Times and sizes as people read them."""


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, two or three digits."""
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def memory(count: float) -> str:
    """MiB or GiB of a number of bytes."""
    return f"{count / 2**20:.3g} MiB" if count < 2**30 else f"{count / 2**30:.3g} GiB"
