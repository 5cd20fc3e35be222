"""Notes about cluster options that had no effect."""

from typing import TYPE_CHECKING

from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute

if TYPE_CHECKING:
    from mlcli.engine.cluster.executor import Cluster

WORKED = "docs/scale-out.md says what workers do"


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
