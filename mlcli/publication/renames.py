"""Renames that overwrite nothing, and exchanges of two names in one step, as far as the system has them."""

import ctypes
import errno
import os
from pathlib import Path

NOREPLACE, EXCHANGE = 1, 2  # flags of renameat2, in linux/fs.h
HERE = -100  # AT_FDCWD
TAKEN = {errno.EEXIST, errno.ENOTEMPTY}
WRONG_KIND = {errno.ENOTDIR, errno.EISDIR}  # of the name that is taken, or of a folder on the way to it
# What kernels, file systems and filters of system calls answer where they lack a call or a flag.
LACKING = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


def move(source: Path, target: Path) -> None:
    """Gives a file or folder a name that nothing else has; a folder may take the place of an empty one.

    Raises FileExistsError where the name is taken, and OSError where the system cannot do it.
    """
    try:
        if source.is_dir() and not source.is_symlink():
            source.rename(target)  # never overwrites more than an empty folder
        else:
            _move_file(source, target)
    except OSError as error:
        if error.errno in TAKEN or (error.errno in WRONG_KIND and os.path.lexists(target)):
            raise FileExistsError(error.errno, error.strerror, str(target)) from error
        raise


def exchange(first: Path, second: Path) -> bool:
    """Exchanges what two names stand for, in one step; False where the system or the file system cannot."""
    return _renameat2(first, second, EXCHANGE)


def _move_file(source: Path, target: Path) -> None:
    if _renameat2(source, target, NOREPLACE):
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno in LACKING and not os.path.lexists(target):
            source.rename(target)  # with neither call, what comes between these two lines is overwritten
            return
        if error.errno in LACKING:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        if error.errno != errno.EEXIST or source.lstat().st_ino != target.lstat().st_ino:
            raise  # else NFS has repeated the request, since its first answer was lost
    source.unlink()


def _renameat2(source: Path, target: Path, flags: int) -> bool:
    """False where there is no such call; raises OSError where it fails."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(HERE, os.fsencode(source), HERE, os.fsencode(target), ctypes.c_uint(flags)) == 0:
        return True
    number = ctypes.get_errno()
    if number in LACKING:
        return False
    raise OSError(number, os.strerror(number), str(target))
