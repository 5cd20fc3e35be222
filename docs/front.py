"""Makes the pictures of the README anew: a report in a browser (needs Chromium), and the end of a run in a terminal."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from generate import ROOT
from PIL import Image
from rich.console import Console
from rich.text import Text

COMMAND = "mlcli embed sample_data/iris.csv --scale standard -o runs/iris"
WIDTH, COLUMNS = 900, 100  # pixels of the picture, characters of the terminal
WINDOW = (1200, 980)
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # which a page would fetch from elsewhere


def main() -> None:
    """Carries out the command in an empty folder, and draws what it shows and what it wrote."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "sample_data").symlink_to(ROOT / "sample_data")
        terminal(shown(place))
        report(Path(place) / "runs/iris/report.html")


def shown(place: str) -> str:
    """What a terminal of so many columns shows of the command."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with subprocess.Popen(COMMAND.split(), cwd=place, stdin=child, stdout=child, stderr=child,
                          env={**os.environ, "PATH": path, "TERM": "xterm-256color"}) as run:
        os.close(child)
        text = b""
        try:
            while part := os.read(parent, 1 << 16):
                text += part
        except OSError:  # the end of a terminal
            pass
        run.wait()
    lines = text.decode().replace("\r\n", "\n").rpartition("\x1b[?25h")[2]
    return lines.strip("\n")


def terminal(text: str) -> None:
    """Draws lines with their colors as SVG, in a font of the reader's machine."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ {COMMAND}", style="bold"))
    console.print(Text.from_ansi(text))
    drawing = FONTS.sub("", console.export_svg(title="mlcli", unique_id="mlcli"))
    (ROOT / "docs/terminal.svg").write_text(drawing, encoding="utf-8")


def report(page: Path) -> None:
    """Draws the head of a report as a browser shows it."""
    picture = page.with_suffix(".png")
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--window-size={WINDOW[0]},{WINDOW[1]}", f"--screenshot={picture}", str(page)], check=True,
                   capture_output=True)
    with Image.open(picture) as image:
        smaller = image.convert("RGB").resize((WIDTH, round(WIDTH * image.height / image.width)))
        smaller.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(ROOT / "docs/report.png", optimize=True)


if __name__ == "__main__":
    main()
