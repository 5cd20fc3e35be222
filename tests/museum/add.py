"""Adds runs of every method, as the program at hand writes them, to the folder of its version.

`python -m tests.museum.add` makes the archives that the folder lacks; with `--renew METHOD ...` it makes those of some
methods anew, which only a version that is not yet released may do. The bytes of an archive depend on its files alone.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import chdir
from pathlib import Path

import numpy as np

from mlcli import __version__
from mlcli.cli.program import run
from mlcli.methods import METHODS
from tests.faults.certificate.support import write_csv
from tests.laws.contract.repeating import ways, write_runs
from tests.laws.contract.test_contract import CONFIGURATIONS, POINTS
from tests.museum.pieces import FOLDER, LABELS, archive_of, commands
from tests.processes import neutral
from tests.support import in_domain

OUTPUTS = "embedding,spectrum,model,quality,dimension"  # of the ways of a method after its first one
PLACE = "mlcli-museum"  # in the temporary folder; a run keeps the path of its input
FEW = 7  # new rows
STYLES = ("bilinear",)  # methods that place a new row by its style


def new_rows(method: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Rows between the training rows (7 x d), as numbers that the method takes."""
    return in_domain(method, (POINTS[:FEW] + 3 * POINTS[FEW : 2 * FEW]) / 4)


def make(methods: Sequence[str], folder: Path) -> None:
    """Make the runs of some methods in a folder, a way in each of its folders, with what the program makes of them."""
    every = {name: document for name, document in ways(folder).items() if document["method"]["name"] in methods}
    names = {name.replace(" ", "-"): (name, method) for name, (method, _) in CONFIGURATIONS.items()}
    write_runs(folder, every)
    for called in every:
        way, method = names[called]
        place = folder / method / called
        place.mkdir(parents=True)
        shutil.move(folder / "data" / called, place / "data")
        shutil.move(folder / "configs" / f"{called}.yaml", place / "config.yaml")
        text = (place / "config.yaml").read_text(encoding="utf-8").replace(f"../data/{called}/", "data/")
        (place / "config.yaml").write_text(text.replace(f"output: runs/{called}", "output: run"), encoding="utf-8")
        write_csv(place / "new.csv", new_rows(method))
        if method in STYLES:
            given = [line.split(",") for line in (place / "data" / "data.csv").read_text(encoding="utf-8").splitlines()]
            added = [",".join(cells[given[0].index(name)] for name in LABELS) for cells in given]
            lines = (place / "new.csv").read_text(encoding="utf-8").splitlines()
            (place / "new.csv").write_text("".join(
                f"{line},{labels}\n" for line, labels in zip(lines, added, strict=False)), encoding="utf-8")
        with chdir(place):
            require(run(["run", "config.yaml", "--no-cache", "-q", *(
                () if way == method else ("--outputs", OUTPUTS))]), called)
            for name, command in commands("run", "").items():
                if run([*command, "-q"]):  # a run without a map back, or without a place for new rows
                    print(f"{called}: no {name}", file=sys.stderr)


def require(code: int, name: str) -> None:
    """Raise SystemExit where a run ended with an error."""
    if code:
        raise SystemExit(f"{name} ended with exit code {code}")


def pack(archive: Path, folder: Path) -> None:
    """Write the files of a folder in their order, without owners, times and modes."""
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as file:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mode = len(content), 0o644
            file.addfile(entry, io.BytesIO(content))


def add(methods: Iterable[str]) -> None:
    """Write the archives of some methods into the folder of this version."""
    place = Path(tempfile.gettempdir()) / PLACE
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    chosen = list(methods)
    make(chosen, place)
    for method in chosen:
        pack(archive_of(__version__, method), place / method)
    shutil.rmtree(place)
    sizes = {method: archive_of(__version__, method).stat().st_size for method in chosen}
    print(json.dumps({"added": sizes, "bytes": sum(sizes.values())}))


def main() -> None:
    """Add the archives that are missing, and make those of the named methods anew."""
    os.environ["MLCLI_CACHE"] = "off"
    renewed = sys.argv[2:] if sys.argv[1:2] == ["--renew"] else []
    add(method for method in METHODS if method in renewed or not archive_of(__version__, method).exists())


if __name__ == "__main__":
    # a safe path finds the installed program, with its kernels, before the tree
    again = f"import sys; sys.path.append({str(FOLDER.parents[1])!r}); from tests.museum.add import main; main()"
    sys.exit(subprocess.run([sys.executable, "-P", "-c", again, *sys.argv[1:]], env=neutral(), check=False).returncode)
