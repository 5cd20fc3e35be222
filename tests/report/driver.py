"""Chromium moved by its driver, in the few words of the WebDriver protocol (W3C) that the tests need."""

import contextlib
import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DRIVER = shutil.which("chromedriver")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
             "--hide-scrollbars", "--window-size=1000,800"]


class Browser:
    """A session of a browser."""

    def __init__(self, address: str, folder: Path, arguments: list[str]) -> None:
        options = {"args": [*ARGUMENTS, f"--user-data-dir={folder / 'driven'}", *arguments]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        made = _asked(f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"{address}/session/{made['sessionId']}"

    def open(self, page: Path) -> None:
        """Loads a page, its scripts included."""
        _asked(f"{self.session}/url", {"url": page.as_uri()})

    def value(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns."""
        return _asked(f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def point(self, x: float, y: float) -> None:
        """Moves the pointer, in two steps, so that it is seen to move."""
        moves = [{"type": "pointerMove", "duration": 0, "x": round(x) + off, "y": round(y)} for off in (1, 0)]
        _asked(f"{self.session}/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": moves}]})

    def drag(self, places: Sequence[tuple[float, float]], *held: str) -> None:
        """Presses the pointer at the first of some places, moves it over the others and releases it, with keys held."""
        moves = [{"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)} for x, y in places]
        down, up = {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}
        pointer = {"type": "pointer", "id": "mouse", "actions": [moves[0], down, *moves[1:], up]}
        rest = [{"type": "pause"}] * (len(moves) + 1)
        keys = [{"type": "key", "id": key, "actions": [{"type": "keyDown", "value": key}, *rest,
                                                       {"type": "keyUp", "value": key}]} for key in held]
        if held:  # the keys are down before the pointer is
            pointer["actions"] = [moves[0], moves[0], down, *moves[1:], up]
        _asked(f"{self.session}/actions", {"actions": [*keys, pointer]})

    def touch(self, *frames: Sequence[tuple[float, float]]) -> None:
        """Puts fingers on the screen, one at each place of the first frame, moves them over the others and lifts them.
        """
        kinds = ["touchStart", *["touchMove"] * (len(frames) - 1), "touchEnd"]
        for kind, places in zip(kinds, [*frames, []], strict=True):
            self.command("Input.dispatchTouchEvent", type=kind,
                         touchPoints=[{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(places)])

    def press(self, *keys: str) -> None:
        """Presses keys one after the other."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        _asked(f"{self.session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def command(self, name: str, **parameters: Any) -> dict[str, Any]:
        """What a command of Chromium's own protocol answers."""
        return dict(_asked(f"{self.session}/goog/cdp/execute", {"cmd": name, "params": parameters}))

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What it has logged since this was asked last."""
        return list(_asked(f"{self.session}/se/log", {"type": kind}))

    def requests(self) -> list[str]:
        """The addresses that pages have asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


@contextlib.contextmanager
def browser(folder: Path, *arguments: str) -> Iterator[Browser]:
    """A browser for the length of a `with` block."""
    environment = {**os.environ, "HOME": str(folder), "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
    with subprocess.Popen([str(DRIVER), "--port=0"], stdout=subprocess.PIPE, text=True, env=environment) as driver:
        assert driver.stdout is not None
        try:
            said = next(line for line in driver.stdout if "successfully on port" in line)
            port = said.rstrip(".\n").rpartition(" ")[2]
            made = Browser(f"http://127.0.0.1:{port}", folder, list(arguments))
            try:
                yield made
            finally:
                _asked(made.session, None, "DELETE")
        finally:
            driver.terminate()


def _asked(address: str, body: Any, method: str = "POST") -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, content, {"Content-Type": "application/json"}, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)["value"]
