"""Hostile inputs under every metric, transform, graph and chain: a result of finite numbers, or an error by its name.

A fault that is reported can be repeated from its input and its options.
"""

import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml

from mlcli.base.values.inputs import Dissimilarities, Similarities, WeightedGraph
from mlcli.core.metrics import METRICS
from mlcli.data.prepare.transforms import TRANSFORMS
from mlcli.methods import METHODS
from tests.faults.failures.support import npy
from tests.faults.fuzz.chains import document, sensible
from tests.faults.fuzz.hostile import GRAPHS, SQUARES, TABLES
from tests.faults.fuzz.trials import tried

FEW, MANY = 8, 700  # of each kind of combination, in the everyday suite and in the long one
OWN_FAULTS = ("E-CERTIFICATE", "E-RESIDUAL")  # errors of which no input is to blame
Combination = tuple[str, bytes, tuple[str, ...]]  # the file's name, its content, and the options


def taking(*kinds: type) -> list[str]:
    """The methods that take one of these kinds of input."""
    return [name for name, kind in METHODS.items() if any(issubclass(given, kinds) for given in kind.accepts)]


def under_metrics() -> list[Combination]:
    """Every table under every metric, of every method that has one; with texts, ids, what is kept and drawn."""
    methods = [name for name, kind in METHODS.items() if "metric" in kind.model_fields]
    ways = {"": (), "named": ("--columns", "c0:c3"), "ids": ("--id-column", "id"), "few": ("-k", "3"),
            "connected": ("--set", "method.neighbors.pieces=connect", "-p", "1"),
            "kept": ("--keep", "distances,kernel"),
            "drawn": ("--draw-graph", "--set", "method.neighbors.pieces=largest")}
    return [("x.csv", content, ("-m", method, "--metric", metric, *ways[way]))
            for content, metric, method, way in product(TABLES.values(), METRICS, methods, ways)
            if "neighbors" in METHODS[method].model_fields or way not in ("few", "connected", "drawn")]


def transformed() -> list[Combination]:
    """Every table after one transform and after two, scaled or with few columns, with gaps or without."""
    chains = [*((name,) for name in TRANSFORMS), *product(TRANSFORMS, TRANSFORMS)]
    ways = ((), ("--scale", "standard"), ("--top-variance", "2"), ("--scale", "robust", "--top-variance", "1"),
            ("--set", "prepare.missing=drop"), ("--set", "prepare.missing=mean"), ("--transpose",))
    return [("x.csv", content, ("--transform", ",".join(names), *way))
            for content, names, way in product(TABLES.values(), chains, ways)]


def of_squares() -> list[Combination]:
    """Every square matrix to every method that takes one, made symmetric or not, corrected or not."""
    ways: tuple[tuple[str, ...], ...] = ((), ("--set", "input.symmetrize=mean"), (
        "--set", "input.symmetrize=max", "-p", "1"), ("--set", "method.correction=lingoes"), (
        "--set", "method.correction=cailliez"), ("-k", "3"))
    kinds = [("dissimilarities", method) for method in taking(Dissimilarities)]
    kinds += [("kernel", method) for method in taking(Similarities)]
    return [("x.npy", npy(values), ("--set", f"input.kind={kind}", "-m", method, *way))
            for values, (kind, method), way in product(SQUARES.values(), kinds, ways)]


def of_graphs() -> list[Combination]:
    """Every graph to every method that takes one, as lengths and as affinities."""
    ways = ((), ("--set", "input.symmetrize=mean"), ("--set", "input.symmetrize=min", "--keep", "graph"),
            ("--draw-graph",), ("-p", "1"))
    return [(f"x.{ending}", content, ("--graph", "--set", f"input.edges={edges}", "-m", method, *way))
            for (ending, content), edges, method, way in product(
                GRAPHS.values(), ("lengths", "affinities"), taking(WeightedGraph), ways)]


def chains(seed: int, count: int) -> list[Combination]:
    """Tables and square matrices through sensible chains, both drawn at random."""
    generator, found = np.random.default_rng(seed), []
    kinds = ("dissimilarities", "kernel")
    given = [*(("x.csv", content, "features") for content in TABLES.values()),
             *(("x.npy", npy(values), kind) for values in SQUARES.values() for kind in kinds)]
    for file, content, kind in random.Random(seed).choices(given, k=count):
        method = document(generator)
        while not sensible(method, kind):
            method = document(generator)
        found.append((file, content, ("--set", f"input.kind={kind}", "--set",
                                      f"method={yaml.safe_dump(method, default_flow_style=True, width=2**16)}")))
    return found


