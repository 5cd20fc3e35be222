"""Prints the hash of each method's results on fixed data, under settings of one machine, or compares two machines.

    python scripts/reproducibility.py                   one line a method: the hash here
    python scripts/reproducibility.py umap tsne         some methods
    python scripts/reproducibility.py --settings        also under other instructions, kernels and threads
    python scripts/reproducibility.py --write           and writes the table of docs/reproducibility.md
    python scripts/reproducibility.py --data FOLDER     also of MNIST (FOLDER/mnist/X.npy) and a roll of 20,000 points

Of a layout the hash is that of embedding.csv, trace.csv, radii.csv and model.npz; of another method that of
embedding.csv. Those of layouts stand in docs/reproducibility.md, and are the same on every machine. Start it with an
interpreter that has mlcli installed.
"""

import argparse
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from mlcli.native import machine_levels

ROOT = Path(__file__).parents[1]
SAMPLES, PAGE = ROOT / "sample_data", ROOT / "docs" / "reproducibility.md"
MARKS = "<!-- hashes -->", "<!-- /hashes -->"
LAYOUTS = ("tsne", "umap", "phate", "nmds", "smacof", "sammon")
FILES = ("embedding.csv", "trace.csv", "radii.csv", "model.npz")
OTHERS = ("pca", "mds", "kpca", "isomap", "lle", "ltsa", "hlle", "mlle", "laplacian", "diffusion", "fa", "ppca", "nmf")
BRAY = ("--metric", "braycurtis")
INPUTS: dict[str, tuple[Path, tuple[str, ...]]] = {
    "iris": (SAMPLES / "iris.csv", ()), "dune": (SAMPLES / "dune.csv", BRAY),
    "roll": (SAMPLES / "swiss_roll.csv", ()),
}
# Settings of one machine, with the level that a processor needs for them; each differs from the usual one in all of
# what its column is about.
NO_AVX = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512F AVX512CD AVX512_SKX "
                                      "AVX512_CLX AVX512_CNL",
          "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable,-AVX512F_Usable"}
SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    "threads": {"1 thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                "3 threads": {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}},
    "kernels of BLAS": {core: {"OPENBLAS_CORETYPE": core} for core in ("Prescott", "Haswell", "Zen", "SkylakeX")},
    "instructions": {"v3": {"MLCLI_SIMD": "v3"}, "base": {"MLCLI_SIMD": "base"}, "no AVX": NO_AVX,
                     "base, no AVX": {"MLCLI_SIMD": "base", "OPENBLAS_CORETYPE": "Prescott", **NO_AVX}},
    "no kernels": {"none": {"MLCLI_SIMD": "none"}},
}
FORCED = re.compile("OPENBLAS_|OMP_|MKL_|MLCLI_|NPY_|GLIBC_TUNABLES|NVPL_")


def jobs(chosen: list[str], data: Path | None) -> Iterator[tuple[str, str, list[str]]]:
    """Yield method, name of the data and arguments of each run."""
    inputs = dict(INPUTS)
    if data is not None:
        inputs |= {"mnist 10,000": (first_rows(data), ()), "roll 20,000": (swiss_roll(20_000), ())}
    for method in chosen or [*LAYOUTS, *OTHERS]:
        for name, (path, flags) in inputs.items():
            pairs = method in ("nmds", "smacof", "sammon")  # whose time is that of all pairs
            if name not in ("iris", "dune") if pairs else method not in LAYOUTS and name in ("iris", "dune"):
                continue
            yield method, name, ["embed", str(path), "-m", method, *flags]


def first_rows(data: Path) -> Path:
    """Return a file with the first 10,000 digits."""
    import numpy as np

    path = Path(tempfile.mkdtemp()) / "mnist.npy"
    np.save(path, np.load(data / "mnist" / "X.npy", mmap_mode="r")[:10_000].reshape(10_000, -1))
    return path


def swiss_roll(rows: int) -> Path:
    """Return a file with a roll, whose numbers have few digits: functions of the C library make them."""
    path = Path(tempfile.mkdtemp()) / "roll.csv"
    subprocess.run([program(), "sample", "swiss-roll", "--rows", str(rows), "-o", str(path)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def program() -> str:
    """Return the installed program."""
    return str(Path(sys.executable).with_name("mlcli"))


def hash_of(method: str, arguments: list[str], settings: dict[str, str]) -> str:
    """Return the start of the hash of a run's files under some settings, or why there is none."""
    usual = {name: value for name, value in os.environ.items() if not FORCED.match(name)}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program(), *arguments, "-o", f"{folder}/run", "--no-cache", "-q"],
                              env=usual | settings, capture_output=True, text=True, check=False)
        if done.returncode:
            return (re.search(r"E-[A-Z-]+", done.stderr) or ["failed"])[0]
        files = [Path(folder, "run", name) for name in (FILES if method in LAYOUTS else FILES[:1])]
        return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.exists())).hexdigest()[:12]


def runnable(settings: dict[str, str]) -> bool:
    """Tell whether this processor has the level that settings name."""
    level = settings.get("MLCLI_SIMD", "base")
    wide = settings.get("OPENBLAS_CORETYPE") != "SkylakeX" or "v4" in machine_levels()
    return wide and level in (*machine_levels(), "none")


def table(rows: list[list[str]], head: list[str]) -> str:
    """Return rows as a table of Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def main() -> None:
    """Print a line for each run, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", metavar="METHOD")
    parser.add_argument("--settings", action="store_true", help="also under other instructions, kernels and threads")
    parser.add_argument("--write", action="store_true", help="write the table of docs/reproducibility.md")
    parser.add_argument("--data", type=Path, help="a folder with mnist/X.npy")
    options = parser.parse_args()
    columns = SETTINGS if options.settings or options.write else {}
    rows = []
    for method, name, arguments in jobs(options.methods, options.data):
        usual, row = hash_of(method, arguments, {}), [method, name]
        for several in columns.values():
            found = {told: hash_of(method, arguments, settings) for told, settings in several.items()
                     if runnable(settings)}
            others = [told for told, other in found.items() if other != usual]
            row.append("same" if not others else "differs: " + "; ".join(others))
        row.append(usual)
        rows.append(row)
        print(*row, sep="\t", flush=True)
    if options.write:
        libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
        head = ["method", "data", *columns, "hash"]
        told = (f"Measured on {platform.machine()} with the levels {', '.join(machine_levels())}, Python "
                f"{platform.python_version()}, {libraries}:\n\n{table(rows, head)}\n")
        before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{told}{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
