"""Errors say what is wrong in plain words, where it stands, and what may help."""

from pathlib import Path

import pytest

from mlcli.config.describe import listed
from mlcli.methods import METHODS
from tests.config.support import refused
from tests.wording import Wording

INPUT = "input: {path: a.csv}\n"
ALL = listed(list(METHODS), "and")
OWNERS = listed([name for name, kind in METHODS.items() if "neighbors" in kind.model_fields], "and")
FILES = {
    "method:\n  name: isomap\n  neighbors: {count: 0}\n":
        "method.neighbors.count must be at least 1, not 0; run.yaml:4:15",
    "method:\n  name: isomap\n  neighbours: {count: 5}\n":
        "unknown key 'method.neighbours': did you mean 'neighbors'?; run.yaml:4:3",
    "method:\n  name: pca\n  neighbors: {count: 5}\n":
        f"method.neighbors: pca has no option 'neighbors'; {OWNERS} have it; run.yaml:4:3",
    "method:\n  neighbors: {count: 5}\n":
        f"method.neighbors: pca has no option 'neighbors'; {OWNERS} have it; run.yaml:3:3",
    "method: {name: isomp}\n":
        "method.name: unknown method 'isomp': did you mean 'isomap'?; run.yaml:2:10",
    "method: {name: pls}\n":
        "method.name: unknown method 'pls'; run.yaml:2:10; it is not available; the closest method is "
        "cca: it relates the columns of two tables, input.view.path; ibfa does so with a model of the noise",
    "method: {name: 3}\n":
        f"method.name: unknown method 3; run.yaml:2:10; there are {ALL}",
    "method: {name: [pca]}\n":
        f"method.name: unknown method ['pca']; run.yaml:2:10; there are {ALL}",
    "method: {name: zzz}\n":
        f"method.name: unknown method 'zzz'; run.yaml:2:10; there are {ALL}",
    "method: isomap\n":
        "method must be a section, not 'isomap'; run.yaml:2:1; write method: {name: isomap}",
    "method: {name: kpca, kernel: {name: gauss}}\n":
        "method.kernel.name: unknown kernel 'gauss': did you mean 'gaussian'?; run.yaml:2:31",
    "method: {name: isomap, decoder: {name: fixed_point}}\n":
        "method.decoder.name: isomap has no decoder 'fixed_point'; run.yaml:2:34; choose 'none', 'barycentric' or "
        "'ridge'",
    "method: {name: kpca, kernel: {name: linear, degree: 3}}\n":
        "method.kernel.degree: linear has no option 'degree'; polynomial has it; run.yaml:2:45",
    "method: {name: kpca, kernel: {name: gaussian, gamma: -3}}\n":
        "method.kernel.gamma must be over 0, not -3; run.yaml:2:47; it is method.kernel.rate = gamma here",
    "method: {name: kpca, kernel: {name: laplacian, sigma: wide}}\n":
        "method.kernel.sigma must be a number over 0, not 'wide'; run.yaml:2:48; "
        "it is method.kernel.rate = 1 / sigma here",
    "method: {name: laplacian, weights: {name: heat, t: 3}}\n":
        "unknown key 'method.weights.t'; run.yaml:2:49; it is method.weights.rate = 1 / t here (Rate r of exp(-r d²))",
    "method: {name: tsne, start: nonsense}\n":
        "method.start must be 'pca', 'laplacian' or 'random', not 'nonsense'; run.yaml:2:22",
    "method: {name: som}\n":
        "method.name: unknown method 'som'; run.yaml:2:10; it is not available; the closest method is gplvm: "
        "it too leads from a few coordinates to the features by a smooth map, without a grid",
    "method: {name: isomap, paths: {algorithm: floid}}\n":
        "method.paths.algorithm must be 'auto', 'dijkstra', 'floyd' or 'elimination', not 'floid': "
        "did you mean 'floyd'?; run.yaml:2:32",
    "method: {eigensolve: {components: 1.5}}\n":
        "method.eigensolve.components must be a whole number (at least 1), a number (over 0 and at most 1), 'all' or "
        "'auto', not 1.5; run.yaml:2:23",
    "method: {eigensolve: {report: 2.5}}\n":
        "method.eigensolve.report must be a whole number of at least 1, not 2.5; run.yaml:2:23",
    "neighbors: {count: 5}\n":
        "unknown key 'neighbors': did you mean method.decoder.neighbors, method.neighbors, method.graph.neighbors, "
        "method.start.neighbors, report.quality.neighbors or report.hubness.neighbors?; run.yaml:2:1",
    "prepare: {scale: true}\n":
        "prepare.scale must be 'none', 'center', 'standard', 'range' or 'robust', not true; run.yaml:2:11",
    "compute: {seed: -1}\n":
        "compute.seed must be at least 0, not -1; run.yaml:2:11",
    "compute: {seed: true}\n":
        "compute.seed must be a whole number of at least 0, not true; run.yaml:2:11",
    "compute: 4\n":
        "compute must be a section, not 4; run.yaml:2:1",
    "compute: null\n":
        "compute must be a section, not null; run.yaml:2:1",
    "compute: {queue: long}\n":
        "unknown key 'compute.queue'; run.yaml:2:11; the keys here are seed, threads, portable, memory_limit, "
        "memory_enforce, time_limit, cache, cache_limit, cluster, cluster_folder",
    "report: {formats: csv}\n":
        "report.formats must be a list of items, each 'csv', 'parquet' or 'npy', not 'csv'; run.yaml:2:10; "
        "write report.formats: [csv]",
    "report: {formats: [csv, xlsx]}\n":
        "report.formats[1] must be 'csv', 'parquet' or 'npy', not 'xlsx'; run.yaml:2:25",
    "report: {formats: []}\n":
        "report.formats must be a list of items, each 'csv', 'parquet' or 'npy', not []; run.yaml:2:10",
    "compute: {threads: 0}\n":
        "compute.threads must be a whole number (at least 1 and at most 1024) or 'auto', not 0; run.yaml:2:11",
    "output: 3\n":
        "output must be a text, not 3; run.yaml:2:1; write it in quotes: '3'",
    "zzz: 1\n":
        "unknown key 'zzz'; run.yaml:2:1; the keys here are input, prepare, method, onto, compute, report, output",
}


