"""A finished run carried out again on this machine, and its files compared: their bytes, else the digits that agree.

What is promised stands in docs/reproducibility.md, and is less the more the two surroundings differ.
"""

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.blas import environment_threads
from mlcli.base.types import AnyArray
from mlcli.base.values.extras import require
from mlcli.config.run_config import RunConfig
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.findings.spectrum import ADJUSTED, DIGITS
from mlcli.findings.spectrum import TABLE as SPECTRUM
from mlcli.findings.trace import TABLE as TRACE
from mlcli.pipeline.read_run import config_of, moved
from mlcli.pipeline.run import run
from mlcli.publication.staging import collect, new_draft
from mlcli.rundir import names
from mlcli.rundir.embedding import read_embedding
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.reading import is_intact, own_file, raw_json, sha256_of, text_lines
from mlcli.runs.input import input_states, require_beside, require_input
from mlcli.runs.verify import read_as_then
from mlcli.storage.npz import arrays_in

LACK = "the run cannot be carried out again without it"
SEPARATE = 1e-3  # of the largest: an eigenvalue so far from the others has an axis that rounding turns by 2e-10
EIGENVALUES, COORDINATES = 1e-11, 1e-9  # of the largest
SINGLE = 1e-6  # the same where one of two runs has distances in single precision
ITERATED = ("gplvm", "gpdm", "gpssm", "lgssm", "mvgplvm")  # fits that end where an iteration comes to rest
LONG, ROOTS = 50, 10  # iterations beyond which coordinates agree to so many roots of the tolerance
LEAST_TOLERANCE = 1e-5  # of a likelihood, below which coordinates agree no better
LAYOUTS = ("umap", "tsne", "phate", "nmds", "smacof", "sammon")  # whose files have the same bytes on every processor
SAME_LAYOUT = (names.ARRAYS, TRACE.name, "radii.csv")  # these, beside the embedding
DERIVED = ("cost", DIGITS, *ADJUSTED)  # columns of spectrum.csv
DRAWINGS = (".html", ".svg", ".png", ".pdf")
RESULTS = ("method", "embedding", "spectrum", "fit", "certificate", "seed")  # of run.json; the rest is of the machine
AXIS = re.compile(r"y\d+")  # the name of one
RECORDED = ("python", "numpy", "scipy", "kernels", "numpy_features")  # of the versions in run.json
EMBEDDINGS = tuple(map(names.embedding, ("csv", "parquet", "npy")))
Verdict = Literal["same", "agrees", "differs", "open", "left out"]  # open: nothing is promised
Parts = Mapping[str, AnyArray | Sequence[str]]  # of a file: numbers or texts by the name of a column, an array, a key


@frozen
class Difference:
    """The largest difference of a file's parts."""

    size: float  # over the largest number of the part; infinite for other texts and shapes
    place: str  # the part


