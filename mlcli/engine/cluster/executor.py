"""Blocks on the workers of a Dask cluster: an executor on Dask's futures."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import CancelledError, Executor, Future, wait
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import AHEAD
from mlcli.base.stages.stage import advance
from mlcli.base.types import AnyArray
from mlcli.engine.cluster.serialize import Arrays, Packing, write_array
from mlcli.engine.cluster.worker import ALIKE, Task, add, hold, versions, work
from mlcli.engine.executor import TOGETHER, Block, BlockSource, ends_span
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
TRIES = 4  # attempts at a sum, the last one begun after sixteen times its patience, of which none ends
DEATHS = 10  # times that all workers that Dask gives a block may die before the block is at fault
GATHER = 60.0  # seconds after which a total comes to the client, so that no loss of a worker repeats more than these
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


async def _failure(future: Any) -> BaseException | None:
    """The error of Dask's future once its task has ended; None if it has a result, which stays where it is."""
    error: BaseException | None = await future.exception()
    return error


class Stuck(Exception):
    """A sum does not come, however often it is begun: Dask has lost a task that it needs."""


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
        return self._begin(block.source, block.number)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which continues without this run."""
        self._watch.cancel()

    def sums(self, source: BlockSource[Any], total: Callable[[Sequence[Any]], Any], *, done: int, parts: Sequence[Any],
             due: Callable[[], bool]) -> Generator[tuple[int, Any], None, None]:
        """Yield numbers of blocks and their sum, in which workers add results in the order of spans (`ends_span`).

        Only these sums come to the client: the one of all blocks at the end, and others where GATHER seconds have
        passed or one is `due`. `total` adds results in their order, and is sent by its name. After `done` blocks,
        `parts` are the sums over their spans and over the blocks of the span that has begun. If a sum does not come,
        blocks since the last one that did are computed again.
        """
        while done < source.blocks:
            try:
                with closing(self._add(source, total, done=done, parts=parts, due=due)) as every:
                    for done, found in every:
                        parts = [found]
                        yield done, found
            except Stuck:
                self.counts["second attempts"] += 1

    def _add(self, source: BlockSource[Any], total: Callable[[Sequence[Any]], Any], *, done: int, parts: Sequence[Any],
             due: Callable[[], bool]) -> Generator[tuple[int, Any], None, None]:
        """Yield what `sums` does; raises Stuck if a sum does not come."""
        whole, span = ([self._spawn(self._given(part)) for part in some if done] for some in (parts[:1], parts[1:]))
        single: list[Future[Any]] = []
        last, number = time.monotonic(), done
        waiting: deque[tuple[int, Future[Any]]] = deque()  # blocks by how many are done with them, and sums by 0

        def begin_sum(inputs: Sequence[Future[Any]]) -> Future[Any]:
            waiting.append((0, self._spawn(self._sum(total, inputs, stays=True))))
            return waiting[-1][1]

        try:
            while number < source.blocks or waiting:
                if number < source.blocks and len(waiting) <= self.count + AHEAD:
                    number += 1
                    waiting.append((number, self._begin(source, number - 1, stays=True)))
                    continue
                waiting[0][1].result()
                done, future = waiting.popleft()
                if not done:
                    continue
                advance(done, source.blocks)
                single.append(future)
                ends = ends_span(done, source.blocks)
                if ends or len(single) == TOGETHER:
                    span, single = [begin_sum([*span, *single])], []
                if ends:
                    whole, span = [begin_sum([*whole, *span])] if whole else span, []
                    if done == source.blocks or time.monotonic() - last >= GATHER or due():
                        found = self._spawn(self._sum(total, whole, stays=False)).result()
                        yield done, found
                        whole = [self._spawn(self._given(found))] if done < source.blocks else []
                        last = time.monotonic()
        except BaseException:
            begun = [future for _, future in waiting if not future.cancel()]
            source.stop()
            wait(begun)
            raise

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

    def _begin(self, source: Any, number: int, *, stays: bool = False) -> Future[Any]:
        """Begin a block; where its result `stays` on a worker, the value is Dask's future of it."""
        if self._shipment is None or source is not self._shipment.source:
            self._shipment = self._shipped(source)
        shipment = self._shipment
        self.counts["blocks"] += 1

        def begin(name: str, along: bool) -> Any:
            return self._submitted(work, shipment.task, number, *self._sent(shipment, along), key=name)

        return self._spawn(self._result(f"mlcli-block-{number}", begin, shipment, stays=stays))

    def _spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine in the loop of Dask's client."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _sum(self, total: Callable[[Sequence[Any]], Any], inputs: Sequence[Future[Any]], *, stays: bool) -> Any:
        """Return the sum of results that are on workers, or Dask's future of it where it stays there; release them."""
        held = [await asyncio.wrap_future(future) for future in inputs]

        def begin(name: str, along: bool) -> Any:
            return self._submitted(add, self._versions, total, *held, key=name)

        found = await self._result("mlcli-sum", begin, None, stays=stays)
        for future in held:  # Dask repeats their tasks if the sum is lost before it is added to another
            future.release()
        return found

    async def _given(self, value: Any) -> Any:
        """Return Dask's future of a value that is sent to a worker."""
        self.counts["bytes to the cluster"] += size_of(value)
        return self._submitted(hold, value, key=f"mlcli-sum-{uuid4().hex}")

    async def _result(self, name: str, begin: Callable[[str, bool], Any], shipment: Shipment | None, *,
                      stays: bool) -> Any:
        """Return the first result of one attempt, or of a second one where the first is late.

        `begin` submits an attempt by its name, and says whether arrays come along.
        """
        begun, deaths = time.monotonic(), 0
        attempts = {self._attempt(name, begin, stays=stays, timed=shipment is not None)}
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
                if shipment is None and len(attempts) == TRIES:
                    raise Stuck
                late = self._late(begun, len(attempts), quick=shipment is not None)
                if attempts and late and shipment is not None:
                    await self._avoid(attempts, shipment)
                if not attempts or late:
                    attempts |= {self._attempt(name, begin, stays=stays, timed=shipment is not None,
                                               along=bool(attempts))}
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

    def _late(self, begun: float, attempts: int, *, quick: bool) -> bool:
        """Whether a task takes far longer than its peers, and another attempt might be quicker.

        One worker alone gets another attempt too, later: Dask can lose a task while a worker dies. So do sums, which
        wait for results of other workers (not `quick`).
        """
        usual = median(self._usual) if len(self._usual) >= ENOUGH else FIRST / SLOW
        patience = max(SLOW * usual, LEAST if quick and len(self._threads) > 1 else ALONE)
        return bool(self._threads) and time.monotonic() - begun > patience * SLOW ** (attempts - 1)

    async def _avoid(self, attempts: "set[asyncio.Task[Any]]", shipment: Shipment) -> None:
        """Give no new tasks for a while to workers that are slow with these attempts.

        The next attempt brings its arrays along: the slow worker may be whom they come from.
        """
        processing = await self.client.processing()
        waited = {attempt.get_name() for attempt in attempts} | {str(future.key) for future in shipment.held.values()}
        self._slow |= {address: time.monotonic() for address, keys in processing.items() if waited & {*map(str, keys)}}
        self.counts["second attempts"] += 1
        shipment.held.clear()

    def _attempt(self, name: str, begin: Callable[[str, bool], Any], *, stays: bool, timed: bool,
                 along: bool = False) -> "asyncio.Task[Any]":
        """A task of Dask; it has the same name here and there."""
        name = f"{name}-{uuid4().hex}"
        return asyncio.create_task(self._carried_out(partial(begin, name, along), stays=stays, timed=timed), name=name)

    async def _carried_out(self, begin: Callable[[], Any], *, stays: bool, timed: bool) -> Any:
        """Return the result of a task, or Dask's future of it where it stays on a worker."""
        begun, result = time.monotonic(), None
        future = begin()
        try:
            # Dask collects several results at once: cancelling one block must not cancel the collection
            if not stays:
                result = await asyncio.shield(_awaited(future))
            elif (error := await asyncio.shield(_failure(future))) is not None:
                raise error
            else:
                result = future
        finally:
            if result is not future:
                future.release()
        if timed:
            self._usual.append(time.monotonic() - begun)
        if not stays:
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
