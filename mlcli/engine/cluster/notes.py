"""What was said of a cluster and came to nothing is told."""

from typing import TYPE_CHECKING

from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute

if TYPE_CHECKING:
    from mlcli.engine.cluster.executor import Cluster

WORKED = "docs/scale-out.md says what workers do"


def note_unused(compute: Compute, cluster: "Cluster | None") -> None:
    """Tells of a cluster that a run used nothing of, and of a folder that has no cluster."""
    if cluster is not None and not cluster.counts["blocks"]:
        note("N-CLUSTER-UNUSED", f"nothing of this run was computed on {compute.cluster}: {WORKED}")
    if cluster is None and compute.cluster_folder is not None:
        note("N-CLUSTER-FOLDER", "compute.cluster_folder is not used, as there is no compute.cluster")


def note_here(cluster: object) -> None:
    """Tells of a cluster that was named for a command which computes where it runs."""
    if cluster is not None:
        note("N-CLUSTER-HERE", f"this command computes here, and nothing on {cluster}: `mlcli embed` and `mlcli run` "
             "use clusters")
