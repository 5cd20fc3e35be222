"""Mount points of file systems, and whether a file system belongs to this machine alone."""

import os
import re
from pathlib import Path

from mlcli.base.frozen import frozen

TABLE = Path("/proc/self/mountinfo")
LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "overlay"}


@frozen
class Mount:
    """A mounted file system."""

    point: Path
    type: str  # as Linux names it; empty where that is unknown

    @property
    def local(self) -> bool:
        """Whether no other machine can work on it at the same time."""
        return self.type in LOCAL


def mount_of(path: Path) -> Mount:
    """The file system that a path is on; the last of several mounted over each other."""
    real = Path(os.path.realpath(path))
    holding = [mount for mount in _mounts() if mount.point == real or mount.point in real.parents]
    return max(reversed(holding), key=lambda mount: len(mount.point.parts), default=Mount(_point(real), ""))


def _mounts() -> list[Mount]:
    """All mounts that the system lists; empty where it has no such list."""
    try:
        lines = TABLE.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    halves = [(line.split(" "), line.partition(" - ")[2].split(" ")) for line in lines]
    return [Mount(Path(_unescaped(left[4])), right[0]) for left, right in halves if len(left) > 4]


def _unescaped(text: str) -> str:
    r"""A path of the table, where blanks and line ends stand as \040 and the like."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _point(path: Path) -> Path:
    """Return the mount point of a path by its devices."""
    return next(place for place in (path, *path.parents) if place.is_mount() or place == place.parent)
