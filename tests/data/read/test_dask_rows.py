"""Arrays and frames of Dask give the runs of the same numbers in memory, and in blocks those of the same file."""

from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
import pytest

import mlcli
from mlcli.api import Run
from mlcli.base.rows.source import rows_of
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.in_memory import table_of
from mlcli.data.table.table import HERE
from mlcli.errors import DataError, RefusedByPlan
from tests.wording import Wording

POINTS = np.random.default_rng(0).standard_normal((300, 5)) * [5, 4, 3, 2, 1]
DELAYED = dask.array.from_array(POINTS, chunks=(70, 2))


def in_blocks(**options: Any) -> Run:
    """A run of the delayed points, read in blocks."""
    return mlcli.embed(DELAYED, set={"input.stream": "always"}, **options)


@pytest.mark.parametrize("method", ["pca", "mds", "isomap"])
def test_a_small_array_is_computed_as_a_whole(method: str) -> None:
    assert np.array_equal(mlcli.embed(DELAYED, method).embedding, mlcli.embed(POINTS, method).embedding)


def test_in_blocks_it_has_the_axes_of_the_whole_and_places_its_rows() -> None:
    run, whole = in_blocks(components=3), mlcli.embed(POINTS, components=3)
    assert np.allclose(run.embedding, whole.embedding, atol=1e-12)
    assert np.allclose(run.project(DELAYED[:10]), whole.embedding[:10], atol=1e-12)


def test_in_blocks_it_is_the_run_of_a_file_in_blocks(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", POINTS)
    file = mlcli.embed(tmp_path / "points.npy", set={"input.stream": "always"})
    assert np.allclose(in_blocks().embedding, file.embedding, atol=1e-12)


def test_names_go_with_rows_and_columns() -> None:
    run = in_blocks(ids=[f"p{row}" for row in range(300)], columns=list("abcde"), labels=["x", "y"] * 150)
    assert run.ids[299] == "p299" and run.labels["label"][1] == "y"
    assert run.loadings is not None and run.loadings.columns[:5] == (*"abcde",)


def test_no_more_than_a_block_is_computed_at_once() -> None:
    sizes: list[int] = []

    def seen(block: Any) -> Any:
        sizes.append(len(block))
        return block

    array = DELAYED.rechunk((30, -1)).map_blocks(seen, dtype=float, meta=np.zeros((0, 0)))
    table = table_of(array, Input(path=HERE, stream="always"), Compute(threads=1), streams=True)
    rows = rows_of(table.values)
    assert rows is not None and rows.blocks == 10 and max(sizes) == 30
    assert np.array_equal(rows[np.array([299, 3])], POINTS[[299, 3]])
    with pytest.raises(RefusedByPlan):
        np.asarray(rows)


def test_a_selection_of_unknown_length_is_counted() -> None:
    chosen = DELAYED[DELAYED[:, 0] > 0]
    known = mlcli.embed(POINTS[POINTS[:, 0] > 0])
    assert np.allclose(mlcli.embed(chosen).embedding, known.embedding)
    assert np.allclose(mlcli.embed(chosen, set={"input.stream": "always"}).embedding, known.embedding, atol=1e-12)


def test_an_array_beyond_the_memory_is_refused_where_the_method_needs_all_of_it() -> None:
    large = dask.array.zeros((10**7, 1000), chunks=(10**4, 1000))
    with pytest.raises(RefusedByPlan, match="an array of Dask as a whole"):
        mlcli.embed(large, "isomap", memory_limit="2G")


@pytest.mark.parametrize("stream", ["auto", "always"])
def test_what_the_graph_raises_is_an_error_of_the_data(stream: str, wording: Wording) -> None:
    def failing(block: Any) -> Any:
        raise OSError("the disk is gone")

    array = DELAYED.map_blocks(failing, dtype=float, meta=np.zeros((0, 0)))
    with wording.raises(DataError, "ARRAY"):
        mlcli.embed(array, set={"input.stream": stream})


def test_a_number_that_is_missing_is_named_by_its_row() -> None:
    values = POINTS.copy()
    values[205, 3] = np.nan
    with pytest.raises(DataError, match="row 206"):
        mlcli.embed(dask.array.from_array(values, chunks=(70, 5)), set={"input.stream": "always"})


@pytest.mark.parametrize("stream", ["auto", "always"])
def test_a_frame_has_names_labels_and_ids(stream: str) -> None:
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame(POINTS, columns=list("abcde"), index=[f"p{row:03}" for row in range(300)])
    frame["kind"] = ["x", "y"] * 150
    run = mlcli.embed(frames.from_pandas(frame, npartitions=4), set={"input.stream": stream})
    assert run.ids == tuple(frame.index) and run.labels["kind"] == tuple(frame["kind"])
    assert np.allclose(run.embedding, mlcli.embed(POINTS).embedding, atol=1e-12)
    assert np.allclose(run.project(frames.from_pandas(frame.drop(columns="kind"), npartitions=2)), run.embedding)


def test_a_frame_in_blocks_has_the_texts_that_it_has_in_memory() -> None:
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame(POINTS, columns=list("abcde"))
    frame["kind"] = pandas.Categorical(["x", "y", None] * 100)
    run, whole = (mlcli.embed(given, set={"input.stream": "always"} if given is not frame else None)
                  for given in (frames.from_pandas(frame, npartitions=4), frame))
    assert run.labels == whole.labels and run.ids == whole.ids
    frame["day"] = pandas.Timestamp("2026-01-01")
    with pytest.raises(DataError, match="'day'"):
        mlcli.embed(frames.from_pandas(frame, npartitions=4), set={"input.stream": "always"})


def test_new_rows_that_cannot_be_computed_are_an_error_of_the_data() -> None:
    def failing(block: Any) -> Any:
        raise OSError("the disk is gone")

    with pytest.raises(DataError, match="the disk is gone"):
        mlcli.embed(POINTS).project(DELAYED.map_blocks(failing, dtype=float, meta=np.zeros((0, 0))))
