"""Memory and time that `mlcli plan` predicts beside what a fresh process of `mlcli embed` takes.

    python benchmarks/plan.py out.json [NAME ...] [--sizes 0,1,2,3] [--seconds 300] [--again] [--predict] [--table]

Each case is a method in one of its ways at up to four sizes. Memory is the most that the process had resident, as the
operating system counts it; time is its CPU seconds with one thread, so that other work on the machine matters little:
the clock of its stages counts those too.
This script imports nothing but the standard library: a child's peak would begin with the memory of its parent.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MNIST = Path(os.environ.get("MLCLI_DATA", "data")) / "mnist/X.npy"
TABLE = """
import sys
import numpy as np
kind, rows, columns, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
random = np.random.default_rng(0)
if kind == "roll":
    angle = 1.5 * np.pi * (1 + 2 * random.random(rows))
    points = np.column_stack([angle * np.cos(angle), 21 * random.random(rows), angle * np.sin(angle)])
elif kind == "sequence":
    points = np.cumsum(random.standard_normal((rows, columns)), axis=0) * 0.05 + random.standard_normal((rows, columns))
elif kind == "sources":
    points = random.laplace(size=(rows, columns)) @ random.standard_normal((columns, columns))
elif kind == "normal":
    points = random.standard_normal((rows, columns))
elif kind == "mnist":
    points = np.load(sys.argv[5], mmap_mode="r")[:rows]
else:
    few = random.standard_normal((rows, 5))
    points = few @ random.standard_normal((5, columns)) + 0.5 * random.standard_normal((rows, columns))
if kind == "matrix":
    points = np.sqrt(np.maximum(((points[:, None, :5] - points[None, :, :5]) ** 2).sum(-1), 0))
np.save(f"{folder}/data.npy", points)
if kind == "views":
    np.save(f"{folder}/view.npy", few @ random.standard_normal((5, columns)) + random.standard_normal((rows, columns)))
if kind == "cells":
    import h5py
    with h5py.File(f"{folder}/data.h5ad", "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        file.create_dataset("X", data=points.astype(np.float32))
        file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for name, count in (("obs", rows), ("var", columns)):
            file.create_dataset(f"{name}/_index", data=[f"{name}{i}" for i in range(count)], dtype=h5py.string_dtype())
            file[f"{name}/_index"].attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
            file[name].attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index",
                                     "column-order": np.array([], "S1")})
if kind in ("labels", "csv", "names"):
    with open(f"{folder}/data.csv", "w") as out:
        names = [""] * (kind == "names") + [f"x{j}" for j in range(columns)]
        out.write(",".join([*names, "group"] if kind == "labels" else names) + "\\n")
        for i, row in enumerate(points.tolist()):
            first, last = [f"row{i}"] * (kind == "names"), ["abc"[i % 3]] * (kind == "labels")
            out.write(",".join([*first, *map(repr, row), *last]) + "\\n")
