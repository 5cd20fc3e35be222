"""`mlcli plan` says what it was given in the words of its kind."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mlcli.base.machine import footprint
from mlcli.base.machine.footprint import resident
from mlcli.base.machine.rates import Rates, document, reference
from mlcli.base.rows.source import Rows
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.extras import missing_module
from mlcli.core.chain import graphs
from mlcli.core.chain.graphs import fill_of
from mlcli.core.graph.neighbors import ApproximateNearest
from mlcli.data.files import source
from mlcli.data.files.source import open_input
from mlcli.data.formats.reader import block_file_of
from mlcli.data.options.formats import FORMATS
from mlcli.data.options.input import Input
from mlcli.data.read import blocks
from mlcli.methods.neighbor_embedding import walk
from mlcli.planning import plan as planning
from mlcli.rundir import disk_space
from tests.journeys.support import Caller
from tests.native.support import needs_native
from tests.wording import Wording


@pytest.mark.parametrize("method", ["pca", "fa"])
def test_a_covariance_has_columns_and_no_rows(mlcli: Caller, method: str) -> None:
    points = np.random.default_rng(0).standard_normal((50, 6))
    np.save("covariance.npy", np.cov(points.T))
    given = ("covariance.npy", "-m", method, "--set", "input.kind=covariance", "--set", "input.observations=50")
    called = mlcli("plan", *given)
    assert called.code == 0, called.err
    assert called.out.splitlines()[0].startswith(f"{method}: the covariance of 6 columns, ")
    assert "row" not in called.out
    document = json.loads(mlcli("plan", *given, "--json").out)
    assert (document["kind"], document["rows"], document["columns"]) == ("covariance", 0, 6)


def test_points_have_rows_and_columns(mlcli: Caller) -> None:
    assert Path("data.csv").is_file()
    called = mlcli("plan", "data.csv")
    assert called.out.startswith("pca: 30 rows x 3 columns, ")


def test_fewer_columns_take_less_time_and_memory(mlcli: Caller) -> None:
    np.save("wide.npy", np.random.default_rng(0).random((500, 400)))
    whole, fewer = ({step["stage"]: step for step in json.loads(
        mlcli("plan", "wide.npy", "-m", "isomap", *chosen, "--json").out)["steps"]}
        for chosen in ([], ["--columns", "x1:x20"]))
    for stage in ("prepare", "neighbors"):
        assert fewer[stage]["seconds"] < whole[stage]["seconds"] and fewer[stage]["memory"] < whole[stage]["memory"]


@pytest.fixture
def roll() -> str:
    """A swiss roll of more points than the whole spectrum is computed for."""
    generator = np.random.default_rng(0)
    angle = 1.5 * np.pi * (1 + 2 * generator.random(2300))
    np.save("roll.npy", np.column_stack([angle * np.cos(angle), 21 * generator.random(2300), angle * np.sin(angle)]))
    return "roll.npy"


@pytest.mark.medium
def test_what_is_planned_is_what_runs(mlcli: Caller, roll: str) -> None:
    steps = {step["stage"]: step for step in json.loads(mlcli("plan", roll, "-m", "isomap", "--json").out)["steps"]}
    assert mlcli("embed", roll, "-m", "isomap", "-o", "run").code == 0
    facts = json.loads(Path("run/run.json").read_text())["facts"]
    assert steps["paths"]["how"] == next(fact["message"] for fact in facts if fact["code"] == "F-PATHS")
    assert steps["paths"]["how"].startswith("dijkstra, streamed" if "elimination" not in steps["paths"]["how"]
                                            else "elimination, streamed")


@pytest.mark.parametrize("algorithm", ["auto", "dijkstra"])
def test_a_measured_share_stands_beside_the_prediction(mlcli: Caller, roll: str, algorithm: str) -> None:
    called = mlcli("plan", roll, "-m", "isomap", "--set", f"method.paths.algorithm={algorithm}", "--set",
                   "method.paths.store=streamed", "--measure", "0.05", "--json")
    document = json.loads(called.out)
    measured = {step["stage"]: step["measured"] for step in document["steps"]}
    assert measured["eigensolve"] > 0 and measured["neighbors"] is None
    others = sum(step["seconds"] for step in document["steps"] if step["measured"] is None)
    assert document["seconds_measured"] == pytest.approx(others + measured["eigensolve"])


@needs_native
def test_on_a_cluster_only_passes_change(mlcli: Caller, roll: str) -> None:
    def steps(*more: str) -> dict[str, dict]:
        document = json.loads(mlcli("plan", roll, "-m", "isomap", "--json", *more).out)
        assert document["workers"] == (int(more[1]) if more else None)
        return {step["stage"]: step for step in document["steps"]}

    here, one, many = steps(), steps("--cluster", "1"), steps("--cluster", "8")
    assert {name for name in here if here[name] != many[name]} == {"eigensolve"}
    assert "on 8 workers" in many["eigensolve"]["how"]
    assert 0 < many["eigensolve"]["seconds"] < one["eigensolve"]["seconds"]


@pytest.mark.parametrize(("form", "stages"), [
    (("-m", "pca"), {"read", "eigensolve"}), (("-m", "ppca"), {"read", "eigensolve"}),
    (("-m", "lda", "--label-column", "kind"), {"read", "discriminants"}),
    (("-m", "kpca", "--kernel", "gaussian", "--set", "method.landmarks=50"), {"read", "coordinates"})],
                         ids=lambda part: part[1] if isinstance(part, tuple) else "")
def test_passes_over_a_table_in_blocks_are_predicted_on_workers(mlcli: Caller, form: tuple[str, ...],
                                                                stages: set[str]) -> None:
    generator = np.random.default_rng(0)
    kinds = np.array(["a", "b", "c"])[generator.integers(0, 3, 20_000)]
    parquet.write_table(pa.table({"kind": kinds, **{f"x{j}": generator.standard_normal(20_000) for j in range(20)}}),
                        "t.parquet", row_group_size=500)
    columns = () if "kind" in form else ("--columns", "x0,x1,x2,x3,x4,x5,x6,x7,x8,x9")
    asked = ("plan", "t.parquet", *form, *columns, "--set", "input.stream=always", "--threads", "1")
    here, there = (json.loads(mlcli(*asked, "--json", *more).out)["steps"] for more in ((), ("--cluster", "4")))
    changed = {after["stage"]: (before, after) for before, after in zip(here, there, strict=True) if before != after}
    assert {*changed} == stages
    for before, after in changed.values():
        assert "; on 4 workers, " in after["how"] and after["memory"] == before["memory"]
    assert "stages without workers are predicted as of this machine" in mlcli(*asked, "--cluster", "4").out


@needs_native
@pytest.mark.parametrize(("worth", "stages"), [(1e9, {"eigensolve"}), (0.0, {"neighbors", "eigensolve", "quality"})])
def test_searches_and_quality_are_predicted_on_workers_where_they_go_there(
        mlcli: Caller, roll: str, worth: float, stages: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("mlcli.engine.executor", "mlcli.core.graph.search"):
        monkeypatch.setattr(f"{module}.WORTH", worth)
    steps = json.loads(mlcli("plan", roll, "-m", "isomap", "--cluster", "3", "--json").out)["steps"]
    assert {step["stage"] for step in steps if "on 3 workers" in step["how"]} == stages


def test_landmarks_place_rows_in_blocks_within_the_memory_of_a_few(mlcli: Caller) -> None:
    np.save("long.npy", np.random.default_rng(0).standard_normal((60_000, 3)))
    steps = json.loads(mlcli("plan", "long.npy", "-m", "kpca", "--kernel", "gaussian", "--set", "method.landmarks=300",
                             "--set", "input.stream=always", "--threads", "1", "--json").out)["steps"]
    memory, = (step["memory"] for step in steps if step["stage"] == "coordinates")
    assert memory < 0.5 * 8 * 60_000 * 300


def test_workers_of_this_machine_take_memory(mlcli: Caller, roll: str) -> None:
    def memory(cluster: str) -> float:
        return json.loads(mlcli("plan", roll, "-m", "isomap", "--set", "method.paths.store=streamed",
                                "--set", f"compute.cluster={cluster}", "--json").out)["memory"]

    alone, one, three = memory("tcp://127.0.0.1:8786"), memory("local:1"), memory("local:3")
    assert alone + footprint.DASK + footprint.WORKER < one
    assert three - one == pytest.approx(2 * (one - alone - footprint.DASK))


def test_what_does_not_fit_is_82(mlcli: Caller, roll: str) -> None:
    called = mlcli("plan", roll, "-m", "isomap", "--set", "compute.memory_limit=64MB")
    assert called.code == 82
    assert any(line.endswith("(compute.memory_limit): does not fit") for line in called.out.splitlines())
    short = mlcli("plan", roll, "-m", "isomap", "--set", "compute.memory_limit=64MB", "-q")
    assert short.code == 82 and short.out.splitlines() == called.out.splitlines()[-len(short.out.splitlines()):]
    assert "neighbors:" in called.out and "neighbors:" not in short.out
    assert mlcli("plan", roll, "-m", "isomap", "-q").out == ""


@pytest.mark.medium
@pytest.mark.parametrize("megabytes", [160, 270])
def test_no_fewer_rows_of_a_covariance_matrix_are_proposed(mlcli: Caller, megabytes: int) -> None:
    """Its rows are columns of a table."""
    np.save("cov.npy", np.eye(3000))
    refused = mlcli("embed", "cov.npy", "--kind", "covariance", "-m", "pca", "--threads", "1", "--memory-limit",
                    f"{megabytes}M", "-o", "run", "-q")
    assert refused.code == 82 and "rows fit" not in refused.err


@pytest.mark.medium
@pytest.mark.parametrize("given", [("-m", "pca"), ("-m", "mds"), ("-m", "isomap", "-k", "9"), ("-m", "lle", "-k", "9")])
def test_as_many_rows_as_a_refusal_says_fit(mlcli: Caller, roll: str, given: tuple[str, ...]) -> None:
    np.save(roll, np.load(roll)[:1900])
    whole = json.loads(mlcli("plan", roll, *given, "--threads", "1", "--json").out)["memory"]
    limit = str(round(resident(1) + 0.5 * (whole - resident(1))))
    refused = mlcli("embed", roll, *given, "--threads", "1", "--memory-limit", limit, "-o", "run", "-q")
    assert refused.code == 82, refused.err
    rows = int(refused.err.split(" rows fit")[0].split()[-1].replace(",", ""))
    points = np.load(roll)
    np.save("fewer.npy", points[np.linspace(0, len(points) - 1, rows).astype(int)])
    assert rows > 100
    followed = mlcli("embed", "fewer.npy", *given, "--threads", "1", "--memory-limit", limit, "-o", "run", "-q")
    assert followed.code == 0, followed.err


@pytest.mark.skipif(bool(missing_module("plot")), reason="there is no Matplotlib")
def test_names_that_do_not_fit_are_refused_with_how_to_do_without(mlcli: Caller,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footprint, "sys", SimpleNamespace(modules={}))  # as in a process that has drawn nothing yet
    labels = ("--set", "report.point_labels=ids")
    lines = [f"site{row},{row * row},{row % 7}" for row in range(40)]
    Path("named.csv").write_text("\n".join([",x,y", *lines]), encoding="utf-8")
    plain, named = (json.loads(mlcli("plan", "named.csv", *more, "--json").out)["memory"]
                    for more in ([], [*labels]))
    limit = ("--memory-limit", str(round((plain + named) / 2)), "--set", "input.stream=never")
    called = mlcli("embed", "named.csv", "-o", "run", *limit, *labels)
    assert called.code == 82 and "--set report.point_labels=none" in called.err
    assert mlcli("plan", "named.csv", *limit, *labels).code == 82
    assert mlcli("embed", "named.csv", "-o", "-", *limit).code == 0  # draws nothing
    assert mlcli("embed", "named.csv", "-o", "run", *limit).code == 0


def test_iterations_whose_number_is_not_known_are_told_each(mlcli: Caller) -> None:
    planned = json.loads(mlcli("plan", "data.csv", "-m", "lgssm", "-p", "1", "--json").out)
    step = next(step for step in planned["steps"] if step["stage"] == "iterate")
    assert 0 < step["usual"] < step["most"] == 10_000
    assert step["seconds"] >= step["usual"] * step["each"] > 0  # and what is loaded for it
    assert planned["seconds_at_most"] == pytest.approx(
        planned["seconds"] + (step["most"] - step["usual"]) * step["each"])
    lines = mlcli("plan", "data.csv", "-m", "lgssm", "-p", "1").out
    assert "per iteration" in lines and "10000 at most" in lines
    assert "per iteration" not in mlcli("plan", "data.csv").out


@needs_native
def test_passes_are_told_as_a_range(mlcli: Caller) -> None:
    np.save("many.npy", np.random.default_rng(0).random((2_500, 2)))
    planned = json.loads(mlcli("plan", "many.npy", "-m", "isomap", "--json").out)
    passes = next(step for step in planned["steps"] if step["stage"] == "eigensolve")
    assert "2 to 5 passes" in passes["how"]
    few, many = planned["seconds_between"]
    rest = planned["seconds"] - passes["seconds"]
    assert few == pytest.approx(rest + 2 / 3 * passes["seconds"])
    assert many == pytest.approx(rest + 5 / 3 * passes["seconds"])
    assert "by the number of passes" in mlcli("plan", "many.npy", "-m", "isomap").out
    assert json.loads(mlcli("plan", "many.npy", "--json").out)["seconds_between"] is None


def rates_file(name: str, times: float) -> None:
    """A file of rates so many times the reference."""
    slower = Rates(**{key: times * value for key, value in asdict(reference()).items()})
    Path(name).write_text(json.dumps(document(slower, {"processor": "a test"})))


@pytest.mark.parametrize("method", ["pca", "isomap", "lle", "lgssm", "gplvm"])
def test_seconds_go_by_the_rates_and_choices_do_not(mlcli: Caller, roll: str, method: str,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    rates_file("rates.json", 10.0)
    given = ("data.csv" if method in ("lgssm", "gplvm") else roll, "-m", method, "--json")
    plain, slower = (json.loads(mlcli("plan", *given, *more).out) for more in ((), ("--rates", "rates.json")))
    assert 5 < slower["seconds"] / plain["seconds"] <= 10.001
    assert slower["rates"] == {"file": "rates.json", "machine": "a test"}
    assert [step["how"] for step in slower["steps"]] == [step["how"] for step in plain["steps"]]
    assert slower["memory"] == plain["memory"]
    monkeypatch.setenv("MLCLI_RATES", "rates.json")
    assert json.loads(mlcli("plan", *given).out)["seconds"] == slower["seconds"]


WRONG = {"nothing there": None, "no JSON": "{", "other JSON": "[]", "another format": '{"format": "other"}',
         "a rate missing": json.dumps({"format": "mlcli-rates-1", "machine": {}, "seconds": {"start": 1.0}}),
         "a rate of zero": json.dumps(document(Rates(moved=0.0), {})),
         "a rate that is text": json.dumps({**document(Rates(), {}), "seconds": {**asdict(Rates()), "heap": "quick"}})}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_of_rates_is_refused(mlcli: Caller, name: str) -> None:
    if (text := WRONG[name]) is not None:
        Path("rates.json").write_text(text)
    called = mlcli("plan", "data.csv", "--rates", "rates.json")
    assert called.code == 78
    assert "E-RATES" in called.err and "rates.json" in called.err and "doctor --calibrate" in called.err


def test_kernels_of_a_sum_are_planned_as_each_alone(mlcli: Caller) -> None:
    """The kernel matrix of a table takes as long as that of a chain of its columns."""
    np.save("points.npy", np.random.default_rng(0).standard_normal((1000, 6)))

    def seconds(kernel: str) -> float:
        called = mlcli("plan", "points.npy", "-m", "chain", "--set", f"method.kernel={kernel}", "--json")
        return float(next(step["seconds"] for step in json.loads(called.out)["steps"] if step["stage"] == "kernel"))

    gaussian = "{name: gaussian, rate: 0.1}"
    tables = ", ".join(f"{{name: {name}, columns: [{columns}], kernel: {gaussian}}}"
                       for name, columns in (("one", "'x1:x3'"), ("two", "'x4:x6'")))
    assert seconds(f"{{name: sum, tables: [{tables}]}}") == pytest.approx(2 * seconds(gaussian), rel=0.1)


def test_distances_from_a_sample_to_all_points_are_counted(mlcli: Caller) -> None:
    """The certificate of t-SNE computes those of 200 rows; that of a long layout by UMAP has none."""
    points = np.random.default_rng(0).standard_normal((6000, 20))

    def seconds(rows: int, *method: str) -> float:
        np.save("points.npy", points[:rows])
        steps = json.loads(mlcli("plan", "points.npy", "--threads", "1", "--json", "-m", *method).out)["steps"]
        return float(next(step["seconds"] for step in steps if step["stage"] == "certify"))

    few, many = (seconds(rows, "tsne") - seconds(rows, "umap", "--set", "method.epochs=100000")
                 for rows in (3000, 6000))
    assert few > 3000 * 200 * 20 * 2e-10
    assert many == pytest.approx(2 * few, rel=0.1)


@pytest.mark.medium
def test_a_layout_that_the_certificate_repeats_is_counted_twice(mlcli: Caller) -> None:
    """Of few edges and epochs; of many no more than the rest of the certificate takes."""
    np.save("points.npy", np.random.default_rng(0).standard_normal((400, 5)))

    def seconds(*epochs: str) -> dict[str, float]:
        called = mlcli("plan", "points.npy", "-m", "umap", "--json", *epochs)
        return {step["stage"]: step["seconds"] for step in json.loads(called.out)["steps"]}

    few, many = seconds(), seconds("--set", "method.epochs=100000")
    assert few["certify"] > 0.1 and many["iterate"] > 10 and many["certify"] < few["certify"] / 2


def test_a_device_is_no_file_of_rates(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("plan", "data.csv", "--rates", "/dev/zero")
    assert called.code == 78 and "E-RATES" in called.err and "E-RATES" in wording(called.err)


def test_a_file_of_rates_is_read_as_far_as_one_may_reach(mlcli: Caller, wording: Wording) -> None:
    with Path("rates.json").open("wb") as file:
        file.truncate(1 << 36)  # which no memory holds
    assert "E-RATES" in wording(mlcli("plan", "data.csv", "--rates", "rates.json").err)


@pytest.mark.slow
def test_this_machine_s_rates_are_measured(mlcli: Caller) -> None:
    called = mlcli("doctor", "--calibrate", "rates.json", "--json")
    assert called.code == 0, called.err
    known, measured = asdict(reference()), json.loads(called.out)["rates"]["seconds"]
    assert all(known[name] / 30 < seconds < 30 * known[name] for name, seconds in measured.items())
    assert mlcli("plan", "data.csv", "--rates", "rates.json").code == 0
    assert mlcli("doctor", "--calibrate", "rates.json").code == 0


def test_calibration_replaces_rates_only(mlcli: Caller) -> None:
    before = Path("data.csv").read_bytes()
    assert mlcli("doctor", "--calibrate", "data.csv").code == 78
    assert Path("data.csv").read_bytes() == before


def test_what_the_disk_has_no_room_for_is_refused(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save("points.npy", np.random.default_rng(0).standard_normal((3000, 60)))
    monkeypatch.setattr(disk_space, "free_bytes", lambda output: 2**20)
    given = ("points.npy", "-m", "mds", "--set", "method.landmarks=50")
    assert mlcli("plan", *given).code == 0  # of landmarks the model is small
    refused = mlcli("embed", "points.npy", "-m", "lle", "-o", "run", "-q")
    assert refused.code == 82 and "E-DISK" in refused.err
    assert not Path("run").exists()
    assert ": does not fit" in mlcli("plan", "points.npy", "-m", "lle").out


@pytest.mark.medium
@pytest.mark.parametrize("given", ["umap --set method.epochs=20", "isomap --set method.landmarks=50", "laplacian",
                                   "diffusion --set method.nearest=20", "sammon --set method.iterate.limit=3",
                                   "umap --set method.epochs=20 --interactive"])
def test_the_disk_that_a_run_takes_is_what_the_plan_says(mlcli: Caller, given: str) -> None:
    np.save("points.npy", np.random.default_rng(0).standard_normal((900, 80)))
    method, *options = given.split()
    planned = json.loads(mlcli("plan", "points.npy", "-m", method, *options, "--json").out)["disk"]
    assert mlcli("embed", "points.npy", "-m", method, *options, "-o", "run", "-q").code == 0
    taken = sum(file.stat().st_size for file in Path("run").iterdir())
    assert 0.75 <= planned / taken <= 1.35


@pytest.mark.parametrize("method", ["isomap", "sde"])
def test_a_graph_in_pieces_is_a_line_of_the_plan(mlcli: Caller, method: str) -> None:
    """What would connect it is not looked for: that can take another search for neighbors."""
    points = np.random.default_rng(0).standard_normal((60, 3))
    points[40:] += 100
    np.save("pieces.npy", points)
    called = mlcli("plan", "pieces.npy", "-m", method, "-k", "5")
    assert called.code == 0 and "in 2 pieces of 40, 20 points, which the run refuses" in called.out
    assert mlcli("embed", "pieces.npy", "-m", method, "-k", "5", "-q").code == 81
    joined = mlcli("plan", "pieces.npy", "-m", method, "-k", "5", "--set", "method.neighbors.pieces=largest")
    assert joined.code == 0 and "pieces of" not in joined.out


def blocks_in(path: str, rows: int = 20_000, columns: int = 40) -> tuple[str, ...]:
    """Options for a Parquet file of many row groups, which is read in blocks."""
    points = np.random.default_rng(0).standard_normal((rows, columns))
    parquet.write_table(pa.table({f"x{j}": points[:, j] for j in range(columns)}), path, row_group_size=2_000)
    return (path, "--set", "input.stream=always")


@pytest.mark.parametrize("given", [("data.csv",), ("t.parquet", "--set", "input.stream=always"),
                                   ("data.csv", "-m", "isomap", "-k", "5"),
                                   ("data.csv", "-m", "vae", "--set", "method.layers=[200000000]")])
def test_the_parts_of_the_memory_add_up_to_what_any_stage_takes_or_more(mlcli: Caller, given: tuple[str, ...]) -> None:
    blocks_in("t.parquet", rows=4_000)
    planned = json.loads(mlcli("plan", *given, "--json").out)
    assert sum(planned["memory_parts"].values()) == pytest.approx(planned["memory"])
    assert planned["memory"] >= max(step["memory"] for step in planned["steps"])
    called = mlcli("plan", *given).out
    assert "program, libraries and threads" in called


def test_a_table_in_blocks_is_planned_and_refused_before_a_pass(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    given = blocks_in("t.parquet")

    def passed(*args: object) -> None:
        raise AssertionError("a pass was made")

    monkeypatch.setattr(blocks, "gather", passed)
    planned = json.loads(mlcli("plan", *given, "--json").out)
    least = str(round(planned["memory"] * 0.9))
    called = mlcli("embed", *given, "--memory-limit", least, "-o", "run")
    assert called.code == 82 and "E-MEMORY" in called.err, called.err


def test_a_table_of_groups_in_blocks_is_planned_with_what_is_written_and_checked(mlcli: Caller) -> None:
    """Its fit holds hardly more than that of PCA, writes as many points as groups, and is checked by a pass."""
    np.save("many.npy", np.zeros((100_000, 24), np.float32) + np.arange(24) * np.arange(100_000)[:, None] % 7)

    def planned(*arguments: str, rows: str = "always") -> dict[str, Any]:
        called = mlcli("plan", "many.npy", *arguments, "--set", f"input.stream={rows}", "--threads", "1", "--json")
        return dict(json.loads(called.out))

    def seconds(document: dict[str, Any], stage: str) -> float:
        return float(next(step["seconds"] for step in document["steps"] if step["stage"] == stage))

    two = planned("-m", "mfa", "--groups", "a=x1:x12", "--groups", "b=x13:x24")
    four = planned("-m", "mfa", *(f"--groups={name}=x{6 * place + 1}:x{6 * place + 6}"
                                  for place, name in enumerate("abcd")))
    alone, held = planned("-m", "pca"), planned("-m", "mfa", rows="never")
    assert two["memory"] <= 1.05 * alone["memory"]
    assert seconds(two, "write") - seconds(alone, "write") == pytest.approx(
        seconds(four, "write") - seconds(two, "write"), rel=0.05)
    assert seconds(two, "certify") > 3 * seconds(held, "certify")


@pytest.mark.medium
def test_fewer_blocks_are_read_at_once_where_memory_is_short(mlcli: Caller) -> None:
    given = blocks_in("t.parquet")
    with open_input("t.parquet", Compute()) as file:
        found = block_file_of(file, Input(path="t.parquet"), FORMATS["parquet"], Compute())
    assert found is not None
    table = Rows(found.file)
    whole = Compute(threads=4, memory_limit="8G")
    short = Compute(threads=4, memory_limit=str(int((resident(4, ["pyarrow"]) + 2.5 * table.nbytes + 2**22) / 0.9)))
    assert [blocks._lanes(table, compute) for compute in (whole, short)] == [4, 2]
    limit = str(int(json.loads(mlcli("plan", *given, "--json").out)["memory"]))
    ways = {"one": ("--threads", "1"), "two": ("--threads", "2"), "short": ("--memory-limit", limit)}
    for output, more in ways.items():
        assert mlcli("embed", *given, *more, "-o", output, "-q").code == 0
    assert len({Path(output, "embedding.csv").read_bytes() for output in ("one", "two", "short")}) == 1


def test_piped_text_in_a_file_gives_what_the_file_gives(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "SPOOLED", 64)
    with Path("data.csv").open() as piped:
        monkeypatch.setattr("sys.stdin", piped)
        assert mlcli("embed", "-", "-o", "piped", "-q").code == 0
    assert mlcli("embed", "data.csv", "-o", "file", "-q").code == 0
    known, found = (json.loads(Path(run, "run.json").read_text()) for run in ("file", "piped"))
    assert found["input"]["sha256"] == known["input"]["sha256"]
    assert Path("piped/embedding.csv").read_bytes() == Path("file/embedding.csv").read_bytes()


@needs_native
@pytest.mark.parametrize("columns", [2, 8])
def test_samples_tell_how_much_a_factor_holds(columns: int) -> None:
    points = np.random.default_rng(0).random((5000, columns))
    told = fill_of(points, 10, squared=False)
    assert told is not None
    assert 0.5 < told / graphs._fill(points, 10, False) < 1.5


@needs_native
def test_the_factor_of_few_points_is_counted() -> None:
    points = np.random.default_rng(0).random((300, 3))
    assert fill_of(points, 299, squared=False) == 300 * 299 / 2  # all join all: a whole triangle


def test_an_output_of_a_name_that_is_too_long_does_not_keep_from_planning(mlcli: Caller, roll: str) -> None:
    assert mlcli("plan", roll, "--set", f"output={'y' * 300}").code == 0
    assert mlcli("embed", roll, "-o", "y" * 300, "-q").code == 73


def test_all_axes_of_euclidean_distances_are_counted_by_columns(mlcli: Caller) -> None:
    np.save("points.npy", np.random.default_rng(0).standard_normal((300, 4)))
    every, four = (json.loads(mlcli("plan", "points.npy", "-m", "mds", "-p", axes, "--json").out)["disk"]
                   for axes in ("all", "4"))
    assert every == four


def test_a_search_among_few_rows_holds_no_block_of_many(mlcli: Caller) -> None:
    assert mlcli("sample", "torus", "--rows", "20", "-o", "few.csv").code == 0
    few = ("few.csv", "-m", "isomap", "-k", "5", "--metric", "cityblock")
    steps = json.loads(mlcli("plan", *few, "--json").out)["steps"]
    assert all(step["memory"] < 2**20 for step in steps if step["stage"] == "neighbors")
    refused = mlcli("embed", *few, "--memory-limit", "20M", "-o", "small")
    assert refused.code == 82 and "compute.memory_limit" not in refused.err
    assert "; --memory-limit; " in refused.err and "raise --memory-limit" in refused.err


@pytest.mark.parametrize(("arguments", "place"), [
    (("embed", "few.csv", "-m", "isomap", "-k", "5", "--set", "compute.memory_limit=20M"),
     "--set compute.memory_limit=20M: compute.memory_limit"),
    (("run", "limited.yaml"), "limited.yaml:1:11: compute.memory_limit")])
def test_a_refusal_names_the_limit_as_it_was_written(mlcli: Caller, arguments: tuple[str, ...], place: str) -> None:
    Path("few.csv").write_text("".join(f"{row},{row * row % 7},{row % 3}.5\n" for row in range(20)))
    Path("limited.yaml").write_text(
        "compute: {memory_limit: 20M}\nmethod: {name: isomap, neighbors: {count: 5}}\n"
        "input: {path: few.csv}\n")
    refused = mlcli(*arguments, "-o", "small")
    assert refused.code == 82, refused.err
    assert "compute.memory_limit" in refused.err.partition(f"; {place}; ")[2]
    assert "--memory-limit" not in refused.err


@pytest.mark.parametrize(("method", "option"), [
    (("umap",), "method.neighbors.search"), (("tsne",), "method.search"), (("phate",), "method.search"),
    (("diffusion", "--set", "method.nearest=9"), "method.search")], ids=["umap", "tsne", "phate", "diffusion"])
def test_a_long_exact_search_names_the_approximate_one(
        method: tuple[str, ...], option: str, monkeypatch: pytest.MonkeyPatch, mlcli: Caller) -> None:
    np.save("points.npy", np.random.default_rng(0).standard_normal((300, 20)))
    monkeypatch.setattr(walk, "ALL_PAIRS", 100)
    search = ("--method", *method)
    assert "approximate" not in mlcli("plan", "points.npy", *search).out
    monkeypatch.setattr(planning, "HOUR", 0.0)
    monkeypatch.setattr(ApproximateNearest, "step", lambda self, data, compute: Step("neighbors", "", 1e-9, 0.0))
    assert f"{option}=approximate takes about 1e-09 s" in mlcli("plan", "points.npy", *search).out
    asked = (*search, "--set", f"{option}=approximate")
    assert "takes about 1e-09 s" not in mlcli("plan", "points.npy", *asked).out
    other = (*search, "--set", "method.metric=cityblock")
    assert "approximate" not in mlcli("plan", "points.npy", *other).out