@pytest.mark.parametrize("text", FILES)
def test_a_wrong_file(tmp_path: Path, text: str) -> None:
    assert refused(tmp_path, INPUT + text) == f"78 E-CONFIG: {FILES[text]}"


@pytest.mark.parametrize(("text", "problem"), [
    ("prepare: {scale: none}\n", "input.path is missing; run.yaml:1:1; give a text"),
    ("input: {kind: features}\n", "input.path is missing; run.yaml:1:1; give a text"),
    ("input: {path: 12}\n", "input.path must be a text, not 12; run.yaml:1:9; write it in quotes: '12'"),
    ("input: {path: a, columns: [x, 1]}\n",
     "input.columns[1] must be a text, not 1; run.yaml:1:31; write it in quotes: '1'"),
    ("input: {path: a, header: 3}\n", "input.header must be 'auto', true or false, not 3; run.yaml:1:18"),
    ("input: {path: a, separator: xx}\n",
     "input.separator: a separator is one character such as , or ; or tab; run.yaml:1:18"),
    *((f"input: {{path: a, kind: {kind}}}\n", f"input.kind must be 'features', 'dissimilarities', 'kernel', "
       f"'covariance', 'correlation' or 'graph', not '{kind}'{said}") for kind, said in (
           ("similarities", "; run.yaml:1:18; similarities are input.kind=kernel, or become dissimilarities by a rule: "
                            "input.similarities=one-minus"),
           ("distances", ": did you mean 'dissimilarities'?; run.yaml:1:18"),
           ("gram", ": did you mean 'kernel'?; run.yaml:1:18"),
           ("kernals", ": did you mean 'kernel'?; run.yaml:1:18"))),
])
def test_a_wrong_input(tmp_path: Path, text: str, problem: str) -> None:
    assert refused(tmp_path, text) == f"78 E-CONFIG: {problem}"


def test_the_origin_is_the_layer_that_said_it(tmp_path: Path) -> None:
    assert refused(tmp_path, INPUT, flags={"method.neighbors.count": (5, "-k")}) == (
        f"78 E-CONFIG: method.neighbors: pca has no option 'neighbors'; {OWNERS} have it; -k; the number of axes is -p")
    assert refused(tmp_path, INPUT, sets=["compute.seed=x"]) == (
        "78 E-CONFIG: compute.seed must be a whole number of at least 0, not 'x'; --set compute.seed=x")
    assert refused(tmp_path, INPUT, environment={"MLCLI__COMPUTE__SEED": "-1"}) == (
        "78 E-CONFIG: compute.seed must be at least 0, not -1; MLCLI__COMPUTE__SEED")
    assert refused(tmp_path, INPUT, environment={"MLCLI__COMPUTE": "4"}) == (
        "78 E-CONFIG: compute must be a section, not 4; MLCLI__COMPUTE")


def test_another_method_than_the_files_says_who_chose_it(tmp_path: Path) -> None:
    text = INPUT + "method:\n  name: isomap\n  paths: {algorithm: floyd}\n"
    assert refused(tmp_path, text, flags={"method.name": ("lle", "-m")}) == (
        "78 E-CONFIG: method.paths: lle has no option 'paths'; isomap and chain have it; run.yaml:4:3; "
        "method.name is 'lle' by -m")


def test_several_errors_are_one_line(tmp_path: Path) -> None:
    text = INPUT + ("method: {name: isomap, neighbors: {count: x}}\ncompute: {seed: -1, thread: 2}\n"
                    "report: {formats: [a]}\n")
    assert refused(tmp_path, text) == (
        "78 E-CONFIG: method.neighbors.count must be a whole number of at least 1, not 'x'; run.yaml:2:36; "
        "and 3 more: compute.seed, compute.thread, report.formats[0]")


def test_long_names_and_values_are_cut(tmp_path: Path) -> None:
    message = refused(tmp_path, INPUT + f"{'k' * 1000}: 1\ncompute: {{seed: {'v' * 1000}}}\n")
    assert len(message) < 400
    message = refused(tmp_path, INPUT + f"compute: {{seed: {'v' * 1000}}}\n")
    assert len(message) < 200


def test_a_memory_limit_is_checked_before_the_run(tmp_path: Path) -> None:
    assert refused(tmp_path, INPUT + "compute: {memory_limit: 8X}\n").startswith("78 E-MEMORY-LIMIT: '8X' is not")


def test_whole_numbers_have_no_exponent(tmp_path: Path, wording: Wording) -> None:
    message = refused(tmp_path, "input: {path: a.csv}\ncompute: {seed: 1e3}\n")
    assert "E-CONFIG" in wording(message)


def test_what_many_methods_have_is_listed_once(tmp_path: Path) -> None:
    message = refused(tmp_path, INPUT + "method: {name: mds, metric: nothing}\n")
    assert "method.metric.name: unknown metric 'nothing'" in message
    assert message.count("jensenshannon") == 1