"""


@dataclass(frozen=True)
class Case:
    """A method in one way of running it, with data of a kind at some sizes (rows, columns)."""

    method: str
    kind: str
    sizes: tuple[tuple[int, int], ...]
    options: tuple[str, ...] = ()
    file: str = "data.npy"


def set_(*assignments: str) -> tuple[str, ...]:
    """Options by their paths."""
    return tuple(word for one in assignments for word in ("--set", f"method.{one}"))


ROLLS = ((300, 3), (2_000, 3), (10_000, 3), (40_000, 3))
TABLES = ((300, 10), (2_000, 50), (10_000, 200), (100_000, 100))
SQUARES = ((300, 10), (1_000, 20), (2_500, 20), (5_000, 50))
LISTS = ((300, 3), (1_000, 3), (2_500, 3), (5_000, 3))
CLOUDS = ((300, 10), (3_000, 10), (10_000, 50), (30_000, 50))
TALL = ((300, 10), (2_000, 10), (10_000, 10), (50_000, 10))
NINE = ("-k", "9")
GROUPS = ("--groups", "one=x0:x4", "--groups", "two=x5:x9")
CASES = {
    "pca of names": Case("pca", "names", ((20, 8), (40, 8), (60, 8)), ("--set", "report.point_labels=ids"), "data.csv"),
    "pca": Case("pca", "factors", TABLES),
    "tsne": Case("tsne", "factors", CLOUDS), "umap": Case("umap", "factors", CLOUDS),
    "tsne of cells": Case("tsne", "cells", CLOUDS, (), "data.h5ad"),
    "smacof": Case("smacof", "factors", SQUARES), "nmds": Case("nmds", "factors", SQUARES[:2], set_("starts=1")),
    "phate": Case("phate", "factors", SQUARES),
    "pca of text": Case("pca", "csv", ((300, 10), (2_000, 50), (10_000, 100), (50_000, 50)), (), "data.csv"),
    "pca of more columns": Case("pca", "factors", ((100, 1_000), (500, 5_000), (1_500, 10_000), (3_000, 6_000))),
    "pca by svd": Case("pca", "factors", ((300, 10), (2_000, 50), (5_000, 200), (20_000, 200)), set_("route=svd")),
    "pca of images": Case("pca", "mnist", ((500, 784), (2_000, 784), (10_000, 784), (70_000, 784))),
    "ppca": Case("ppca", "factors", TABLES),
    "ppca by em": Case("ppca", "factors", ((300, 10), (2_000, 50), (10_000, 100), (50_000, 50)), set_("solver=em")),
    "fa": Case("fa", "factors", ((300, 10), (2_000, 50), (10_000, 200), (50_000, 100)), ("-p", "2")),
    "mds": Case("mds", "factors", SQUARES),
    "mds of dissimilarities": Case("mds", "matrix", ((300, 10), (1_000, 10), (2_500, 10), (4_000, 10)),
                                   ("--set", "input.kind=dissimilarities")),
    "mds of landmarks": Case("mds", "factors", ((1_000, 10), (5_000, 20), (20_000, 20), (60_000, 20)),
                             set_("landmarks=500")),
    "kpca": Case("kpca", "factors", SQUARES),
    "kpca streamed": Case("kpca", "factors", ((8_500, 10), (12_000, 20), (16_000, 20))),
    "kpca polynomial": Case("kpca", "factors", SQUARES, set_("kernel.name=polynomial")),
    "isomap": Case("isomap", "roll", ROLLS, NINE),
    "isomap of images": Case("isomap", "mnist", ((500, 784), (2_000, 784), (5_000, 784), (10_000, 784))),
    "isomap in memory": Case("isomap", "roll", LISTS, (*NINE, *set_("paths.store=memory"))),
    "isomap by floyd": Case("isomap", "roll", ((300, 3), (1_000, 3), (2_000, 3), (3_000, 3)),
                            (*NINE, *set_("paths.algorithm=floyd"))),
    "isomap by dijkstra": Case("isomap", "roll", ((300, 3), (1_000, 3), (2_500, 3), (6_000, 3)),
                               (*NINE, *set_("paths.algorithm=dijkstra", "paths.store=streamed"))),
    "isomap of landmarks": Case("isomap", "roll", ((1_000, 3), (5_000, 3), (20_000, 3), (50_000, 3)),
                                (*NINE, *set_("landmarks=300"))),
    "lle": Case("lle", "roll", ROLLS, ("-k", "12")),
    "lle of images": Case("lle", "mnist", ((500, 784), (2_000, 784), (5_000, 784), (10_000, 784))),
    "laplacian": Case("laplacian", "roll", ROLLS, NINE),
    "laplacian of columns": Case("laplacian", "normal", ((300, 10), (3_000, 10), (9_000, 50)), ("-k", "12")),
    "lle of columns": Case("lle", "normal", ((300, 10), (3_000, 10), (8_000, 10)), ("-k", "12")),
    "diffusion of neighbors": Case("diffusion", "roll", ((300, 3), (3_000, 3), (9_000, 3), (30_000, 3)),
                                   set_("nearest=64")),
    "diffusion of columns": Case("diffusion", "normal", ((300, 10), (3_000, 10), (6_000, 10)), set_("nearest=64")),
    "ltsa": Case("ltsa", "roll", ROLLS, NINE), "mlle": Case("mlle", "roll", ROLLS, NINE),
    "hlle": Case("hlle", "roll", ROLLS, NINE),
    "lpp": Case("lpp", "factors", ((300, 10), (2_000, 50), (5_000, 200), (20_000, 20)), NINE),
    "npe": Case("npe", "factors", ((300, 10), (2_000, 50), (5_000, 200), (20_000, 20)), NINE),
    "lltsa": Case("lltsa", "factors", ((300, 10), (2_000, 50), (5_000, 200), (20_000, 20)), NINE),
    "laplacian of images": Case("laplacian", "mnist", ((500, 784), (2_000, 784), (5_000, 784), (10_000, 784))),
    "sde": Case("sde", "roll", ((100, 3), (200, 3), (300, 3), (500, 3)), ("-k", "5")),
    "sde over a basis": Case("sde", "roll", ((300, 3), (1_000, 3), (2_000, 3), (3_000, 3)),
                             ("-k", "5", *set_("basis=30"))),
    "chain": Case("chain", "roll", LISTS, set_("graph.neighbors.count=9", "paths={}", "kernel.name=laplacian")),
    "lgssm": Case("lgssm", "sequence", ((200, 4), (1_000, 6), (3_000, 10), (10_000, 6)), ("-p", "2")),
    "ica": Case("ica", "sources", ((300, 4), (2_000, 10), (20_000, 20), (100_000, 20))),
    "sfa": Case("sfa", "sequence", ((300, 4), (2_000, 10), (20_000, 20), (100_000, 20))),
    "sfa of squares": Case("sfa", "sequence", ((300, 4), (2_000, 10), (10_000, 15), (50_000, 15)), set_("degree=2")),
    "lda": Case("lda", "labels", ((300, 10), (2_000, 50), (10_000, 100), (50_000, 50)), ("--label-column", "group"),
                "data.csv"),
    "cca": Case("cca", "views", ((300, 10), (2_000, 50), (10_000, 100), (100_000, 50)), ("--view", "view.npy")),
    "ibfa": Case("ibfa", "views", ((300, 10), (2_000, 50), (10_000, 100), (100_000, 50)), ("--view", "view.npy")),
    "mfa": Case("mfa", "csv", TALL, GROUPS, "data.csv"), "famd": Case("famd", "labels", TALL, (), "data.csv"),
    "statis": Case("statis", "csv", ((300, 10), (1_000, 10), (2_500, 10)), GROUPS, "data.csv"),
    "gplvm": Case("gplvm", "factors", ((50, 5), (100, 8), (200, 10), (300, 10))),
    "gplvm sparse": Case("gplvm", "factors", ((200, 10), (500, 10), (1_000, 12), (2_000, 12)),
                         set_("inference.name=sparse", "inference.inducing=40", "minimize.limit=300")),
    "gplvm bayesian": Case("gplvm", "factors", ((100, 10), (300, 10), (600, 12), (1_200, 12)),
                           set_("inference.name=bayesian", "inference.inducing=20", "minimize.limit=200")),
    "gpdm": Case("gpdm", "sequence", ((50, 4), (100, 6), (200, 6), (300, 6)), set_("minimize.limit=200")),
    "gpssm": Case("gpssm", "sequence", ((50, 4), (200, 6), (500, 10), (1_000, 10)), set_("minimize.limit=200")),
    "autoencoder": Case("autoencoder", "factors", ((300, 10), (2_000, 50), (10_000, 100), (20_000, 200)),
                        set_("layers=[16]", "learning.epochs=20")),
    "vae": Case("vae", "factors", ((300, 10), (2_000, 50), (10_000, 100), (20_000, 200)),
                set_("layers=[16]", "learning.epochs=20")),
    "gib": Case("gib", "views", ((300, 10), (2_000, 50), (10_000, 100), (100_000, 50)), ("--view", "view.npy")),
    "vib": Case("vib", "views", ((300, 10), (2_000, 50), (10_000, 100), (100_000, 50)), ("--view", "view.npy")),
    "vib by networks": Case("vib", "views", ((300, 10), (2_000, 20), (10_000, 50)),
                            ("--view", "view.npy", *set_("layers=[16]", "learning.epochs=20"))),
    "vae free": Case("vae", "factors", ((300, 10), (2_000, 50), (5_000, 100)),
                     set_("layers=[16]", "family=free", "learning.epochs=20")),
    "autoencoder of views": Case("autoencoder", "views", ((300, 10), (2_000, 50), (10_000, 100)),
                                 ("--view", "view.npy", *set_("layers=[16]", "learning.epochs=20"))),
    "chain of a sum": Case("chain", "csv", ((300, 10), (1_000, 10), (2_500, 10)), set_(
        "kernel={name: sum, tables: [{name: one, columns: ['x0:x4']}, {name: two, columns: ['x5:x9']}]}"), "data.csv"),
}


RUN = "import time; time.perf_counter = time.process_time; from mlcli.__main__ import main; main()"


def measured(command: list[str], folder: Path, limit: float) -> tuple[int, float, float]:
    """The exit code, CPU seconds and MiB of resident memory at most of a process and those that it waited for."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (round(limit), round(limit)))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(os.open("error.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.execv(command[0], command)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10


