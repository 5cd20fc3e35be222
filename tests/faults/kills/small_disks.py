"""Runs on disks with less and less room, each in a fresh file system; called as root of a mount namespace of its own.

`python small_disks.py KIND WAY FREE...` mounts a file system of a kind for each amount of free room, in KiB (of inodes:
their number), fills it but for that, and prints as JSON how a run there ended and what it left.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from mlcli.rundir.manifest import read_manifest, require_intact

DISK = Path("disk")
SIZE = 8 << 20
KEEPING = [sys.executable, "-P", str(Path(__file__).with_name("keeping.py")), "0"]
EMBED = ["embed", "data.npy", "-m", "isomap", "-k", "9", "-q", "--threads", "1", "--set", "method.paths.store=streamed",
         "--set", "method.eigensolve.solver=krylov", "-o", str(DISK / "out")]


def mount(kind: str, free: int) -> None:
    """A new file system with so much room."""
    if kind == "ext4":
        with Path("image").open("wb") as image:
            image.truncate(SIZE)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "image"], check=True)
        subprocess.run(["mount", "-o", "loop", "image", DISK], check=True)
    else:
        options = f"nr_inodes={free}" if kind == "inodes" else f"size={SIZE}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", DISK], check=True)


def fill(free: int) -> None:
    """Leaves so many KiB."""
    room = os.statvfs(DISK)
    with (DISK / "filler").open("wb") as filler, suppress(OSError):
        while room.f_bavail * room.f_frsize > free << 10:
            filler.write(bytes(room.f_frsize))
            filler.flush()
            room = os.statvfs(DISK)


def finished() -> int | None:
    """The inode of the run that is there, all of whose files are whole; None where nothing is."""
    output = DISK / "out"
    if not os.path.lexists(output):
        return None
    manifest = read_manifest(output)
    require_intact(output, manifest, tuple(manifest["files"]))
    return (output / "run.json").stat().st_ino


def trial(kind: str, way: str, free: int) -> dict[str, object]:
    """How a run ends where there is so much room, and what it leaves."""
    mount(kind, free)
    try:
        if way == "force":
            subprocess.run([*KEEPING, *EMBED, "--set", "compute.seed=5"], check=True)
        before = finished()
        if kind != "inodes":
            fill(free)
        if way == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", DISK], check=True)
        settings = {**os.environ, **({"MLCLI_CACHE": str(DISK / "cache")} if way == "cache" else {})}
        done = subprocess.run([*KEEPING, *EMBED, *(["--force"] if way == "force" else [])], capture_output=True,
                              text=True, env=settings, check=False)
        after = finished()
        state = "none" if after is None else "older" if after == before else "whole"
        left = sorted({path.name for path in DISK.iterdir()} - {"filler", "lost+found"})
        return {"free": free, "code": done.returncode, "said": done.stderr, "left": left, "state": state}
    finally:
        subprocess.run(["umount", DISK], check=True)


if __name__ == "__main__":
    DISK.mkdir()
    print(json.dumps([trial(sys.argv[1], sys.argv[2], int(free)) for free in sys.argv[3:]]))
