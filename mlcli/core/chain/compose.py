"""The choice of a chain's computation: the kernel's own, or by paths, distances, columns or pairs of points.

`base/stages/composition.py` says what a composition is, and who asks for one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mlcli.base.stages.composition import Composition
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given
from mlcli.base.values.plugins import object_at
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.stages import Stages
from mlcli.core.model import Model


def compose(stages: Stages, data: Any, compute: Compute,
            require: Callable[[Sequence[Step], Given], None] = lambda steps, rows: None,
            share: float | None = None) -> Composition[Model]:
    """Return the computation of coordinates, and of a decoder where one is chosen.

    `require` refuses steps that memory does not allow. With a `share`, that part of the most expensive work is
    measured for the steps. A chain imports its own computation and no other.
    """
    chain = ChainInput(stages, data, compute, require, share)
    found = _of_coordinates(chain)
    if stages.decoder.name == "none":
        return found
    from mlcli.core.chain.decoding import DecoderChain

    return DecoderChain(found, chain, data.unit ** (stages.power if stages.coordinates.scale == "roots" else 0))


def _of_coordinates(chain: ChainInput) -> Composition[Model]:
    """Return the computation of coordinates, without a decoder."""
    stages, kernel = chain.stages, chain.stages.kernel
    if kernel.way is not None:
        own: Composition[Model] = kernel.way(chain)
        return own
    if kernel.of_distances and stages.paths is not None:
        found: Composition[Model] = object_at(stages.paths.way)(chain)
        return found
    if kernel.of_distances and not (chain.data.kind == "features" and kernel.direct and stages.landmarks is None):
        from mlcli.core.chain.distance_chains import distance_chain

        return distance_chain(chain)
    if stages.by_columns:
        from mlcli.core.chain.columns import ColumnChain

        return ColumnChain(chain)
    from mlcli.core.chain.functions import FunctionChain, GivenChain

    return (GivenChain if kernel.of_input else FunctionChain)(chain)
