"""The interactive page in headless Chromium: bytes, seconds to the first frame, seconds a frame, and memory.

python benchmarks/interactive.py [ROWS ...]

Rows are of a mixture with 40 groups on two axes, ids are numbers of rows. Seconds of a frame are those of the page's
script, at rest and with all points; frames a second are those seen while the picture moves.
"""

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from mlcli.data.table.row_numbers import RowNumbers
from mlcli.findings.frame.finished_run import Embedding
from mlcli.report.interactive import interactive_page
from tests.report.driver import Browser, browser
from tests.report.support import finished_run

ROWS = (100_000, 1_000_000, 3_000_000)
GROUPS, FRAMES, MOVING = 40, 10, 3  # frames that are timed, and seconds of movement
FIRST = "return (performance.getEntriesByName('first frame')[0] || {}).startTime"
READY = "return document.documentElement.dataset.state === 'ready'"
STILL = """const times = [];
for (let i = 0; i < arguments[0]; i++) {
  const start = performance.now();
  draw();
  times.push(performance.now() - start);
}
return times;"""
MOVED = """return new Promise(done => {
  let frames = 0;
  const start = performance.now(), step = () => {
    if (performance.now() - start > 1000 * arguments[0]) { done(frames / arguments[0]); return; }
    move(frames++ % 2 ? 3 : -3, 1);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
});"""


def page_of(rows: int) -> str:
    """Return the page of a mixture of normal distributions."""
    generator = np.random.default_rng(0)
    kinds = generator.choice(GROUPS, rows, p=generator.dirichlet(np.full(GROUPS, 2.0)))
    spread = generator.uniform(0.3, 1.5, GROUPS)[kinds, None]
    values = 10 * generator.standard_normal((GROUPS, 2))[kinds] + spread * generator.standard_normal((rows, 2))
    table = Embedding(values, RowNumbers.up_to(rows), {"group": [f"cluster {kind}" for kind in kinds.tolist()]})
    return interactive_page(replace(finished_run(rows=2), embedding=table))


def proportional_memory(profile: Path) -> float:
    """Return the MiB of all processes of a browser (Linux), what several share divided among them."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(profile) in (process / "cmdline").read_text():
                lines = (process / "smaps_rollup").read_text().splitlines()
                found += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:
            continue  # it has ended
    return found / 1024


def measure(shown: Browser, page: Path, profile: Path) -> str:
    """Return a line of the table."""
    before = proportional_memory(profile)
    shown.open(page)
    while not shown.value(READY):
        time.sleep(0.1)
    first, still = shown.value(FIRST) / 1000, sorted(shown.value(STILL, FRAMES))
    moved, memory = shown.value(MOVED, MOVING), proportional_memory(profile) - before
    return (f"{page.stat().st_size / 1e6:.1f} MB | {first:.2f} s | {still[0]:.0f} to {still[-1]:.0f} ms | "
            f"{moved:.0f} | {memory:.0f} MiB | {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Print the table."""
    print("rows | file | first frame | frame | frames a second | memory | load")
    for rows in map(int, sys.argv[1:] or ROWS):
        with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as shown:
            page = Path(folder) / "page.html"
            page.write_text(page_of(rows), encoding="utf-8")
            print(f"{rows:,} | {measure(shown, page, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