GRIDS = {"metrics": under_metrics, "transforms": transformed, "squares": of_squares, "graphs": of_graphs}


def some(kind: str, seed: int, count: int) -> list[Combination]:
    """Some combinations of a kind."""
    if kind == "chains":
        return chains(seed, count)
    every = GRIDS[kind]()
    return random.Random(seed).sample(every, min(count, len(every)))


def faults(combinations: Sequence[Combination], folder: Path) -> list[str]:
    """What went wrong, in words to repeat it by."""
    found = []
    for number, (name, content, options) in enumerate(combinations):
        file, out = folder / f"{number}-{name}", folder / str(number)
        file.write_bytes(content)
        trial = tried("embed", str(file), *options, "-o", str(out), "-q")
        wrong = trial.fault or next((code for code in OWN_FAULTS if code in trial.err), "")
        if not trial.code:
            axes = json.loads((out / "run.json").read_text())["embedding"]["components"]  # labels stand before them
            rows = np.genfromtxt(out / "embedding.csv", delimiter=",", skip_header=1, ndmin=2, comments=None)[:, -axes:]
            wrong = wrong or "" if np.isfinite(rows).all() and rows.size else "coordinates that are no numbers"
        if wrong:
            found.append(f"{told(content)}, {options}: {wrong}: {trial.err[:400]}")
    return found


def told(content: bytes) -> str:
    """What an input is called."""
    known = [*TABLES.items(), *((name, npy(values)) for name, values in SQUARES.items()),
             *((name, graph) for name, (_, graph) in GRAPHS.items())]
    return next(name for name, value in known if value == content)


CONNECT = ("--set", "method.neighbors.pieces=connect", "-p", "1")
HAMMING = "method={name: chain, metric: {name: hamming}, decoder: {name: barycentric}}"
LAPLACIAN = "method={name: chain, kernel: {name: laplacian}}"


@pytest.mark.parametrize(("name", "options"), [
    ("all scales", ("-m", "lle", *CONNECT)), ("large", ("-m", "lle", "--metric", "cityblock")),
    ("far from zero", ("--transform", "chisquare,rank", "--top-variance", "2")),
    ("far from zero", ("--transform", "wisconsin,rrank")), ("far from zero", ("--transform", "log,rank")),
    ("far from zero", ("--transform", "hellinger,log")), ("one column", ("--transform", "rclr,log")),
    ("all equal", ("--transform", "rclr,log", "--transpose")), ("large", ("--set", HAMMING)),
    ("small", ("--set", LAPLACIAN))])
def test_tables_that_lost_their_digits(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    """Squares beyond doubles, and cells that rounding alone puts in order or beside zero."""
    assert faults([("x.csv", TABLES[name], options)], tmp_path) == []


def test_ranks_beside_a_huge_entry_points_at_poles_and_a_complete_graph(tmp_path: Path) -> None:
    huge = ("--set", "input.kind=dissimilarities", "-m", "nmds", "--set", "method.starts=2")
    assert faults([("x.npy", npy(SQUARES["a huge entry"]), huge),
                   ("x.csv", TABLES["poles"], ("-m", "nmds", "--metric", "haversine")),
                   ("x.npz", GRAPHS["truth"][1], ("--graph", "--set", "input.edges=lengths", "-m", "tsne"))],
                  tmp_path) == []


def test_a_graph_of_lengths_near_the_smallest_double_beside_the_largest(tmp_path: Path) -> None:
    content = GRAPHS["the largest"][1]
    assert faults([("x.csv", content, ("--graph", "--set", "input.edges=lengths", "-m", "umap"))], tmp_path) == []


@pytest.mark.medium
@pytest.mark.parametrize("kind", [*GRIDS, "chains"])
def test_hostile_inputs_end_by_name(kind: str, tmp_path: Path) -> None:
    assert faults(some(kind, 0, FEW), tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", [*GRIDS, "chains"])
def test_hundreds_of_hostile_inputs(kind: str, tmp_path: Path) -> None:
    assert faults(some(kind, 1, MANY), tmp_path) == []
