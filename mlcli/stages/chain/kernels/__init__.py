"""The kernels of a chain: one file each, with its options, its formula and the costs of its stages."""

from typing import TYPE_CHECKING, Annotated

from mlcli.base.values.choices import Choices
from mlcli.stages.kernels.pairwise import KernelOptions

HERE, OF_POINTS = "mlcli.stages.chain.kernels", "mlcli.stages.kernels"
KERNELS = Choices(KernelOptions, {
    "gower": f"{HERE}.pairs",
    "linear": f"{HERE}.pairs",
    "polynomial": f"{OF_POINTS}.functions",
    "gaussian": f"{OF_POINTS}.functions",
    "sigmoid": f"{OF_POINTS}.functions",
    "laplacian": f"{OF_POINTS}.laplacian",
    "cosine": f"{OF_POINTS}.functions",
    "given": f"{HERE}.pairs",
    "reconstruction": f"{HERE}.reconstruction",
    "modified_reconstruction": f"{HERE}.modified_reconstruction",
    "alignment": f"{HERE}.alignment",
    "hessian": f"{HERE}.hessian",
    "unfolding": f"{HERE}.unfolding",
    "graph_laplacian": f"{HERE}.graph_laplacian",
    "diffusion": f"{HERE}.diffusion",
})

if TYPE_CHECKING:
    ChainKernel = KernelOptions
else:
    ChainKernel = Annotated[KernelOptions, KERNELS]
