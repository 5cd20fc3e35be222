"""Blocks on the workers of a Dask cluster: an executor on Dask's futures."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.engine.cluster.serialize import Arrays, Packing, write_array
from mlcli.engine.cluster.worker import ALIKE, Task, hold, versions, work
from mlcli.engine.executor import Block
from mlcli.errors import DependencyMissing, MlcliError, OutOfMemory, TryAgain

if TYPE_CHECKING:
    import distributed

EACH = 2  # blocks in flight for each thread of the cluster, so that none waits for the network
WAIT = 60.0  # seconds to wait for a worker where there is none
LOOK = 0.5  # seconds between two looks at the workers, and at blocks that are late
SLOW, LEAST, FIRST = 4.0, 2.0, 60.0  # how many times as long as usual a block may take; and these seconds; the first
ALONE = 20.0  # seconds after which the only worker is given a block again
FORGIVEN = 60.0  # seconds after which a worker that was overtaken is given blocks again
RECENT, ENOUGH = 64, 3  # blocks whose median time is the usual one, and fewest of them
DEATHS = 10  # times that all workers that Dask gives a block may die before the block is at fault
LOST = ("the connection to the cluster's scheduler was lost", "start the cluster again; the same command goes on after "
        "the last pass that was kept")


def size_of(result: Any) -> int:
    """The bytes of the arrays of a result."""
    if isinstance(result, np.ndarray):
        return result.nbytes
    parts = result if isinstance(result, dict) else getattr(result, "__dict__", None)
    if parts is not None:
        return sum(map(size_of, parts.values()))
    return sum(map(size_of, result)) if isinstance(result, tuple | list) else 0


async def _awaited(future: Any) -> Any:
    """The result of Dask's future."""
    return await future


@frozen
class Shipment:
    """A source of blocks, packed for workers."""

    source: Any
    task: Task
    arrays: Arrays  # that come with the blocks
    held: dict[str, Any]  # futures of these arrays


