"""How a run comes to a cluster: it starts one on this machine, or connects to a scheduler, and examines the workers."""

import asyncio
import json
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.assigned import assigned
from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.base.stage import note
from mlcli.base.unfinished import unfinished
from mlcli.engine.address import Address, address_of
from mlcli.engine.arrival import ALIKE, examined, kinds, refuse_unlike, versions
from mlcli.engine.executor import running_on
from mlcli.errors import DependencyMissing, OutputRefused

if TYPE_CHECKING:
    import distributed

    from mlcli.engine.cluster import Cluster

CONNECT = 10.0  # seconds to reach a scheduler
FIRST = 60.0  # seconds to wait for a first worker
SILENT = "a worker does not answer"
LOCAL = "127.0.0.1"
SETTINGS = {"distributed.comm.timeouts.connect": CONNECT, "distributed.admin.large-graph-warning-threshold": "1 TB"}


@frozen
class Staying:
    """Clients by what named their clusters, and what closes them."""

    clients: dict[str, Any]
    stack: ExitStack


_staying: ContextVar[Staying | None] = ContextVar("staying", default=None)


@contextmanager
def staying_connected() -> Iterator[None]:
    """For the length of a `with` block, runs on the same cluster share a connection, and workers of this machine."""
    with ExitStack() as stack, assigned(_staying, Staying({}, stack)):
        yield


@contextmanager
def clustered(compute: Compute) -> Iterator["Cluster | None"]:
    """Inside, blocks run on the cluster that the options name, if they name one.

    Raises ConfigError, DependencyMissing where it is not there or has other versions, and OutputRefused for a folder
    that cannot be written.
    """
    if compute.cluster is None:
        yield None
        return
    from mlcli.engine.cluster import Cluster

    address = address_of(compute.cluster)
    with ExitStack() as stack:
        client = _client(address, compute, stack)
        with _reached(compute.cluster):
            _examine(client, compute.cluster)
        folder = stack.enter_context(_shared(address, compute))
        if Address(remote=client.scheduler.address).open:
            note("W-CLUSTER-OPEN", f"the way to {compute.cluster} is neither encrypted nor authenticated: whoever can "
                 "reach the scheduler can run programs on its machines; use tls://")
        cluster = stack.enter_context(Cluster(client, folder))
        with running_on(cluster, lambda: cluster.count):
            yield cluster


def used(cluster: "Cluster | None") -> dict[str, Any]:
    """What run.json says of the cluster: blocks, and bytes that were sent; nothing without one."""
    return {} if cluster is None else {"cluster": dict(cluster.counts)}


def _client(address: Address, compute: Compute, alone: ExitStack) -> "distributed.Client":
    """A client of the scheduler at an address: the one that runs share, else one that is closed with this run."""
    staying, where = _staying.get(), compute.cluster or ""
    if staying is None:
        return alone.enter_context(_connected(address, compute))
    known = staying.clients.get(where)
    if known is None or known.status != "running":
        known = staying.clients[where] = staying.stack.enter_context(_connected(address, compute))
    return known


@contextmanager
def _connected(address: Address, compute: Compute) -> Iterator["distributed.Client"]:
    """A client of the scheduler at an address; raises DependencyMissing where there is none."""
    import dask
    import distributed

    _silence()
    where = compute.cluster or ""
    with dask.config.set(SETTINGS), ExitStack() as stack:
        with _reached(where):
            place: Any = _scheduler(address)
            if address.workers is not None:
                place = stack.enter_context(_own(address.workers or compute.thread_count()))
            client = distributed.Client(place, timeout=CONNECT, direct_to_workers=True, set_as_default=False)
        try:
            yield client
        finally:
            with suppress(Exception):  # it may be lost
                client.close(timeout=2)


@contextmanager
def _reached(where: str) -> Iterator[None]:
    """Makes one error of all the ways in which a cluster cannot be reached; raises DependencyMissing."""
    try:
        yield
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        why = f"the cluster cannot be reached: {str(error)[:300] or SILENT}"
        raise DependencyMissing("CLUSTER-UNREACHABLE", why, where=where,
                                hint="start its scheduler, or leave --cluster out") from None


def _silence() -> None:
    """Keeps Dask and what it rests on from logging: errors and notes say what concerns the user."""
    for name in ("asyncio", "tornado", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("asyncio", "tornado", "distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _own(workers: int) -> Any:
    """A scheduler in this process and workers beside it, which only this machine reaches."""
    import distributed

    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, host=LOCAL, dashboard_address=f"{LOCAL}:0",
                                    memory_limit=0, silence_logs=logging.CRITICAL)


def _scheduler(address: Address) -> str:
    """The address of a scheduler, its file waited for; raises OSError and ValueError."""
    until = time.monotonic() + CONNECT
    while address.file is not None and not address.file.exists() and time.monotonic() < until:
        time.sleep(0.1)
    if address.file is None:
        return address.remote
    found = json.loads(address.file.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not isinstance(found.get("address"), str):
        raise ValueError(f"{address.file} is not the file of a scheduler")
    return str(found["address"])


def _examine(client: "distributed.Client", where: str) -> None:
    """Looks at what the workers are; raises DependencyMissing where there are none, or versions differ."""
    try:
        client.wait_for_workers(1, timeout=FIRST)
    except TimeoutError:
        raise DependencyMissing("CLUSTER-EMPTY", f"the cluster has had no worker for {FIRST:.0f} seconds", where=where,
                                hint="start workers") from None
    answers = asyncio.run_coroutine_threadsafe(_asked(client), client.loop.asyncio_loop).result(FIRST)
    for address, answer in answers.items():
        if isinstance(answer, Exception):
            raise DependencyMissing("CLUSTER-VERSIONS", f"a worker cannot run mlcli: {answer}"[:300], where=address,
                                    hint=ALIKE)
        refuse_unlike(versions(), answer[0], address)
    others = sorted({str(kind) for _, kind in answers.values() if kind != kinds()})
    if others:
        note("W-CLUSTER-KINDS", f"workers compute with {' and '.join(others)}, this machine with {kinds()}: the last "
             "digits of results depend on where a block is computed")
    note("F-CLUSTER", f"blocks can run on {len(answers)} workers of a cluster", workers=len(answers))


async def _asked(client: "distributed.Client") -> Any:
    """What every worker says of itself, by address: versions and kernels, or an error."""
    return await client.run(examined, on_error="return")


@contextmanager
def _shared(address: Address, compute: Compute) -> Iterator[Path | None]:
    """A folder of this run that all machines see; None where there is no such storage."""
    parent = compute.cluster_folder or (tempfile.gettempdir() if address.workers is not None else None)
    if parent is None:
        yield None
        return
    try:
        folder = Path(tempfile.mkdtemp(prefix="mlcli-", dir=parent))
    except OSError as error:
        raise OutputRefused("CLUSTER-FOLDER", f"no folder can be made there: {error.strerror}", where=str(parent),
                            hint="name a folder that this machine can write and all workers can read") from None
    with unfinished(folder):
        folder.chmod(0o755)  # for workers of another user
        yield folder
