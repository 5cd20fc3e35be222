"""How a run comes to a cluster: it starts one on this machine, or connects to a scheduler, and examines the workers."""

import json
import logging
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.context import set_context
from mlcli.base.machine.footprint import DASK, WORKER, resident, workers_fitting
from mlcli.base.machine.small_files import content_of
from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute
from mlcli.engine.cluster.address import Address, address_of, is_open, is_scheduler, own_workers
from mlcli.engine.cluster.worker import ALIKE, examine_worker, kinds, refuse_unlike, versions
from mlcli.engine.executor import running_on
from mlcli.errors import DependencyMissing, OutputRefused
from mlcli.publication.staging import collect, new_draft

if TYPE_CHECKING:
    import distributed

    from mlcli.engine.cluster.executor import Cluster

CONNECT = 10.0  # seconds to reach a scheduler
FIRST = 60.0  # seconds to wait for a first worker
OWN, OTHERS = 0o700, 0o755  # permissions of folders: of this user alone, or for workers of another user
SILENT = "a worker does not answer"
LOCAL = "127.0.0.1"
NO_PAGES: Mapping[str, Any] = {f"distributed.{part}.http.routes": [] for part in ("scheduler", "worker")}
SETTINGS = {"distributed.comm.timeouts.connect": CONNECT, "distributed.admin.large-graph-warning-threshold": "1 TB"}


class Connections:
    """Clients that the runs of a process share, with workers of this machine; the end of a `with` block closes them."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}  # by the option that names the cluster
        self._stack = ExitStack()

    def __enter__(self) -> "Connections":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def client(self, address: Address, compute: Compute) -> "distributed.Client":
        """Return a client of the scheduler at an address; raises DependencyMissing where there is none."""
        where = compute.cluster or ""
        known = self._clients.get(where)
        if known is None or known.status != "running":
            known = self._clients[where] = self._stack.enter_context(_connected(address, compute))
        return known


@contextmanager
def clustered(compute: Compute, connections: Connections | None = None) -> Iterator["Cluster"]:
    """Run blocks on the cluster that the options name, for the length of a `with` block.

    Without `connections`, the client is closed at its end. Raises ConfigError, DependencyMissing where the cluster
    cannot be reached or has other versions, and OutputRefused or StorageError for a folder that cannot be written.
    """
    from mlcli.engine.cluster.executor import Cluster

    where = compute.cluster or ""
    address = address_of(where)
    _require_room(compute)
    with set_context(local_workers=own_workers(compute)), ExitStack() as stack:
        client = (stack.enter_context(Connections()) if connections is None else connections).client(address, compute)
        with _reached(where):
            _examine(client, where, portable=compute.portable)
        folder = stack.enter_context(_shared(address, compute))
        if is_open(client.scheduler.address):
            note("W-CLUSTER-OPEN", f"the connection to {where} is neither encrypted nor authenticated: whoever can "
                 "reach the scheduler can run programs on its machines; use tls://")
        cluster = stack.enter_context(Cluster(client, folder, portable=compute.portable))
        with running_on(cluster, lambda: cluster.count):
            yield cluster


@contextmanager
def _connected(address: Address, compute: Compute) -> Iterator["distributed.Client"]:
    """A client of the scheduler at an address; raises DependencyMissing where there is none."""
    import dask
    import distributed

    _silence()
    where = compute.cluster or ""
    with dask.config.set(SETTINGS), ExitStack() as stack:
        with _reached(where):
            own = own_workers(compute)
            place: Any = stack.enter_context(_own(own)) if own else _scheduler(address)
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
        why = f"the cluster cannot be reached: {(getattr(error, 'strerror', '') or str(error))[:300] or SILENT}"
        raise DependencyMissing("CLUSTER-UNREACHABLE", why, where=where,
                                hint="start its scheduler, or leave {compute.cluster} out") from None


def _silence() -> None:
    """Keeps Dask and what it rests on from logging: errors and notes say what concerns the user."""
    for name in ("asyncio", "tornado", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("asyncio", "tornado", "distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _require_room(compute: Compute) -> None:
    """Refuses more workers of this machine than fit into the memory, before any is started; raises RefusedByPlan."""
    count, alone = own_workers(compute), resident(compute.thread_count())
    if count:
        compute.require(alone + DASK + count * WORKER, f"a cluster of {count} workers",
                        workers_fitting(compute.memory_bytes() - alone, WORKER))


@contextmanager
def _own(workers: int) -> Iterator[Any]:
    """A scheduler in this process and workers beside it, which only this machine reaches and only this process uses."""
    import dask
    import distributed

    with (_folder(Path(tempfile.gettempdir()), OWN) as scratch,
          dask.config.set({"temporary-directory": str(scratch), **NO_PAGES}),
          distributed.LocalCluster(n_workers=workers, threads_per_worker=1, host=LOCAL, memory_limit=0,
                                   security=distributed.Security.temporary(), dashboard_address=f"{LOCAL}:0",
                                   scheduler_kwargs={"dashboard": False}, silence_logs=logging.CRITICAL) as cluster):
        yield cluster


def _scheduler(address: Address) -> str:
    """The address of a scheduler, its file waited for; raises OSError and ValueError."""
    from distributed import Security

    scheduler = address.remote if address.file is None else _written(address.file)
    if not is_scheduler(scheduler):
        raise ValueError("the file does not say where a scheduler is")
    if scheduler.startswith("tls:") and Security().get_connection_args("client").get("ssl_context") is None:
        raise ValueError("Dask's settings name no certificates for tls://, as docs/scale-out.md shows")
    return scheduler


def _written(file: Path) -> str:
    """The address in a scheduler's file, which is waited for: it is made before it is written; empty without one."""
    until, text = time.monotonic() + CONNECT, b""
    while not text:
        with suppress(FileNotFoundError):
            text = content_of(file)
        if not text and time.monotonic() > until:
            raise OSError(f"no scheduler has written the file within {CONNECT:.0f} seconds")
        time.sleep(0 if text else 0.1)
    try:
        return str(json.loads(text)["address"])
    except (ValueError, TypeError, LookupError):
        return ""


