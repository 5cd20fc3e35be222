"""Prints the hash of each method's results on fixed data, under settings of one machine, or compares machines.

    python scripts/reproducibility.py                   one line a method: the hash here
    python scripts/reproducibility.py umap tsne         some methods
    python scripts/reproducibility.py --check           and compares it with docs/reproducibility.md: exit code 1 if
                                                        one differs
    python scripts/reproducibility.py --settings        also under other instructions, kernels and threads
    python scripts/reproducibility.py --write           and writes the rows into the table of docs/reproducibility.md
    python scripts/reproducibility.py --data FOLDER     also of MNIST (FOLDER/mnist/X.npy) and a roll of 20,000 points
    python scripts/reproducibility.py --program '/other/bin/python -m mlcli' --note versions 'Python 3.12'
                                                        compares another program with the table, and notes it there

Of a layout the hash is that of embedding.csv, trace.csv, radii.csv and model.npz (but its scores of rows off the
manifold, which came later and place nothing), which are the same on every machine; of another method that of
embedding.csv by `--portable`, which is the same on machines of one architecture with the same versions. The program is
the `mlcli` beside this interpreter, unless another one is named.
"""

import argparse
import atexit
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLES, PAGE = ROOT / "sample_data", ROOT / "docs" / "reproducibility.md"
MARKS = "<!-- hashes -->", "<!-- /hashes -->"
LAYOUTS = ("tsne", "umap", "phate", "nmds", "smacof", "sammon")
PAIRS = ("nmds", "smacof", "sammon")  # whose time is that of all pairs
FILES = ("embedding.csv", "trace.csv", "radii.csv", "model.npz")
BRAY = ("--metric", "braycurtis")
COMPLETE = ("--set", "prepare.missing=drop")
INPUTS: dict[str, tuple[str, ...]] = {"iris": (), "dune": BRAY, "swiss_roll": ()}  # of layouts
# Of the other methods; networks are not among them, as they need another library.
OTHERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pca", "ppca", "fa", "mds", "kpca", "ica", "nmf", "random", "gplvm"), ("iris",)),
    **dict.fromkeys(("isomap", "lle", "mlle", "ltsa", "hlle", "npe", "lpp", "lltsa", "laplacian", "diffusion"),
                    ("swiss_roll",)),
    **dict.fromkeys(("sfa", "lgssm", "gpdm"), ("van_der_pol", "--id-column", "time")),
    "lda": ("iris", "--label-column", "Species"), "ca": ("dune",), "mca": ("survey", *COMPLETE), "sde": ("us_arrests",),
}
# Settings of one machine; each differs from the usual one in all of what its column is about.
NO_AVX = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512F AVX512CD AVX512_SKX "
                                      "AVX512_CLX AVX512_CNL",
          "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable,-AVX512F_Usable"}
ONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
LEAST = {"MLCLI_SIMD": "base", "OPENBLAS_CORETYPE": "Prescott", **NO_AVX}
SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    "threads": {"1 thread": ONE, "3 threads": {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}},
    "kernels of BLAS": {core: {"OPENBLAS_CORETYPE": core} for core in ("Prescott", "Haswell", "Zen", "SkylakeX")},
    "instructions": {"v3": {"MLCLI_SIMD": "v3"}, "base": {"MLCLI_SIMD": "base"}, "no AVX": NO_AVX,
                     "base, no AVX": LEAST},
    "no kernels": {"none": {"MLCLI_SIMD": "none"}},
}
# Data that takes minutes has one run in place of the first three columns.
LARGE = {column: SETTINGS[column] if column == "no kernels" else {"1 thread, Prescott, base, no AVX": ONE | LEAST}
         for column in SETTINGS}
PORTABLE = {"threads": SETTINGS["threads"], "kernels of BLAS": {},  # what `--portable` does not fix itself
            "instructions": {"v3": SETTINGS["instructions"]["v3"]}, "no kernels": {}}
ELSEWHERE = ("architectures", "versions")
HEAD = ("method", "data", *SETTINGS, *ELSEWHERE, "hash")
LEVELS = ("base", "v3", "v4")
FORCED = re.compile("OPENBLAS_|OMP_|MKL_|MLCLI_|NPY_|GLIBC_TUNABLES|NVPL_|ONEDNN_|XLA_")
Row = dict[str, str]
Columns = dict[str, dict[str, dict[str, str]]]


