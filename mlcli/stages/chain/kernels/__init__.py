"""The kernels of a chain: one file each, with its options, its formula and the costs of its stages."""

from typing import Annotated

from pydantic import Field

from mlcli.stages.chain.kernels.diffusion import DiffusionKernel
from mlcli.stages.chain.kernels.graph_laplacian import GraphLaplacian
from mlcli.stages.chain.kernels.pairs import Given, GowerKernel, Products
from mlcli.stages.chain.kernels.reconstruction import Reconstruction
from mlcli.stages.chain.kernels.unfolding import UnfoldingKernel
from mlcli.stages.kernels.functions import CosineKernel, Function, Gaussian, Polynomial, Sigmoid
from mlcli.stages.kernels.laplacian import LaplacianKernel

KernelFunction = Annotated[Function | LaplacianKernel, Field(discriminator="name")]  # of two points
ChainKernel = Annotated[
    GowerKernel | Products | Polynomial | Gaussian | Sigmoid | LaplacianKernel | CosineKernel | Given | Reconstruction
    | UnfoldingKernel | GraphLaplacian | DiffusionKernel, Field(discriminator="name")]