class Cluster(Executor):
    """Runs blocks on the workers of a Dask cluster; the first result of a block counts, whoever gives it.

    Arrays are sent through a folder that all machines share, or without one through Dask: as the result of a task,
    which is repeated if the result is lost.
    """

    def __init__(self, client: "distributed.Client", folder: Path | None, *, portable: bool = False) -> None:
        self.client, self.folder = client, folder
        self._versions = versions(portable=portable)
        self.counts: Counter[str] = Counter()  # blocks, those begun a second time, and bytes
        self._packing = Packing(whole=folder is not None)
        self._shipment: Shipment | None = None
        self._files: set[str] = set()  # keys of arrays in the folder
        self._slow: dict[str, float] = {}  # addresses of workers that were overtaken, and when
        self._usual: deque[float] = deque(maxlen=RECENT)
        self._threads: dict[str, int] = client.nthreads()  # by address
        self._empty = 0.0  # seconds without any worker
        self._watch = asyncio.run_coroutine_threadsafe(self._look(), self._loop)

    @property
    def count(self) -> int:
        """The number of blocks to have in flight; workers may come and go."""
        return max(EACH * sum(count for name, count in self._threads.items() if name not in self._slow), EACH)

    def submit(self, run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Begins a block; raises TypeError for anything else."""
        block, = args
        if run is not Block.run or not isinstance(block, Block):
            raise TypeError("a cluster runs blocks")
        if self._shipment is None or block.source is not self._shipment.source:
            self._shipment = self._shipped(block.source)
        self.counts["blocks"] += 1
        return asyncio.run_coroutine_threadsafe(self._result(self._shipment, block.number), self._loop)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which continues without this run."""
        self._watch.cancel()

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return self.client.loop.asyncio_loop

    def _shipped(self, source: Any) -> Shipment:
        """Gets the arrays of a source on their way, and forgets those of the one before."""
        message = self._packing.message(source)
        here = message.passing if self.folder else {**message.lasting, **message.passing}
        if self.folder is not None:
            self._filed(self.folder, message.lasting)
        before = self._shipment.held if self._shipment else {}
        held = {key: future for key, future in before.items() if key in here}
        self.counts["bytes to the cluster"] += sum(array.nbytes for key, array in here.items() if key not in held)
        task = Task(message.pickled, list(here), str(self.folder) if self.folder else None, self._versions)
        return Shipment(source, task, here, held)

    def _filed(self, folder: Path, arrays: Arrays) -> None:
        """Has these arrays in the folder, and no others."""
        for key in self._files - arrays.keys():
            (folder / f"{key}.npy").unlink(missing_ok=True)
        for key in arrays.keys() - self._files:
            write_array(folder, key, arrays[key])
            self.counts["bytes to the folder"] += arrays[key].nbytes
        self._files = set(arrays)

    async def _look(self) -> None:
        """Counts the workers now and then."""
        while True:
            await asyncio.sleep(LOOK)
            self._threads = await self.client.nthreads() if self.client.status == "running" else {}
            self._empty = 0.0 if self._threads else self._empty + LOOK
            self._slow = {address: since for address, since in self._slow.items()
                          if address in self._threads and time.monotonic() - since < FORGIVEN}

    async def _result(self, shipment: Shipment, number: int) -> Any:
        """Return the first result of one attempt, or of a second one where the first is late."""
        begun, attempts, deaths = time.monotonic(), {self._attempt(shipment, number)}, 0
        try:
            while True:
                done, attempts = await asyncio.wait(attempts, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
                for attempt in done:
                    if attempt.cancelled():  # inside of Dask; another attempt follows
                        continue
                    error = attempt.exception()
                    if error is None:
                        return attempt.result()
                    deaths = self._forgiven(error, deaths)
                if self._empty >= WAIT:
                    raise TryAgain("CLUSTER-EMPTY", f"the cluster has had no worker for {WAIT:.0f} seconds",
                                   hint="start workers; the same command resumes from the last checkpoint")
                if not attempts:
                    attempts = {self._attempt(shipment, number)}
                elif self._late(begun, len(attempts)):
                    attempts |= {await self._another(shipment, number, attempts)}
        finally:
            for attempt in attempts:
                attempt.cancel()

    def _forgiven(self, error: BaseException, deaths: int) -> int:
        """How many times workers have died of a block, this one included; raises any other error in our words."""
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker) and deaths < DEATHS:
            return deaths + 1
        if isinstance(error, KilledWorker):
            raise OutOfMemory("CLUSTER-KILLED", "the same block kills one worker after the other", where=str(
                error.last_worker.address), hint="give workers more memory, or fewer threads each") from None
        if isinstance(error, CancelledError) or (self.client.status != "running" and not isinstance(error, MlcliError)):
            raise TryAgain("CLUSTER-LOST", LOST[0], hint=LOST[1]) from None
        if isinstance(error, ModuleNotFoundError):
            raise DependencyMissing("CLUSTER-VERSIONS", f"a worker lacks {error.name}", hint=ALIKE) from None
        raise error

    def _late(self, begun: float, attempts: int) -> bool:
        """Whether a block takes far longer than its peers, and another attempt might be quicker.

        One worker alone gets another attempt too, later: Dask can lose a task while a worker dies.
        """
        usual = median(self._usual) if len(self._usual) >= ENOUGH else FIRST / SLOW
        patience = max(SLOW * usual, LEAST if len(self._threads) > 1 else ALONE)
        return bool(self._threads) and time.monotonic() - begun > patience * SLOW ** (attempts - 1)

    async def _another(self, shipment: Shipment, number: int,
                       attempts: "set[asyncio.Task[Any]]") -> "asyncio.Task[Any]":
        """Another attempt, elsewhere, which brings its arrays along: the slow worker may be whom they come from."""
        processing = await self.client.processing()
        waited = {attempt.get_name() for attempt in attempts} | {str(future.key) for future in shipment.held.values()}
        self._slow |= {address: time.monotonic() for address, keys in processing.items() if waited & {*map(str, keys)}}
        self.counts["second attempts"] += 1
        shipment.held.clear()
        return self._attempt(shipment, number, along=True)

    def _attempt(self, shipment: Shipment, number: int, *, along: bool = False) -> "asyncio.Task[Any]":
        """A task of Dask for a block; it has the same name here and there."""
        name = f"mlcli-block-{number}-{uuid4().hex}"
        return asyncio.create_task(self._carried_out(name, shipment, number, along), name=name)

    async def _carried_out(self, name: str, shipment: Shipment, number: int, along: bool) -> Any:
        begun = time.monotonic()
        future = self._submitted(work, shipment.task, number, *self._sent(shipment, along), key=name)
        try:
            # Dask collects several results at once: cancelling one block must not cancel the collection
            result = await asyncio.shield(_awaited(future))
        finally:
            future.release()
        self._usual.append(time.monotonic() - begun)
        self.counts["bytes from the cluster"] += size_of(result)
        return result

    def _sent(self, shipment: Shipment, along: bool) -> list[AnyArray | Any]:
        """The arrays that come with a block: themselves, or as Dask's futures."""
        if along:
            return list(shipment.arrays.values())
        for key, array in shipment.arrays.items():
            if key not in shipment.held:
                name = f"mlcli-array-{key}-{uuid4().hex[:8]}"
                shipment.held[key] = self._submitted(hold, array, key=name)
        return [shipment.held[key] for key in shipment.arrays]

    def _submitted(self, task: Callable[..., Any], *arguments: Any, key: str) -> Any:
        """Dask's future of a task, on a worker that has not been overtaken where there is one."""
        quick = [address for address in self._threads if address not in self._slow]
        some = bool(quick) and len(quick) < len(self._threads)
        return self.client.submit(task, *arguments, key=key, pure=False, workers=quick if some else None,
                                  allow_other_workers=some)
