"""Oil flow in two dimensions, by method: rows whose nearest neighbor is of another class.

    python benchmarks/oil_flow.py DATA RUNS

DATA holds X_train.npy and y_train.npy (Bishop and James, 1993, in Lawrence's collection of data sets). Runs that RUNS
holds already are not made again. Writes the table into docs/gplvm.md, and draws docs/oil_flow.png. Needs matplotlib and
the extra `neural` beside mlcli.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "gplvm.md"
CONNECTED = ["--set", "method.neighbors.pieces=connect"]
SPARSE = ["--set", "method.inference.name=sparse"]
TRAINED = [part for change in ("layers=[100,50]", "learning.batch=50", "learning.rate=0.002", "learning.epochs=600",
                               "learning.validation=0") for part in ("--set", f"method.{change}")]
WAYS = {"pca": ["-m", "pca"], "lle": ["-m", "lle", *CONNECTED], "isomap": ["-m", "isomap", *CONNECTED],
        "autoencoder": ["-m", "autoencoder", *TRAINED],
        "gplvm": ["-m", "gplvm"], "sparse": ["-m", "gplvm", *SPARSE],
        "sparse-50": ["-m", "gplvm", *SPARSE, "--set", "method.inference.inducing=50"],
        "kernel": ["-m", "gplvm", "--set", "method.constraint.name=kernel", "--set", "method.minimize.tolerance=1e-4"],
        "bayesian": ["-m", "gplvm", "--set", "method.inference.name=bayesian"]}
DRAWN = ("pca", "isomap", "autoencoder", "gplvm", "kernel", "bayesian")


def made(points: Path, run: Path, options: list[str]) -> dict:
    """The record of a finished run, made now unless it is there, with the processor seconds of its process."""
    told = run.with_suffix(".json")
    if not told.is_file():
        before = os.times()
        subprocess.run([sys.executable, "-P", "-m", "mlcli", "embed", str(points), "-p", "2", "--label-column",
                        "regime", *options, "--format", "npy", "-o", str(run), "--force", "-q"], check=True)
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        told.write_text(json.dumps({"seconds": spent}))
    return {**json.loads((run / "run.json").read_text()), **json.loads(told.read_text())}


def strangers(embedding: np.ndarray, classes: np.ndarray) -> int:
    """Rows whose nearest neighbor is of another class."""
    gaps = ((embedding[:, None] - embedding) ** 2).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return int(np.sum(classes[gaps.argmin(axis=1)] != classes))


def line(options: list[str], record: dict, errors: int) -> str:
    """One row of the table."""
    fit, typed = record.get("fit", {}), " ".join(options)
    steps = f"{fit['iterations']:,}" + ("" if fit["converged"] else ", limit") if "iterations" in fit else ""
    return f"| `{typed}` | {errors} | {steps} | {record['seconds']:.0f} |"


def draw(runs: Path, errors: dict[str, int], classes: np.ndarray) -> None:
    """A panel for each of some methods."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 3, figsize=(9, 6), layout="constrained")
    for name, panel in zip(DRAWN, panels.ravel(), strict=True):
        points = np.load(runs / name / "embedding.npy")
        for own, marker in zip(np.unique(classes), "o^s", strict=True):
            panel.plot(*points[classes == own].T, marker, markersize=2.5, markeredgewidth=0)
        panel.set(title=f"{name}: {errors[name]}", xticks=[], yticks=[])
    figure.savefig(HERE.parent / "docs" / "oil_flow.png", dpi=100, metadata={"Software": None})


def main() -> None:
    """Makes the runs, the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("runs", type=Path)
    given = parser.parse_args()
    points, classes = np.load(given.data / "X_train.npy"), np.load(given.data / "y_train.npy")
    given.runs.mkdir(parents=True, exist_ok=True)
    names = [f"x{column}" for column in range(points.shape[1])]
    rows = [",".join([*map(repr, row), str(own)]) for row, own in zip(points.tolist(), classes, strict=True)]
    (given.runs / "oil_flow.csv").write_text("\n".join([",".join([*names, "regime"]), *rows]) + "\n")
    lines, errors = [], {}
    for name, options in WAYS.items():
        record = made(given.runs / "oil_flow.csv", given.runs / name, options)
        errors[name] = strangers(np.load(given.runs / name / "embedding.npy"), classes)
        lines.append(line(options, record, errors[name]))
        print(lines[-1], flush=True)
    head, _, rest = PAGE.read_text().partition("<!-- benchmarks/oil_flow.py -->\n")
    tail = rest.partition("<!-- end -->\n")[2]
    table = ["| `mlcli embed oil_flow.csv --label-column regime -p 2` | errors | iterations | seconds |",
             "|---|---|---|---|", *lines]
    PAGE.write_text("\n".join([f"{head}<!-- benchmarks/oil_flow.py -->", *table, f"<!-- end -->\n{tail}"]))
    draw(given.runs, errors, classes)


if __name__ == "__main__":
    main()
