"""The methods: one file each, and the table that names them."""

from typing import Annotated

from pydantic import Field

from mlcli.methods.base import Method, Model, Projector
from mlcli.methods.cca import CCA
from mlcli.methods.fa import FA
from mlcli.methods.ibfa import IBFA
from mlcli.methods.ica import ICA
from mlcli.methods.isomap import Isomap
from mlcli.methods.kpca import KernelPCA
from mlcli.methods.lda import LDA
from mlcli.methods.lgssm import LGSSM
from mlcli.methods.lle import LLE
from mlcli.methods.mds import MDS
from mlcli.methods.pca import PCA
from mlcli.methods.ppca import PPCA
from mlcli.methods.sde import SDE
from mlcli.methods.sfa import SFA

METHODS: dict[str, type[Method]] = {"pca": PCA, "ppca": PPCA, "fa": FA, "mds": MDS, "kpca": KernelPCA,
                                    "isomap": Isomap, "lle": LLE, "sde": SDE, "lda": LDA, "cca": CCA, "ibfa": IBFA,
                                    "sfa": SFA, "lgssm": LGSSM, "ica": ICA}

AnyMethod = Annotated[PCA | PPCA | FA | MDS | KernelPCA | Isomap | LLE | SDE | LDA | CCA | IBFA | SFA | LGSSM | ICA,
                      Field(discriminator="name")]

__all__ = ["METHODS", "AnyMethod", "Method", "Model", "Projector", "decoding"]


def decoding() -> str:
    """The methods whose coordinates lead back to features, each with its condition."""
    return ", ".join(f"{name} ({kind.decodes})" if kind.decodes else name
                     for name, kind in METHODS.items() if kind.decodes is not None)
