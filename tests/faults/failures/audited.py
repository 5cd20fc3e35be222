"""Runs the program under an audit hook, which prints every event that a file given to it must never cause.

    python audited.py PLACES ARGUMENT...

PLACES are the folders, parted by colons, that the call may write to. Code is compiled, unmarshalled and run by imports
of what is installed, and below these by typer, pydantic and dataclasses; anywhere else that is an event. The events
stand on standard error, each on a line.
"""

import ast
import os
import sys
import sysconfig
from pathlib import Path

PLACES = [os.path.realpath(place) for place in sys.argv[1].split(":")]
INSTALLED = [os.path.realpath(place) for place in {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}]
NEVER = ("pickle.find_class", "marshal.load", "marshal.loads", "code.__new__", "os.system", "os.exec", "os.posix_spawn",
         "os.spawn", "pty.spawn", "subprocess.Popen", "socket.", "urllib.Request", "http.client", "ftplib.", "smtplib.",
         "webbrowser.", "ctypes.dlopen", "exec", "compile", "open", "os.remove", "os.rename",
         "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.chown", "os.truncate", "shutil.")
PATHS = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.chown",
         "os.truncate", "shutil.")
AF_UNIX = 1
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
busy = False


def files() -> list[str]:
    """The files whose code is at work, the innermost first."""
    frame, found = sys._getframe(1), []
    while frame:
        if frame.f_code.co_filename != __file__:
            found.append(frame.f_code.co_filename)
        frame = frame.f_back
    return [*found, "?"]


def importing() -> bool:
    """Whether a module is being imported."""
    return "<frozen importlib._bootstrap>" in files()


def installed(path: str) -> bool:
    """Whether a file belongs to Python, to its packages or to this program."""
    real = os.path.realpath(path)
    return any(real.startswith(place + os.sep) for place in (*INSTALLED, PROGRAM))


def within(path: object) -> bool:
    """Whether a path lies in a place that may be written to."""
    if isinstance(path, int) or path is None:
        return True  # relative to a folder that is open, or a descriptor
    real = os.path.realpath(os.fsdecode(path))
    return real.startswith(("/dev/", f"/proc/{os.getpid()}/")) or any(
        real == place or real.startswith(place + os.sep) for place in PLACES)


def suspicious(event: str, arguments: tuple) -> str:
    """What is wrong with an event, or nothing."""
    if event == "open":
        path, _, flags = arguments
        return "" if not (flags or 0) & WRITING or within(path) else f"writes {path!r}"
    if event.startswith(PATHS):
        outside = [path for path in arguments if isinstance(path, str | bytes) and not within(path)]
        return f"changes {outside!r}" if outside else ""
    if event in ("exec", "code.__new__", "marshal.load", "marshal.loads"):
        return "" if importing() else f"runs {arguments[0]!r:.200}"
    if event == "compile":  # to a tree only, by ast.literal_eval, or to code, which is an event when it is run
        return "" if importing() or files()[0] == ast.__file__ else f"compiles {arguments[0]!r:.200}"
    if event == "ctypes.dlopen":
        name = arguments[0]
        return "" if name is None or os.sep not in str(name) or installed(str(name)) else f"loads {name!r}"
    if event == "subprocess.Popen" and arguments[0] == "uname":  # by platform.uname, for h5py
        return "" if importing() else "starts uname"
    if event == "socket.__new__" and arguments[1] == AF_UNIX:  # the two ends of a pipe between processes
        return ""
    return f"{arguments!r:.200}"


def hook(event: str, arguments: tuple) -> None:
    """Prints what is suspicious."""
    global busy
    if busy or not event.startswith(NEVER):
        return
    busy = True
    try:
        wrong = suspicious(event, arguments)
        if wrong:
            os.write(2, f"audit: {event}: {wrong} in {files()[0]}\n".encode())
    finally:
        busy = False


def misbehave() -> None:
    """Does what is never done, once each, so that a test sees that it would be seen."""
    import pickle
    import socket
    import subprocess

    pickle.loads(b"cos\ngetcwd\n.")
    exec("1 + 1")
    os.system("true")
    subprocess.run(["true"], check=True)
    with socket.socket() as end:
        end.connect_ex(("127.0.0.1", 9))
    Path(PLACES[0]).with_name("elsewhere").write_text("")


import mlcli  # noqa: E402

PROGRAM = str(Path(mlcli.__file__).resolve().parent)
sys.argv = ["mlcli", *sys.argv[2:]]
sys.addaudithook(hook)

if sys.argv[1:] == ["misbehave"]:
    misbehave()
else:
    from mlcli.__main__ import main

    main()
