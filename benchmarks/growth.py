"""How time and memory grow with the number of points: exact Isomap of a swiss roll, mlcli beside scikit-learn.

    python benchmarks/growth.py                 measures, writes growth.json and draws growth.svg
    python benchmarks/growth.py --sizes 1000000 measures some sizes and keeps the others, if of the same machine
    python benchmarks/growth.py --methods umap pca --sizes 10000 30000
                                                other methods on curved data of 50 columns: cells that growth.json
                                                lacks for this machine, each written at once; draws growth-methods.svg
    python benchmarks/growth.py --methods       all of them at all sizes; continues where it was stopped
    python benchmarks/growth.py --draw          draws both figures again from growth.json

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

from jobs import HERE, curved, swiss
from side_by_side import Row, machine, make, timed, version_of, versions
from unforced import kernels_in_use, kernels_of_mlcli, restart_unforced

SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 1_000_000)
MOST = {"mlcli": 1_000_000, "scikit-learn": 20_000}
GRID = (10_000, 30_000, 100_000, 300_000, 1_000_000)
METHODS = {"pca": (), "kpca by 1,000 landmarks": ("--method", "kpca", "--set", "method.landmarks=1000"),
           "isomap by 100 landmarks": ("--method", "isomap", "--set", "method.landmarks=100"),
           "diffusion": ("--method", "diffusion", "--set", "method.nearest=15"),  # else all pairs of points
           **{name: ("--method", name) for name in ("laplacian", "phate", "umap", "tsne")}}
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


def cells(asked: list[str], sizes: list[int], known: list[Row]) -> Iterator[Row]:
    """Seconds and MiB of each method at each size, the small sizes first; those that are `known` are left out.

    A method that ends with an error at a size is not run at larger ones.
    """
    done, ended = {(row["method"], row["points"]) for row in known}, set[str]()
    each = {row["method"]: row["memory"] / row["points"] for row in known}  # MiB of a point, of the last size
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for size in sizes:
            for name in asked:
                if (name, size) in done or name in ended:
                    continue
                points = make(curved(size), scratch, scratch)
                command = [sys.executable, "-P", "-m", "mlcli", "embed", str(points), *METHODS[name], "-o",
                           str(scratch / "run"), "--force", "-q"]
                try:
                    seconds, memory = timed(command, each.get(name, 0.0) * size)
                except SystemExit as error:
                    print(f"  {size:>9,} {name}: {error}", file=sys.stderr)
                    ended.add(name)
                    continue
                print(f"  {size:>9,} {name:>24}: {seconds:8.2f} s {memory:8.0f} MiB", flush=True)
                each[name] = memory / size
                yield {"method": name, "points": size, "seconds": seconds, "memory": memory}


def draw_methods(document: dict[str, Any], path: Path) -> None:
    """Seconds and memory of each method that was measured, with logarithmic scales."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "growth"
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    for panel, what, unit in zip(panels, ("seconds", "memory"), ("seconds", "peak memory, MiB"), strict=True):
        for name, mark in zip(METHODS, "osD^v<>P", strict=True):
            own = sorted((row["points"], row[what]) for row in document["rows"] if row["method"] == name)
            if own:
                panel.loglog(*zip(*own, strict=True), f"{mark}-", label=name, markersize=4)
        panel.set(xlabel="points", ylabel=unit)
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8,
                  title=f"{document['machine']}; {document['date']}", title_fontsize=7)  # a text would lie over it
    figure.suptitle("Curved data of 50 columns, everything written and certified, whole process")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


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
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), metavar="METHOD")
    parser.add_argument("--again", action="store_true", help="also cells of methods that the file has already")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="interpreter that has scikit-learn")
    chosen = parser.parse_args()
    results, docs = HERE / "growth.json", HERE.parent / "docs"
    document = json.loads(results.read_text())
    if not chosen.draw and chosen.methods is None:
        own = described(chosen.peers)
        known = {(row["points"], row["peer"]): row for row in document["rows"]}
        before = {key: row["memory"] for key, row in known.items()}
        known = known if document["machine"] == own else {}
        for row in measured(chosen.sizes or list(SIZES), chosen.rounds, chosen.peers, before):
            known[row["points"], row["peer"]] = row
            document |= {"machine": own, "date": date.today().isoformat(),
                         "rows": [known[key] for key in sorted(known)]}
            write(results, document)  # at once: a later size may take an hour
    elif not chosen.draw:
        own, grid = f"{machine()}; {versions()}; {kernels_of_mlcli()}", document.get("methods", {})
        rows = grid["rows"] if grid.get("machine") == own else []
        for row in cells(chosen.methods or list(METHODS), sorted(chosen.sizes or GRID), [] if chosen.again else rows):
            same = row["method"], row["points"]
            rows = [*(other for other in rows if (other["method"], other["points"]) != same), row]
            document["methods"] = {"machine": own, "date": date.today().isoformat(), "rows": rows}
            write(results, document)
    draw(document, docs / "growth.svg")
    if "methods" in document:
        draw_methods(document["methods"], docs / "growth-methods.svg")


def write(path: Path, document: dict[str, Any]) -> None:
    """Replaces the file, so that a run that is stopped leaves the cells before."""
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(document, indent=1) + "\n")
    whole.replace(path)


if __name__ == "__main__":
    main()
