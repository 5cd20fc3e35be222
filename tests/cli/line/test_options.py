"""Every flag reaches the option that it stands for, and says what the option says."""

import re
from functools import reduce
from typing import Any

import pytest

from mlcli.config.describe import listed
from mlcli.config.flags import EVERY, FLAGS, rows_at
from mlcli.config.headings import HEADINGS, OFTEN
from mlcli.config.run_config import RunConfig
from mlcli.methods import METHODS
from tests.journeys.support import Caller

ISOMAP = ["-m", "isomap"]
OWNERS = [name for name, kind in METHODS.items() if "neighbors" in kind.model_fields]
REACHED: dict[str, tuple[list[str], object]] = {
    "method": (["--method", "lle"], "lle"),
    "components": (["-p", "3"], 3),
    "neighbors": ([*ISOMAP, "-k", "7"], 7),
    "radius": ([*ISOMAP, "--radius", "2"], 2.0),
    "paths": ([*ISOMAP, "--paths", "floyd"], "floyd"),
    "metric": (["-m", "mds", "--metric", "braycurtis"], "braycurtis"),
    "rotation": (["-m", "fa", "--rotation", "oblimin"], "oblimin"),
    "groups": (["-m", "mfa", "--groups", "a=x:z,u", "--groups", "b=v"], ("a=x:z,u", "b=v")),
    "contributions": (["--contributions"], True),
    "kernel": (["-m", "kpca", "--kernel", "polynomial"], "polynomial"),
    "kind": (["-m", "fa", "--kind", "correlation"], "correlation"),
    "dissimilarities": (["-m", "mds", "--dissimilarities"], "dissimilarities"),
    "graph": ([*ISOMAP, "--graph"], "graph"),
    "id_column": (["--id-column", "12"], "12"),
    "no_id": (["--no-id"], "none"),
    "label_column": (["--label-column", "a,b", "--label-column", "c"], ("a", "b", "c")),
    "labels": (["--labels", "y.csv"], "y.csv"),
    "view": (["-m", "cca", "--view", "b.csv"], "b.csv"),
    "columns": (["--columns", "x,y", "--columns", "a:b"], ("x", "y", "a:b")),
    "similarities": (["--dissimilarities", "--similarities", "max-minus"], "max-minus"),
    "key": (["--key", "layers/12"], "layers/12"),
    "transpose": (["--transpose"], True),
    "missing_markers": (["--missing-markers", ".,-"], (".", "-")),
    "answers": (["--answers", "never,often"], ("never", "often")),
    "reverse": (["--reverse", "q2,q5"], ("q2", "q5")),
    "range": (["--reverse", "q2", "--range", "1,6"], (1, 6)),
    "correlations": (["-m", "fa", "--correlations", "polychoric"], "polychoric"),
    "reliability": (["-m", "fa", "--reliability"], True),
    "rows": (["--rows", "50"], 50),
    "where": (["--where", "a,b > 1", "--where", "c == x"], ("a,b > 1", "c == x")),
    "layer": (["--layer", "12"], "layers/12"),
    "obs": (["--obs", "type in [a, b]", "--obs", "depth > 1"], ("type in [a, b]", "depth > 1")),
    "genes": (["--genes", "TP53,MYC", "--genes", "a:b"], ("TP53", "MYC", "a:b")),
    "transform": (["--transform", "total,log1p", "--transform", "unit"], ("total", "log1p", "unit")),
    "top_variance": (["--top-variance", "2"], 2),
    "variable_genes": (["--variable-genes", "50"], 50),
    "flavor": (["--variable-genes", "50", "--flavor", "seurat_v3"], "seurat_v3"),
    "counts_layer": (["--counts-layer", "12"], "12"),
    "scale": (["--scale", "standard"], "standard"),
    "reduce": (["--reduce", "0.5"], 0.5),
    "calibrate": (["--calibrate", "0.25"], 0.25),
    "discontinuity": (["-m", "umap", "--discontinuity"], True),
    "onto": (["--onto", "012"], "012"),
    "onto_way": (["--onto", "a", "--onto-way", "refit"], "refit"),
    "onto_weight": (["--onto", "a", "--onto-way", "tied", "--onto-weight", "2"], 2.0),
    "changed": (["--onto", "a", "--changed", "place"], "place"),
    "output": (["-o", "012"], "012"),
    "format": (["--format", "npy", "--format", "csv"], ("npy", "csv")),
    "outputs": (["--outputs", "model,embedding", "--outputs", "spectrum"], ("embedding", "spectrum", "model")),
    "keep": ([*ISOMAP, "--keep", "graph,kernel", "--keep", "distances"], ("graph", "kernel", "distances")),
    "draw_graph": ([*ISOMAP, "--draw-graph"], True),
    "interactive": (["--interactive"], True),
    "seed": (["--seed", "5"], 5),
    "threads": (["--threads", "1"], 1),
    "portable": (["--portable"], True),
    "memory_limit": (["--memory-limit", "8G"], "8G"),
    "time_limit": (["--time-limit", "2h"], "2h"),
    "cluster": (["--cluster", "local:3"], "local:3"),
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[RunConfig]:
    """The configurations that reach the pipeline, which does nothing."""
    configs: list[RunConfig] = []

    def record(config: RunConfig, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        configs.append(config)
        return {"run": config.output, "eigenvalues": [2.0], "proportions": [0.5], "dimension": None,
                "warnings": [], "notes": [],
                "spectrum": {"ranked_by": "eigenvalues"}}

    monkeypatch.setattr("mlcli.pipeline.run.run", record)
    monkeypatch.setattr("mlcli.pipeline.run.stream", record)
    return configs


@pytest.mark.parametrize("name", REACHED)
def test_a_flag_reaches_its_path(mlcli: Caller, started: list[RunConfig], name: str) -> None:
    arguments, value = REACHED[name]
    if name == "cluster":
        pytest.importorskip("distributed")
    called = mlcli("embed", "-q", "data.h5ad" if FLAGS[name].spells else "data.csv", *arguments)
    assert called.code == 0, called.err
    assert reduce(getattr, FLAGS[name].path.split("."), started[0]) == value


def test_every_flag_is_tested() -> None:
    assert set(REACHED) == set(FLAGS)


def test_a_share_of_the_variance(mlcli: Caller, started: list[RunConfig]) -> None:
    assert mlcli("embed", "-q", "data.csv", "-p", "0.95").code == 0
    assert started[0].method.eigensolve.components == 0.95


def test_data_is_the_path_byte_for_byte(mlcli: Caller, started: list[RunConfig]) -> None:
    assert mlcli("embed", "-q", "1e3").code == 0
    assert started[0].input.path == "1e3"


def test_flags_win_over_set_and_set_over_the_environment(mlcli: Caller, started: list[RunConfig],
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCLI__COMPUTE__SEED", "1")
    mlcli("embed", "-q", "data.csv")
    mlcli("embed", "-q", "data.csv", "--set", "compute.seed=2")
    mlcli("embed", "-q", "data.csv", "--set", "compute.seed=2", "--seed", "3")
    assert [config.compute.seed for config in started] == [1, 2, 3]


def test_help_says_what_the_options_say(mlcli: Caller) -> None:
    text = " ".join(mlcli("embed", "-q", "--help").out.split())
    for flag in FLAGS.values():
        assert all(name in text for name in flag.names)
        if flag.constant is None:
            assert rows_at(flag.path)[0].sentence.removesuffix(".").split("(")[0].split("-")[0] in text
    assert "auto|dijkstra|floyd|elimination" in text
    assert f"For {', '.join([*OWNERS, 'chain'])}. [default: 10 (" in text


@pytest.mark.parametrize(("arguments", "message"), [
    (["-k", "5"], "E-CONFIG]: method.neighbors: pca has no option 'neighbors'; "
     f"{listed(OWNERS, 'and')} have it; -k; the number of axes is -p"),
    (["-k", "x", *ISOMAP], "E-CONFIG]: method.neighbors.count must be a whole number of at least 1, not 'x'; -k"),
    (["-m", "isomp"], "E-CONFIG]: method.name: unknown method 'isomp': did you mean 'isomap'?; -m"),
    (["--paths", "floid", *ISOMAP],
     "E-CONFIG]: method.paths.algorithm must be 'auto', 'dijkstra', 'floyd' or 'elimination', not 'floid': "
     "did you mean 'floyd'?; --paths"),
    (["-p", "-1"], "E-CONFIG]: method.eigensolve.components must be a whole number (at least 1), a number "
                   "(over 0 and at most 1), 'all' or 'auto', not -1; -p"),
    (["--set", "compute.sed=1"], "E-CONFIG]: unknown key 'compute.sed': did you mean 'seed'?; --set compute.sed=1"),
])
def test_wrong_values_are_78_and_name_the_flag(mlcli: Caller, arguments: list[str], message: str) -> None:
    called = mlcli("embed", "-q", "data.csv", *arguments)
    assert (called.code, called.out, called.err) == (78, "", f"mlcli: error[{message}\n")


def test_every_option_of_embed_stands_under_a_heading_and_ten_come_first(mlcli: Caller) -> None:
    parts = re.split(r"^(\w[\w ]*):\n", mlcli("embed", "--help").out, flags=re.MULTILINE)
    flags = {title: re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)
             for title, text in zip(parts[1::2], parts[2::2], strict=True)}
    assert [title for title in flags if title != "Arguments"] == [*HEADINGS, "Options"]
    assert flags[OFTEN] == ["--method", "--components", "--neighbors", "--metric", "--kind", "--label-column",
                            "--columns", "--scale", "--output", "--force"] and flags["Options"] == ["--help"]
    assert {flag.heading for flag in EVERY.values()} == {*HEADINGS}
