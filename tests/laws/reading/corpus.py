"""Odd and hostile files with what is read from each in every way: values, names, ids, labels, notes, or the error.

`python -m tests.laws.reading.corpus` writes anew what is read today and prints what has changed; no test does. Of
damages only hashes are stored: `python -m tests.laws.reading.corpus FILE` writes to a file what is read from each of
them, which `diff` compares with that of the commit that stored the hashes.
"""

import base64
import hashlib
import json
import os
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import chdir
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.rows.source import in_memory, rows_of
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input, LabelFile
from mlcli.data.read.labels import LabelColumns, read_labels
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError
from tests.data.helpers import noted
from tests.faults.fuzz.hostile import GRAPHS, SQUARES, TABLES, csv
from tests.faults.fuzz.inputs import KINDS
from tests.faults.fuzz.mutations import mutated
from tests.faults.fuzz.trials import changed

HERE = Path(__file__).parent
CASES, READINGS, DAMAGES = HERE / "cases.jsonl", HERE / "readings.jsonl", HERE / "damages.json"
FEW = 24  # numbers that are stored as such; of more the hash
DAMAGED = ("x.csv", "d.csv", "k.csv", "c.csv", "x.tsv", "wide.txt", "g.csv", "r.txt", "x.phy", "lower.phy")
EACH = 400  # damages of each file in the long form
ADDRESS = re.compile("0x[0-9a-f]{6,}")  # of an object in memory, which a library names
MEMORY = re.compile(r"about [\d.]+ [KMGT]?i?B")  # that a process takes, with the libraries that it has loaded
Case = Mapping[str, Any]


def cases() -> Iterator[Case]:
    """Yield the stored files and those of the fuzz, each with the options that it is read with."""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
    for name, content in TABLES.items():
        yield case(content, "t.csv", told=name)
    for name, values in (item for item in SQUARES.items() if len(item[1])):
        yield case(csv(values.tolist()), "d.csv", told=name, kind="dissimilarities")
    for name, (ending, content) in GRAPHS.items():
        yield case(content, f"g.{ending}", told=name, kind="graph")
    for name in DAMAGED:
        yield case(KINDS[name].content(), name, told="whole", **options_of(name))


def options_of(name: str) -> dict[str, Any]:
    """Return the options of reading of an input of the fuzz."""
    given = KINDS[name].options
    sets = dict(text.removeprefix("input.").split("=", 1) for text in given if text.startswith("input."))
    return {**({"kind": "dissimilarities"} if "--dissimilarities" in given else {}),
            **({"kind": "graph"} if "--graph" in given else {}), **sets}


def case(content: bytes, name: str, told: str = "", **options: Any) -> Case:
    """Return a case of one file."""
    return {"call": "read", "told": told, "input": {"path": name, **options},
            "files": {name: {"base64": base64.b64encode(content).decode()}}}