def _examine(client: "distributed.Client", where: str, *, portable: bool) -> None:
    """Looks at what the workers are; raises DependencyMissing where there are none, or versions differ.

    If results are to be portable, settings count like versions, and other levels of the native kernels do not matter.
    """
    try:
        client.wait_for_workers(1, timeout=FIRST)
    except TimeoutError:
        raise DependencyMissing("CLUSTER-EMPTY", f"the cluster has had no worker for {FIRST:.0f} seconds", where=where,
                                hint="start workers") from None
    from asyncio import run_coroutine_threadsafe  # which takes longer to load than many a run without a cluster

    answers = run_coroutine_threadsafe(_asked(client, portable), client.loop.asyncio_loop).result(FIRST)
    for address, answer in answers.items():
        if isinstance(answer, Exception):
            raise DependencyMissing("CLUSTER-VERSIONS", f"a worker cannot run mlcli: {answer}"[:300], where=address,
                                    hint=ALIKE)
        refuse_unlike(versions(portable=portable), answer[0], address)
    others = sorted({str(kind) for _, kind in answers.values() if kind != kinds()})
    if others and not portable:
        note("W-CLUSTER-KINDS", f"workers compute with {' and '.join(others)}, this machine with {kinds()}: the last "
             "digits of results depend on where a block is computed")
    note("F-CLUSTER", f"blocks can run on {len(answers)} workers of a cluster", workers=len(answers))


async def _asked(client: "distributed.Client", portable: bool) -> Any:
    """Return versions and kernels of every worker by its address, or an error."""
    return await client.run(examine_worker, portable=portable, on_error="return")


@contextmanager
def _shared(address: Address, compute: Compute) -> Iterator[Path | None]:
    """A folder of this run that all machines see; None where there is no such storage."""
    parent = compute.cluster_folder or (tempfile.gettempdir() if address.workers is not None else None)
    if parent is None:
        yield None
        return
    with _folder(Path(parent), OTHERS if address.workers is None else OWN) as folder:
        yield folder


@contextmanager
def _folder(parent: Path, mode: int) -> Iterator[Path]:
    """Make a folder in another one, with these permissions.

    Folders that killed processes left there are removed first.
    Raises OutputRefused, and StorageError where the disk is full.
    """
    collect(parent, lambda path, inode: None)
    with ExitStack() as stack:
        try:
            if not parent.is_dir():
                raise OutputRefused("OUTPUT", "there is no such folder")
            draft = stack.enter_context(new_draft(parent.absolute() / "mlcli-cluster", "folder"))
        except OutputRefused as error:
            raise OutputRefused("CLUSTER-FOLDER", f"no folder can be made there: {error.found}", where=str(parent),
                                hint="name a folder that this machine can write and all workers can read") from None
        draft.path.chmod(mode)
        yield draft.path
