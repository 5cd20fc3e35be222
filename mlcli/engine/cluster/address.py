"""The options of a cluster: addresses, the values of `compute.cluster`, and notes where they have no effect."""

import re
from ipaddress import IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError

if TYPE_CHECKING:
    from mlcli.engine.cluster.executor import Cluster

LOCAL = re.compile(r"local(?::([1-9]\d{0,3}))?")
REMOTE = re.compile(r"(tcp|tls)://(?:\[(?P<ipv6>[^]/\s]+)\]|[\w.-]+):(?P<port>\d{1,5})")
PORTS = range(1, 2**16)
CLOSED = ("tls://", "inproc://")  # encrypted and authenticated, or this process
WORKED = "docs/scale-out.md says what workers do"
LOOPBACK = re.compile(r"tcp://(localhost|127\.\d+\.\d+\.\d+|\[::1\]):\d+")


@frozen
class Address:
    """Exactly one of: workers of this machine, a scheduler's address, a scheduler's file."""

    workers: int | None = None  # to be started on this machine; 0: as many as threads are allowed
    remote: str = ""  # tcp://HOST:PORT or tls://HOST:PORT
    file: Path | None = None  # that the scheduler wrote


def address_of(text: str, where: str = "compute.cluster") -> Address:
    """The address that a text stands for; raises ConfigError."""
    if local := LOCAL.fullmatch(text):
        return Address(workers=int(local[1] or 0))
    if is_scheduler(text):
        return Address(remote=text)
    if text.startswith("file:") and len(text) > len("file:"):
        return Address(file=Path(text.removeprefix("file:")))
    if "@" in text:
        raise ConfigError("CLUSTER-CREDENTIALS", "the address of a cluster holds a user name or a password, which no "
                          "scheduler asks for", where=where,
                          hint="write tcp://host:8786; certificates for tls:// are set in Dask's configuration")
    raise ConfigError("CLUSTER", f"{text[:80]!r} is not a cluster", where=where,
                      hint="write local, local:4, tcp://host:8786, tls://host:8786 or file:scheduler.json")


def own_workers(compute: Compute) -> int:
    """Return the number of workers that a run starts on this machine; 0 without a local cluster."""
    workers = None if compute.cluster is None else address_of(compute.cluster).workers
    return 0 if workers is None else workers or compute.thread_count()


def is_scheduler(text: str) -> bool:
    """Whether a text is a scheduler's address: host and port, by TCP or TLS."""
    found = REMOTE.fullmatch(text)
    return found is not None and int(found["port"]) in PORTS and (found["ipv6"] is None or is_ipv6(found["ipv6"]))


def is_ipv6(text: str) -> bool:
    """Whether a text is an address of IPv6, which stands in brackets before a port."""
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def is_open(scheduler: str) -> bool:
    """Whether the way to a scheduler leaves this machine neither encrypted nor authenticated, as far as can be seen."""
    return not (scheduler.startswith(CLOSED) or LOOPBACK.fullmatch(scheduler))


def note_unused(compute: Compute, cluster: "Cluster | None") -> None:
    """Note a cluster that computed no block of the run, and a cluster folder without a cluster."""
    if cluster is not None and not cluster.counts["blocks"]:
        note("N-CLUSTER-UNUSED", f"no part of this run was computed on {compute.cluster}: {WORKED}")
    if cluster is None and compute.cluster_folder is not None:
        note("N-CLUSTER-FOLDER", "compute.cluster_folder is not used, as there is no compute.cluster")


def note_here(cluster: object) -> None:
    """Note a cluster given to a command that computes on this machine."""
    if cluster is not None:
        note("N-CLUSTER-HERE", f"this command computes on this machine only, and nothing on {cluster}: `mlcli embed` "
             "and `mlcli run` use clusters")
