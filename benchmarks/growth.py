"""How time and memory grow with the number of points: exact Isomap of a swiss roll, mlcli beside scikit-learn.

    python benchmarks/growth.py                 measures, writes growth.json and draws growth.svg
    python benchmarks/growth.py --sizes 1000000 measures some sizes and keeps the others, if of the same machine
    python benchmarks/growth.py --draw          draws growth.svg again from growth.json

Whole processes, by the operating system's account. scikit-learn stops at 20,000 points, where it takes
minutes and gigabytes. Needs scikit-learn (beside mlcli, or `--peers PYTHON`) and matplotlib beside mlcli.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from jobs import HERE, swiss
from side_by_side import Row, machine, timed, version_of, versions
from unforced import kernels_in_use, restart_unforced

SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 1_000_000)
MOST = {"mlcli": 1_000_000, "scikit-learn": 20_000}
LONG = 10_000  # beyond this one run of each, not the median of several


def command(peer: str, points: Path, scratch: Path, python: str) -> list[str]:
    """What a user types."""
    if peer == "mlcli":
        return [sys.executable, "-P", "-m", "mlcli", "embed", str(points), "--method", "isomap", "-o",
                str(scratch / "run"), "--force", "-q"]
    return [python, str(HERE / "peers.py"), "isomap", str(points), str(scratch / "peer.csv")]


def measured(sizes: list[int], rounds: int, python: str, before: dict[tuple[int, str], float]) -> Iterator[Row]:
    """Seconds and MiB for every size, both sides in turn; `before` has the memory that sizes and peers took."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for size in sizes:
            points = swiss(size)(scratch, scratch)
            runs: dict[str, list[tuple[float, float]]] = {peer: [] for peer, most in MOST.items() if size <= most}
            for _ in range(rounds if size <= LONG else 1):
                for peer, own in runs.items():
                    own.append(timed(command(peer, points, scratch, python), before.get((size, peer), 0)))
            for peer, own in runs.items():
                seconds, memory = (statistics.median(run[i] for run in own) for i in (0, 1))
                print(f"  {size:>9,} {peer:>12}: {seconds:8.2f} s {memory:8.0f} MiB", flush=True)
                yield {"peer": peer, "points": size, "seconds": seconds, "memory": memory, "rounds": len(own)}


def draw(document: dict[str, Any], path: Path) -> None:
    """Two panels with logarithmic scales."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "growth"  # the same figures give the same file
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for panel, what, unit in zip(panels, ("seconds", "memory"), ("seconds", "peak memory, MiB"), strict=True):
        for peer, style in (("mlcli", "o-"), ("scikit-learn", "s--")):
            own = [row for row in document["rows"] if row["peer"] == peer]
            panel.loglog([row["points"] for row in own], [row[what] for row in own], style, label=peer)
        panel.set(xlabel="points", ylabel=unit)
        panel.grid(alpha=0.3)
        panel.legend()
    figure.suptitle("Exact Isomap of a swiss roll, 10 neighbors, whole process")
    figure.text(0.5, -0.04, f"{document['machine']}; {document['date']}", ha="center", fontsize=7)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def described(python: str) -> str:
    """The machine, the versions and the kernels, in a line."""
    return f"{machine()}; {versions()}, {version_of('scikit-learn', python)}; {kernels_in_use(python)}"


def main() -> None:
    """Measures and draws, or only draws."""
    restart_unforced()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="interpreter that has scikit-learn")
    chosen = parser.parse_args()
    results = HERE / "growth.json"
    document = json.loads(results.read_text())
    if not chosen.draw:
        own = described(chosen.peers)
        known = {(row["points"], row["peer"]): row for row in document["rows"]}
        before = {key: row["memory"] for key, row in known.items()}
        known = known if document["machine"] == own else {}
        for row in measured(chosen.sizes, chosen.rounds, chosen.peers, before):
            known[row["points"], row["peer"]] = row
            document = {"machine": own, "date": date.today().isoformat(), "rows": [known[key] for key in sorted(known)]}
            results.write_text(json.dumps(document, indent=1) + "\n")  # at once: a later size may take an hour
    draw(document, HERE.parent / "docs" / "growth.svg")


if __name__ == "__main__":
    main()
