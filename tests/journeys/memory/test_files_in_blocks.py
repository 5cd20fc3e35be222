"""Several files of the same rows, read in blocks, give what they give in memory."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import ipc, parquet

from tests.journeys.memory.test_beyond_memory import BLOCKS, interrupted
from tests.journeys.memory.test_tables_in_blocks import QUICK, WHOLE, same
from tests.journeys.support import Caller
from tests.processes import call, code_of
from tests.wording import Wording

ROWS = 600
FILES = ("form.parquet", "--view", "place.csv", "--view", "look.arrow")


def tables() -> list[pa.Table]:
    """Three tables of rows with names: numbers, numbers with a column of text, and columns of text with a number."""
    generator = np.random.default_rng(1)
    plane = generator.standard_normal((ROWS, 3)) * [4, 3, 2] @ generator.standard_normal((3, 6))
    numbers = plane + 0.5 * generator.standard_normal((ROWS, 6)) + 100 * np.arange(6)
    names = {"name": [f"r{row}" for row in range(ROWS)]}
    kinds = np.digitize(plane[:, 0] - plane[:, 1], [-9, 0, 1]).tolist()
    sites = [f"s{(7 * kind + row) % 5}" for row, kind in enumerate(kinds)]
    return [pa.table({**names, "x": numbers[:, 0], "y": numbers[:, 1], "z": numbers[:, 2]}),
            pa.table({**names, "x": numbers[:, 3], "site": sites, "u": numbers[:, 4]}),
            pa.table({**names, "color": [("gray", "red", "green", "blue")[kind] for kind in kinds],
                      "v": numbers[:, 5]})]


def store(form: pa.Table, place: pa.Table, look: pa.Table) -> None:
    """Write a file of each, in blocks of different rows."""
    parquet.write_table(form, "form.parquet", row_group_size=170)
    arrow_csv.write_csv(place, "place.csv")
    with ipc.new_file("look.arrow", look.schema) as file:
        file.write_table(look, max_chunksize=110)


@pytest.fixture(autouse=True)
def files() -> None:
    store(*tables())


def notes_of(output: str) -> dict[str, dict[str, object]]:
    """The notes of a run by their codes."""
    return {note["code"]: note for note in json.loads(Path(output, "run.json").read_text())["notes"]}


@pytest.mark.parametrize("method", ["mfa", pytest.param("statis", marks=pytest.mark.medium),
                                    pytest.param("famd", marks=pytest.mark.medium)])
def test_blocks_of_files_give_what_the_files_give_in_memory(mlcli: Caller, method: str) -> None:
    """Columns of one name in two files are told apart; the groups are the files."""
    for output, more in (("blocks", BLOCKS), ("whole", WHOLE)):
        called = mlcli("embed", *FILES, "-o", output, "-m", method, *QUICK, *more)
        assert called.code == 0, called.err
        assert ("N-STREAMED" in notes_of(output)) == (output == "blocks")
    same("blocks", "whole")
    assert mlcli("verify", "--full", "blocks").code == 0
    with Path("blocks/loadings.csv").open() as file:
        assert {row["column"] for row in csv.DictReader(file)} >= {"form.x", "place.x", "v", "color=red"}


@pytest.mark.medium
def test_files_that_do_not_fit_are_read_in_blocks() -> None:
    """The plan says so before, and the run is the one that blocks give when they are asked for.

    In processes of their own, as the memory of this one counts too.
    """
    generator, size = np.random.default_rng(2), 150_000
    for name in ("a.npy", "b.npy"):
        np.save(name, generator.standard_normal((size, 15)).astype(np.float32))
    given = ("a.npy", "--view", "b.npy", "-m", "mfa", *QUICK, "--threads", "1")
    whole = json.loads(call("plan", *given, "--json").stdout)["memory"]
    limit = ("--memory-limit", str(round(0.7 * whole)))
    planned = json.loads(call("plan", *given, *limit, "--json").stdout)
    assert planned["fits"] and planned["memory"] < 0.7 * whole
    for output, more in (("limited", limit), ("asked", BLOCKS)):
        called = call("embed", *given, "-q", "-o", output, *more)
        assert called.returncode == 0, called.stderr
        assert "N-STREAMED" in notes_of(output)
    assert Path("limited/embedding.csv").read_bytes() == Path("asked/embedding.csv").read_bytes()
    refused = call("embed", *given, *limit, "--set", "input.stream=never", "-o", "none")
    assert refused.returncode == 82 and not Path("none").exists()


@pytest.mark.medium
def test_a_run_of_several_files_goes_on_after_a_kill() -> None:
    form, place, look = tables()
    store(form, place, look)
    parquet.write_table(form, "form.parquet", row_group_size=30)
    parquet.write_table(place, "place.parquet", row_group_size=20)
    parquet.write_table(look, "look.parquet", row_group_size=25)
    arguments = ["form.parquet", "--view", "place.parquet", "--view", "look.parquet", "-m", "famd", *QUICK, *BLOCKS,
                 "-q", "--threads", "1"]
    assert code_of("embed", *arguments, "-o", "undisturbed") == 0
    assert interrupted(["embed", *arguments, "-o", "out"])["resumed"] == {"covariance": 1}
    for name in ("embedding.csv", "spectrum.csv", "groups.csv", "certificate.json"):
        assert Path("out", name).read_bytes() == Path("undisturbed", name).read_bytes()


def test_rows_in_another_order_are_refused_with_the_first(mlcli: Caller, wording: Wording) -> None:
    form, place, look = tables()
    order = np.arange(ROWS)
    order[[40, 41]] = [41, 40]
    store(form, place.take(order), look)
    refused = mlcli("embed", *FILES, "-m", "mfa", "-o", "none", *BLOCKS)
    assert refused.code == 65 and wording(refused.err) == ["E-ROW-ORDER"] and not Path("none").exists()
    assert "place.csv" in refused.err and "row 41 is 'r41'" in refused.err and "'r40'" in refused.err
    assert mlcli("embed", *FILES, "-m", "mfa", "-o", "matched", *QUICK, *WHOLE).code == 0


@pytest.mark.parametrize("drop", [(), ("--set", "prepare.unmatched=drop")])
def test_a_row_that_a_file_lacks_is_refused_by_its_id(mlcli: Caller, drop: tuple[str, ...], wording: Wording) -> None:
    form, place, look = tables()
    store(form, place.slice(0, ROWS - 2), look)
    refused = mlcli("embed", *FILES, "-m", "mfa", "-o", "none", *BLOCKS, *drop)
    assert refused.code == 65 and wording(refused.err) == ["E-ROWS-DIFFER"]
    assert f"r{ROWS - 2}" in refused.err and "place.csv" in refused.err and not Path("none").exists()


def test_rows_without_ids_are_as_many_in_all_files(mlcli: Caller, wording: Wording) -> None:
    np.save("a.npy", np.random.default_rng(0).standard_normal((100, 3)))
    np.save("b.npy", np.random.default_rng(1).standard_normal((97, 3)))
    refused = mlcli("embed", "a.npy", "--view", "b.npy", "-m", "statis", "-o", "none", *BLOCKS)
    assert refused.code == 65 and wording(refused.err) == ["E-ROWS-DIFFER"]
    assert "3 rows" in refused.err and "98" in refused.err and "a.npy" in refused.err


def test_a_missing_cell_is_refused_with_its_file(mlcli: Caller, wording: Wording) -> None:
    form, place, look = tables()
    v = look["v"].to_numpy().copy()
    v[[5, 9]] = np.nan
    store(form, place, look.set_column(2, "v", pa.array(v)))
    refused = mlcli("embed", *FILES, "-m", "mfa", "-o", "none", *BLOCKS)
    assert refused.code == 65 and wording(refused.err) == ["E-MISSING"] and "model" not in refused.err
    assert "look.arrow" in refused.err and "row 6" in refused.err and "column 'v'" in refused.err
    for output, more in (("blocks", BLOCKS), ("whole", WHOLE)):
        called = mlcli("embed", *FILES, "-m", "mfa", "-o", output, "--set", "prepare.missing=drop", *QUICK, *more)
        assert called.code == 0, called.err
    same("blocks", "whole")


def test_ids_among_the_features_of_a_further_file_are_refused(mlcli: Caller, wording: Wording) -> None:
    form, place, look = tables()
    numbers = pa.table({"id": np.random.default_rng(0).permutation(ROWS), "u": place["u"], "v": look["v"]})
    store(form.drop_columns("name"), numbers, look.drop_columns("name"))
    told = [mlcli("embed", *FILES, "-m", "mfa", "-o", "none", *more) for more in (BLOCKS, WHOLE)]
    assert [called.code for called in told] == [65, 65]
    assert wording(told[0].err) == wording(told[1].err) == ["E-ID-COLUMN"] and "place.csv" in told[0].err


def test_a_file_without_blocks_and_a_method_without_views_are_refused(mlcli: Caller, wording: Wording) -> None:
    np.savez("b.npz", np.random.default_rng(1).standard_normal((ROWS, 3)))
    for view, method in (("b.npz", "mfa"), ("look.arrow", "cca")):
        refused = mlcli("embed", "form.parquet", "--view", view, "-m", method, "-o", "none", *BLOCKS)
        assert refused.code == 78 and wording(refused.err) == ["E-STREAM"], refused.err