def damaged(name: str) -> Iterator[Case]:
    """Yield seeded damages of an input of the fuzz, those by cells and those of any content."""
    whole, draw = KINDS[name].content(), random.Random(f"reading {name}")
    every = KINDS[name].damages(whole)
    for told, content in draw.sample(every, min(EACH // 2, len(every))):
        if (bad := changed(content)) is not None:
            yield case(bad, name, told, **options_of(name))
    for _ in range(EACH // 2):
        told, bad = mutated(whole, draw)
        yield case(bad, name, told, **options_of(name))


def readings(found: Case) -> dict[str, Any]:
    """Return what is read from a case in every way that suits it, by the names of the ways."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, content in found["files"].items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content.encode() if isinstance(content, str) else base64.b64decode(
                content["base64"]))
            os.utime(name, (1e9, 1e9))  # long ago, so that its hash is not compared twice
        told = {name: reading(found, name) for name in ways(found)}
    first = json.dumps(next(iter(told.values())))
    return {name: "the same" if place and json.dumps(got) == first else got
            for place, (name, got) in enumerate(told.items())}


def ways(found: Case) -> tuple[str, ...]:
    """Return the ways in which a case is read."""
    if found["call"] != "read":
        return (found["call"],)
    single = "." in found["input"]["path"]
    text = single and found["input"].get("format", "csv") in ("csv", "tsv") and any(
        found["input"]["path"].endswith(ending) for ending in (".csv", ".tsv", ".txt", ".gz"))
    return ("as it is", "named", "all", "in blocks", *(("labels", "new rows", "answers") if text else ()))


def reading(found: Case, way: str) -> Any:
    """Return what is read in a way, as plain values: a table or labels with their notes, or the error."""
    with noted() as notes, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            said: dict[str, Any] = plain(_read(found, way))
        except MlcliError as error:
            told_of = MEMORY.sub("about SOME", ADDRESS.sub("0x", str(error)))
            said = {"error": [type(error).__name__, error.code, told_of, error.kind]}
        except Exception as error:  # an internal error, which is to be mended
            said = {"internal": repr(error)}
    told = [[note.code, note.message, repr(note.facts)] for note in notes.notes]
    once = [note for place, note in enumerate(told) if note not in told[:place]]  # as a journal keeps them
    return {**said, **({"notes": once} if once else {})}


def _read(found: Case, way: str) -> Table | LabelColumns:
    """Read a case in a way; raises MlcliError."""
    asked = Input(**found["input"])
    compute = Compute(**{"memory_limit": "8G", **found.get("compute", {})})  # whatever the machine has
    if way == "read_labels":
        return read_labels(LabelFile(**{**found["file"], "path": asked.path}))
    if way == "read_new":
        categories = {name: tuple(texts) for name, texts in found.get("categories", {}).items()}
        run = RunInput(tuple(found["columns"]), found.get("ids", ()), categories, closed=found.get("closed", False))
        return read_new(asked, run, compute, streams=found.get("streams", False))
    if way == "labels":
        return read_labels(LabelFile(path=asked.path))
    if way == "new rows":
        return read_new(Input(path=asked.path), RunInput(("a", "b"), ("p", "q")), compute)
    if way == "answers":
        return read(asked.replace(answers=("no", "yes")), compute)
    if way == "in blocks":
        return read(asked.replace(stream="always"), compute, streams=True)
    categories = found.get("categories", "") if way == "as it is" else way
    return read(asked, compute, categories, found.get("streams", False))


def plain(table: Table | LabelColumns) -> dict[str, Any]:
    """Return a table or labels as plain values; of many numbers the shape and the hash."""
    if isinstance(table, LabelColumns):
        return {"labels": short({name: [*texts] for name, texts in table.columns.items()}), "format":
                table.source.format, "sha256": table.source.sha256[:12]}
    rows = rows_of(table.values)
    values = table.values if rows is None else in_memory(rows)
    found = {"values": values.tolist() if values.size <= FEW else [[*values.shape], digest(values)],
             "columns": short([*table.columns]), "ids": short([type(table.ids).__name__, *table.ids]),
             "id_name": table.id_name,
             "labels": short({name: [*texts] for name, texts in table.labels.items()}), "kind": table.kind,
             "categories": {name: [*texts] for name, texts in table.categories.items()},
             "coding": repr(table.coding), "image": table.image, "point": table.point, "chosen": table.chosen_of,
             "places": None if table.places is None else table.places.tolist(), "blocks": rows is not None,
             "graph": None if (graph := table.graph) is None else digest(graph.starts, graph.indices, graph.weights),
             "source": None if table.source is None else [table.source.format, table.source.sha256[:12],
                                                          table.source.bytes, table.source.reading],
             "view": None if table.view is None else plain(table.view)}
    usual = {"labels": {}, "categories": {}, "coding": "None", "kind": "features", "point": ".", "blocks": False}
    return {name: value for name, value in found.items() if value is not None and usual.get(name) != value}


def digest(*arrays: Any) -> str:
    """Return the start of the hash of numbers, with all missing ones alike."""
    made = hashlib.sha256()
    for array in arrays:
        numbers = np.ascontiguousarray(array)
        made.update(np.where(np.isnan(numbers), np.nan, numbers).tobytes() if numbers.dtype.kind == "f" else
                    numbers.tobytes())
    return made.hexdigest()[:16]


def short(value: Any) -> Any:
    """Return a value, or the hash of a long one."""
    text = json.dumps(value)
    return value if len(text) <= 400 else f"{len(text)} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def damages(name: str, step: int = 1) -> list[str]:
    """Return the hashes of damaged contents, or of some, and of what is read from each in every way."""
    return [f"{key(found)[:8]} {key(readings(found))[:12]}" for found in islice(damaged(name), None, None, step)]


def key(value: Any) -> str:
    """Return the hash of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_damages(path: Path) -> None:
    """Write what is read from each damage, a line for each way."""
    with path.open("w", encoding="utf-8") as file:
        for name in DAMAGED:
            for place, found in enumerate(damaged(name)):
                file.writelines(f"{name} {place}, {found['told']}, {way}: {json.dumps(got)}\n"
                                for way, got in readings(found).items())


def renew() -> None:
    """Write what is read today, and print each reading that has changed."""
    before = READINGS.read_text(encoding="utf-8").splitlines() if READINGS.exists() else []
    now = [json.dumps(readings(found)) for found in cases()]
    for found, old, new in zip(cases(), before, now, strict=False):
        if old != new:
            print(json.dumps(found)[:2000], f"- {old}", f"+ {new}", sep="\n")
    READINGS.write_text("\n".join([*now, ""]), encoding="utf-8")
    stored = json.loads(DAMAGES.read_text(encoding="utf-8")) if DAMAGES.exists() else {}
    hashes = {name: damages(name) for name in DAMAGED}
    for name, lines in hashes.items():
        if others := [line for line in lines if line not in stored.get(name, ())]:
            print(f"{name}: {len(others)} of {len(lines)} damages are read otherwise")
    DAMAGES.write_text(json.dumps(hashes, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        write_damages(Path(sys.argv[1]))
    else:
        renew()
