"""The watchdog where nothing was compiled: it does the same, but waits while a call holds the interpreter's lock."""

import os
import signal
import sys
import threading

from mlcli.base import unfinished


class SlowWatchdog:
    """The thread that waits for the signals, in Python."""

    def __init__(self) -> None:
        self.words: dict[int, bytes] = {}
        self.first = 0
        self.silent = False

    def start(self, words: dict[int, bytes], grace: float, nudge: int) -> None:
        """Waits for the signals that words are given for; raises RuntimeError where no thread can be started."""
        self.words = words
        arguments = (threading.get_ident(), grace, nudge)
        threading.Thread(target=self._receive, args=arguments, name="watchdog", daemon=True).start()

    def guard(self, entries: list[tuple[bytes, int]]) -> None:
        """Nothing to do: `unfinished` itself can be asked."""

    def received(self) -> int:
        """The first signal's number, or 0."""
        return self.first

    def told(self) -> None:
        """The program has said itself what stopped it."""
        self.silent = True

    def _receive(self, main: int, grace: float, nudge: int) -> None:
        self.first = signal.sigwait(self.words)
        signal.pthread_kill(main, nudge)
        end = threading.Timer(grace, self._end)
        end.daemon = True
        end.start()
        signal.sigwait(self.words)
        self._end()

    def _end(self) -> None:
        unfinished.remove_all()
        if not self.silent and sys.stderr is not None:
            os.write(sys.stderr.fileno(), self.words[self.first])
        os._exit(128 + self.first)