def jobs(chosen: list[str], data: Path | None, program: str) -> Iterator[tuple[Row, Columns, tuple[str, ...]]]:
    """Yield method and data of each run, its settings, and the arguments of `mlcli`."""
    large = {} if data is None else {"mnist 10,000": first_rows(data), "roll 20,000": swiss_roll(20_000, program)}
    for method in chosen or [*LAYOUTS, *OTHERS]:
        if method in OTHERS:
            name, *more = OTHERS[method]
            yield ({"method": f"{method} --portable", "data": name}, PORTABLE,
                   (sample(name), "-m", method, *more, "--portable", "--outputs", "embedding"))
            continue
        arguments = "-m", method, "--outputs", "embedding,model"
        for name, flags in INPUTS.items():
            if name != "swiss_roll" or method not in PAIRS:
                yield {"method": method, "data": name}, SETTINGS, (sample(name), *arguments, *flags)
        for name, path in large.items():
            if method not in PAIRS:
                yield {"method": method, "data": name}, LARGE, (path, *arguments)


def sample(name: str) -> str:
    """Return the path of a table that lies beside the program."""
    return str(SAMPLES / f"{name}.csv")


@cache
def folder() -> Path:
    """Return a folder for large data, which goes with this process."""
    held = tempfile.TemporaryDirectory()
    atexit.register(held.cleanup)
    return Path(held.name)


def first_rows(data: Path) -> str:
    """Return the path of a file with the first 10,000 digits."""
    import numpy as np

    path = folder() / "mnist.npy"
    np.save(path, np.load(data / "mnist" / "X.npy", mmap_mode="r")[:10_000].reshape(10_000, -1))
    return str(path)


