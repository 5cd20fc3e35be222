"""The archives of former runs, and what is asked of each run in them.

An archive holds the runs of one method of features, a folder for each of its ways, those of several methods of another
kind of input or of tables of a kind, a folder for each method, or runs that add rows to the map of another, a folder
for each way to do so.
"""

import json
import tarfile
from pathlib import Path

from mlcli.methods import METHODS

LABELS = ("class", "content")  # columns of labels in the data
KINDS = ("dissimilarities", "graph", "kernel", "covariance")  # of inputs besides features
# of tables besides those of numbers alone: cells that are missing, texts that are categories, a view beside the first
TABLES = ("missing", "categories", "view")
ONTO = "onto"  # runs that add rows to the map of another, one of each way
FOLDER = Path(__file__).parent
PIECES = sorted(path.relative_to(FOLDER).as_posix().removesuffix(".tar.xz") for path in FOLDER.glob("*/*.tar.xz"))


def archive_of(version: str, name: str) -> Path:
    """Return the archive of the runs of a method, of a kind of input, or of additions to a map, by a version."""
    return FOLDER / version / f"{name}.tar.xz"


def unpack(piece: str, folder: Path, way: str = "") -> list[Path]:
    """Unpack an archive, VERSION/NAME, or one of its ways, into a folder, and return the folders of its ways."""
    with tarfile.open(FOLDER / f"{piece}.tar.xz") as file:
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and before have none
        file.extractall(folder, [entry for entry in file if entry.name.startswith(f"{way}/" if way else "")])
    return sorted(path for path in folder.iterdir() if path.is_dir())


def commands(run: str, prefix: str) -> dict[str, list[str]]:
    """Return the commands that use a finished run, by the file that each writes; new.csv lies beside the run.

    Runs of a graph and of a covariance matrix place no rows, and have no such file.
    """
    new = Path("new.csv")
    head = new.read_text(encoding="utf-8").partition("\n")[0].split(",") if new.exists() else []
    labels = [part for name in head if name in LABELS for part in ("--label-column", name)]
    return {f"{prefix}projected.csv": ["project", run, "new.csv", *labels, "-o", f"{prefix}projected.csv"],
            f"{prefix}features.csv": ["reconstruct", run, f"{run}/embedding.csv", *labels[:2], "-o",
                                      f"{prefix}features.csv"],
            f"{prefix}ordination.txt": ["export", run, "-o", f"{prefix}ordination.txt"]}


def ways_of(piece: str) -> set[str]:
    """Return the names of the ways in an archive, VERSION/NAME; none where it does not exist."""
    if piece not in PIECES:
        return set()
    with tarfile.open(FOLDER / f"{piece}.tar.xz") as file:
        return {name.partition("/")[0] for name in file.getnames()}


def method_of(way: Path) -> str:
    """Return the method of an unpacked run; raises AssertionError for one that the program no longer has."""
    method = str(json.loads((way / "run" / "run.json").read_text(encoding="utf-8"))["method"])
    assert method in METHODS, f"{method} of an earlier version is no longer a method"
    return method
