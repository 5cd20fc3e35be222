"""Memory and disk that `mlcli plan` predicts beside what `mlcli embed` takes, by format, way of reading and axes kept.

    python benchmarks/memory.py out.json [PART OF A NAME ...]

The cells that `benchmarks/plan.py` does not hold: formats, pipes, chosen rows, blocks, limits that leave room for few
of these, wide texts, all axes. A ratio of predicted to measured memory should be within 0.6 to 1.2, and what is
measured below the limit. This script imports nothing but the standard library, as that one.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TABLES = """
import sys
import numpy as np, pyarrow as pa
from pyarrow import csv, feather, parquet
rows, columns, form, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
random = np.random.default_rng(0)
values = random.standard_normal((rows, 5)) @ random.standard_normal((5, columns))
values += random.standard_normal((rows, columns)) / 2
if form == "npy":
    np.save(path, values)
    sys.exit()
table = pa.table({f"x{j}": values[:, j] if form != "rounded" else values[:, j].round(2) for j in range(columns)})
groups = max(rows // 8, 1)
if form == "csv":
    csv.write_csv(table, path)
elif form == "arrow":
    feather.write_feather(table, path, compression="uncompressed", chunksize=groups)
elif form == "lz4":
    feather.write_feather(table, path, chunksize=groups)
else:
    size = groups if form == "groups" else None
    parquet.write_table(table, path, row_group_size=size, use_dictionary=form != "plain")
"""
SUFFIX = {"npy": "npy", "csv": "csv", "arrow": "arrow", "lz4": "arrow"}
SHAPES = ((20_000, 50), (60_000, 100), (4_000, 1_500))
BLOCKS = ("--set", "input.stream=always")
RUN = [sys.executable, "-P", "-m", "mlcli"]


def cells() -> dict[str, tuple[tuple[int, int], str, tuple[str, ...], bool]]:
    """Shape, form of the file, options, and whether it is piped, by name."""
    found: dict[str, tuple[tuple[int, int], str, tuple[str, ...], bool]] = {}
    for shape in SHAPES:
        size = f"{shape[0]} x {shape[1]}"
        for form in ("npy", "csv", "arrow", "lz4", "parquet", "rounded", "plain", "groups"):
            found[f"{form} {size}"] = shape, form, (), False
        for form in ("npy", "csv", "arrow", "groups"):
            found[f"{form} {size} in blocks"] = shape, form, BLOCKS, False
        for form in ("csv", "groups", "arrow"):
            found[f"{form} {size}, some rows"] = shape, form, ("--rows", "2000"), False
        found[f"csv {size}, piped"] = shape, "csv", (), True
    for shape in ((60_000, 100), (20_000, 50)):
        for limit in ("200M", "300M"):
            found[f"groups {shape[0]} x {shape[1]}, {limit}"] = shape, "groups", ("--memory-limit", limit), False
            found[f"csv {shape[0]} x {shape[1]}, {limit}"] = shape, "csv", ("--memory-limit", limit), False
    for rows, columns in ((3_000, 600), (20_000, 100), (600, 3_000)):
        for method in ("pca", "ppca"):
            found[f"{method} -p all of {rows} x {columns}"] = (rows, columns), "npy", ("-m", method, "-p", "all"), False
    found["mds -p all of 1500 x 300"] = (1_500, 300), "npy", ("-m", "mds", "-p", "all"), False
    found["kpca -p all of 1500 x 300"] = (1_500, 300), "npy", ("-m", "kpca", "-p", "all"), False
    for columns in (3, 10):
        for method in ("laplacian", "lle"):
            found[f"{method} of 12000 x {columns}"] = (12_000, columns), "npy", ("-m", method), False
    found["wide text 30 x 60000"] = (30, 60_000), "csv", (), False
    return found


def run(command: list[str], folder: Path, piped: str | None) -> tuple[int, float]:
    """The exit code, and MiB of resident memory at most."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (400, 400))
        os.dup2(os.open("out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open("error.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open(piped or os.devnull, os.O_RDONLY), 0)
        os.execv(command[0], command)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_maxrss / 2**10


def measured(name: str) -> dict[str, Any]:
    """One cell."""
    (rows, columns), form, options, piped = cells()[name]
    with tempfile.TemporaryDirectory() as at:
        folder, file = Path(at), f"data.{SUFFIX.get(form, 'parquet')}"
        subprocess.run([sys.executable, "-c", TABLES, str(rows), str(columns), form, f"{at}/{file}"], check=True)
        given = ["-" if piped else file, *options]
        run([*RUN, "plan", *given, "--json"], folder, file if piped else None)
        plan = json.loads((folder / "out.txt").read_text() or '{"error": "refused"}')
        code, memory = run([*RUN, "embed", *given, "-q", "-o", "run"], folder, file if piped else None)
        disk = sum(path.stat().st_size for path in folder.glob("run/*"))
        found = {"name": name, "code": code, "memory": memory, "disk": disk / 2**20}
        if "error" in plan or code:
            return {**found, "error": (folder / "error.txt").read_text()[-200:]}
        return {**found, "predicted": plan["memory"] / 2**20, "limit": plan["memory_limit"] / 2**20,
                "disk_predicted": plan["disk"] / 2**20}


def line(cell: dict[str, Any]) -> str:
    """A cell in words."""
    if "error" in cell:
        return f"{cell['name']:36} exit {cell['code']}, {cell['memory']:.0f} MiB: {cell['error'].strip()}"
    return (f"{cell['name']:36} memory {cell['predicted']:7.0f} / {cell['memory']:7.0f} = "
            f"{cell['predicted'] / cell['memory']:.2f}, disk {cell['disk_predicted']:6.1f} / {cell['disk']:6.1f} = "
            f"{cell['disk_predicted'] / cell['disk']:.2f}{', over the limit' * (cell['memory'] > cell['limit'])}")


def main() -> None:
    """Measures the cells, or those whose names hold one of the words."""
    found = []
    for name in cells():
        if not sys.argv[2:] or any(word in name for word in sys.argv[2:]):
            found.append(measured(name))
            print(line(found[-1]), flush=True)
            Path(sys.argv[1]).write_text(json.dumps(found, indent=1))
    known = [cell for cell in found if "error" not in cell]
    outside = [cell for cell in known if not 0.6 <= cell["predicted"] / cell["memory"] <= 1.2]
    over = [cell for cell in known if cell["memory"] > cell["limit"]]
    print(f"{len(found)} cells: {len(found) - len(known)} refused, {len(outside)} outside of 0.6 to 1.2, "
          f"{len(over)} over the limit")


if __name__ == "__main__":
    main()