def swiss_roll(rows: int, program: str) -> str:
    """Return the path of a file with a roll, whose numbers have few digits: functions of the C library make them."""
    path = folder() / "roll.csv"
    subprocess.run([*shlex.split(program), "sample", "swiss-roll", "--rows", str(rows), "-o", str(path)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return str(path)


def environment() -> dict[str, str]:
    """Return the variables of this process without those that choose instructions, kernels or threads."""
    return {name: value for name, value in os.environ.items() if not FORCED.match(name)}


@cache
def hash_of(program: str, arguments: tuple[str, ...], settings: tuple[tuple[str, str], ...] = ()) -> str:
    """Return the start of the hash of a run's files under some settings, or why there is none."""
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run([*shlex.split(program), "embed", *arguments, "-o", f"{place}/run", "--no-cache", "-q"],
                              env=environment() | dict(settings), capture_output=True, text=True, check=False)
        if done.returncode:
            return (re.search(r"E-[A-Z-]+", done.stderr) or ["failed"])[0]
        files = [Path(place, "run", name) for name in (FILES[:1] if "--portable" in arguments else FILES)]
        return hashlib.sha256(b"".join(content(file) for file in files if file.exists())).hexdigest()[:12]


def content(file: Path) -> bytes:
    """Return the bytes of a file; of a model without its scores of rows off the manifold, which place nothing."""
    if file.suffix != ".npz":
        return file.read_bytes()
    from mlcli.storage.npz import arrays_in, npz_of

    with file.open("rb") as opened:
        arrays = arrays_in(opened, file.stat().st_size)
    return b"".join(npz_of({name: array for name, array in arrays.items() if not name.startswith("score.")}))


def facts(program: str) -> tuple[str, tuple[str, ...]]:
    """Return architecture and versions of a program, and the levels of its native kernels."""
    done = subprocess.run([*shlex.split(program), "doctor", "--json"], env=environment(), capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"{program} doctor failed:\n{done.stderr or done.stdout}")
    found = json.loads(done.stdout)
    architecture = (re.search("x86_64|aarch64", found["platform"]) or ["another architecture"])[0]
    libraries = (f"{name} {found['packages'][name]}" for name in ("numpy", "scipy"))
    levels = LEVELS[: LEVELS.index(found["native"]) + 1] if found["native"] in LEVELS else ()
    return ", ".join((architecture, f"Python {found['python']}", *libraries)), levels


def runnable(settings: dict[str, str], levels: tuple[str, ...]) -> bool:
    """Tell whether a processor with these levels has what settings name."""
    wide = settings.get("OPENBLAS_CORETYPE") != "SkylakeX" or "v4" in levels
    return wide and settings.get("MLCLI_SIMD", "none") in (*levels, "none")


def read_page() -> tuple[str, dict[str, str], list[Row]]:
    """Return from the page where its hashes were measured, what each column was measured with, and its rows."""
    told = PAGE.read_text(encoding="utf-8").split(MARKS[0])[1].split(MARKS[1])[0]
    where = (re.search("^Measured on (.*?), with", told, re.MULTILINE) or ["", ""])[1]
    tried = dict(re.findall(r"^- (.*?): (.*)$", told, re.MULTILINE))
    cells = [line.strip("| ").split(" | ") for line in told.splitlines() if line.startswith("| ")]
    return where, tried, [dict(zip(HEAD, row, strict=True)) for row in cells[2:]]


def write_page(where: str, tried: dict[str, str], rows: list[Row]) -> None:
    """Write the table into the page, with the rows that are there already and not among these."""
    known = {(row["method"], row["data"]): row for row in (*read_page()[2], *rows)}
    table = (HEAD, ["---"] * len(HEAD), *([row[column] for column in HEAD] for row in known.values()))
    settings = (f"- {column}: {tried[column]}" for column in HEAD if column in tried)
    told = "\n".join([f"Measured on {where}, with:", "", *settings, "",
                      *("| " + " | ".join(row) + " |" for row in table)])
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    PAGE.write_text(f"{before}{MARKS[0]}\n{told}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")


def cell(usual: str, found: dict[str, str]) -> str:
    """Return what a cell says of hashes under several settings."""
    others = [told for told, other in found.items() if other != usual]
    return "-" if not found else "same" if not others else "differs: " + "; ".join(others)


def extended(text: str, other: str) -> str:
    """Return a cell with one more machine or version: its name where it differs, nothing where it does not."""
    if not other:
        return "same" if text == "-" else text
    return f"{text}; {other}" if text.startswith("differs") else f"differs: {other}"


def command_line() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="default: all")
    parser.add_argument("--check", action="store_true", help="compare with docs/reproducibility.md; exit code 1 if a "
                        "hash differs. Methods that are not layouts only with its architecture and versions")
    parser.add_argument("--settings", action="store_true", help="also under other instructions, kernels and threads")
    parser.add_argument("--write", action="store_true", help="the same, and write it into docs/reproducibility.md")
    parser.add_argument("--data", type=Path, help="a folder with mnist/X.npy")
    parser.add_argument("--program", default=shlex.quote(str(Path(sys.executable).with_name("mlcli"))),
                        help="the command that starts mlcli, as of another Python or under an emulator")
    parser.add_argument("--note", nargs=2, metavar=("COLUMN", "NAME"), help="as --check, and note in the table as "
                        f"what a machine or version of this name gave; COLUMN is {' or '.join(ELSEWHERE)}")
    options = parser.parse_args()
    if options.note and options.note[0] not in ELSEWHERE:
        parser.error(f"--note: {options.note[0]} is not {' or '.join(ELSEWHERE)}")
    if unknown := sorted({*options.methods} - {*LAYOUTS, *OTHERS}):
        parser.error(f"there are no hashes of {', '.join(unknown)}; methods are {', '.join((*LAYOUTS, *OTHERS))}")
    return options


def compare(options: argparse.Namespace) -> bool:
    """Print whether each hash is that of the page, note it there if asked to, and return whether all are."""
    here, (where, tried, stored) = facts(options.program)[0], read_page()
    hashes, rows, left, same = {(row["method"], row["data"]): row for row in stored}, [], 0, True
    for row, _, arguments in jobs(options.methods, options.data, options.program):
        known = hashes.get((row["method"], row["data"]))
        if known is None or ("--portable" in row["method"] and here != where):
            left += 1
            continue
        found = hash_of(options.program, arguments)
        equal = found == known["hash"]
        print(*row.values(), found, "same" if equal else f"differs: {known['hash']}", sep="\t", flush=True)
        same &= equal
        if options.note:
            column, name = options.note
            rows.append(known | {column: extended(known[column], "" if equal else name)})
    if left:
        print(f"{left} not compared: the page does not have them, or for {where}, and this is {here}", file=sys.stderr)
    if options.note:
        column, name = options.note
        write_page(where, tried | {column: "; ".join(filter(None, (tried.get(column), f"{name} ({here})")))}, rows)
    return same


def measure(options: argparse.Namespace) -> None:
    """Print the hash of each run, under other settings too if asked to, and write them into the page."""
    (here, levels), (_, tried, stored), rows = facts(options.program), read_page(), []
    known = {(row["method"], row["data"], row["hash"]): row for row in stored}
    for row, columns, arguments in jobs(options.methods, options.data, options.program):
        usual = hash_of(options.program, arguments)
        if options.settings or options.write:
            row |= {column: cell(usual, {told: hash_of(options.program, arguments, tuple(settings.items()))
                                         for told, settings in several.items() if runnable(settings, levels)})
                    for column, several in columns.items()}
            before = known.get((row["method"], row["data"], usual), {})  # what was noted of the same hash stays
            row |= {column: before.get(column, "-") for column in ELSEWHERE}
        rows.append(row | {"hash": usual})
        print(*rows[-1].values(), sep="\t", flush=True)
    if options.write:
        settings = {column: "; ".join(several) for column, several in SETTINGS.items()}
        write_page(here, settings | {column: tried[column] for column in ELSEWHERE if column in tried}, rows)


def main() -> None:
    """Compare with the page, or measure."""
    options = command_line()
    if not (options.check or options.note):
        measure(options)
    elif not compare(options):
        sys.exit(1)


if __name__ == "__main__":
    main()
