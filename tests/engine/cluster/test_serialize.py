"""Sources travel as short messages: large arrays by the hash of their content, lasting values once for a process."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.frozen import frozen
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.source import NO_GAPS
from mlcli.base.types import AnyArray, Array
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest
from mlcli.core.kernels.functions import Gaussian
from mlcli.core.kernels.streamed import KernelPass
from mlcli.core.kernels.tiles import Tiles
from mlcli.core.moments_pass import RowSums
from mlcli.core.paths.elimination import Analysis, EliminationRows
from mlcli.engine.cluster.executor import size_of
from mlcli.engine.cluster.serialize import LARGE, Packing, ValueCache, opened, read_array, write_array
from mlcli.errors import MlcliError, StorageError
from mlcli.storage.keys import Keys
from tests.engine.test_executor import eliminates
from tests.wording import Wording

POINTS = np.random.default_rng(7).random((3000, 3)) * [4, 2, 0.1]
VECTORS = np.random.default_rng(0).standard_normal((3000, 5))


@frozen
class Counted:
    """A source of one block."""

    values: Array
    blocks = 1

    def work(self, number: int) -> float:
        return float(self.values.sum())

    def stop(self) -> None: ...


def test_the_message_of_a_pass_is_short_and_names_each_array_once() -> None:
    tiles = Tiles(Gaussian(rate=0.7), POINTS, np.float64)
    message = Packing(whole=True).message(KernelPass(tiles, VECTORS, True))
    assert len(message.pickled) < 2000
    assert [array is POINTS for array in message.lasting.values()] == [True]
    assert [array is VECTORS for array in message.passing.values()] == [True]


def test_a_kernel_is_made_once_for_all_passes_and_gives_the_same_bytes() -> None:
    packing, tiles = Packing(whole=True), Tiles(Gaussian(rate=0.7), POINTS, np.float64)
    passes = [KernelPass(tiles, vectors, False) for vectors in (VECTORS, VECTORS + 1)]
    asked: list[str] = []
    there = []
    for message in map(packing.message, passes):
        arrays = {**message.lasting, **message.passing}

        def array(key: str, arrays: dict[str, AnyArray] = arrays) -> AnyArray:
            asked.append(key)
            return arrays[key].copy()

        there.append(opened(message.pickled, array))
    assert len(asked) == 3  # the points once, and the vectors of each pass
    assert there[0].kernel is there[1].kernel and there[0].kernel is not tiles
    for here, far in zip(passes, there, strict=True):
        assert [part.product.tobytes() for part in far.work(1)] == [part.product.tobytes() for part in here.work(1)]


@eliminates
@pytest.mark.parametrize("whole", [True, False])
def test_an_eliminated_graph_travels_whole_or_is_eliminated_again(whole: bool) -> None:
    graph = graph_of(nearest(POINTS, 9), "union")
    source = EliminationRows.of(Analysis.of(graph), "float32")
    message = Packing(whole=whole).message(KernelPass(source, VECTORS, True))
    numbers = source.weights.state()["numbers"]
    assert (Keys().of(numbers) in message.lasting) == whole
    sent = sum(array.nbytes for array in message.lasting.values())
    assert sent - whole * numbers.nbytes <= graph.bytes + 8 * graph.size  # the graph and the order, each once
    there = opened(message.pickled, {**message.lasting, **message.passing}.__getitem__)
    for number in range(there.blocks):
        here, far = source.fold(number, VECTORS, True)[0], there.work(number)[0]
        assert far.product.tobytes() == here.product.tobytes() and far.squares == here.squares


def test_small_arrays_stay_in_the_message() -> None:
    message = Packing(whole=True).message(Counted(np.ones(LARGE // 8 - 1)))
    assert not message.passing and opened(message.pickled, {}.__getitem__).work(0) == LARGE // 8 - 1


def test_what_was_used_last_is_kept() -> None:
    kept, packing = ValueCache(most=2), Packing(whole=True)
    first, second, third = (packing.message(Counted(np.full(3, number))).pickled for number in (1.0, 2.0, 3.0))
    one = kept.value(first, {}.__getitem__)
    kept.value(second, {}.__getitem__)
    assert kept.value(first, {}.__getitem__) is one
    kept.value(third, {}.__getitem__)
    assert kept.value(first, {}.__getitem__) is one


def test_an_array_in_shared_storage_is_compared_with_its_key(tmp_path: Path, wording: Wording) -> None:
    key = Keys().of(VECTORS)
    write_array(tmp_path, key, VECTORS)
    assert read_array(tmp_path, key).tobytes() == VECTORS.tobytes()
    assert [path.name for path in tmp_path.iterdir()] == [f"{key}.npy"]
    write_array(tmp_path, key, VECTORS + 1)
    with wording.raises(StorageError, "CLUSTER-FOLDER"):
        read_array(tmp_path, key)
    (tmp_path / f"{key}.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(StorageError) as caught:
        read_array(tmp_path, key)
    assert caught.value.code == "E-CLUSTER-FOLDER"


def test_errors_come_from_other_processes_whole() -> None:
    import pickle

    error: Any = MlcliError("CODE", "found", where="there", hint="do", row=2, name="x").changed(row=4)
    again = pickle.loads(pickle.dumps(error))
    assert again.fields() == error.fields() and again.row == 4 and str(again) == str(error)


def test_what_comes_back_is_counted() -> None:
    array = np.zeros(10)
    found = RowSums(Moments(1, array, sums=array, products=array, least=array, most=array), NO_GAPS, (array,))
    assert size_of([found, {"anchors": array}, (3, "text", None)]) == 7 * array.nbytes + size_of(NO_GAPS)
