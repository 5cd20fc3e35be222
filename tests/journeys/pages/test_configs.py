"""Every file of configs/ runs as it stands, and editors have the schema for it."""

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
import yaml

from mlcli.cli.program import run
from mlcli.methods import METHODS

ROOT = Path(__file__).parents[3]
ELSEWHERE = {"gplvm-oil-flow"}  # whose data may not be handed on
EVERY = sorted((ROOT / "configs").glob("*.yaml"))
CONFIGS = [path for path in EVERY if path.stem not in ELSEWHERE]
SCHEMA = ROOT / "configs" / "mlcli.schema.json"
ALWAYS = {"config.yaml", "run.json", "spectrum.csv", "scree.svg", "scatter.svg", "report.html", "quality.json",
          "shepard.csv", "certificate.json", "dimension.json", "dimension.csv", "model.json", "model.npz"}
STRESS = {"stress.csv", "disparities.csv"}  # of layouts by stress
TABLES = {"groups.csv", "groups_axes.csv", "groups_rv.csv"}  # of methods of several tables
# what methods and examples write besides
MORE = {"pca": {"loadings.csv"}, "ppca": {"loadings.csv"}, "fa": {"loadings.csv", "trace.csv"},
        "fa-survey": {"items.csv", "reliability.json"},
        "sde": {"trace.csv"}, "ppca-missing": {"trace.csv", "posterior.csv"}, "lda": {"loadings.csv", "classes.csv"},
        "sum-iris": {*TABLES, "partial.csv"},
        "mfa": {"loadings.csv", *TABLES, "partial.csv", "contributions.csv", "contributions_columns.csv"},
        "famd": {"loadings.csv", *TABLES}, "statis": {"loadings.csv", *TABLES, "partial.csv"},
        "ca": {"loadings.csv"}, "mca": {"loadings.csv"}, "cca": {"loadings.csv"}, "rda": {"loadings.csv"},
        "dbrda": {"loadings.csv"}, "ibfa": {"loadings.csv", "private.csv"},
        "gib": {"loadings.csv", "information.csv"}, "ib": {"loadings.csv", "information.csv"},
        "bilinear": {"loadings.csv"}, "bilinear-symmetric": {"factors.csv", "trace.csv"}, "sfa": {"loadings.csv"},
        "ica": {"loadings.csv", "trace.csv"}, "lgssm": {"loadings.csv", "trace.csv", "posterior.csv"},
        "gplvm": {"trace.csv"}, "mvgplvm": {"trace.csv", "posterior.csv"}, "gpdm": {"trace.csv", "forecast.csv"},
        "gpssm": {"trace.csv", "forecast.csv", "posterior.csv"},
        "autoencoder": {"trace.csv"}, "lpp": {"loadings.csv"}, "npe": {"loadings.csv"}, "lltsa": {"loadings.csv"},
        "nmf": {"loadings.csv", "trace.csv"}, "random": {"loadings.csv"}, "smacof": {"trace.csv", *STRESS},
        "sammon": {"trace.csv", *STRESS}, "nmds": {"trace.csv", *STRESS},
        "phate": {"trace.csv", "entropy.csv", *STRESS}, "tsne": {"trace.csv"},
        "umap": {"trace.csv"},
        "vae": {"trace.csv", "posterior.csv"},
        "vib": {"trace.csv", "posterior.csv", "information.csv"}}
# whose decoder leads back to three columns or more, so that the report draws it
DRAWN = {"autoencoder", "fa-arrests", "fa-survey", "gpdm-van-der-pol", "gplvm-iris", "gpssm-van-der-pol", "ica-mixture",
         "lgssm-oscillator", "lgssm-slow", "nmf-arrests", "pca-iris", "pca-missing", "pca-scaled", "ppca-iris",
         "ppca-missing", "sfa-mixture", "vae"}


@pytest.fixture(autouse=True)
def in_the_repository_without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in the files are relative to the repository's root; no names are drawn, which take longer than the runs."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("mlcli.report.paper.needs.LABELED", 0)
    monkeypatch.delenv("MLCLI_PROGRESS", raising=False)


def content(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def runs_of(path: Path) -> int:
    return len(names_of(path))


def names_of(path: Path) -> list[str]:
    """The directories of a sweep over lists; one empty name where there is none."""
    lists = content(path).get("sweep", {})
    labels = [name.rpartition(".")[2] for name in lists]
    return [",".join(f"{label}={value}" for label, value in zip(labels, values, strict=True))
            for values in itertools.product(*lists.values())]


def embedding(folder: Path, format: str) -> int:
    """The number of rows of an embedding, after a look at its columns and numbers."""
    file = folder / f"embedding.{format}"
    if format == "npy":
        values = np.load(file, allow_pickle=False)
    elif format == "parquet":
        table = parquet.read_table(file)
        values = np.column_stack([table[name] for name in table.column_names if name.startswith("y")])
    else:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
        first = rows[0].index("y1")
        values = np.array([row[first:] for row in rows[1:]], dtype=float)
    assert np.isfinite(values).all() and np.ptp(values, axis=0).min() > 0
    return len(values)


Ran = Callable[[str], tuple[list[dict], Path]]
_ran: dict[str, tuple[list[dict], Path]] = {}


@pytest.fixture
def ran(tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]) -> Ran:
    """What the runs of an example report, which is run once for all tests, and where they lie."""
    def once(name: str) -> tuple[list[dict], Path]:
        if name not in _ran:
            output = tmp_path_factory.mktemp(name) / "runs" / "out"
            assert run(["run", f"configs/{name}.yaml", "-o", str(output), "--json", "--progress", "none"]) == 0
            told = json.loads(capfd.readouterr().out)
            _ran[name] = told.get("runs", [told]), output
        return _ran[name]
    return once