def row_of(name: str, case: Case, shape: tuple[int, int], limit: float, before: dict[str, Any]) -> dict[str, Any]:
    """One cell of the table: what is predicted, and what was measured, now or `before`."""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        subprocess.run([sys.executable, "-c", TABLE, case.kind, *map(str, shape), at, str(MNIST)], check=True)
        given = [case.file, "-m", case.method, "--threads", "1", *case.options]
        plan = subprocess.run([sys.executable, "-m", "mlcli", "plan", *given, "--json"], cwd=folder,
                              capture_output=True, text=True, check=False)
        if plan.returncode not in (0, 82):
            raise SystemExit(f"{name} {shape}: {plan.stderr}")
        seen = before or run(given, folder, limit)
        if seen["code"]:
            print(name, shape, seen["code"], seen.get("error", ""), file=sys.stderr)
    return {**seen, "name": name, "rows": shape[0], "columns": shape[1], **predicted(json.loads(plan.stdout))}


def predicted(plan: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row that a plan gives."""
    return {"memory_predicted": round(plan["memory"] / 2**20, 1), "start": plan["start"], "steps": plan["steps"]}


def run(given: list[str], folder: Path, limit: float) -> dict[str, Any]:
    """The fields of a row that a run gives."""
    code, seconds, memory = measured([sys.executable, "-c", RUN, "embed", *given, "-q", "-o", "run"], folder, limit)
    record = {"stages": []} if code else json.loads((folder / "run/run.json").read_text())
    return {"code": code, "error": (folder / "error.txt").read_text()[-300:] if code else "",
            "memory": round(memory, 1), "seconds": round(seconds, 2), "stages": record["stages"],
            "iterations": (record.get("fit") or {}).get("iterations")}


def line(row: dict[str, Any]) -> str:
    """A row in words, with the ratios of predicted to measured."""
    predicted = seconds_of(row)
    return (f"{row['name']:24} {row['rows']:>6} x {row['columns']:<5} memory {row['memory_predicted']:8.1f} / "
            f"{row['memory']:8.1f} = {row['memory_predicted'] / row['memory']:5.2f}   seconds {predicted:7.2f} / "
            f"{row['seconds']:7.2f} = {predicted / row['seconds']:5.2f}" + f"  exit {row['code']}" * bool(row["code"]))


def seconds_of(row: dict[str, Any]) -> float:
    """The predicted seconds with the start; of iterations whose number is not known before, for those that ran."""
    done = row["iterations"]
    return float(row["start"] + sum(step["seconds"] + (0.0 if done is None or step["each"] is None else
                                                       (min(done, step["most"]) - step["usual"]) * step["each"])
                                    for step in row["steps"]))


def table(rows: list[dict[str, Any]]) -> str:
    """All rows as Markdown."""
    lines = ["| case | rows | columns | MiB predicted | measured | ratio | seconds predicted | measured | ratio |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in sorted((row for row in rows if not row["code"]), key=lambda row: list(CASES).index(row["name"])):
        memory, seconds = row["memory_predicted"] / row["memory"], seconds_of(row)
        lines.append(f"| {row['name']} | {row['rows']:,} | {row['columns']:,} | {row['memory_predicted']:.0f} | "
                     f"{row['memory']:.0f} | {memory:.2f} | {seconds:.2f} | {row['seconds']:.2f} | "
                     f"{seconds / row['seconds']:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measures the cases that are named, else all, and adds them to a JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", default="0,1,2,3")
    parser.add_argument("--seconds", type=float, default=300.0, help="CPU seconds that a run may take at most")
    parser.add_argument("--table", action="store_true", help="only print what the file holds, as Markdown")
    parser.add_argument("--again", action="store_true", help="also what the file holds already")
    parser.add_argument("--predict", action="store_true", help="predict anew what the file holds, without running it")
    asked = parser.parse_args()
    rows = {(row["name"], row["rows"], row["columns"]): row for row in
            (json.loads(asked.out.read_text()) if asked.out.exists() else [])}
    if asked.table:
        print(table(list(rows.values())))
        return
    for place in map(int, asked.sizes.split(",")):
        for name in asked.names or CASES:
            if place >= len(CASES[name].sizes):
                continue
            before = rows.get((name, *CASES[name].sizes[place]), {})
            if before if asked.predict else asked.again or not before:
                row = row_of(name, CASES[name], CASES[name].sizes[place], asked.seconds,
                             before if asked.predict else {})
                rows[name, row["rows"], row["columns"]] = row
                print(line(row), flush=True)
                asked.out.write_text(json.dumps(list(rows.values()), indent=1))


if __name__ == "__main__":
    main()
