"""The kernels of a chain, by the module that declares each with its options, its formula and its costs."""

from typing import TYPE_CHECKING, Annotated

from mlcli.base.values.choices import Choices
from mlcli.core.kernels.options import KernelOptions

KERNELS = Choices(KernelOptions, {
    "gower": "mlcli.core.chain.pairs",
    "linear": "mlcli.core.chain.pairs",
    "polynomial": "mlcli.core.kernels.functions",
    "gaussian": "mlcli.core.kernels.functions",
    "sigmoid": "mlcli.core.kernels.functions",
    "laplacian": "mlcli.core.kernels.laplacian",
    "cosine": "mlcli.core.kernels.functions",
    "given": "mlcli.core.chain.pairs",
    "reconstruction": "mlcli.methods.local.lle",
    "modified_reconstruction": "mlcli.methods.local.mlle",
    "alignment": "mlcli.methods.local.ltsa",
    "hessian": "mlcli.methods.local.hlle",
    "unfolding": "mlcli.methods.unfolding.sde",
    "graph_laplacian": "mlcli.methods.laplacian.laplacian",
    "diffusion": "mlcli.methods.laplacian.diffusion",
})

if TYPE_CHECKING:
    ChainKernel = KernelOptions
else:
    ChainKernel = Annotated[KernelOptions, KERNELS]
