"""The kernels of a chain, by the class that declares each with its options, its formula and its costs."""

from typing import TYPE_CHECKING, Annotated

from mlcli.base.values.choices import Choices
from mlcli.core.kernels.options import KernelOptions

KERNELS = Choices(KernelOptions, {
    "gower": "mlcli.core.chain.pairs:GowerKernel",
    "linear": "mlcli.core.chain.pairs:Products",
    "polynomial": "mlcli.core.kernels.functions:Polynomial",
    "gaussian": "mlcli.core.kernels.functions:Gaussian",
    "sigmoid": "mlcli.core.kernels.functions:Sigmoid",
    "laplacian": "mlcli.core.kernels.laplacian:LaplacianKernel",
    "cosine": "mlcli.core.kernels.functions:CosineKernel",
    "given": "mlcli.core.chain.pairs:Given",
    "reconstruction": "mlcli.methods.local.lle:Reconstruction",
    "modified_reconstruction": "mlcli.methods.local.mlle:ModifiedReconstruction",
    "alignment": "mlcli.methods.local.ltsa:Alignment",
    "hessian": "mlcli.methods.local.hlle:Hessian",
    "unfolding": "mlcli.methods.unfolding.sde:UnfoldingKernel",
    "graph_laplacian": "mlcli.methods.laplacian.laplacian:GraphLaplacian",
    "diffusion": "mlcli.methods.laplacian.diffusion:DiffusionKernel",
})

if TYPE_CHECKING:
    ChainKernel = KernelOptions
else:
    ChainKernel = Annotated[KernelOptions, KERNELS]
