"""A package adds a method, a metric and a format: `examples/plugin`, laid out as an installer does, then removed."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import numpy as np
import pytest

from tests.plugins import EXAMPLE, describe, install, on_path
from tests.processes import call, neutral, python

pytestmark = pytest.mark.medium
POINTS = np.random.default_rng(5).random((60, 3))
NEEDED = "needs the package mlcli-example 0.1.0, which is not installed"
PIP = "pip install 'mlcli-example==0.1.0'"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example, as it is installed."""
    return install(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points as a table; the same are the vertices of `points.off` beside it."""
    folder = tmp_path_factory.mktemp("points")
    lines = [" ".join(map(repr, row)) for row in POINTS.tolist()]
    (folder / "points.off").write_text("OFF\n# a mesh\n60 1 0\n" + "\n".join(lines) + "\n3 0 1 2\n")
    path = folder / "points.csv"
    path.write_text("x,y,z\n" + "\n".join(lines).replace(" ", ",") + "\n")
    return path


@pytest.fixture(scope="module")
def run(site: Path, table: Path) -> Path:
    """A run with the method, the metric and the format of the package."""
    folder = table.with_name("run")
    ended = call("embed", table.with_suffix(".off"), "-m", "conformal", "--metric", "kulczynski", "-k", "8", "-q",
                 "-o", folder, **on_path(site))
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.mark.slow
def test_pip_installs_what_these_tests_lay_out(site: Path, tmp_path: Path) -> None:
    """By the build backend of this environment, without the package index."""
    backend = Path(pytest.importorskip("hatchling").__file__).parents[1]
    source, there = tmp_path / "plugin", tmp_path / "site"
    shutil.copytree(EXAMPLE, source)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation",
                           "--target", there, source], env=neutral(PYTHONPATH=str(backend)), capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    (metadata,) = there.glob("*.dist-info")
    (ours,) = site.glob("*.dist-info")
    assert metadata.name == ours.name
    told = [{(entry.group, entry.name, entry.value) for entry in Distribution.at(folder).entry_points}
            for folder in (metadata, ours)]
    assert told[0] == told[1] and len(told[0]) == 3
    modules = [{path.name: path.read_bytes() for path in folder.glob("mlcli_example/*.py")} for folder in (there, site)]
    assert modules[0] == modules[1] and len(modules[0]) == 4
    assert "C-Isomap" in call("methods", "conformal", **on_path(there)).stdout


def test_a_run_keeps_what_it_needs_and_is_verified_and_places_new_points(site: Path, run: Path, table: Path) -> None:
    manifest = json.loads((run / "run.json").read_text())
    owner = {"package": "mlcli-example", "version": "0.1.0"}
    assert manifest["plugins"] == [
        {"table": "methods", "name": "conformal", **owner}, {"table": "metrics", "name": "kulczynski", **owner},
        {"table": "formats", "name": "off", **owner}]
    assert json.loads((run / "model.json").read_text())["packages"] == {"mlcli_example": owner}
    assert (run / "config.yaml").read_text().startswith("# needs the package mlcli-example 0.1.0\ninput:")
    verified = call("verify", run, "--full", **on_path(site))
    assert verified.returncode == 0 and "conformal edges" in verified.stdout and "fail" not in verified.stdout
    placed = call("project", run, table, "-o", table.with_name("placed.csv"), "-q", **on_path(site))
    assert placed.returncode == 0, placed.stderr
    first, second = (np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2))
                     for path in (run / "embedding.csv", table.with_name("placed.csv")))
    np.testing.assert_allclose(first, second, atol=1e-12)


def test_without_the_package_a_run_names_it(run: Path, table: Path) -> None:
    for ended in (call("verify", run), call("report", run),
                  call("compare", run, run, "-o", table.with_name("both.html")),
                  call("project", run, table, "-o", "-")):
        assert (ended.returncode, ended.stdout) == (69, "") and "error[E-PLUGIN-MISSING]" in ended.stderr
        assert NEEDED in ended.stderr and PIP in ended.stderr and "damaged" not in ended.stderr
    assert "conformal: 60 rows x 2 axes" in python("import mlcli, sys; print(mlcli.open_run(sys.argv[1]))", run)
    unknown = call("embed", table, "-m", "conformal", "-o", table.with_name("other"))
    assert unknown.returncode == 78 and "E-CONFIG" in unknown.stderr and "'conformal'" in unknown.stderr


def test_without_the_package_a_configuration_names_it_unless_another_method_is_chosen(run: Path, table: Path) -> None:
    again = "run", run / "config.yaml", "-o", table.with_name("again"), "-q"
    lacking = call(*again)
    assert lacking.returncode == 69 and "error[E-PLUGIN-MISSING]: method 'conformal' " in lacking.stderr
    assert f" {NEEDED}; {run}/config.yaml:" in lacking.stderr and PIP in lacking.stderr
    other = call(*again, "--set", "method.name=nothing")
    assert other.returncode == 78 and "E-CONFIG" in other.stderr and "'nothing'" in other.stderr
    for line in ("method: {name: conformal}", "method: {name: mds, metric: kulczynski}", "report: {extent: {}}",
                 "method: {name: chain, metric: {name: kulczynski}}"):
        stated = table.with_name("stated.yaml")
        stated.write_text(f"# mine\n# needs the package mlcli-example 0.1.0\ninput: {{path: {table}}}\n{line}\n"
                          "sweep: {compute.seed: [1, 2]}\n")
        named = call("run", stated, "--quiet")
        assert named.returncode == 69 and NEEDED in named.stderr
        stated.write_text(f"input: {{path: {table}}}\n{line}\n")
        assert call("run", stated, "--quiet").returncode == 78


def test_without_the_package_a_run_of_its_format_alone_is_shown_and_says_what_reading_needs(site: Path,
                                                                                           table: Path) -> None:
    folder = table.with_name("mesh")
    assert call("embed", table.with_suffix(".off"), "-q", "-o", folder, **on_path(site)).returncode == 0
    assert call("embed", table, "-q", "-o", table.with_name("plain")).returncode == 0
    assert (folder / "embedding.csv").read_bytes() == (table.with_name("plain") / "embedding.csv").read_bytes()
    assert call("report", folder).returncode == 0
    ended = call("verify", folder)
    assert ended.returncode == 69 and f"format 'off' of the run {NEEDED}" in ended.stderr


def test_a_wrong_line_of_its_format_is_named(site: Path, table: Path) -> None:
    wrong = table.with_name("wrong.off")
    wrong.write_text("OFF\n2 0 0\n1 2 3\n4 five 6\n")
    ended = call("embed", wrong, "-o", table.with_name("wrong"), **on_path(site))
    assert ended.returncode == 65 and "error[E-OFF]: 'five' " in ended.stderr
    assert "wrong.off:4" in ended.stderr


def test_lists_schema_plan_help_and_completion_know_the_names(site: Path, table: Path) -> None:
    assert "A curved surface unrolled whose scale may differ" in call("methods", **on_path(site)).stdout
    page = call("methods", "Conformal", **on_path(site)).stdout
    assert page.startswith("conformal:") and "'haversine' or 'kulczynski'" in page
    found = json.loads(call("schema", **on_path(site)).stdout)["$defs"]
    assert found["Conformal"]["properties"]["name"]["const"] == "conformal" and "Kulczynski" in found
    assert "off" in found["Input"]["properties"]["format"]["enum"]
    planned = call("plan", table.with_suffix(".off"), "-m", "conformal", **on_path(site)).stdout
    assert planned.startswith("conformal: 60 rows x 3 columns")
    for words, name in (("embed -m conf", "conformal"), ("methods conf", "conformal"),
                        ("embed --metric ku", "kulczynski"), ("embed --set input.format=of", "off")):
        asked = {"_MLCLI_COMPLETE": "complete_bash", "COMP_WORDS": f"mlcli {words}",
                 "COMP_CWORD": str(len(words.split()))}
        assert call(**asked, **on_path(site)).stdout.split() == [name]


def test_chains_sweeps_python_and_estimators_know_the_names(site: Path, table: Path) -> None:
    (table.with_name("sweep.yaml")).write_text(
        f"input: {{path: {table}}}\nmethod: {{name: chain, metric: kulczynski, graph: {{}}, paths: {{}}}}\n"
        f"report: {{outputs: [embedding]}}\noutput: {table.with_name('swept')}\n"
        "sweep: {method.graph.neighbors.count: [7, 9]}\n")
    ended = call("run", table.with_name("sweep.yaml"), "-q", **on_path(site))
    assert ended.returncode == 0, ended.stderr
    code = ("import sys, pickle, mlcli, numpy as np; from mlcli.sklearn import Conformal; "
            "points = np.loadtxt(sys.argv[1], delimiter=',', skiprows=1); "
            "run = mlcli.embed(points, 'conformal', neighbors=8, metric='kulczynski', components=3); "
            "again = pickle.loads(pickle.dumps(run)); "
            "print(np.abs(again.project(points) - run.embedding).max() < 1e-9, run.embedding.shape, "
            "Conformal(neighbors=8).fit_transform(points).shape)")
    assert python(f"import warnings; warnings.simplefilter('ignore'); {code}", table,
                  **on_path(site)) == "True (60, 3) (60, 2)\n"


def test_packages_that_cannot_be_used_are_named_and_stop_no_other_run(tmp_path: Path, site: Path, table: Path) -> None:
    describe(tmp_path, "mlcli-other", "2.0", {"mlcli.methods": {
        "conformal": "other:Method", "broken": "not_there:Method", "pca": "other:Method"}})
    both = on_path(site, tmp_path)
    listed = call("methods", **both)
    assert listed.returncode == 0 and "conformal" not in listed.stdout and "isomap" in listed.stdout
    warned = sorted(line.partition(" of package")[0] for line in listed.stderr.splitlines())
    assert [line.removeprefix("warning[W-PLUGIN]: left out: ") for line in warned] == [
        "method 'broken'", "method 'conformal' is in 2 packages: mlcli-example 0.1.0, mlcli-other 2.0; keep one of "
        "them: pip uninstall mlcli-other", "method 'pca'"]
    examined = call("doctor", **both)
    assert "method conformal of mlcli-other 2.0\nmethod broken of mlcli-other 2.0\n" in examined.stdout
    assert sorted(examined.stderr.splitlines()) == sorted(listed.stderr.splitlines())
    twice = call("embed", table, "-m", "conformal", "-o", tmp_path / "run", **both)
    assert twice.returncode == 78 and "error[E-PLUGIN-TWICE]: method 'conformal' " in twice.stderr
    broken = call("embed", table, "-m", "broken", "-o", tmp_path / "run", **both)
    assert broken.returncode == 69 and "No module named 'not_there'" in broken.stderr
    assert "method 'broken' of package mlcli-other 2.0 " in broken.stderr
    assert call("embed", table, "-q", "-o", tmp_path / "run", **both).returncode == 0


FACTS = """
from dataclasses import replace
import numpy as np, warnings
from scipy.spatial.distance import cdist
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.certify.subject import Plan
from mlcli.core.check.metrics import bounded_distances
from mlcli.methods import METHODS
from mlcli.pipeline.certify import check_numbers, subject_of
from mlcli_example.kulczynski import Kulczynski, defined
warnings.simplefilter("ignore")

def fit(name, points, **options):
    data = Features(points, list(map(str, range(len(points)))), list("xyz"[: points.shape[1]]))
    method = METHODS[name](neighbors={"count": 4}, **options).resolve(data)
    return method, data, method.fit(data, Compute())

# where neighbors are equally far everywhere, M is a constant, and C-Isomap is Isomap in units of it
angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
ring = np.column_stack([np.cos(angles), np.sin(angles)])
mean = np.sort(cdist(ring, ring), axis=1)[:, 1:5].mean(axis=1)
one, other = (fit(name, ring)[2] for name in ("conformal", "isomap"))
assert np.ptp(mean) < 1e-12 and np.allclose(one.spectrum.eigenvalues * mean[0] ** 2, other.spectrum.eigenvalues)
# a unit changes nothing, and another scale in one half of the points is taken away
points = np.random.default_rng(1).random((70, 3))
method, data, model = fit("conformal", points)
assert np.allclose(fit("conformal", points * 1e-3)[2].embedding, model.embedding, atol=1e-9)
def checks(model):
    return list(check_numbers(method, subject_of(method, data, model, Plan(full=True))))

assert all(check.verdict == "pass" for check in checks(model))
# lies about M, an edge and a neighbor are found
similarity = model.projector.similarity
graph = similarity.graph
def lie(**parts):
    wrong = replace(model, projector=replace(model.projector, similarity=replace(similarity, **parts)))
    return [check.name for check in checks(wrong) if check.verdict == "fail" and check.name.startswith("conformal")]
moved = np.array(graph.lengths); moved[7] *= 1 + 1e-6
ends, ranked = np.array(graph.indices), np.argsort(cdist(points[:1], points)[0])
assert ranked[1] in ends[: graph.starts[1]]
ends[np.flatnonzero(ends == ranked[1])[0]] = ranked[-1]
print(lie(scales=similarity.scales * 1.001), lie(graph=replace(graph, lengths=moved)),
      lie(graph=replace(graph, indices=ends)))
# the metric is its definition, symmetric, and zero between equal rows
counts = np.random.default_rng(2).poisson(2.0, (30, 6)) + np.eye(30, 6)
metric = Kulczynski()
found = metric.compare(counts, counts)
shared = np.minimum(counts[:, None], counts).sum(axis=2)
plain = 1 - (shared / counts.sum(axis=1)[:, None] + shared / counts.sum(axis=1)) / 2
assert np.allclose(found, plain, atol=1e-14) and np.array_equal(found, found.T) and not found.diagonal().any()
known = bounded_distances(metric, counts, counts)
assert np.all(np.abs(found - known.distances) <= known.errors) and np.allclose(defined(metric, counts, counts), plain)
"""


def test_the_example_computes_what_its_descriptions_say(site: Path) -> None:
    assert python(FACTS, **on_path(site)) == (
        "['conformal edges'] ['conformal edges'] ['conformal neighbors', 'conformal edges']\n")


@pytest.mark.parametrize(("text", "said"), [
    ("OF\n1 0 0\n1 2 3\n", "the first word is not OFF"), ("OFF\n", "the number of vertices is missing"),
    ("OFF x\n", "the number of vertices is missing"), ("OFF\n5 0 0\n1 2 3\n", "5 points need as many lines"),
    ("OFF 2 0 0\n1 2 3\n4 5\n", "vertex 2 of 2 has 2 numbers, not 3"), ("OFF\n0 0 0\n", "0 rows")])
def test_a_damaged_file_of_its_format_is_refused(site: Path, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "wrong.off").write_text(text)
    ended = call("embed", tmp_path / "wrong.off", "-o", tmp_path / "run", **on_path(site))
    assert ended.returncode == 65 and said in ended.stderr and "Traceback" not in ended.stderr


FINDING = '''"""How far points are from the origin."""

from mlcli.base.values.options import Options, option
from mlcli.base.values.shape import Number, Shape
from mlcli.findings.finding import File, Finding, Json, Place


class Extent(Options):
    """How far points are from the origin; null: not measured."""

    power: float = option(1.0, "Power of the distances.", gt=0)


class Document(Shape):
    """extent.json."""

    largest: Number


TABLE = File("extent.json", Json("added_extent:Document"))


class ExtentFinding(Finding):
    """The largest distance from the origin."""

    name = "extent"
    files = (TABLE,)
    option = (Extent | None, None)
    stage = "Measures how far points are from the origin."
    columns = ("extent_largest",)

    def compute(self, result, known):
        import numpy as np

        from mlcli.base.stages.stage import running

        with running("extent"):
            power = result.config.report.setting("extent").power
            return {"largest": float(np.linalg.norm(result.model.embedding, axis=1).max() ** power)}

    def sections(self, value, run):
        from mlcli.report.drawing.html import section, sentence

        said = sentence(f"Points are up to {value['largest']:.6g} from the origin.")
        return [(Place.RESULT, section("Extent", said))]

    def facts(self, value):
        return {} if value is None else {"extent": {"extent_largest": value["largest"]}}

    def headline(self):
        return self.columns

    def lines(self, summary):
        fact = summary.get("extent")
        return (f"extent: {fact['extent_largest']:.6g}",) if fact else ()
'''


def test_a_finding_of_a_package_is_off_until_the_option_of_its_name_is_given(tmp_path: Path, table: Path) -> None:
    (tmp_path / "added_extent.py").write_text(FINDING)
    describe(tmp_path, "mlcli-extent", "0.3", {"mlcli.findings": {"extent": "added_extent:ExtentFinding"}})
    here, plain, folder = on_path(tmp_path), tmp_path / "plain", tmp_path / "run"
    assert call("embed", table, "-q", "-o", plain, **here).returncode == 0
    measured = "embed", table, "--set", "report.extent.power=2"
    ended = call(*measured, "-o", folder, **here)
    assert ended.returncode == 0 and "\nextent: " in ended.stderr.replace("mlcli: ", ""), ended.stderr
    ended = call(*measured, "--json", "-o", folder, "--force", **here)
    values = np.loadtxt(folder / "embedding.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    largest = float(np.square(values).sum(axis=1).max())
    assert json.loads(ended.stdout)["extent"]["extent_largest"] == pytest.approx(largest, rel=1e-12)
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["plugins"] == [{"table": "findings", "name": "extent", "package": "mlcli-extent", "version": "0.3"}]
    assert "extent.json" in manifest["files"] and "plugins" not in json.loads((plain / "run.json").read_text())
    assert {path.name for path in folder.iterdir()} - {path.name for path in plain.iterdir()} == {"extent.json"}
    page = (folder / "report.html").read_bytes()
    assert b"Points are up to" in page and b"Measures how far points" in page
    assert call("report", folder, **here).returncode == 0 and (folder / "report.html").read_bytes() == page
    assert call("verify", folder, **here).returncode == 0
    assert call("collect", tmp_path, "-o", tmp_path / "table", "-q", **here).returncode == 0
    assert "extent_largest" in (tmp_path / "table" / "runs.csv").read_text().splitlines()[0]
    (folder / "extent.json").write_text("{}")
    assert call("report", folder, **here).returncode == 83
    assert json.loads(call("schema", **here).stdout)["$defs"]["Extent"]["properties"]["power"]["default"] == 1.0
    wrong = call("embed", table, "--set", "report.extent.power=0", "-o", tmp_path / "no", **here)
    assert wrong.returncode == 78 and "report.extent.power " in wrong.stderr
    lacking = call("report", folder)
    assert lacking.returncode == 69
    assert "finding 'extent' " in lacking.stderr and " mlcli-extent 0.3" in lacking.stderr


def test_a_sweep_sends_the_options_of_a_finding_of_a_package_to_its_processes(tmp_path: Path, table: Path) -> None:
    (tmp_path / "added_extent.py").write_text(FINDING)
    describe(tmp_path, "mlcli-extent", "0.3", {"mlcli.findings": {"extent": "added_extent:ExtentFinding"}})
    (tmp_path / "sweep.yaml").write_text(
        f"input: {{path: {table}}}\nmethod: {{name: isomap}}\nreport: {{extent: {{}}}}\noutput: {tmp_path / 'swept'}\n"
        "sweep: {method.neighbors.count: [7, 8, 9]}\n")
    ended = call("run", tmp_path / "sweep.yaml", "-q", "--jobs", "2", **on_path(tmp_path))
    assert ended.returncode == 0, ended.stderr
    lines = (tmp_path / "swept" / "runs.csv").read_text().splitlines()
    place = lines[0].split(",").index("extent_largest")
    assert len(lines) == 4 and all(float(line.split(",")[place]) > 0 for line in lines[1:])


def test_code_of_a_package_that_fails_in_a_run_is_named(tmp_path: Path, table: Path) -> None:
    (tmp_path / "failing.py").write_text(
        "from typing import Literal\nfrom mlcli.methods.principal.pca import PCA\n\n\nclass Failing(PCA):\n"
        "    name: Literal['failing'] = 'failing'\n\n    def solve(self, data, compute):\n"
        "        return data.nothing\n")
    describe(tmp_path, "mlcli-failing", "3.1", {"mlcli.methods": {"failing": "failing:Failing"}})
    ended = call("embed", table, "-m", "failing", "-o", tmp_path / "run", **on_path(tmp_path))
    assert ended.returncode == 69 and "Traceback" not in ended.stderr and not (tmp_path / "run").exists()
    assert "method 'failing' of package mlcli-failing 3.1 " in ended.stderr and "AttributeError" in ended.stderr
    log = Path(ended.stderr.partition("traceback in ")[2].partition(";")[0])
    assert "data.nothing" in log.read_text()
    log.unlink()
