"""A client of the server of `forks.py`: `python -I -S forked.py SOCKET SCRIPT ARGUMENTS...`.

It ends as `mlcli ARGUMENTS...` does, or as the script where its name is not empty.
"""

import json
import os
import signal
import socket
import sys

mask = os.umask(0)
os.umask(mask)
asked = {"script": sys.argv[2], "arguments": sys.argv[3:], "folder": os.getcwd(),  # noqa: PTH109 (no import)
         "environment": dict(os.environ), "mask": mask}
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    text = json.dumps(asked).encode()
    sent = socket.send_fds(server, [text], [0, 1, 2])
    server.sendall(text[sent:])
    server.shutdown(socket.SHUT_WR)
    code = int(server.recv(64) or b"1")
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
