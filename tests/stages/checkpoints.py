"""Checkpoints as the archive's bytes, as one who keeps them would have them."""

import io
import json
from typing import Any

from mlcli.base.stored import RESULTS
from mlcli.stages.algebra import iterate, krylov, minimize
from mlcli.stages.latent import em, factor_analysis
from mlcli.stages.latent.model import Latent, Posterior
from mlcli.storage.archive import Archive

KEPT = Archive({
    **RESULTS, "krylov": krylov.Checkpoint, "iterate": iterate.Checkpoint, "climb": iterate.Climb,
    "descent": minimize.Descent, "estimate": em.Estimate, "latent": Latent, "posterior": Posterior,
    "factors": factor_analysis.Estimate}, finite=False)


def stored(value: Any) -> tuple[str, bytes]:
    """A value as text and bytes."""
    tree, arrays = KEPT.stored({"value": value})
    return json.dumps(tree), arrays


def restored(tree: str, arrays: bytes) -> Any:
    """The value again."""
    return KEPT.restored(json.loads(tree), io.BytesIO(arrays), len(arrays))["value"]
