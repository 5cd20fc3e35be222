"""A table that is read in blocks of rows gives what it gives in memory, and nothing holds it whole."""

import csv
import errno
import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import ipc, parquet

from mlcli.base.machine.footprint import ARROW, resident
from mlcli.base.rows import scratch
from mlcli.base.rows.source import Rows
from mlcli.base.types import AnyArray, Array
from mlcli.core import moments_pass
from mlcli.data.files.source import Digest
from mlcli.data.read import fill_array
from mlcli.report.figures import scatter
from mlcli.rundir import disk_space as rundir_room
from tests.faults.kills.test_going_on import after_steps, keeping
from tests.journeys.support import BARE, Caller
from tests.processes import call, code_of
from tests.wording import Wording

ROWS, COLUMNS = 900, 12
GROUP = ROWS // 4  # rows of a group of Parquet
BLOCKS = ("--set", "input.stream=always")
FILES = ("t.parquet", "t.arrow", "t.npy", "t.csv")


def numbers() -> Array:
    """Rows of rank four and noise, far from the origin."""
    generator = np.random.default_rng(1)
    plane = generator.standard_normal((ROWS, 4)) * [9, 5, 3, 2] @ generator.standard_normal((4, COLUMNS))
    return plane + 0.3 * generator.standard_normal((ROWS, COLUMNS)) + 1000 * np.arange(COLUMNS)


def table(values: Array) -> pa.Table:
    columns = {f"x{place + 1}": column for place, column in enumerate(values.T)}
    return pa.table({"name": [f"r{row}" for row in range(len(values))],
                     "kind": [f"k{row % 3}" for row in range(len(values))], **columns})


@pytest.fixture(autouse=True)
def files() -> Array:
    values = numbers()
    parquet.write_table(table(values), "t.parquet", row_group_size=GROUP)
    with ipc.new_file("t.arrow", table(values).schema) as file:
        file.write_table(table(values), max_chunksize=150)
    np.save("t.npy", values)
    arrow_csv.write_csv(table(values), "t.csv")
    return values


def made(mlcli: Caller, path: str, output: str, *more: str, page: bool = False) -> dict[str, object]:
    """The run of a file, which must succeed; with quality, rules and a page where a test looks at them."""
    called = mlcli("embed", path, "-o", output, "-q", "--force", *named(path), *more, *(() if page else BARE))
    assert called.code == 0, called.err
    return json.loads(Path(output, "run.json").read_text())


def named(path: str) -> list[str]:
    return [] if path.endswith("npy") else ["--id-column", "name", "--label-column", "kind"]


def spectrum(folder: str) -> Array:
    with Path(folder, "spectrum.csv").open(encoding="utf-8") as file:
        return np.array([float(row["eigenvalue"]) for row in csv.DictReader(file)])


