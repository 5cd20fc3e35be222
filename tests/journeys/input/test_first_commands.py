"""Every kind of file under the first commands that come to mind: the right result, or a first line that leads to it.

Whatever is wrong with the command or with the file, one line says it, and what it says to do is done as it says. A
command that is wrong whatever the file (a method that does not exist, a report of no run) reads no file: what is wrong
with that is the next line, as is what only a file in another encoding or format shows once it can be read.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh, eigvalsh

import mlcli as door
from mlcli.base.types import Array
from mlcli.base.units import memory
from tests.journeys.input.first_files import (
    COLUMNS,
    CORRELATIONS,
    COVARIANCES,
    FILES,
    GAPS,
    GROUPS,
    NAMES,
    POINTS,
    ROWS,
    WORDS,
    Rows,
    accented,
    edges,
    text,
    words_of,
)
from tests.journeys.support import Called, Caller

pytestmark = pytest.mark.slow

HOLDS = {name: holds for holds, files in FILES.items() for name in files}
COMMANDS = {
    "embed": "embed FILE", "pcoa": "embed -m pcoa FILE", "isomap": "embed -m isomap FILE", "fa": "embed -m fa FILE",
    "som": "embed -m som FILE", "dissimilarities": "embed -m mds --dissimilarities FILE",
    "labels": "embed --labels names.csv FILE", "check": "check FILE", "plan": "plan -m isomap FILE",
    "explore": "explore --budget 10s FILE", "run": "run job.yaml", "project": "project known FILE",
    "report": "report FILE"}
NATURAL = {"distances": "--kind dissimilarities -m mds", "correlations": "--kind correlation",
           "covariances": "--kind covariance", "graph": "--kind graph -m isomap"}  # how the run to project on is made
OPTION = {"latin.csv"}  # files of points that are read with an option: its bytes are text in any of many encodings
UNMARKED = {"tree.phy", "pdist.npy"}  # distances that are no table, which `check` would take for what it looks like
MATRICES = {"tree.phy": "distances.csv", "pdist.npy": "distances.npy"}  # the same with a row for every point
WHOLE = np.setdiff1d(np.arange(ROWS), [row for row, _ in GAPS])
MATRICES_OF = {"correlations": CORRELATIONS, "covariances": COVARIANCES}
FORMATS = {".csv.gz": "csv", ".txt": "csv", ".phy": "phylip", ".feather": "arrow", ".h5ad": "hdf5", ".h5": "hdf5",
           "": "images"}  # by the endings of names, where these say something else
SWITCHES = ("--dissimilarities", "--graph")  # flags without a value
FLAG = rf"(?:(?:{'|'.join(SWITCHES)})\b|--[a-z-]+ [^\s,;']*(?:'[^']*')?)"  # with its value, if it takes one
SAME = {"--method": ("-m", "--method"), **dict.fromkeys(("--kind", *SWITCHES), ("--kind", *SWITCHES))}
EMPTY = "holds no rows|has no points|all columns are text|points have no features|points, which have no features"
CLOSE = 1e-6  # of the largest number


def hopeless(name: str, command: str) -> bool:
    """Whether nothing can come out: the file holds no numbers, or no points that could be placed."""
    return HOLDS[name] == "nothing" or (
        command == "project" and HOLDS[name] in ("words", "correlations", "covariances", "graph"))


def faults(name: str, command: str) -> int:
    """How much is wrong with a command and a file: the command itself, how the file is read, its cells and its kind."""
    holds = HOLDS[name]
    cells = (holds == "words" and command != "project") or (holds == "gaps" and command != "check")
    kind = name in UNMARKED if command in ("check", "project") else holds in NATURAL
    if command == "dissimilarities":
        kind = holds != "distances"
    return sum((command in ("som", "report"), name in OPTION or holds in ("elsewhere", "nothing"), cells, kind))


@cache
def reference(method: str, complete: bool) -> Array:
    """The coordinates that a method gives the points, or those of them that have no gaps."""
    return door.embed(POINTS[WHOLE] if complete else POINTS, method=method).embedding


def agree(found: Array, expected: Array) -> bool:
    """Whether coordinates are the same up to the signs of the axes."""
    if found.shape != expected.shape:
        return False
    signs = np.sign((found * expected).sum(axis=0))
    return bool(np.abs(found * signs - expected).max() < CLOSE * np.abs(expected).max())


def records(content: str) -> list[list[str]]:
    return [line.split(",") for line in content.splitlines()]


def coordinates(path: Path) -> Array:
    """The axes in a file of coordinates, in the order of the points: edges name them in another one."""
    head, *rows = records(path.read_text(encoding="utf-8"))
    rows = sorted(rows) if {row[0] for row in rows} == set(NAMES) else rows
    axes = [place for place, name in enumerate(head) if re.fullmatch(r"[a-z]+[0-9]", name)]
    return np.array([[float(row[place]) for place in axes] for row in rows])


def spectrum(run: Path) -> Array:
    """The eigenvalues in the order in which a run lists them."""
    head, *rows = records((run / "spectrum.csv").read_text(encoding="utf-8"))
    return np.array([float(row[head.index("eigenvalue")]) for row in rows])


def make(name: str) -> None:
    FILES[HOLDS[name]][name](Path(name))


def flags_in(line: str) -> str:
    """The first flags that a line gives with values, one after the other."""
    found = re.search(rf"{FLAG}(?: {FLAG})*", line)
    assert found, line
    return found[0]


def with_flags(command: Sequence[str], flags: str) -> list[str]:
    """A command with flags, instead of those that say the same."""
    words, given = list(command), shlex.split(flags)
    for flag in given:
        for same in SAME.get(flag, ()):
            if same in words:
                place = words.index(same)
                del words[place:place + (1 if same in SWITCHES else 2)]
    return words + given


def with_file(command: Sequence[str], name: str, other: str) -> list[str]:
    """A command on another file, which is made here."""
    make(other)
    if command[0] == "run":
        return [*command, "--set", f"input.path={other}"]
    return [other if word == name else word for word in command]


def led(command: Sequence[str], line: str, name: str) -> list[str]:
    """The command that a first line leads to: all that is said there is done, one after the other."""
    words = list(command)
    for part in line.split("; besides, "):
        words = changed(words, part, name)
    return words


def changed(command: Sequence[str], line: str, name: str) -> list[str]:
    """The command after one remedy, whose words are taken as they stand there."""
    if whole := re.search(r"mlcli (embed [^,;]+)", line):
        return shlex.split(whole[1])
    if method := re.search(r"the closest method is (\w+)", line):
        return with_flags(command, f"--method {method[1]}")
    if re.search(r"leave out --kind|--dissimilarities: .*leave it out", line):
        return [word for word in command if word != "--dissimilarities"]
    if "the folder that holds the images" in line:
        return with_file(command, name, "faces")
    if "a row for every new point" in line:
        return with_file(command, name, MATRICES[name])
    if "as CSV" in line or "write.csv" in line:
        return with_file(command, name, "distances.csv" if "--dissimilarities" in command else "ids.csv")
    said = re.sub("are these answers[?] .*?; ", "", line)  # no: they have no order
    said = said.replace("=model or mean, or drop", "=drop")  # as of methods that have no model of gaps
    words = with_flags(command, flags_in(said).replace("NAME", ",".join(WORDS)))
    return [word for word in words if "no labels" not in line or word not in ("--labels", "names.csv")]


def prepared(mlcli: Caller, name: str, command: str) -> list[str]:
    """The words of a command on a file, with all that it needs beside it."""
    make(name)
    labels: Rows = [["name", "kind"], *([*pair] for pair in zip(NAMES, GROUPS, strict=True))]
    Path("names.csv").write_bytes(accented(labels) if name == "latin.csv" else text(labels))
    Path("job.yaml").write_text(f"input: {{path: {name}}}\nmethod: {{name: pca}}\n", encoding="utf-8")
    if command == "project":
        known = name if HOLDS[name] in NATURAL else "header.csv"
        make(known)
        made = mlcli(*f"embed {known} {NATURAL.get(HOLDS[name], '')} -q -o known".split())
        assert made.code == 0, made.err
    return COMMANDS[command].replace("FILE", name).split()


def called(mlcli: Caller, words: Sequence[str], output: Path) -> Called:
    """A command carried out into a place of its own, where it writes anything."""
    return mlcli(*words, *(["-o", output] if words[0] not in ("check", "plan", "report") else []))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", HOLDS)
def test_first_lines_lead_to_the_right_result(mlcli: Caller, name: str, command: str) -> None:
    words, lines = prepared(mlcli, name, command), list[str]()
    output = Path("placed.csv" if command == "project" else "out")
    while (done := called(mlcli, words, output)).code:
        lines.append(done.err.splitlines()[-1])
        assert not output.exists() and done.code not in (1, 2), done.err
        assert len(lines) <= max(faults(name, command), 1), "\n".join(lines)
        if hopeless(name, command) and re.search(EMPTY, lines[-1]):
            return
        if "a run that was made with" in lines[-1]:
            remade = mlcli(*shlex.split(f"embed header.csv -q --force -o known {flags_in(lines[-1])}"))
            assert remade.code == 0, remade.err
        else:
            words = led(words, lines[-1], name)
    assert bool(lines) == bool(faults(name, command)) and not hopeless(name, command), lines
    right(mlcli, words, done, output, name)


def right(mlcli: Caller, words: Sequence[str], done: Called, output: Path, name: str) -> None:
    """Asserts that a command gave what the same points give in any other file."""
    gaps, columns = HOLDS[name] == "gaps", HOLDS[name] in ("correlations", "covariances")
    if words[0] == "check":
        examined(json.loads(mlcli(*words, "--json").out), HOLDS[name])
    elif words[0] == "plan":
        foreseen(json.loads(mlcli(*words, "--json").out), words)
    elif words[0] == "project":
        kept = coordinates(Path("known/embedding.csv"))
        assert agree(coordinates(output), kept[WHOLE] if gaps else kept)
    elif words[0] == "explore":
        made = shlex.split(done.out.splitlines()[-1])
        assert made[:2] == ["mlcli", "embed"]
        assert mlcli(*made[1:]).code == 0
        assert len(coordinates(Path(made[-1]) / "embedding.csv")) == (len(WHOLE) if gaps else ROWS)
    elif columns:
        of_columns(mlcli, output, CORRELATIONS if HOLDS[name] == "correlations" else COVARIANCES)
    else:
        of_points(output, name)
    if "--labels" in words and not columns:
        assert "kind" in records((output / "embedding.csv").read_text(encoding="utf-8"))[0]


def examined(found: Mapping[str, Any], holds: str) -> None:
    """Asserts that `check` took a file for what it holds, and what it says of that is true."""
    if holds in ("correlations", "covariances"):
        kind, rows, columns = "covariance", len(COLUMNS), len(COLUMNS)
        largest, true = found["kernel"]["largest_eigenvalue"], eigvalsh(MATRICES_OF[holds])[-1]
    elif holds == "distances":
        kind, rows, columns = "dissimilarities", ROWS, ROWS
        assert found["metric"]["is_metric"] and found["euclidean"]["is_euclidean"]
        largest, true = found["euclidean"]["largest_eigenvalue"], np.linalg.norm(POINTS - POINTS.mean(axis=0), 2) ** 2
    elif holds == "graph":
        kind, rows, columns = "graph", ROWS, 0
        lengths = [float(row[2]) for row in edges()[1:]]
        assert (found["edges"]["edges"], found["edges"]["pieces"]) == (len(lengths), 1)
        largest, true = found["edges"]["largest"], max(lengths)
    else:
        kind, rows, columns = "features", ROWS, len(WORDS if holds == "words" else COLUMNS)
        assert found["features"]["missing"]["cells"] == (len(GAPS) if holds == "gaps" else 0)
        alike = len({tuple(words_of(row)) for row in range(ROWS)})
        assert found["features"]["duplicate_rows"] == (ROWS - alike if holds == "words" else 0)
        there = POINTS.astype(float)
        if holds == "gaps":
            there[tuple(zip(*GAPS, strict=True))] = np.nan
        true = np.nanstd(there, axis=0).max()
        largest = true if holds == "words" else found["features"]["scales"]["largest"]
    assert (found["kind"], found["rows"], found["columns"]) == (kind, rows, columns)
    assert np.isclose(largest, true, rtol=CLOSE)


def foreseen(document: Mapping[str, Any], words: Sequence[str]) -> None:
    """Asserts that `plan` read what a file holds, and says what a run will read."""
    path = Path(words[-1] if Path(words[-1]).exists() else next(word for word in words if Path(word).exists()))
    holds = HOLDS[path.name]
    sizes = {"correlations": ("covariance", 0, len(COLUMNS)), "distances": ("dissimilarities", ROWS, ROWS),
             "graph": ("graph", ROWS, 0), "gaps": ("features", len(WHOLE), len(COLUMNS)),
             "words": ("features", ROWS, len(WORDS)), "points": ("features", ROWS, len(COLUMNS))}
    sizes["covariances"] = sizes["correlations"]
    assert (document["kind"], document["rows"], document["columns"]) == sizes[holds]
    size = sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
    suffix = "".join(path.suffixes)
    assert document["steps"][0]["stage"] == "read"
    assert document["steps"][0]["how"] == f"{FORMATS.get(suffix, suffix[1:])}, {memory(size)}"


def of_columns(mlcli: Caller, run: Path, matrix: Array) -> None:
    """Asserts that a run is that of a matrix of columns: its eigenvalues, or the loadings that the points have."""
    method = json.loads((run / "run.json").read_text(encoding="utf-8"))["method"]
    if method == "fa":
        make("header.csv")
        assert mlcli("embed", "-m", "fa", "header.csv", "-q", "-o", "points").code == 0
        units = np.sqrt(np.diag(matrix)) / POINTS.std(axis=0)
        assert agree(coordinates(run / "loadings.csv"), coordinates(Path("points/loadings.csv")) * units[:, None])
    elif method == "pca":
        assert np.allclose(spectrum(run), eigh(matrix, eigvals_only=True)[::-1], rtol=CLOSE)
    else:
        assert method == "kpca"
        centered = matrix - matrix.mean(0) - matrix.mean(1)[:, None] + matrix.mean()
        assert np.allclose(spectrum(run)[:2], eigh(centered, eigvals_only=True)[:-3:-1], rtol=CLOSE)


def of_points(run: Path, name: str) -> None:
    """Asserts that the coordinates are those of the points in any other file."""
    found = coordinates(run / "embedding.csv")
    method = json.loads((run / "run.json").read_text(encoding="utf-8"))["method"]
    if HOLDS[name] == "words":
        alike = np.array([[words_of(row) == words_of(other) for other in range(ROWS)] for row in range(ROWS)])
        same = np.array([[np.allclose(one, other, atol=CLOSE) for other in found] for one in found])
        assert method == "laplacian" or np.array_equal(alike, same)
    else:
        assert agree(found, reference(method, HOLDS[name] == "gaps"))
