"""The options of a method that its model holds as well, so that the certificate can compare them."""

from collections.abc import Mapping
from typing import Any, Literal

from mlcli.base.frozen import frozen
from mlcli.base.values.options import Options
from mlcli.core.chain.stages import Stages
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.kernels.corrections import Rule
from mlcli.core.kernels.options import KernelOptions


@frozen
class Asked:
    """The options asked for; None where the method has no such option."""

    neighbors: Neighbors | None = None
    rule: Literal["union", "mutual"] = "union"
    weights: Options | None = None  # of the edges of a neighbor graph
    ridge: float | None = None  # of local systems
    kernel: KernelOptions | None = None
    correction: Rule = "none"

    @classmethod
    def of_chain(cls, chain: Stages) -> "Asked":
        """Return the options of a chain's stages."""
        options, graph = dict(chain.kernel), chain.graph
        return cls(None if graph is None else graph.neighbors, "union" if graph is None else graph.rule,
                   options.get("weights"), options.get("ridge"), chain.kernel, chain.correction)

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> "Asked":
        """Return those of a method's options, by their names in all methods."""
        neighbors, weights, kernel, correction = map(options.get, ("neighbors", "weights", "kernel", "correction"))
        return cls(neighbors if isinstance(neighbors, Neighbors) else None,
                   "mutual" if options.get("graph") == "mutual" else "union",
                   weights if isinstance(weights, Options) else None, options.get("ridge"),
                   kernel if isinstance(kernel, KernelOptions) else None, correction or "none")