@frozen
class FileComparison:
    """A file of a run beside that of its repetition."""

    file: str
    verdict: Verdict
    difference: Difference | None = None
    allowed: float | None = None  # zero where bytes are promised, None where nothing is
    why: str = ""  # of a file that is left out

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain values; a difference that is no number is null."""
        found = {} if self.difference is None else {
            "largest": self.difference.size if np.isfinite(self.difference.size) else None,
            "place": self.difference.place, "allowed": self.allowed}
        return {"file": self.file, "verdict": self.verdict, **found, **({"why": self.why} if self.why else {})}


@frozen
class Repetition:
    """A run beside its repetition on this machine."""

    files: tuple[FileComparison, ...]
    surroundings: tuple[str, ...]  # versions, kernels and threads that are not those of the run

    @property
    def differing(self) -> tuple[FileComparison, ...]:
        """The files in which less agrees than is promised."""
        return tuple(one for one in self.files if one.verdict == "differs")

    def document(self, folder: Path) -> dict[str, Any]:
        """Return the repetition as plain values."""
        verdicts = {one.verdict for one in self.files}
        coordinates = {one.verdict for one in self.files if one.file in EMBEDDINGS}
        verdict = ("differs" if "differs" in verdicts else "open" if "open" in coordinates else
                   "agrees" if verdicts & {"agrees", "open"} else "same")
        return {"run": str(folder), "verdict": verdict, "surroundings": list(self.surroundings),
                "files": [one.document() for one in self.files]}


def repeated_config(folder: Path, given: str | None = None, views: Sequence[str] = ()) -> RunConfig:
    """Return the configuration of a run, with its input where it lies now, to carry it out again on this machine.

    Raises UnsafeFile where a file of the run or its input was changed, InputMissing where the input is gone, and
    DependencyMissing for what is not installed. It has the threads of the run where there are so many, and no cluster.
    """
    manifest = read_manifest(folder)
    require_intact(folder, manifest, tuple(manifest["files"]))
    config = read_as_then(moved(config_of(folder, manifest), manifest, given, views), manifest)
    (path, state), *others = input_states(config, manifest["input"], (given, *views))
    require_input(path, state, LACK)
    for other, its_state in others:
        require_beside(other, its_state, LACK)
    for extra in config.method.requires():
        require(extra, config.method.name, str(folder))
    threads = min(manifest.get("threads") or 1, environment_threads().count)
    return config.replace(compute=config.compute.replace(
        threads=threads, cluster=None, cluster_folder=None, cache=None, time_limit=None))


def repeat(folder: Path, config: RunConfig) -> Repetition:
    """Carry out a run again into a temporary folder, and compare its files; raises what the run raises."""
    place = Path(gettempdir())
    collect(place, lambda path, inode: None)  # what a killed process has left there
    with new_draft(place / "mlcli-verify", "folder") as draft:
        draft.path.chmod(0o700)  # whoever may read the run's folder, others share this one
        again = draft.path / "run"
        run(config.replace(output=str(again)))
        return compare(folder, again, config)


def compare(folder: Path, again: Path, config: RunConfig) -> Repetition:
    """Compare the files of two runs of a configuration."""
    one, other = read_manifest(folder), read_manifest(again)
    promised = Promise.of(folder, config, one, other)
    files = [compare_files(folder, again, name, (one, other), promised)
             for name in sorted({*one["files"], *other["files"]})]
    return Repetition((*files, compare_results(one, other, promised)), promised.surroundings)


def compare_files(folder: Path, again: Path, name: str, manifests: tuple[Mapping[str, Any], Mapping[str, Any]],
                  promised: "Promise") -> FileComparison:
    """Compare a file of a run with that of its repetition."""
    if name == names.CONFIG:
        return FileComparison(name, "left out", why="the run was repeated from it")
    if name == names.REPORT:
        return FileComparison(name, "left out", why="it has the numbers of the other files, and times")
    one, other = (manifest["files"].get(name) for manifest in manifests)
    if one is not None and is_intact(again / name, one):
        return FileComparison(name, "same")
    if Path(name).suffix in DRAWINGS:
        return FileComparison(name, "left out", why="it is drawn otherwise, of the numbers of the other files")
    if one is None or other is None:
        lacking = "the run" if one is None else "its repetition"
        return FileComparison(name, "differs", Difference(np.inf, f"{lacking} has none"), 0.0)
    return promised.judge(name, *(parts_of(place, name, manifest) for place, manifest in
                                  zip((folder, again), manifests, strict=True)))


def compare_results(one: Mapping[str, Any], other: Mapping[str, Any], promised: "Promise") -> FileComparison:
    """Compare the results in run.json."""
    found = [{name: manifest.get(name) for name in RESULTS} for manifest in (one, other)]
    if found[0] == found[1]:
        return FileComparison(names.MANIFEST, "same", why="but times, memory, paths and versions")
    return promised.judge(names.MANIFEST, *(dict(numbers_in(part)) for part in found))


@frozen
class Promise:
    """What docs/reproducibility.md promises of a run and its repetition."""

    surroundings: tuple[str, ...]  # versions, kernels and threads that differ
    exact: bool  # whether none does, and results are portable
    files: Mapping[str, float]  # largest relative differences by file; zero for the same bytes
    near: frozenset[str]  # axes that are too near to others in the spectrum to have digits of their own

    @classmethod
    def of(cls, folder: Path, config: RunConfig, one: Mapping[str, Any], other: Mapping[str, Any]) -> "Promise":
        """Return what is promised of two runs of a configuration, from their run.json."""
        differ = tuple(differences_of(surroundings_of(one), surroundings_of(other)))
        near = near_axes(folder, one) if differ else ()
        return cls(differ, config.compute.portable and not differ, promised_files(folder, config, one, other),
                   frozenset(near))

    def allowed(self, name: str) -> float | None:
        """Return the largest relative difference of a file, zero for the same bytes; None where nothing is promised."""
        return 0.0 if self.exact else self.files.get(name, None if self.surroundings else COORDINATES)

    def judge(self, name: str, one: Parts, other: Parts) -> FileComparison:
        """Compare the parts of two files whose bytes differ."""
        allowed, scale = self.allowed(name), None
        if name in EMBEDDINGS:
            scale = max((float(np.abs(part).max(initial=0)) for part in one.values() if isinstance(part, np.ndarray)),
                        default=0.0)
        found = [Difference(apart(one.get(place), other.get(place), scale, signed=not AXIS.fullmatch(place)), place)
                 for place in dict.fromkeys((*one, *other))]
        judged = [each for each in found if not self.surroundings or each.place not in self.loose(name)]
        largest = max(judged or found, key=lambda each: each.size, default=Difference(0.0, "bytes"))
        if allowed is None:
            return FileComparison(name, "open", largest)
        verdict: Verdict = "agrees" if largest.size <= allowed and allowed else "differs"
        left = [each.place for each in found if each not in judged and each.size > allowed]
        why = f"but {', '.join(left)}, of which nothing is promised" if left else ""
        return FileComparison(name, verdict, largest, allowed, why)

    def loose(self, name: str) -> Collection[str]:
        """Return the parts of a file without a promise: axes near to others, and what divides by eigenvalues."""
        return self.near if name in EMBEDDINGS else DERIVED if name == SPECTRUM.name else ()


def surroundings_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what run.json records of versions, kernels and threads, as far as results depend on them."""
    if portable := manifest.get("portable"):
        return {**portable, "blas": {*portable["blas"]}}
    versions = manifest.get("versions", {})
    system = re.search(r"-(x86_64|aarch64|arm64).*", versions.get("platform") or "")
    return {"mlcli": manifest.get("mlcli"), **{name: versions.get(name) for name in RECORDED},
            "system": system and system[0][1:], "threads": manifest.get("threads"),
            "blas": {f"{library['library']} {library['kernel']}" for library in manifest.get("blas", ())}}


