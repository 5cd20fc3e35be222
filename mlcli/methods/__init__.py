"""The methods: one file each, and the table that names them."""

from typing import Annotated

from pydantic import Field

from mlcli.methods.base import Method, Model, Projector
from mlcli.methods.fa import FA
from mlcli.methods.isomap import Isomap
from mlcli.methods.kpca import KernelPCA
from mlcli.methods.lle import LLE
from mlcli.methods.mds import MDS
from mlcli.methods.pca import PCA
from mlcli.methods.ppca import PPCA
from mlcli.methods.sde import SDE

METHODS: dict[str, type[Method]] = {"pca": PCA, "ppca": PPCA, "fa": FA, "mds": MDS, "kpca": KernelPCA,
                                    "isomap": Isomap, "lle": LLE, "sde": SDE}

AnyMethod = Annotated[PCA | PPCA | FA | MDS | KernelPCA | Isomap | LLE | SDE, Field(discriminator="name")]

__all__ = ["METHODS", "AnyMethod", "Method", "Model", "Projector"]