@pytest.mark.medium
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_runs_and_leaves_a_complete_directory(path: Path, ran: Ran) -> None:
    documents, output = ran(path.stem)
    assert [Path(document["run"]) for document in documents] == (
        [output] if runs_of(path) == 1 else [output / name for name in names_of(path)])
    formats = content(path).get("report", {}).get("formats", ["csv"])
    always = ALWAYS if METHODS[content(path)["method"]["name"]].ranked_by else ALWAYS - {"spectrum.csv", "scree.svg"}
    if content(path)["input"].get("kind") == "covariance":
        formats, always = [], ALWAYS - {"scatter.svg", "quality.json", "shepard.csv"}  # no rows to embed
    for document in documents:
        folder = Path(document["run"])
        manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        assert manifest["method"] == content(path)["method"]["name"]
        dropped = {"dropped.csv"} if manifest["embedding"]["dropped"] else set()
        more = MORE.get(manifest["method"], set()) | MORE.get(path.stem, set())
        more |= {"decoded.npz"} if path.stem in DRAWN else set()
        assert {file.name for file in folder.iterdir()} == always | more | dropped | {f"embedding.{f}" for f in formats}
        for format in formats:
            assert embedding(folder, format) == manifest["embedding"]["rows"]
        assert manifest["embedding"]["rows"] + manifest["embedding"]["dropped"] == manifest["input"]["rows"]
    assert [entry.name for entry in output.parent.iterdir()] == ["out"], "drafts are left behind"


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_of_data_from_elsewhere_only_the_file_is_missing(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", f"configs/{name}.yaml"]) == 66
    assert content(ROOT / "configs" / f"{name}.yaml")["input"]["path"] in capfd.readouterr().err


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_names_its_schema_its_purpose_and_its_own_output(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# yaml-language-server: $schema=mlcli.schema.json"
    assert lines[1].startswith("# ") and len(lines[1]) > 20 and not lines[2].startswith("#")
    assert content(path)["output"] == f"runs/{path.stem}"
    assert (ROOT / content(path)["input"]["path"]).is_file() == (path.stem not in ELSEWHERE)


def test_there_is_an_example_of_every_method_and_of_a_sweep() -> None:
    assert {content(path)["method"]["name"] for path in CONFIGS} == set(METHODS)
    assert any("sweep" in content(path) for path in CONFIGS)


def test_every_file_of_sample_data_is_used() -> None:
    inputs = [content(path)["input"] for path in CONFIGS]
    used = {input["path"] for input in inputs} | {input["labels"]["path"] for input in inputs if "labels" in input}
    there = {f"sample_data/{file.name}" for file in (ROOT / "sample_data").iterdir() if file.name != "README.md"}
    assert used == there


def test_schema_is_fresh(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    printed = capfd.readouterr().out
    assert SCHEMA.is_file() and json.loads(SCHEMA.read_text(encoding="utf-8")) == json.loads(printed), (
        "refresh it with: mlcli schema > configs/mlcli.schema.json")


@pytest.mark.parametrize(("name", "axes", "leading"), [
    ("pca-iris", 2, 2.05626887980022**2 * 149 / 150),  # prcomp's, over n
    ("ppca-iris", 2, 2.05626887980022**2 * 149 / 150),
    ("pca-scaled", 4, 1.57487827439123**2),  # prcomp's
    ("mds-eurodist", 2, 42271880.800570995),  # ape's after Cailliez
    ("mds-cities", 2, 9582144.29921689),  # cmdscale's
    ("kpca-gaussian", 2, 48.7256599453485),  # kernlab's times n
    ("isomap-swiss-roll", 2, 733622.95557138),
    ("lda-iris", 2, 48.642643802258902**2),  # MASS
    ("cca-iris", 2, 0.94096899697574987),  # statsmodels
    ("ibfa-iris", 1, 0.94096899697574987),
])
def test_what_the_examples_compute(name: str, axes: int, leading: float, ran: Ran) -> None:
    (document,), _ = ran(name)
    assert document["components"] == axes
    assert document["eigenvalues"][0] == pytest.approx(leading, rel=1e-8)


@pytest.mark.parametrize("path", [path for path in CONFIGS
                                  if path.stem.startswith(("pca", "kpca", "lle", "mds-euro", "sde"))],
                         ids=lambda path: path.stem)
def test_examples_whose_eigenvalues_cannot_be_negative_warn_of_dropped_rows_alone(path: Path, ran: Ran) -> None:
    _, output = ran(path.stem)
    manifest = json.loads((output / "run.json").read_text(encoding="utf-8"))
    expected = ["W-DROPPED"] if path.stem == "pca-missing" else []
    assert [warning["code"] for warning in manifest["warnings"]] == expected


def test_missing_cells_are_dropped_where_they_are_known_to_be(ran: Ran) -> None:
    _, output = ran("pca-missing")
    with (output / "dropped.csv").open(newline="", encoding="utf-8") as stream:
        dropped = list(csv.DictReader(stream))
    rule = [i for i in range(1, 61) if any((7 * i + 11 * j) % 23 == 0 for j in (1, 2, 3))]
    assert [int(row["row"]) for row in dropped] == rule
    assert [row["id"] for row in dropped] == [f"p{i}" for i in rule]