def embedded(folder: str) -> tuple[list[list[str]], Array]:
    """Ids and labels, and coordinates."""
    with Path(folder, "embedding.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    axes = [place for place, name in enumerate(header) if name.startswith("y")]
    return [row[: axes[0]] for row in rows], np.array([[float(row[axis]) for axis in axes] for row in rows])


def same(one: str, other: str) -> None:
    """Two runs have one spectrum and one embedding, to the rounding of their sums."""
    top = spectrum(other)[0]
    assert np.abs(spectrum(one) - spectrum(other)).max() <= 1e-12 * top
    (texts, found), (expected_texts, expected) = embedded(one), embedded(other)
    assert texts == expected_texts
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


@pytest.mark.medium
@pytest.mark.parametrize("path", FILES)
def test_blocks_of_any_format_give_the_embedding_of_the_whole_table(mlcli: Caller, path: str) -> None:
    told = made(mlcli, path, "blocks", *BLOCKS)
    made(mlcli, path, "whole")
    same("blocks", "whole")
    assert told["certificate"] == "pass"
    assert "N-STREAMED" in {note["code"] for note in told["notes"]}
    assert mlcli("verify", "blocks").code == 0
    called = mlcli("verify", "--full", "blocks")
    assert called.code == 0 and "residual" in called.out
    new = mlcli("project", "blocks", path, *named(path), "-o", "new.csv")
    assert new.code == 0, new.err
    placed = places(Path("new.csv"))
    assert np.abs(placed - embedded("blocks")[1]).max() <= 1e-9 * np.abs(placed).max()


def places(path: Path) -> Array:
    """The coordinates of new rows in a file, which has ids, labels and scores beside them."""
    head, *lines = csv.reader(path.read_text(encoding="utf-8").splitlines())
    axes = [place for place, name in enumerate(head) if name in ("y1", "y2")]
    return np.array([[float(row[place]) for place in axes] for row in lines])


@pytest.mark.parametrize("options", [
    ("--scale", "standard"), ("--scale", "range", "--set", "prepare.top_variance=5"), ("--scale", "center"),
    ("--set", "prepare.transform=[log1p, unit]"), ("--components", "0.9"), ("--set", "method.divisor=n-1")],
    ids=lambda options: " ".join(options[-1:]))
def test_preparation_follows_from_sums_or_from_another_pass(mlcli: Caller, options: tuple[str, ...]) -> None:
    np.save("t.npy", numbers() + 100)
    made(mlcli, "t.npy", "blocks", *BLOCKS, *options)
    made(mlcli, "t.npy", "whole", *options)
    same("blocks", "whole")


def test_a_transform_names_the_row_for_which_it_is_undefined(mlcli: Caller, files: Array) -> None:
    files[:] = np.abs(files) + 1
    files[745, 4] = -5
    np.save("t.npy", files)
    told = [mlcli("embed", "t.npy", "-o", "none", "--set", "prepare.transform=[log1p]", *more) for more in ((), BLOCKS)]
    assert told[0].code == told[1].code == 65
    assert told[0].err == told[1].err and "746" in told[1].err


@pytest.mark.medium
def test_new_rows_are_placed_in_blocks(mlcli: Caller, files: Array, wording: Wording) -> None:
    holes = files.copy()
    holes[620, 3] = np.nan
    parquet.write_table(table(holes).select([1, 0, *range(13, 1, -1)]), "new.parquet", row_group_size=GROUP)
    made(mlcli, "t.parquet", "run", "--scale", "standard", "--set", "prepare.missing=drop", *BLOCKS)
    for output, more in (("blocks.csv", BLOCKS), ("whole.csv", ())):
        called = mlcli("project", "run", "new.parquet", *named("t.parquet"), "-o", output, *more)
        assert called.code == 0, called.err
        assert "W-DROPPED" in wording(called.err) and "'r620'" in called.err
    blocks, whole = (list(csv.reader(Path(name).read_text().splitlines())) for name in ("blocks.csv", "whole.csv"))
    assert [row[:2] for row in blocks] == [row[:2] for row in whole] and len(blocks) == ROWS
    assert np.abs(places(Path("blocks.csv")) - places(Path("whole.csv"))).max() <= 1e-10
    Path("new").mkdir()
    parquet.write_table(table(holes).slice(0, 300), "new/0.parquet")
    parquet.write_table(table(holes).slice(300), "new/1.parquet")
    for output, more in (("parts.csv", ()), ("parts-blocks.csv", BLOCKS)):
        assert mlcli("project", "run", "new", *named("t.parquet"), "-o", output, *more).code == 0
        parts = list(csv.reader(Path(output).read_text().splitlines()))
        assert [row[:2] for row in parts] == [row[:2] for row in whole]
        assert np.abs(places(Path(output)) - places(Path("whole.csv"))).max() <= 1e-10
    parquet.write_table(table(files).drop_columns(["x7"]), "new.parquet")
    called = mlcli("project", "run", "new.parquet", *named("t.parquet"), "-o", "none.csv", *BLOCKS)
    assert called.code == 65 and "'x7'" in called.err


@pytest.mark.medium
@pytest.mark.parametrize("name", ["new.csv", "new.parquet", "new.npy"])
def test_new_rows_are_written_as_they_are_placed(mlcli: Caller, files: Array, monkeypatch: pytest.MonkeyPatch,
                                                 name: str, wording: Wording) -> None:
    made(mlcli, "t.parquet", "run", "--set", "prepare.missing=drop", *BLOCKS)
    holes = files.copy()
    holes[np.r_[3, GROUP : 2 * GROUP, ROWS - 1], 3] = np.nan  # a whole row group among them
    parquet.write_table(table(holes), "new.in.parquet", row_group_size=GROUP)
    monkeypatch.setattr("mlcli.data.write.table.GROUP", (150, 2**24))
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        Path(output).mkdir()
        called = mlcli("project", "run", "new.in.parquet", *named("t.parquet"), "-o", f"{output}/{name}", *more)
        assert called.code == 0 and "W-DROPPED" in called.err, called.err
    read = {"csv": csv_of, "parquet": parquet_of, "npy": np.load}[name.partition(".")[2]]
    blocks, whole = read(f"blocks/{name}"), read(f"whole/{name}")
    assert blocks.shape == whole.shape and len(whole) == ROWS - GROUP - 2
    assert (blocks[:, :-2] == whole[:, :-2]).all()
    if name == "new.csv":
        called = mlcli("project", "run", "new.in.parquet", *named("t.parquet"), *BLOCKS, "--picture", "new.svg")
        assert called.out == Path("blocks/new.csv").read_text() and "<svg" in Path("new.svg").read_text()
    numbers = blocks[:, -2:].astype(float), whole[:, -2:].astype(float)
    assert np.abs(numbers[0] - numbers[1]).max() <= 1e-10 * np.abs(numbers[1]).max()
    if name == "new.parquet":
        assert [parquet.ParquetFile(f"{output}/{name}").metadata.num_row_groups for output in ("blocks", "whole")] == [
            5, 5]
    holes[:] = np.nan
    parquet.write_table(table(holes), "new.in.parquet", row_group_size=GROUP)
    told = [mlcli("project", "run", "new.in.parquet", *named("t.parquet"), "-o", "none.csv", *more)
            for more in ((), BLOCKS)]
    assert told[0].code == told[1].code == 65 and not Path("none.csv").exists()
    assert all(f" {ROWS} rows" in each.err and wording(each.err) for each in told)
    printed = mlcli("project", "run", "new.in.parquet", *named("t.parquet"), *BLOCKS)
    assert printed.code == 65 and printed.out == ""


def csv_of(path: str) -> AnyArray:
    return np.array(list(csv.reader(Path(path).read_text().splitlines()))[1:])


def parquet_of(path: str) -> AnyArray:
    return np.array(list(zip(*parquet.read_table(path).to_pydict().values(), strict=True)), dtype=object)


@pytest.mark.parametrize("path", ["new.csv", "new.parquet"])
def test_columns_of_new_rows_are_put_in_order_and_names_of_rows_stay(mlcli: Caller, files: Array, path: str) -> None:
    made(mlcli, "t.csv", "run")
    turned = table(files).select([1, 0, *range(13, 1, -1)])
    (arrow_csv.write_csv if path.endswith("csv") else parquet.write_table)(turned, path)
    for output, more in (("blocks.csv", BLOCKS), ("whole.csv", ())):  # the columns of words are found by themselves
        called = mlcli("project", "run", path, "--id-column", "name", "-o", output, *more)
        assert called.code == 0 and "N-REORDERED" in called.err, called.err
    blocks, whole = (list(csv.reader(Path(name).read_text().splitlines())) for name in ("blocks.csv", "whole.csv"))
    assert [row[:2] for row in blocks] == [row[:2] for row in whole] and blocks[5][:2] == ["r4", "k1"]
    assert np.abs(np.array([row[2:] for row in blocks[1:]], float) - np.array(
        [row[2:] for row in whole[1:]], float)).max() <= 1e-9


def test_new_rows_that_memory_holds_are_opened_once(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    made(mlcli, "t.npy", "run")
    hashed: list[str] = []

    class Counted(Digest):
        def __init__(self, path: str, descriptor: int) -> None:
            hashed.append(path)
            super().__init__(path, descriptor)

    monkeypatch.setattr("mlcli.data.files.source.Digest", Counted)
    np.save("t.npy", numbers()[:50])  # so young that it is hashed before it is read and afterwards
    assert mlcli("project", "run", "t.npy", "-o", "new.csv").code == 0
    assert hashed.count("t.npy") == 2


@pytest.mark.medium
@pytest.mark.parametrize("policy", ["drop", "mean"])
def test_gaps_are_dropped_or_filled_as_in_memory(mlcli: Caller, files: Array, policy: str, wording: Wording) -> None:
    holes = files.copy()
    holes[5, 3], holes[899, 7], holes[450, 1] = np.nan, np.inf, np.nan
    parquet.write_table(table(holes), "t.parquet", row_group_size=GROUP)
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        made(mlcli, "t.parquet", output, "--set", f"prepare.missing={policy}", *more)
    same("blocks", "whole")
    assert mlcli("verify", "blocks").code == 0
    if policy == "drop":
        assert Path("blocks/dropped.csv").read_text() == Path("whole/dropped.csv").read_text()
    told = [mlcli("embed", "t.parquet", *named("t.parquet"), "-o", "none", *more) for more in ((), BLOCKS)]
    assert told[0].code == told[1].code == 65
    assert told[0].err.partition("; or model")[0] == told[1].err.rstrip()  # blocks cannot be completed by a model
    assert "E-MISSING" in wording(told[1].err)


@pytest.mark.medium
def test_the_bytes_do_not_depend_on_threads(mlcli: Caller) -> None:
    for threads in ("1", "2", "3"):
        made(mlcli, "t.parquet", threads, *BLOCKS, "--threads", threads, page=True)
    for name in ("embedding.csv", "spectrum.csv", "quality.json", "dimension.json"):
        assert len({Path(threads, name).read_bytes() for threads in "123"}) == 1


@pytest.mark.parametrize("method", [("ppca",), ("fa", "--scale", "standard"), ("fa", "--set", "method.noise=equal")],
                         ids=" ".join)
def test_models_of_the_covariance_need_the_products_only(mlcli: Caller, method: tuple[str, ...]) -> None:
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        made(mlcli, "t.npy", output, "-m", *method, *more)
    same("blocks", "whole")
    blocks, whole = (json.loads(Path(output, "run.json").read_text()) for output in ("blocks", "whole"))
    assert blocks["certificate"] == "pass"
    assert blocks["fit"]["log_likelihood"] == pytest.approx(whole["fit"]["log_likelihood"], rel=1e-9)
    assert mlcli("verify", "blocks").code == 0


@pytest.mark.parametrize("axes", ["2", "0.9"])
def test_many_columns_are_solved_by_passes(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, axes: str) -> None:
    generator = np.random.default_rng(2)
    np.save("t.npy", generator.standard_normal((300, 80)) * np.linspace(3, 1, 80) ** 2 + 50)
    made(mlcli, "t.npy", "whole", "--components", axes)
    monkeypatch.setattr(moments_pass, "WIDE", 10)
    told = made(mlcli, "t.npy", "passes", *BLOCKS, "--components", axes)
    count = len(spectrum("passes"))
    assert np.abs(spectrum("passes") - spectrum("whole")[:count]).max() <= 1e-12 * spectrum("whole")[0]
    assert np.abs(embedded("passes")[1] - embedded("whole")[1]).max() <= 1e-8
    assert ("F-KRYLOV" in {fact["code"] for fact in told["facts"]}) == (axes == "2")
    assert mlcli("verify", "passes").code == 0


@pytest.mark.parametrize("options", [("pca",), ("pca", "-p", "0.9"), ("ppca",), ("fa",)], ids=" ".join)
def test_fewer_rows_than_columns_are_read_in_blocks_as_well(mlcli: Caller, files: Array,
                                                            options: tuple[str, ...]) -> None:
    np.save("t.npy", np.random.default_rng(4).standard_normal((60, 100)) @ np.diag(np.linspace(3, 1, 100)) + 5)
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        made(mlcli, "t.npy", output, "-m", *options, *more)
    assert np.abs(embedded("blocks")[1] - embedded("whole")[1]).max() <= 1e-8
    assert json.loads(Path("blocks", "run.json").read_text())["certificate"] == "pass"


@pytest.mark.medium
@pytest.mark.parametrize("options", [("kpca",), ("kpca", "--set", "method.kernel.name=laplacian"), ("mds",)],
                         ids=lambda options: options[-1])
def test_landmarks_place_the_rows_of_a_file(mlcli: Caller, options: tuple[str, ...]) -> None:
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        made(mlcli, "t.parquet", output, "-m", *options, "--set", "method.landmarks=60", *more)
    same("blocks", "whole")
    assert mlcli("verify", "blocks").code == mlcli("verify", "--full", "blocks").code == 0
    new = mlcli("project", "blocks", "t.parquet", *named("t.parquet"), "-o", "new.csv", *BLOCKS)
    assert new.code == 0, new.err
    placed = places(Path("new.csv"))
    assert np.abs(placed - embedded("blocks")[1]).max() <= 1e-9 * np.abs(placed).max()


def test_all_rows_as_landmarks_give_exact_kernel_pca(mlcli: Caller, files: Array, wording: Wording) -> None:
    np.save("t.npy", files[:300])
    made(mlcli, "t.npy", "exact", "-m", "kpca")
    made(mlcli, "t.npy", "blocks", "-m", "kpca", "--set", "method.landmarks=300", *BLOCKS)
    assert np.abs(embedded("blocks")[1] - embedded("exact")[1]).max() <= 1e-8
    assert np.abs(spectrum("blocks")[:2] - spectrum("exact")[:2]).max() <= 1e-12 * spectrum("exact")[0]
    called = mlcli("embed", "t.npy", "-m", "kpca", "-o", "none", "--set", "method.landmarks=30",
                   "--set", "method.kernel.name=polynomial")
    assert called.code == 78 and "E-LANDMARKS" in wording(called.err)


@pytest.mark.parametrize("components", ["1", "2"])
def test_discriminants_follow_from_means_and_a_triangle(mlcli: Caller, files: Array, components: str) -> None:
    moved = np.column_stack([files + 0.05 * (np.arange(ROWS)[:, None] % 3) * np.arange(COLUMNS), np.full(ROWS, 0.1)])
    parquet.write_table(table(moved), "t.parquet", row_group_size=GROUP)
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        made(mlcli, "t.parquet", output, "-m", "lda", "--components", components, *more)
    same("blocks", "whole")
    blocks, whole = (json.loads(Path(output, "run.json").read_text()) for output in ("blocks", "whole"))
    assert blocks["fit"] == whole["fit"] and blocks["fit"]["resubstitution_errors"] > 0
    assert blocks["certificate"] == "pass" and mlcli("verify", "--full", "blocks").code == 0


def test_discriminants_are_refused_as_in_memory(mlcli: Caller, files: Array) -> None:
    whole = table(files)
    for kind in (["one"] * ROWS, [f"k{row}" for row in range(ROWS)]):
        parquet.write_table(whole.set_column(1, "kind", [kind]), "t.parquet")
        told = [mlcli("embed", "t.parquet", *named("t.parquet"), "-m", "lda", "-o", "none", *more)
                for more in ((), BLOCKS)]
        assert told[0].code == told[1].code > 0 and told[0].err == told[1].err


def test_rows_without_a_class_are_left_out_in_memory_only(mlcli: Caller, files: Array) -> None:
    kind = ["", *["a", "b", "c"] * (ROWS // 3)][:ROWS]
    parquet.write_table(table(files).set_column(1, "kind", [kind]), "t.parquet")
    for code, said, more in ((65, "E-NO-LABEL", BLOCKS), (0, "N-UNLABELED", ())):
        called = mlcli("embed", "t.parquet", *named("t.parquet"), "-m", "lda", "-v", "-o", "out", *more)
        assert called.code == code and said in called.err, called.err


@pytest.mark.medium
def test_pca_ahead_of_any_method_is_read_in_blocks(mlcli: Caller, files: Array) -> None:
    np.save("t.npy", files[:400])
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        made(mlcli, "t.npy", output, "-m", "isomap", "--reduce", "3", *more)
    assert np.abs(embedded("blocks")[1] - embedded("whole")[1]).max() <= 1e-8 * np.abs(embedded("whole")[1]).max()
    assert mlcli("verify", "blocks").code == 0


def test_what_needs_the_whole_table_is_refused_with_a_remedy(mlcli: Caller) -> None:
    for options, remedy in ((("-m", "isomap"), "--reduce"), (("--scale", "robust"), "standard"),
                            (("--set", "method.route=svd"), "--memory-limit"),
                            (("--set", "prepare.missing=model"), "")):
        called = mlcli("embed", "t.npy", "-o", "none", *BLOCKS, *options)
        assert called.code in (64, 78), called.err
        assert remedy in called.err and "Traceback" not in called.err
    for name, text in (("t.csv.gz", gzip.compress(b"a,b\n1,2\n3,5\n")), ("t.csv", b'a,b,c\n1,2,x"y\n3,5,z"w\n')):
        Path(name).write_bytes(text)
        called = mlcli("embed", name, "-o", "none", *BLOCKS)
        assert called.code == 78 and "Parquet" in called.err


def test_a_file_that_changes_between_passes_is_refused(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = moments_pass.gather

    def changed(*arguments: object, **options: object) -> object:
        found = solve(*arguments, **options)  # type: ignore[arg-type]
        np.save("t.npy", numbers() + 1)
        return found

    monkeypatch.setattr("mlcli.data.read.blocks.gather", changed)
    called = mlcli("embed", "t.npy", "-o", "none", *BLOCKS)
    assert "E-CHANGED" in called.err
    assert not Path("none").exists()


def peak(*arguments: str) -> float:
    """The peak memory of a run of its own in MiB, which must succeed by reading in blocks."""
    done = call("embed", *arguments, "-o", "run", "-q", "--force", "--threads", "2", "--set", "report.formats=[npy]")
    assert done.returncode == 0, done.stderr
    told = json.loads(Path("run/run.json").read_text())
    assert "N-STREAMED" in {note["code"] for note in told["notes"]}
    return max(stage["peak_memory_mib"] for stage in told["stages"])


@pytest.mark.medium
def test_what_needs_a_large_table_in_memory_is_refused_before_it_is_read(mlcli: Caller) -> None:
    with Path("large.npy").open("wb") as file:  # zeros that take no room on the disk, and 800 MB in memory
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 100)})
        file.truncate(file.tell() + 10**8)
    refused = mlcli("embed", "large.npy", "-o", "none", "--memory-limit", "600M", "-m", "lle")
    assert refused.code == 82 and "--reduce" in refused.err
    never = mlcli("embed", "large.npy", "-o", "none", "--memory-limit", "600M", "--set", "input.stream=never")
    assert never.code == 82 and "E-MEMORY" in never.err


@pytest.mark.medium
def test_a_table_that_memory_holds_is_read_in_blocks_where_its_fit_does_not_fit(mlcli: Caller) -> None:
    values = np.random.default_rng(0).integers(-99, 99, (600_000, 20), np.int8)  # 96 MB of doubles, centered in 96 more
    np.save("t.npy", values)
    less = ("--set", "report.quality=null", "--set", "report.outputs=[embedding,spectrum]", "--set",
            "report.formats=[npy]")
    whole = planned(mlcli, "t.npy", *less, "--set", "input.stream=never")["memory"]
    limit = ("--memory-limit", str(round(0.99 * whole)))
    assert planned(mlcli, "t.npy", *less, *limit)["fits"]
    assert mlcli("embed", "t.npy", "-o", "run", "-q", *less, *limit).code == 0
    assert "N-STREAMED" in Path("run/run.json").read_text()
    never = mlcli("embed", "t.npy", "-o", "none", *limit, "--set", "input.stream=never")
    assert never.code == 82 and "input.stream" in never.err
    np.save("t.npy", np.asfortranarray(values))  # whose rows do not lie side by side
    refused = mlcli("embed", "t.npy", "-o", "none", *limit)
    assert refused.code == 82 and "E-MEMORY" in refused.err and re.search(r"[\d,]+ rows", refused.err)


def test_memory_of_quality_and_rules_is_predicted_where_they_are_asked_for(mlcli: Caller) -> None:
    off = ("--set", "report.quality=null", "--set", "report.dimension=false")
    whole, neither, piped = (planned(mlcli, "t.npy", *more)["memory"] for more in ((), off, ("-o", "-")))
    without = planned(mlcli, "t.npy", *off[:2])["memory"]
    assert neither < without < whole and piped <= neither
    limit = ("--memory-limit", str(round((whole + neither) / 2)), "--set", "input.stream=never")
    assert mlcli("embed", "t.npy", "-o", "none", "-q", *limit).code == 82
    assert mlcli("embed", "t.npy", "-o", "run", "-q", *limit, *off).code == 0


def planned(mlcli: Caller, *arguments: str) -> dict[str, float]:
    """What a run is predicted to take."""
    return json.loads(mlcli("plan", *arguments, "--json").out)


@pytest.mark.slow
def test_memory_decides_where_nothing_is_said() -> None:
    values = np.random.default_rng(0).standard_normal((150_000, 100), dtype=np.float32).astype(np.float16)
    np.save("large.npy", values)  # 120 MB in memory
    limit = ("--memory-limit", "300M")
    used = peak("large.npy", *limit)
    plan = call("plan", "large.npy", *limit, "--threads", "2", "--json")
    predicted = json.loads(plan.stdout)["memory"] / 2**20
    assert used <= 300 and 0.75 * predicted <= used <= 1.3 * predicted
    numbers = values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)
    exact = np.linalg.eigvalsh(numbers.T @ numbers / len(numbers))[::-1]
    assert np.abs(spectrum("run") - exact).max() <= 1e-12 * exact[0]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows() -> None:
    values = np.random.default_rng(0).standard_normal((6_000_000, 4), dtype=np.float32).astype(np.float16)
    used = []
    for rows in (1_500_000, 6_000_000):  # whose coordinates are 24 and 96 MB
        np.save("long.npy", values[:rows])
        used.append(peak("long.npy", *BLOCKS))
    assert used[1] <= used[0] + 20


@pytest.mark.medium
@pytest.mark.parametrize("method", [("pca",), *(pytest.param(options, marks=pytest.mark.slow) for options in (
    ("ppca",), ("fa",), ("lda",), ("kpca", "--set", "method.landmarks=60"), ("autoencoder",)))],
    ids=lambda method: method[0])
def test_coordinates_that_lie_in_a_file_are_the_same(mlcli: Caller, monkeypatch: pytest.MonkeyPatch,
                                                     method: tuple[str, ...]) -> None:
    made(mlcli, "t.parquet", "memory", *BLOCKS, "-m", *method, page=True)
    monkeypatch.setattr(scratch, "HELD", 1 << 10)
    monkeypatch.setattr(scratch, "TOGETHER", 1 << 10)
    monkeypatch.setattr(scatter, "MOST", 100)
    told = made(mlcli, "t.parquet", "file", *BLOCKS, "-m", *method, page=True)
    assert told["certificate"] == "pass"
    for name in ("embedding.csv", "quality.json", "dimension.json"):
        assert Path("memory", name).read_bytes() == Path("file", name).read_bytes()


def test_coordinates_in_files_count_as_room_on_the_disk(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two arrays of coordinates lie there while the embedding is written."""
    least = 8 * ROWS * 3  # what a row has in the embedding: its name and two coordinates
    before = planned(mlcli, "t.npy", *BLOCKS)["disk"]
    monkeypatch.setattr(scratch, "HELD", 1 << 10)
    monkeypatch.setattr(rundir_room, "TRIED", 0)
    assert planned(mlcli, "t.npy", *BLOCKS)["disk"] == before + 2 * 8 * ROWS * 2
    monkeypatch.setattr(rundir_room, "free_bytes", lambda folder: least + 2 * 8 * ROWS * 2 - 1)
    refused = mlcli("embed", "t.npy", "-o", "none", *BLOCKS)
    assert refused.code == 82 and "E-DISK" in refused.err
    assert mlcli("embed", "t.npy", "-o", "whole", "-q").code == 0


def test_a_disk_that_is_full_of_coordinates_ends_a_run_with_74(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system says it of a disk that others fill meanwhile."""
    def full(descriptor: int, start: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(scratch, "HELD", 1 << 10)
    monkeypatch.setattr("os.posix_fallocate", full)
    for output, remedy in (("none", "-o"), ("-", "TMPDIR")):
        ended = mlcli("embed", "t.npy", "-o", output, "-q", *BLOCKS)
        assert ended.code == 74 and "E-SCRATCH" in ended.err and "No space left" in ended.err and remedy in ended.err
        assert " MiB " in ended.err and ended.out == "" and ended.err.count("\n") == 1
    assert not list(Path().glob("*none*"))


def test_the_checkup_counts_gaps_in_all_rows(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, files: Array) -> None:
    monkeypatch.setattr("mlcli.data.read.blocks.SAMPLED", 200)
    files[[5, 450, 898], 3] = np.nan
    files[7, 1] = -np.inf
    np.save("t.npy", files)
    called = mlcli("check", "t.npy", "--json", *BLOCKS)
    assert called.code == 0, called.err
    told = json.loads(called.out)
    missing = told["features"]["missing"]
    assert (missing["cells"], missing["infinite"], missing["rows"]) == (4, 1, 4)
    assert missing["worst"][0] == ["x4", 3]
    assert told["rows"] == ROWS and told["features"]["rows"] <= 202
    assert "C-MISSING" in called.out and "N-CHECK-ROWS" in called.out


@pytest.mark.medium
def test_dissimilarities_in_a_file_are_only_applied(mlcli: Caller) -> None:
    generator = np.random.default_rng(4)
    points = generator.standard_normal((300, 4)) * [5, 3, 2, 1]
    lengths = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)) + 0.3
    np.fill_diagonal(lengths, 0)
    np.save("d.npy", lengths.astype(np.float32))
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        called = mlcli("embed", "d.npy", "--dissimilarities", "-m", "pcoa", "-o", output, "-q", *more)
        assert called.code == 0, called.err
    top = spectrum("whole")
    count = len(spectrum("blocks"))
    assert np.abs(spectrum("blocks") - top[:count]).max() <= 1e-12 * top[0]
    assert np.abs(embedded("blocks")[1] - embedded("whole")[1]).max() <= 1e-7
    assert mlcli("verify", "blocks").code == mlcli("verify", "--full", "blocks").code == 0
    for broken, code in ((np.nan, "E-MISSING"), (-1.0, "E-NEGATIVE"), (9.0, "E-ASYMMETRIC")):
        wrong = lengths.copy()
        wrong[3, 4] = broken
        np.save("d.npy", wrong)
        called = mlcli("embed", "d.npy", "--dissimilarities", "-m", "pcoa", "-o", "none", *BLOCKS)
        assert called.code == 65 and code in called.err, called.err
    wrong = lengths + np.eye(300)
    np.save("d.npy", wrong)
    assert "E-DIAGONAL" in mlcli("embed", "d.npy", "--dissimilarities", "-m", "pcoa", "-o", "none", *BLOCKS).err
    np.save("d.npy", lengths[:, :200])
    assert "E-NOT-SQUARE" in mlcli("embed", "d.npy", "--dissimilarities", "-m", "pcoa", "-o", "none", *BLOCKS).err


@pytest.mark.medium
def test_condensed_dissimilarities_give_the_embedding_in_memory(mlcli: Caller) -> None:
    points = np.random.default_rng(5).standard_normal((200, 4)) * [5, 3, 2, 1]
    rows, columns = np.triu_indices(200, 1)
    lengths = np.sqrt(((points[rows] - points[columns]) ** 2).sum(axis=1)) + 0.2
    np.save("d.npy", lengths)
    exact = ("--set", "method.eigensolve.tolerance=1e-12")
    for output, more in (("blocks", (*BLOCKS, *exact)), ("whole", ())):
        called = mlcli("embed", "d.npy", "--dissimilarities", "-m", "pcoa", "-o", output, "-q", *more)
        assert called.code == 0, called.err
    (ids, found), (expected_ids, expected) = embedded("blocks"), embedded("whole")
    assert ids == expected_ids
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    assert mlcli("verify", "blocks").code == mlcli("verify", "--full", "blocks").code == 0


@pytest.mark.parametrize("method", ["autoencoder", "vae"])
def test_networks_in_closed_form_follow_from_blocks(mlcli: Caller, files: Array, method: str) -> None:
    for output, more in (("whole", ()), ("blocks", BLOCKS)):
        made(mlcli, "t.npy", output, "-m", method, *more)
    assert np.abs(embedded("blocks")[1] - embedded("whole")[1]).max() <= 1e-10
    assert mlcli("verify", "--full", "blocks").code == 0
    if method == "vae":
        (_, spreads), (_, expected) = spread("blocks"), spread("whole")
        assert np.abs(spreads - expected).max() <= 1e-10


def spread(folder: str) -> tuple[list[str], Array]:
    """Ids, and the standard deviations of codes."""
    with Path(folder, "posterior.csv").open(encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return [row[0] for row in rows], np.array([[float(cell) for cell in row[1:]] for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize(("method", "figure"), [("autoencoder", "unexplained"), ("vae", "elbo")])
def test_networks_are_trained_from_blocks(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, files: Array, method: str,
                                          figure: str) -> None:
    pytest.importorskip("optax")
    values = np.tanh(files - files.mean(axis=0))
    parquet.write_table(table(values), "t.parquet", row_group_size=200)
    np.save("t.npy", values)
    training = ("-m", method, "--set", "method.layers=[8]", "--set", "method.learning.epochs=6",
                "--set", "method.learning.rate=0.01")
    left = {output: made(mlcli, path, output, *training, *more)["fit"][figure]  # type: ignore[index]
            for output, path, more in (("whole", "t.npy", ()), ("blocks", "t.parquet", BLOCKS))}
    assert left["blocks"] == pytest.approx(left["whole"], rel=0.3)
    assert mlcli("verify", "blocks").code == mlcli("verify", "--full", "blocks").code == 0
    monkeypatch.setattr(scratch, "HELD", 1 << 10)
    monkeypatch.setattr(scratch, "TOGETHER", 1 << 10)
    made(mlcli, "t.parquet", "again", *training, *BLOCKS, "--threads", "1")
    for name in ("embedding.csv", *(["posterior.csv"] if method == "vae" else [])):
        assert Path("again", name).read_bytes() == Path("blocks", name).read_bytes()


def test_numbers_that_are_no_probabilities_are_named_by_their_row(mlcli: Caller) -> None:
    values = np.random.default_rng(3).random((1500, 4))
    values[1234, 2] = 1.5
    np.save("t.npy", values)
    asked = ("-m", "vae", "--set", "method.layers=[4]", "--set", "method.likelihood.name=bernoulli")
    told = [mlcli("embed", "t.npy", "-o", "none", *asked, *more) for more in ((), BLOCKS)]
    assert told[0].code == told[1].code == 65
    assert told[0].err == told[1].err and "1235" in told[1].err


@pytest.mark.medium
def test_the_parquet_files_of_a_directory_are_one_table(mlcli: Caller, files: Array) -> None:
    Path("parts").mkdir()
    whole = table(files)
    for number, first in enumerate(range(0, ROWS, 200)):
        parquet.write_table(whole.slice(first, 200), f"parts/part-{number:03}.parquet", row_group_size=80)
    Path("parts/_SUCCESS").touch()
    made(mlcli, "t.parquet", "one")
    made(mlcli, "parts", "memory")
    made(mlcli, "parts", "blocks", *BLOCKS)
    assert Path("memory/embedding.csv").read_bytes() == Path("one/embedding.csv").read_bytes()
    same("blocks", "one")
    assert "unchanged" in mlcli("verify", "blocks").out
    parquet.write_table(whole.slice(0, 190), "parts/part-000.parquet")
    assert "changed" in mlcli("verify", "blocks").out
    parquet.write_table(whole.drop_columns(["x3"]), "parts/part-004.parquet")
    called = mlcli("embed", "parts", "-o", "none", "--id-column", "name")
    assert called.code == 65 and "part-004" in called.err


def interrupted(arguments: list[str]) -> dict[str, object]:
    """The run of a command that was killed after two of its passes, given again."""
    child = keeping(0.2, *arguments)
    after_steps(child, 3)
    child.kill()
    child.communicate()
    assert not Path("out/run.json").exists()
    assert code_of(*arguments) == 0
    return json.loads(Path("out/run.json").read_text())


@pytest.mark.medium
@pytest.mark.parametrize("form", [(), BLOCKS])
def test_long_texts_are_refused_before_all_of_them_are_read(mlcli: Caller, form: tuple[str, ...]) -> None:
    """The numbers are few; the column of text, which may hold labels, is 112 MB, and not read where it is left out."""
    rows, text = 8_000, "a long answer " * 1_000
    Path("t.csv").write_text("\n".join(["x,y,answer", *(f"{row % 7},{row % 5},{text}{row}" for row in range(rows))]))
    given = ("t.csv", "--threads", "1", "--memory-limit", str(resident(1, [ARROW]) + 100_000_000), *form)
    refused = mlcli("plan", *given)
    assert refused.code == 82 and "E-MEMORY" in refused.err and "'answer'" in refused.err
    read = int(re.search(r"first ([0-9,]+) rows", refused.err)[1].replace(",", ""))  # type: ignore[index]
    assert 0 < read < rows
    assert mlcli("plan", *given, "--columns", "x,y", "--no-id").code == 0
    whole = json.loads(mlcli("plan", "t.csv", "--threads", "1", *form, "--json").out)["memory_parts"]["ids and labels"]
    assert whole == pytest.approx(rows * (len(text) + 4), rel=0.01)


@pytest.mark.medium
@pytest.mark.parametrize("chosen", [(), pytest.param(("--where", "x2 > 1000"), marks=pytest.mark.slow)])
def test_the_first_pass_goes_on_from_some_blocks_after_a_kill(files: Array, chosen: tuple[str, ...]) -> None:
    parquet.write_table(table(files), "t.parquet", row_group_size=30)
    quick = [*chosen, *BLOCKS, "-q", "--threads", "1", "--set", "report.quality=null", "--set",
             "report.dimension=false"]
    assert code_of("embed", "t.parquet", "-o", "undisturbed", *named("t.parquet"), *quick) == 0
    told = interrupted(["embed", "t.parquet", "-o", "out", *named("t.parquet"), *quick])
    assert told["resumed"] == {"covariance": 1}
    for name in ("embedding.csv", "spectrum.csv", "certificate.json"):
        assert Path("out", name).read_bytes() == Path("undisturbed", name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["table", "matrix"])
def test_passes_go_on_after_a_kill(what: str) -> None:
    generator = np.random.default_rng(5)
    if what == "table":
        np.save("d.npy", generator.standard_normal((1300, 2200)).astype(np.float32))  # too wide for sums of products
        method = ["-m", "pca"]
    else:
        points = generator.standard_normal((500, 40))
        np.save("d.npy", np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)))
        method = ["-m", "mds", "--dissimilarities"]
    quick = ["-q", "--threads", "1", "--set", "report.quality=null", "--set", "report.dimension=false"]
    assert code_of("embed", "d.npy", "-o", "undisturbed", *method, *quick, *BLOCKS) == 0
    told = interrupted(["embed", "d.npy", "-o", "out", *method, *quick, *BLOCKS])
    assert told["resumed"] == {"eigensolve": 1}
    for name in ("embedding.csv", "spectrum.csv"):
        assert Path("out", name).read_bytes() == Path("undisturbed", name).read_bytes()


@pytest.mark.medium
def test_commands_on_finished_runs_hold_few_rows_of_large_embeddings(mlcli: Caller,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """They say of coordinates in a file what they say of the same ones in memory."""
    made(mlcli, "t.parquet", "named", *BLOCKS, page=True)
    made(mlcli, "t.npy", "counted", *BLOCKS, "--set", "report.formats=[npy]", page=True)
    np.save("less.npy", numbers()[: ROWS // 2])
    made(mlcli, "less.npy", "less", page=True)
    commands = [("verify", "named"), ("verify", "--full", "counted"), ("report", "counted"), ("export", "counted"),
                ("export", "named"), ("compare", "counted", "less"), ("compare", "named", "named"),
                ("report", "named", "--label-column", "kind")]
    held = [mlcli(*command) for command in commands]
    page = Path("named/report.html").read_bytes()
    assert all(called.code == 0 for called in held), [called.err for called in held]
    monkeypatch.setattr(scratch, "HELD", 1 << 10)
    monkeypatch.setattr(scratch, "TOGETHER", 1 << 10)
    seen: list[bool] = []

    def read(rows: Rows, fill: Callable[[Rows], Array] = fill_array.fill_array) -> Array:
        values = fill(rows)
        seen.append(scratch.in_file(values))
        return values

    monkeypatch.setattr(fill_array, "fill_array", read)
    for command, before in zip(commands, held, strict=True):
        again = mlcli(*command)
        assert (again.code, again.err) == (before.code, before.err)
        assert without_figures(again.out) == without_figures(before.out)
    assert Path("named/report.html").read_bytes() == page
    assert len(seen) == 10 and all(seen)  # every run that a command names


def without_figures(text: str) -> str:
    """The output of a command but for figures smaller than 0.001, which are rounding, and how many there are."""
    return re.sub(r" +", " ", re.sub(r"\d(\.\d+)?e-\d+|\b0(\.00\d+)?\b", "0", text))