def differences_of(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Yield what two runs record differently; libraries that one of them did not load are no difference."""
    for name in dict.fromkeys((*one, *other)):
        then, here = one.get(name), other.get(name)
        if name == "blas" and then is not None and here is not None:
            if not (then <= here or here <= then):
                yield f"{', '.join(sorted(here))} instead of {', '.join(sorted(then))}"
        elif then != here:
            yield f"{name} {here} instead of {then}"


def promised_files(folder: Path, config: RunConfig, one: Mapping[str, Any],
                   other: Mapping[str, Any]) -> dict[str, float]:
    """Return the largest relative differences that are promised whatever the surroundings, by file."""
    method, prepare = config.method, config.prepare
    if method.name in LAYOUTS:
        same = all(surroundings_of(one)[name] == surroundings_of(other)[name] for name in ("mlcli", "numpy"))
        own = same and prepare.reduce is None and prepare.variable_genes is None
        return dict.fromkeys((*EMBEDDINGS, *SAME_LAYOUT), 0.0) if own else {}
    if method.requires():  # networks
        return {}
    if hasattr(method, "minimize") and TRACE.name in one["files"]:
        rows = TRACE.read(folder)
        if rows is not None and len(rows.array("objective")) > LONG:
            least = LEAST_TOLERANCE if method.name in ITERATED else 0.0
            return dict.fromkeys(EMBEDDINGS, ROOTS * max(method.minimize.tolerance, least)**0.5)
    least = method.repeat_tolerance if method.name in ITERATED else 0.0
    least = SINGLE if precision_of(one) != precision_of(other) else least
    return {**dict.fromkeys(EMBEDDINGS, max(COORDINATES, least)), SPECTRUM.name: max(EIGENVALUES, least)}


def precision_of(manifest: Mapping[str, Any]) -> str | None:
    """Return the precision of geodesic distances; None of a run without them."""
    return next((fact.get("precision") for fact in manifest.get("facts", ()) if fact.get("code") == "F-PATHS"), None)


def near_axes(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the axes whose eigenvalues are near to others; none of a method without a spectrum."""
    rows = SPECTRUM.read(folder) if SPECTRUM.name in manifest["files"] else None
    if rows is None:
        return []
    values = rows.array("eigenvalue")
    far = np.abs(np.diff(values)) >= SEPARATE * np.abs(values).max(initial=0)
    separate = np.r_[True, far] & np.r_[far, True]
    return [f"y{place + 1}" for place in np.flatnonzero(~separate)]


def parts_of(folder: Path, name: str, manifest: Mapping[str, Any]) -> Parts:
    """Return the numbers and texts of a file by their places; raises UnsafeFile."""
    path = folder / name
    if name in EMBEDDINGS:
        table = read_embedding(path, dict(manifest))
        columns = dict(zip(table.columns, np.asarray(table.values).T, strict=True))
        return {"id": [*table.ids], **table.labels, **columns}
    with own_file(path):
        if path.suffix == ".json":
            return dict(numbers_in(raw_json(path)))
        if path.suffix == ".npz":
            with path.open("rb") as file:
                return arrays_in(file, path.stat().st_size)
        if path.suffix == ".npy":
            return {"array": np.asarray(read(Input(path=str(path), format="npy")).values)}
    return columns_of(path) if path.suffix == ".csv" else {"bytes": [sha256_of(path)]}


def columns_of(path: Path) -> dict[str, AnyArray | Sequence[str]]:
    """Return the columns of a CSV file: those of numbers as arrays, NaN where a cell is empty, others as texts."""
    with text_lines(path) as file, own_file(path):
        header, *rows = csv.reader(file)
        columns = dict(zip(header, zip(*rows, strict=True) if rows else [()] * len(header), strict=True))
    return {name: as_numbers(cells) for name, cells in columns.items()}


def as_numbers(cells: Sequence[str]) -> AnyArray | Sequence[str]:
    """Return cells as numbers if all are, else as they are."""
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return cells


def numbers_in(document: Any, place: str = "") -> Iterator[tuple[str, AnyArray | Sequence[str]]]:
    """Yield the places of a JSON document, each with its numbers, or its text; but sizes and hashes of other files."""
    if isinstance(document, dict):
        for key, value in document.items() if "sha256" not in document else ():
            yield from numbers_in(value, f"{place}.{key}" if place else str(key))
    elif isinstance(document, list) and not all(isinstance(value, float | int) for value in document):
        for number, value in enumerate(document):
            yield from numbers_in(value, f"{place}.{number}")
    elif isinstance(document, list) or (isinstance(document, float | int) and not isinstance(document, bool)):
        yield place, np.atleast_1d(np.array(document, dtype=np.float64))  # OverflowError for too long integers
    else:
        yield place, [str(document)]


def apart(one: AnyArray | Sequence[str] | None, other: AnyArray | Sequence[str] | None, scale: float | None = None, *,
          signed: bool = True) -> float:
    """Return the largest difference of two parts over the largest number of the first, or over `scale`.

    What is not `signed`, and the columns of a matrix, are compared up to their signs. Texts that differ, numbers that
    only one part has, and other shapes are infinitely far apart.
    """
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        texts = [part for part in (one, other) if part is not None and not isinstance(part, np.ndarray)]
        return 0.0 if len(texts) > 1 and [*texts[0]] == [*texts[1]] else np.inf
    if one.shape != other.shape:
        return np.inf
    known = np.isfinite(one) & np.isfinite(other)
    if not np.array_equal(one[~known], other[~known], equal_nan=True):
        return np.inf
    left, right = (np.where(known, part, 0).astype(np.float64) for part in (one, other))
    found = np.abs(left - right).max(axis=0, initial=0.0)
    if not signed or left.ndim > 1:
        found = np.minimum(found, np.abs(left + right).max(axis=0, initial=0.0))
    largest = float(np.abs(left).max(initial=0.0)) if scale is None else scale
    difference = float(found.max(initial=0.0))
    return difference / largest if difference and largest else np.inf if difference else 0.0
