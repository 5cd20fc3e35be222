"""The archives of former runs, and what is asked of each run in them."""

import tarfile
from pathlib import Path

from mlcli.methods import METHODS

LABELS = ("class", "content")  # columns of labels in the data
FOLDER = Path(__file__).parent
PIECES = sorted(path.relative_to(FOLDER).as_posix().removesuffix(".tar.xz") for path in FOLDER.glob("*/*.tar.xz"))


def archive_of(version: str, method: str) -> Path:
    """Return the archive of a method's runs by a version."""
    return FOLDER / version / f"{method}.tar.xz"


def unpack(piece: str, folder: Path, way: str = "") -> list[Path]:
    """Unpack an archive, VERSION/METHOD, or one of its ways, into a folder, and return the folders of its ways."""
    with tarfile.open(FOLDER / f"{piece}.tar.xz") as file:
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and before have none
        file.extractall(folder, [entry for entry in file if entry.name.startswith(f"{way}/" if way else "")])
    return sorted(path for path in folder.iterdir() if path.is_dir())


def commands(run: str, prefix: str) -> dict[str, list[str]]:
    """Return the commands that use a finished run, by the file that each writes; new.csv lies beside the run."""
    head = Path("new.csv").read_text(encoding="utf-8").partition("\n")[0].split(",")
    labels = [part for name in head if name in LABELS for part in ("--label-column", name)]
    return {f"{prefix}projected.csv": ["project", run, "new.csv", *labels, "-o", f"{prefix}projected.csv"],
            f"{prefix}features.csv": ["reconstruct", run, f"{run}/embedding.csv", "-o", f"{prefix}features.csv"],
            f"{prefix}ordination.txt": ["export", run, "-o", f"{prefix}ordination.txt"]}


def method_of(piece: str) -> str:
    """Return the method of an archive; raises AssertionError for one that the program no longer has."""
    method = piece.partition("/")[2]
    assert method in METHODS, f"{method} of an earlier version is no longer a method"
    return method
