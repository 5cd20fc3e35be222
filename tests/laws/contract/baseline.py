"""Every way of every method by two versions of the program, byte by byte; and what one version leaves on a disk.

`python -m tests.laws.contract.baseline PYTHON` carries out all ways by the mlcli of this Python and by that of another,
on one thread, on two, and from blocks of rows, and prints the files of embedding, spectrum and model that differ. Two
versions are compared on one machine, as bytes depend on its processor and libraries.

`python -m tests.laws.contract.baseline --store FILE` writes the archive that `test_baseline.py` reads, by the program
at hand: a finished run of each method with its data, and a sweep that is half done. Caches and checkpoints are not in
it: they belong to the libraries of one machine.
"""

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mlcli.methods import METHODS, methods_in_blocks
from tests.laws.contract.repeating import ways, write_runs
from tests.processes import neutral

FILES = ("embedding.csv", "spectrum.csv", "model.json", "model.npz", "certificate.json")
OUTPUTS = "embedding,spectrum,model"
SWEEP = {"sweep": {"method.neighbors.count": [6, 7, 8, 9]}, "report": {"outputs": ["embedding", "spectrum"]}}


def blocks(runs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The runs whose method takes a table in blocks, read so."""
    plain = {"path", "id_column", "label_columns", "columns"}
    return {f"{name}-blocks": {**run, "input": {**run["input"], "stream": "always"}} for name, run in runs.items()
            if run["method"]["name"] in methods_in_blocks() and run["input"].keys() <= plain}


def carried_out(python: str, folder: Path, place: Path, *arguments: str) -> dict[str, Path]:
    """The directories of all runs by the mlcli of a Python, by name; those that end with an error are left out."""
    place.mkdir()
    configs = map(str, sorted((folder / "configs").glob("*.yaml")))
    subprocess.run([python, "-P", "-m", "mlcli", "run", *configs, "--no-cache", "-q", *arguments], cwd=place,
                   env=neutral(), capture_output=True, check=False)
    return {path.name: path for path in sorted((place / "runs").iterdir())}


def differences(one: dict[str, Path], other: dict[str, Path]) -> list[str]:
    """The runs and files that two versions do not have in common."""
    def content(run: Path, name: str) -> bytes | None:
        return (run / name).read_bytes() if (run / name).exists() else None

    missing = [f"{name}: only one version has this run" for name in sorted(one.keys() ^ other.keys())]
    return missing + [f"{name}/{file}" for name in sorted(one.keys() & other.keys()) for file in FILES
                      if content(one[name], file) != content(other[name], file)]


def compare(python: str) -> int:
    """Prints what differs between this Python's mlcli and another's; the exit code is 1 where anything does."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = ways(folder)
        write_runs(folder, runs | blocks(runs))
        for threads in ("1", "2"):
            made = [carried_out(command, folder, folder / f"{version}-{threads}", "--threads", threads)
                    for version, command in (("here", sys.executable), ("there", python))]
            print(f"{threads} threads: {len(made[0])} runs")
            wrong += differences(*made)
        wrong += [] if cache_taken(python, folder) else ["nothing was taken from the other version's cache"]
    print("\n".join(wrong) or "the same bytes")
    return int(bool(wrong))


def cache_taken(python: str, folder: Path) -> bool:
    """Whether this version takes from a cache what the other has computed; small results are not kept there."""
    np.save(folder / "points.npy", np.random.default_rng(0).standard_normal((3000, 3)))
    for command, name in ((python, "filled"), (sys.executable, "taken")):
        arguments = ("embed", "points.npy", "-m", "isomap", "-k", "12", "-q", "-o", name)
        subprocess.run([command, "-P", "-m", "mlcli", *arguments], cwd=folder, check=True,
                       env=neutral(MLCLI_CACHE=str(folder / "cache")))
    record = json.loads((folder / "taken" / "run.json").read_text(encoding="utf-8"))
    return any(answer["taken"] for answer in record["cache"])


def store(archive: Path) -> None:
    """Writes the archive of what the program at hand leaves on a disk."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = {run: document for run, document in ways(folder).items() if run in METHODS}
        for data in (folder / "data").iterdir():
            if data.name not in runs:
                shutil.rmtree(data)
        write_runs(folder, runs)
        carried_out(sys.executable, folder, folder / "place")
        sweep = {**runs["isomap"], **SWEEP, "output": "runs/sweep"}
        (folder / "configs" / "sweep.yaml").write_text(yaml.safe_dump(sweep), encoding="utf-8")
        subprocess.run([sys.executable, "-P", "-m", "mlcli", "run", "../configs/sweep.yaml", "-q", "--shard", "1/2"],
                       cwd=folder / "place", env=neutral(), check=True)
        with tarfile.open(archive, "w:xz") as file:
            for part in ("data", "configs", "place"):
                file.add(folder / part, part)


if __name__ == "__main__":
    if sys.argv[1] == "--store":
        store(Path(sys.argv[2]))
    else:
        sys.exit(compare(sys.argv[1]))
