"""Methods of several tables give of a table in blocks what they give in memory, in all files of a run."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import ipc, parquet

from mlcli.base.rows import scratch
from mlcli.base.types import Array
from mlcli.core import moments_pass
from mlcli.findings.frame import files as finding_files
from tests.journeys.memory.test_beyond_memory import BLOCKS, interrupted
from tests.journeys.support import Caller
from tests.processes import code_of
from tests.wording import Wording

ROWS, GROUP = 900, 225
CODES = ("--set", "method.categories=[code]")
GROUPED = ("--groups", "form=x1:x3", "--groups", "place=x4:x6,site", "--groups", "look=x7:code,color")
METHODS = {"mfa": (*GROUPED, *CODES), "statis": (*GROUPED, *CODES), "famd": CODES}
WHOLE = ("--set", "input.stream=never")
QUICK = ("--set", "report.quality=null", "--set", "report.dimension=false", "-p", "3")


def table() -> pa.Table:
    """Numbers far from zero, codes, and categories, a few of which are missing."""
    generator = np.random.default_rng(1)
    plane = generator.standard_normal((ROWS, 3)) * [4, 3, 2] @ generator.standard_normal((3, 8))
    numbers = plane + 0.5 * generator.standard_normal((ROWS, 8)) + 100 * np.arange(8)
    kinds = np.digitize(plane[:, 0] - plane[:, 1], [-9, 0, 1])
    return pa.table({**{f"x{place + 1}": column for place, column in enumerate(numbers.T)},
                     "code": generator.integers(0, 4, ROWS).astype(float),
                     "site": [f"s{(7 * kind + row) % 5}" for row, kind in enumerate(kinds.tolist())],
                     "color": [("", "red", "green", "blue")[kind] for kind in kinds.tolist()]})


@pytest.fixture(autouse=True)
def files() -> None:
    parquet.write_table(table(), "t.parquet", row_group_size=GROUP)
    with ipc.new_file("t.arrow", table().schema) as file:
        file.write_table(table(), max_chunksize=150)
    arrow_csv.write_csv(table(), "t.csv")


def made(mlcli: Caller, path: str, output: str, method: str, *more: str) -> dict[str, object]:
    """The run of a file, which must succeed."""
    called = mlcli("embed", path, "-o", output, "-q", "-m", method, "--set", "prepare.missing=drop", *QUICK, *more)
    assert called.code == 0, called.err
    return json.loads(Path(output, "run.json").read_text())


def same(one: str, other: str) -> None:
    """All files of columns hold the same texts, and numbers that differ by 1e-10 of the largest of a column."""
    names = {path.name for path in Path(other).glob("*.csv")}
    assert names == {path.name for path in Path(one).glob("*.csv")} and {"spectrum.csv", "groups_rv.csv"} <= names
    for name in names:
        found, expected = (list(csv.reader(Path(folder, name).read_text().splitlines())) for folder in (one, other))
        assert [len(row) for row in found] == [len(row) for row in expected], name
        for left, right in zip(zip(*found, strict=True), zip(*expected, strict=True), strict=True):
            assert left[0] == right[0]
            try:
                numbers = np.array([left[1:], right[1:]], dtype=float)
            except ValueError:
                assert left == right, name
                continue
            assert np.abs(numbers[0] - numbers[1]).max() <= 1e-10 * max(np.abs(numbers[1]).max(), 1), (name, left[0])


@pytest.mark.medium
@pytest.mark.parametrize("path", ["t.parquet", pytest.param("t.arrow", marks=pytest.mark.slow),
                                  pytest.param("t.csv", marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", METHODS)
def test_blocks_give_the_files_of_the_table_in_memory(mlcli: Caller, method: str, path: str) -> None:
    told = made(mlcli, path, "blocks", method, *METHODS[method], *BLOCKS)
    made(mlcli, path, "whole", method, *METHODS[method], *WHOLE)
    same("blocks", "whole")
    assert told["certificate"] == "pass" and "N-STREAMED" in {note["code"] for note in told["notes"]}  # type: ignore
    assert mlcli("verify", "blocks").code == 0
    full = mlcli("verify", "--full", "blocks")
    assert full.code == 0 and "skipped partial" not in full.out
    for output, more in (("new.csv", BLOCKS), ("all.csv", ())):
        new = mlcli("project", "blocks", path, "-o", output, *more)
        assert new.code == 0, new.err
    assert Path("new.csv").read_bytes() == Path("all.csv").read_bytes()


@pytest.mark.parametrize("options", [
    ("mfa", *METHODS["mfa"], "--set", "method.supplementary=[look]", "--set", "method.center=[form]"),
    ("statis", *GROUPED, "--set", "method.normalization=eigenvalue", "--where", "site != s1", "--rows", "500"),
    ("famd", *CODES, "--label-column", "color", "--columns", "site,x8,x1:x3,code"),
    ("famd", "--scale", "standard", "--columns", "x1:code")], ids=lambda options: " ".join(options[-2:]))
def test_groups_rows_and_columns_are_chosen_as_in_memory(mlcli: Caller, options: tuple[str, ...]) -> None:
    for output, more in (("blocks", BLOCKS), ("whole", WHOLE)):
        assert made(mlcli, "t.parquet", output, *options, *more)["certificate"] == "pass"
    same("blocks", "whole")


def test_categories_alone_and_a_column_of_names(mlcli: Caller) -> None:
    """The first column of text names the rows, as all its cells differ."""
    generator = np.random.default_rng(3)
    latent = generator.standard_normal(ROWS)
    named = pa.table({"name": [f"r{row}" for row in range(ROWS)], **{
        name: [f"{name}{answer}" for answer in np.digitize(latent + generator.standard_normal(ROWS), [-1, 0.3, 1])]
        for name in "abc"}})
    parquet.write_table(named, "t.parquet", row_group_size=GROUP)
    for output, more in (("blocks", BLOCKS), ("whole", WHOLE)):
        told = made(mlcli, "t.parquet", output, "famd", *more)
        assert "N-TEXT-COLUMNS" in {note["code"] for note in told["notes"]}  # type: ignore
    same("blocks", "whole")
    assert Path("blocks/embedding.csv").read_text().startswith("name,y1")


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_nearly_depend_on_each_other_take_a_pass_more(mlcli: Caller, method: str) -> None:
    """Their smallest eigenvalues are rounding of products, and not of the rows."""
    numbers = np.column_stack([table()[f"x{place}"].to_numpy() for place in range(1, 9)])
    numbers[:, 4] = numbers[:, 3] + 1e-7 * numbers[:, 4]
    numbers[:, 7] = numbers[:, 6] + numbers[:, 1]
    np.save("t.npy", numbers)
    options = () if method == "famd" else ("--groups", "a=x1:x3", "--groups", "b=x4:x6", "--groups", "c=x7,x8")
    for output, more in (("blocks", BLOCKS), ("whole", WHOLE)):
        assert made(mlcli, "t.npy", output, method, *options, *more)["certificate"] == "pass"
    same("blocks", "whole")
    with Path("blocks/spectrum.csv").open() as file:
        values = [float(row["eigenvalue"]) for row in csv.DictReader(file)]
    assert len(values) == 7 and values[-1] < 1e-12 * values[0]


@pytest.mark.parametrize("shape", [(60, 100), (300, 80)])
def test_wide_tables_are_held_or_take_a_pass_for_their_products(mlcli: Caller, monkeypatch: pytest.MonkeyPatch,
                                                               shape: tuple[int, int]) -> None:
    """Products of more columns are not summed by the first pass, and those of more columns than rows by none."""
    monkeypatch.setattr(moments_pass, "WIDE", 10)
    np.save("t.npy", np.random.default_rng(4).standard_normal(shape) * np.linspace(3, 1, shape[1]) + 5)
    half = shape[1] // 2
    options = ("--groups", f"a=x1:x{half}", "--groups", f"b=x{half + 1}:x{shape[1]}")
    for output, more in (("blocks", BLOCKS), ("whole", WHOLE)):
        assert made(mlcli, "t.npy", output, "mfa", *options, *more)["certificate"] == "pass"
    same("blocks", "whole")


def test_partial_points_in_a_file_are_those_in_memory(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    made(mlcli, "t.parquet", "memory", "mfa", *METHODS["mfa"], *BLOCKS)
    for name, size in (("HELD", 8 * ROWS), ("TOGETHER", 700)):
        monkeypatch.setattr(scratch, name, size)
    monkeypatch.setattr(finding_files, "TOGETHER", 700)
    made(mlcli, "t.parquet", "file", "mfa", *METHODS["mfa"], *BLOCKS)
    for name in ("embedding.csv", "partial.csv", "groups_axes.csv"):
        assert Path("memory", name).read_bytes() == Path("file", name).read_bytes()
    assert mlcli("verify", "--full", "file").code == 0


@pytest.mark.medium
def test_the_bytes_do_not_depend_on_threads(mlcli: Caller) -> None:
    for threads in ("1", "3"):
        made(mlcli, "t.parquet", threads, "mfa", *METHODS["mfa"], *BLOCKS, "--threads", threads)
    for name in ("embedding.csv", "partial.csv", "spectrum.csv", "groups.csv"):
        assert Path("1", name).read_bytes() == Path("3", name).read_bytes()


@pytest.mark.medium
def test_a_pass_for_products_of_categories_goes_on_after_a_kill() -> None:
    parquet.write_table(table(), "t.parquet", row_group_size=30)
    arguments = ["-m", "famd", *CODES, "--set", "prepare.missing=drop", "--label-column", "color", *QUICK, *BLOCKS,
                 "-q", "--threads", "1"]
    assert code_of("embed", "t.parquet", "-o", "undisturbed", *arguments) == 0
    assert interrupted(["embed", "t.parquet", "-o", "out", *arguments])["resumed"] == {"covariance": 1}
    for name in ("embedding.csv", "spectrum.csv", "groups.csv", "certificate.json"):
        assert Path("out", name).read_bytes() == Path("undisturbed", name).read_bytes()


def planned(mlcli: Caller, *more: str) -> list[dict[str, str]]:
    """The steps of the plan."""
    called = mlcli("plan", "t.parquet", "--json", "--set", "prepare.missing=drop", *QUICK, *more)
    assert called.code == 0, called.err
    steps: list[dict[str, str]] = json.loads(called.out)["steps"]
    return steps


def test_the_plan_says_passes_and_memory_of_blocks(mlcli: Caller) -> None:
    """Without categories products come from the first pass; the sizes are those that the run finds."""
    categories, numbers = (
        {step["stage"]: step["how"] for step in planned(mlcli, "-m", "famd", *BLOCKS, *more)}
        for more in (CODES, ("--columns", "x1:x8")))
    assert "2 passes" in categories["covariance"] and "20 x 20" in categories["combine"]
    assert "first pass" in numbers["covariance"] and "8 x 8" in numbers["combine"]


def test_the_plan_counts_texts_where_they_are_read(mlcli: Caller) -> None:
    """Each of two columns of text takes as long, and more threads less."""
    def reading(columns: str, threads: str = "1") -> float:
        steps = planned(mlcli, "-m", "famd", *BLOCKS, "--columns", columns, "--threads", threads)
        return float(next(step["seconds"] for step in steps if step["stage"] == "read"))

    none, one, two = map(reading, ("x1:x8", "x1:x8,site", "x1:x8,site,color"))
    assert two - one == pytest.approx(one - none, rel=0.2) and one > none
    assert reading("x1:x8,site,color", "2") - reading("x1:x8", "2") == pytest.approx((two - none) / 2, rel=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_missing_cells_need_the_table_in_memory(mlcli: Caller, method: str, wording: Wording) -> None:
    numbers = ("--columns", "x1:x8", "--set", "prepare.missing=model", "-p", "2", "-m", method, "-o", "none")
    refused = mlcli("embed", "t.parquet", *numbers, *BLOCKS)
    assert refused.code == 78 and wording(refused.err) == ["E-STREAM"]
    assert "missing" in refused.err and not Path("none").exists()


def test_matrices_of_dissimilarities_need_memory(mlcli: Caller, wording: Wording) -> None:
    points: Array = np.random.default_rng(1).standard_normal((30, 3))
    for name in ("a.npy", "b.npy"):
        np.save(name, np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)))
    refused = mlcli("embed", "a.npy", "--dissimilarities", "--view", "b.npy", "-m", "statis", "-o", "none", *BLOCKS)
    assert refused.code == 78 and wording(refused.err) == ["E-STREAM"] and "statis" in refused.err


def test_a_category_of_one_level_is_refused_as_in_memory(mlcli: Caller) -> None:
    one = table().set_column(9, "site", pa.array(["s0"] * ROWS))
    parquet.write_table(one, "t.parquet", row_group_size=GROUP)
    told = [mlcli("embed", "t.parquet", "-m", "famd", "-o", "none", "--set", "prepare.missing=drop", *more)
            for more in (WHOLE, BLOCKS)]
    assert told[0].code == told[1].code == 65
    assert told[0].err.splitlines()[-1] == told[1].err.splitlines()[-1] and "'site'" in told[0].err
