"""What chains of distances have in common, whether these are of pairs or along paths."""

from typing import Any

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.chain.chain_input import ChainInput
from mlcli.stages.kernels.forms import CACHED, Dense


def kernel_of_function(chain: ChainInput, halved: Array, base: Any, tolerance: float = 0.0) -> tuple[Dense, Any]:
    """Return the kernel of -δ²/2 (n x n, overwritten), or of a function of δ, and the similarity of new points."""
    if not chain.kernel.bent:
        return Dense.of(halved, tolerance), base
    with running("kernel"):
        function = chain.kernel.for_halved(halved, chain.data.unit)
        each(lambda rows: function.of_halved(halved[rows]), row_blocks(len(halved), CACHED))
    from mlcli.stages.similarities.of_distances import OfDistances

    similarity = OfDistances(base, function)
    if chain.centering == "none":
        return Dense(halved, uncentered(len(halved)), tolerance), similarity
    return Dense.of(halved, tolerance), similarity


def drop_centering(chain: ChainInput, steps: list[Step]) -> list[Step]:
    """Return the steps, without centering where the chain has none."""
    return steps if chain.centering == "double" else [step for step in steps if step.stage != "centering"]
