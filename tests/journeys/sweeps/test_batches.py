"""`--skip-existing`, `--shard` and `collect`: a sweep in parts is the sweep in one."""

import contextlib
import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcli.cli.batch import launch
from mlcli.cli.batch.shard import Shard, shard_of
from mlcli.cli.program import run
from mlcli.errors import UsageError
from tests.journeys.support import Caller, write_points
from tests.wording import Wording

SWEEP = ("input: {path: data.csv}\nmethod: {name: isomap}\noutput: out\n"
         "sweep: {method.neighbors.count: [6, 8], method.eigensolve.components: [1, 2]}\n")
MADE = ("seconds", "memory_mib")  # columns that differ from one making to the next


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep."""
    folder = tmp_path_factory.mktemp("sweep")
    with contextlib.chdir(folder):
        write_points(Path("data.csv"))
        Path("sweep.yaml").write_text(SWEEP)
        assert run(["run", "sweep.yaml", "-q"]) == 0
    return folder


@pytest.fixture
def swept(mlcli: Caller, made: Path) -> Caller:
    """The command line where the sweep lies."""
    shutil.copytree(made, ".", dirs_exist_ok=True)
    return mlcli


def table(path: str) -> list[dict[str, str]]:
    """The rows of a table of runs, without what each making changes."""
    with Path(path).open(newline="") as file:
        return [{key: cell for key, cell in row.items() if key not in MADE} for row in csv.DictReader(file)]


def written(folder: str) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in Path(folder).glob("*/*")}


@pytest.mark.medium
def test_what_is_there_is_kept_and_what_is_not_is_made(swept: Caller) -> None:
    before, rows = written("out"), table("out/runs.csv")
    gone = Path("out/count=8,components=2")
    for path in gone.iterdir():
        path.unlink()
    again = swept("run", "sweep.yaml", "--skip-existing", "--json", "--progress", "none")
    assert again.code == 0, again.err
    documents = json.loads(again.out)["runs"]
    assert [made["run"] for made in documents if not made.get("skipped")] == [str(gone)]
    assert {path: time for path, time in written("out").items() if not path.startswith(f"{gone}/")} == {
        path: time for path, time in before.items() if not path.startswith(f"{gone}/")}
    assert table("out/runs.csv") == rows
    assert swept("run", "sweep.yaml", "-q").code == 73


def another_option(values: str) -> list[str]:
    return ["--set", values]


@pytest.mark.parametrize("change", [
    lambda: another_option("method.neighbors.pieces=connect"),
    lambda: write_points(Path("data.csv"), seed=1) and [],
    lambda: Path("out/count=6,components=1/model.json").write_text("{}") and [],
    lambda: Path("out/count=6,components=1/run.json").unlink() or [],
], ids=["options", "input", "file", "no run"])
def test_what_is_there_and_is_another_run_is_not_kept(swept: Caller, change: Callable[[], list[str]],
                                                      wording: Wording) -> None:
    more = change()
    called = swept("run", "sweep.yaml", "--skip-existing", "-q", *more)
    assert called.code == 73
    assert wording(called.err.splitlines()[0]) == ["E-OUTPUT-OTHER"]


@pytest.mark.medium
def test_another_run_is_replaced_by_force(swept: Caller) -> None:
    before = written("out")
    called = swept("run", "sweep.yaml", "--skip-existing", "--force", "-q", "--set", "compute.seed=3")
    after = written("out")
    assert called.code == 0 and all(after[path] > time for path, time in before.items())


def test_threads_and_places_are_not_part_of_what_is_asked_for(swept: Caller) -> None:
    Path("data.csv").rename("moved.csv")
    Path("sweep.yaml").write_text(SWEEP.replace("data.csv", "moved.csv"))
    called = swept("run", "sweep.yaml", "--skip-existing", "--threads", "1", "--json")
    assert all(made["skipped"] for made in json.loads(called.out)["runs"])


def test_a_single_run_is_kept_too(mlcli: Caller, wording: Wording) -> None:
    mlcli.finished("embed", "data.csv", "-o", "one", "-q")
    called = mlcli("embed", "data.csv", "-o", "one", "--skip-existing")
    assert called.code == 0 and wording(called.err) == []
    assert mlcli("embed", "data.csv", "-o", "one", "-p", "3", "--skip-existing").code == 73


@pytest.mark.medium
def test_shards_make_every_run_once_and_collect_makes_the_sweeps_table(swept: Caller) -> None:
    Path("out").rename("whole")
    for place in (1, 2, 3):
        assert swept("run", "sweep.yaml", "-q", "--shard", f"{place}/3").code == 0
    assert [len(table(f"out/runs.{place}-of-3.csv")) for place in (1, 2, 3)] == [2, 1, 1]
    assert not Path("out/runs.html").exists()
    assert swept("collect", "out", "-q").code == 0
    assert table("out/runs.csv") == table("whole/runs.csv")
    page = Path("out/runs.html").read_text()
    assert page.count("count=6,components=2") >= 2 and "Quality against method.neighbors.count" in page


def test_runs_from_several_places_and_failed_ones(swept: Caller) -> None:
    failed = Path("elsewhere/count=1.failed")
    failed.mkdir(parents=True)
    error = {"code": "E-KRYLOV", "exit": 80, "what": "2 of 3 converged", "where": "", "hint": ""}
    (failed / "error.json").write_text(json.dumps({"format": 1, "error": error, "files": {}}))
    Path("out/count=6,components=1").rename("elsewhere/first")
    called = swept("collect", "out", "elsewhere", "-o", "all", "--json")
    assert called.code == 0, called.err
    document = json.loads(called.out)
    assert document["parameters"] == ["method.neighbors.count", "method.eigensolve.components"]
    rows = table("all/runs.csv")
    assert [row["run"] for row in rows] == ["first", *(f"count={count},components={kept}" for count in (6, 8)
                                            for kept in (1, 2) if (count, kept) != (6, 1)), "count=1.failed"]
    assert (rows[-1]["exit"], rows[-1]["error"]) == ("80", "E-KRYLOV: 2 of 3 converged")
    assert ", 1 of which failed or cannot be read: 'count=1.failed'\n" in swept("collect", "elsewhere").err


def test_a_table_elsewhere_is_replaced_with_force_alone(swept: Caller) -> None:
    Path("all").mkdir()
    Path("all/runs.csv").write_text("of someone else\n", encoding="utf-8")
    refused = swept("collect", "out", "-o", "all")
    assert refused.code == 73 and "--force" in refused.err and not Path("all/runs.html").exists()
    assert Path("all/runs.csv").read_text(encoding="utf-8") == "of someone else\n"
    assert swept("collect", "out", "-o", "all", "--force", "-q").code == 0
    assert table("all/runs.csv") == table("out/runs.csv") and Path("all/runs.html").exists()


@pytest.mark.parametrize(("arguments", "code", "name"), [
    (["out", "sweep.yaml"], 2, "E-COLLECT"), (["empty"], 66, "E-NO-RUNS"), (["absent"], 66, "E-NO-RUNS"),
    (["out", "--label-column", "kind"], 78, "E-COMPARE-LABEL"),
])
def test_what_cannot_be_collected(swept: Caller, arguments: list[str], code: int, name: str) -> None:
    Path("empty").mkdir()
    called = swept("collect", *arguments)
    assert (called.code, called.err.split("]")[0]) == (code, f"mlcli: error[{name}")


@pytest.mark.parametrize(("file", "old", "new", "code"), [
    ("quality.json", "0.", "1.", "E-HASH"), ("embedding.csv", "0.", "1.", "E-HASH"),
    ("config.yaml", "name: isomap", "name: [isomap", "E-RUN-FILES"),
    ("run.json", '"format": 1', '"format": 9', "E-MANIFEST"), ("run.json", '"seed": 0', '"seed": -1', "E-RUN-FILES")])
def test_a_damaged_run_is_a_row_that_says_so(swept: Caller, file: str, old: str, new: str, code: str) -> None:
    path = Path("out/count=6,components=1", file)
    before, text = table("out/runs.csv"), path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    called = swept("collect", "out")
    assert called.code == 0 and " 4 runs, 1 of " in called.err
    rows = {row["run"]: row for row in table("out/runs.csv")}
    damaged = rows.pop("count=6,components=1")
    assert (damaged["exit"], damaged["error"].partition(":")[0]) == ("83", code)
    assert list(rows.values()) == [row for row in before if row["run"] in rows]
    assert Path("out/runs.html").read_text().count("count=8,components=2") >= 2


def test_a_failure_that_cannot_be_read_is_a_row_too(swept: Caller) -> None:
    Path("out/broken.failed").mkdir()
    Path("out/broken.failed/error.json").write_text("{")
    assert swept("collect", "out", "-q").code == 0
    assert table("out/runs.csv")[-1]["error"].startswith("E-RUN-FILES")


@pytest.mark.medium
def test_each_real_folder_is_collected_once(swept: Caller) -> None:
    before = table("out/runs.csv")
    Path("out/itself").symlink_to(".")
    Path("out/above").symlink_to("..")
    Path("out/again").symlink_to("count=6,components=1")
    Path("out/gone").symlink_to("nothing")
    assert swept("collect", "out", "-q").code == 0
    assert table("out/runs.csv") == before
    assert swept("collect", "out", "out/again", "out/itself", "-o", "all", "-q").code == 0
    assert table("all/runs.csv") == before
    Path("far").mkdir()
    Path("out/count=8,components=1").rename("far/run")
    Path("far/back").symlink_to("../out")
    Path("out/far").symlink_to("../far")
    assert swept("collect", "out", "-q").code == 0
    assert sorted(row["run"] for row in table("out/runs.csv")) == [
        "count=6,components=1", "count=6,components=2", "count=8,components=2", "far/run"]


def test_shares_are_disjoint_and_complete() -> None:
    runs = list(range(11))
    for count in range(1, 14):
        parts = [Shard(place, count).of(runs) for place in range(1, count + 1)]
        assert sorted(run for part in parts for run in part) == runs
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def task(**values: int) -> dict[str, str]:
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in values.items()}


@pytest.mark.parametrize(("text", "variables", "shard"), [
    ("2/8", {}, Shard(2, 8)), ("1/1", {}, Shard(1, 1)),
    ("slurm", task(ID=1, MIN=1, MAX=4, COUNT=4), Shard(1, 4)),
    ("slurm", task(ID=7, MIN=0, MAX=9, COUNT=10, STEP=1), Shard(8, 10)),
    ("slurm", task(ID=9, MIN=1, MAX=13, COUNT=4, STEP=4), Shard(3, 4)),
])
def test_the_shares_that_are_asked_for(text: str, variables: dict[str, str], shard: Shard) -> None:
    assert shard_of(text, variables) == shard


@pytest.mark.parametrize(("text", "variables"), [
    ("0/4", {}), ("5/4", {}), ("2", {}), ("a/b", {}), ("-1/3", {}), ("", {}), ("slurm", {}),
    ("slurm", task(ID=1, MIN=1, MAX=4)), ("slurm", task(ID=3, MIN=1, MAX=7, COUNT=3)),
    ("slurm", task(ID=9, MIN=1, MAX=4, COUNT=4)),
    ("slurm", {**task(ID=1, MIN=1, MAX=1), "SLURM_ARRAY_TASK_COUNT": "x"}),
])
def test_what_is_no_share(text: str, variables: dict[str, str]) -> None:
    with pytest.raises(UsageError) as refused:
        shard_of(text, variables)
    assert refused.value.code == "E-SHARD"


def test_a_run_that_another_sweep_made_meanwhile_is_skipped(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sweep.yaml").write_text("input: {path: data.csv}\nmethod: {name: pca}\noutput: out\n"
                                  "sweep: {compute.seed: [0, 1]}\n")
    assert mlcli("run", "sweep.yaml", "-q").code == 0
    before, looked = [path.stat().st_ino for path in sorted(Path("out").iterdir()) if path.is_dir()], list[str]()
    look = launch.existing

    def late(run: launch.PlannedRun, presentation: launch.Presentation) -> launch.Document | None:
        looked.append(str(run.config.output))
        return look(run, presentation) if looked.count(looked[-1]) > 1 else None  # not there yet when it was looked for

    monkeypatch.setattr(launch, "existing", late)
    called = mlcli("run", "sweep.yaml", "--skip-existing", "-q")
    assert called.code == 0 and len(looked) == 4, called.err
    assert [path.stat().st_ino for path in sorted(Path("out").iterdir()) if path.is_dir()] == before
